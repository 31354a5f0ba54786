"""Kubelet settings that are formulas, worked out for one type.

`maxPods` sees as `max_pods` how many pods the cloud's rule allows; what is reserved sees how many may run in the end.
A formula gives cpu in thousandths of a core, memory in MiB, ephemeral storage in GiB and everything else plainly. Where
one cannot be worked out nobody knows what a node would do, so the type takes no pods, and says which formula it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from dovetail.core.catalog.density import Density, PodLimit, pod_limit
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.expressions import BadEvaluation, Value, kind_of
from dovetail.core.kubelet import KUBE_RESERVED, LARGEST_COUNT, MAX_PODS, KubeletSettings, Worked
from dovetail.core.resources import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, Resources

#: In what a resource is given, and to what multiple it is rounded up.
_STEPS: Final = {CPU: (1, 10), MEMORY: (MIB, 16), EPHEMERAL_STORAGE: (GIB, 1)}
_PLAIN: Final = (1, 1)


@dataclass(frozen=True, slots=True)
class Settled:
    """A type's settings without formulas, how many pods it takes, and which formula failed, if one did."""

    kubelet: KubeletSettings
    limit: PodLimit
    problem: str = ""


def settled(hardware: Hardware, kubelet: KubeletSettings, density: Density, type_pods: int | None = None) -> Settled:
    """What a class's settings are to this type; `type_pods` is an InstanceType's own limit."""
    if not kubelet.worked:
        return Settled(kubelet, pod_limit(hardware, kubelet, density, type_pods))
    try:
        said = kubelet
        formula = next((one for one in kubelet.worked if one.setting == MAX_PODS), None)
        if formula is not None:
            usual = density.pods(hardware)[0]
            said = replace(kubelet, max_pods=_pods(formula, hardware, usual))
        limit = pod_limit(hardware, said, density, type_pods)
        return Settled(reserved(said, hardware, limit.pods), limit)
    except BadInput as bad:
        return Settled(replace(kubelet, worked=()), PodLimit(0, str(bad), "kubelet settings"), str(bad))


def reserved(kubelet: KubeletSettings, hardware: Hardware, pods: int) -> KubeletSettings:
    """The settings with what is reserved worked out for a type that takes so many pods. Raises BadInput."""
    kube, system = dict(kubelet.kube_reserved), dict(kubelet.system_reserved)
    for one in kubelet.worked:
        if one.setting != MAX_PODS:
            held = kube if one.setting == KUBE_RESERVED else system
            held[one.resource] = _amount(one, hardware, pods)
    return replace(kubelet, kube_reserved=Resources(kube), system_reserved=Resources(system), worked=())


def _pods(one: Worked, hardware: Hardware, usual: int) -> int:
    found = math.floor(_number(one, hardware, usual))
    if found > LARGEST_COUNT:
        raise BadValue(f"{one.name} of {hardware.name} is {found}; {LARGEST_COUNT} is the most")
    return found


def _amount(one: Worked, hardware: Hardware, pods: int) -> int:
    unit, step = _STEPS.get(one.resource, _PLAIN)
    return math.ceil(_number(one, hardware, pods) / step) * step * unit


def _number(one: Worked, hardware: Hardware, pods: int) -> int | float:
    """What a formula comes to, as long as that is an amount of something."""
    try:
        found = one.formula.value(variables(hardware, pods))
    except BadEvaluation as bad:
        raise BadValue(f"{one.name} cannot be worked out for {hardware.name}: {bad}") from None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise BadValue(f"{one.name} of {hardware.name} is a {kind_of(found)}; it must be a number")
    if not math.isfinite(found):
        raise BadValue(f"{one.name} of {hardware.name} is {found}; it must be finite")
    if found < 0:
        raise BadValue(f"{one.name} of {hardware.name} is {found}; it may not be negative")
    return found


def variables(hardware: Hardware, pods: int) -> dict[str, Value]:
    """What a formula may ask (`core.kubelet.VARIABLES`)."""
    interfaces = hardware.interfaces
    return {
        "vcpus": hardware.cpu_millis // 1000,
        "memory_mib": hardware.memory_bytes // MIB,
        "default_enis": interfaces.count if interfaces is not None else 0,
        "ips_per_eni": interfaces.addresses_each if interfaces is not None else 0,
        "max_pods": pods,
        "instance_type": hardware.name,
    }
