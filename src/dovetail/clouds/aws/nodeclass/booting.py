"""User data of a class's machines: one text for as many types as can share it (S2.13).

How many pods a node may run differs from type to type, and an image works it out from the type's interfaces just as
the catalogue does. So it is written down only where the two would differ: where the catalogue plans with another number
(an InstanceType's own limit, interfaces held back), or an image counts otherwise. A class's own maxPods is one number,
and what is an expression is worked out for the type: images know none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from dovetail.clouds.aws import bootstrap
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.nodeclass import kubelet_rules
from dovetail.clouds.aws.nodeclass.spec import CUSTOM, ClassSpec
from dovetail.clouds.aws.resolved import Boot, UserData
from dovetail.core.catalog import formulas
from dovetail.core.catalog.density import KUBERNETES_DEFAULT, pods_by_interface
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.errors import BadInput
from dovetail.core.kubelet import KUBE_RESERVED, KubeletSettings, Worked, without
from dovetail.core.resources import PODS, quantity_of
from dovetail.core.taints import Taint

#: So full, a person should hear of it: labels and taints of pools come on top.
NEARLY_FULL: Final = bootstrap.LARGEST_BYTES * 9 // 10


def user_data(spec: ClassSpec, home: Home) -> UserData:
    """What a machine of this class runs. Raises BadInput where the user's own part cannot be read."""

    def written(boot: Boot) -> str:
        taints = (*boot.taints, *boot.startup_taints)
        found = spec if not worked else replace(spec, kubelet=_settled(spec.kubelet, worked, boot.kind))
        return _text(found, home, _max_pods(found, boot.kind), boot.labels, taints)

    worked = _worked(spec)
    return written


def sample(spec: ClassSpec, home: Home) -> str:
    """The user data of a pool without labels or taints: what a class can be judged by before there are any."""
    limit = spec.kubelet.get("maxPods")
    plain = replace(spec, kubelet=without(spec.kubelet, _worked(spec)))
    return _text(plain, home, limit if isinstance(limit, int) else None, {}, ())


def _worked(spec: ClassSpec) -> tuple[Worked, ...]:
    """What is an expression, of a block that can be read; of another nothing is launched."""
    try:
        return kubelet_rules.settings(spec.kubelet).worked
    except BadInput:
        return ()


def _settled(block: Mapping[str, Any], worked: tuple[Worked, ...], kind: InstanceType) -> dict[str, Any]:
    """The block with amounts where it has expressions: the pods that are planned with, and what they leave reserved."""
    pods = kind.capacity.of(PODS)
    found = formulas.reserved(KubeletSettings(worked=worked), kind.spec.hardware, pods)
    left: dict[str, Any] = without(block, worked)
    for one in worked:
        if one.resource:
            held = found.kube_reserved if one.setting == KUBE_RESERVED else found.system_reserved
            left[one.setting][one.resource] = str(quantity_of(one.resource, held.of(one.resource)))
        else:
            left[one.setting] = pods
    return left


def _text(
    spec: ClassSpec, home: Home, max_pods: int | None, labels: Mapping[str, str], taints: tuple[Taint, ...]
) -> str:
    boot = bootstrap.Boot(
        home,
        labels=labels,
        taints=taints,
        kubelet=kubelet_rules.handed_on(spec.kubelet),
        max_pods=max_pods,
        raid0=spec.raid0,
        custom=spec.user_data,
    )
    return bootstrap.user_data(spec.family, boot)


def _max_pods(spec: ClassSpec, kind: InstanceType) -> int | None:
    """What a node is told; None where the image works out what is planned with."""
    if spec.family == CUSTOM:
        return None
    planned, said = kind.capacity.of(PODS), spec.kubelet.get("maxPods")
    if isinstance(said, int):
        return planned if planned < _by_core(spec, kind, said) else said
    own = _worked_out(spec, kind)
    return None if own is not None and planned == _by_core(spec, kind, own) else planned


def _by_core(spec: ClassSpec, kind: InstanceType, limit: int) -> int:
    """The kubelet sees to podsPerCore by itself."""
    each = spec.kubelet.get("podsPerCore")
    if not isinstance(each, int) or each <= 0:
        return limit
    return min(limit, each * (kind.spec.hardware.cpu_millis // 1000))


def _worked_out(spec: ClassSpec, kind: InstanceType) -> int | None:
    """How many pods the image lets a node of this type run; None where that is not known."""
    if spec.is_windows:
        return KUBERNETES_DEFAULT
    interfaces = kind.spec.hardware.interfaces
    return None if interfaces is None else pods_by_interface(interfaces)
