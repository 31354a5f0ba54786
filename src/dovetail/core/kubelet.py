"""The kubelet settings that decide how much of a machine pods may use (S2.7)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Final

from dovetail.core import expressions, quantity, resources
from dovetail.core.errors import BadInput, BadValue, shown
from dovetail.core.expressions import Formula
from dovetail.core.resources import NOTHING, Resources

MEMORY_AVAILABLE: Final = "memory.available"
NODEFS_AVAILABLE: Final = "nodefs.available"
SIGNALS: Final = frozenset(
    {
        MEMORY_AVAILABLE,
        NODEFS_AVAILABLE,
        "nodefs.inodesFree",
        "imagefs.available",
        "imagefs.inodesFree",
        "pid.available",
    }
)
_PERCENT: Final = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{0,9})?)%", re.ASCII)
#: The kubelet counts pods in 32 bits.
LARGEST_COUNT: Final = 2**31 - 1
RESERVABLE: Final = frozenset({resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE, "pid"})
MAX_PODS: Final = "maxPods"
KUBE_RESERVED: Final = "kubeReserved"
SYSTEM_RESERVED: Final = "systemReserved"
#: What a formula in a kubelet block may ask of a machine.
VARIABLES: Final = ("vcpus", "memory_mib", "default_enis", "ips_per_eni", "max_pods", "instance_type")


class ReserveStrategy(StrEnum):
    """How kube-reserved is worked out where the user does not say (S2.11)."""

    EKS = "eks"
    GKE = "gke"
    AKS = "aks"
    AKS_129 = "aks-1.29"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Threshold:
    """An eviction threshold: an absolute amount, or a share of what the node has."""

    amount: int = 0
    percent: Fraction | None = None

    def of(self, capacity: int) -> int:
        """What is held back of a capacity; 100 % switches the signal off, as in the kubelet."""
        if self.percent is None:
            return self.amount
        if self.percent == 100:
            return 0
        share = capacity * self.percent / 100
        return -(-share.numerator // share.denominator)

    def __str__(self) -> str:
        return f"{float(self.percent):g}%" if self.percent is not None else str(quantity.of_bytes(self.amount))


@dataclass(frozen=True, slots=True)
class Worked:
    """A setting that is worked out for each type: `maxPods`, or a resource of `kubeReserved` or `systemReserved`."""

    setting: str
    formula: Formula
    resource: str = ""

    @property
    def name(self) -> str:
        return f"{self.setting}.{self.resource}" if self.resource else self.setting


@dataclass(frozen=True, slots=True)
class KubeletSettings:
    """What a pool says about its kubelets; what it leaves out is the cloud's default. Settings in `worked` are in no
    other field until a type is known (`core.catalog.formulas`)."""

    max_pods: int | None = None
    pods_per_core: int | None = None
    kube_reserved: Resources = NOTHING
    system_reserved: Resources = NOTHING
    eviction_hard: tuple[tuple[str, Threshold], ...] = ()
    eviction_soft: tuple[tuple[str, Threshold], ...] = ()
    reserve: ReserveStrategy | None = None
    worked: tuple[Worked, ...] = ()

    def hard(self, signal: str) -> Threshold | None:
        return dict(self.eviction_hard).get(signal)

    def with_reserve(self, strategy: ReserveStrategy | None) -> KubeletSettings:
        return replace(self, reserve=strategy)


def parse_threshold(text: object) -> Threshold:
    """Read `100Mi` or `10%`."""
    if isinstance(text, str) and text.endswith("%"):
        shape = _PERCENT.fullmatch(text)
        if shape is None:
            raise BadValue(f"{shown(text)} is not a percentage; write a number from 0 to 100, such as 10%")
        percent = Fraction(shape["number"])
        if percent > 100:
            raise BadValue(f"{text} is out of range; a threshold is between 0% and 100%")
        return Threshold(percent=percent)
    if not isinstance(text, str | int | float):
        raise BadValue(f"{shown(text)} is not a threshold; write a quantity such as 100Mi or a percentage such as 10%")
    amount = quantity.parse(text).units
    if amount < 0:
        raise BadValue(f"{shown(text)} is negative; a threshold is 0 or more")
    return Threshold(amount)


def parse_settings(wire: object, *path: str, formulas: bool = False) -> KubeletSettings:
    """Read a `kubelet` block: both the current names (evictionHard) and the older nested one (evictionThreshold).
    `formulas`: a text that is no number or quantity is one."""
    if wire is None:
        return KubeletSettings()
    if not isinstance(wire, Mapping):
        raise BadValue(f"expected a map, got {type(wire).__name__}").at(*path)
    nested = wire.get("evictionThreshold")
    nested = {} if nested is None else nested
    if not isinstance(nested, Mapping):
        raise BadValue(f"expected a map, got {type(nested).__name__}").at(*path, "evictionThreshold")
    worked = tuple(_worked(wire, *path)) if formulas else ()
    wire = without(wire, worked)
    hard = _thresholds(wire.get("evictionHard"), *path, "evictionHard")
    soft = _thresholds(wire.get("evictionSoft"), *path, "evictionSoft")
    return KubeletSettings(
        max_pods=_count(wire.get(MAX_PODS), *path, MAX_PODS),
        pods_per_core=_count(wire.get("podsPerCore"), *path, "podsPerCore") or None,
        kube_reserved=_reserved(wire.get(KUBE_RESERVED), *path, KUBE_RESERVED),
        system_reserved=_reserved(wire.get(SYSTEM_RESERVED), *path, SYSTEM_RESERVED),
        eviction_hard=hard or _thresholds(nested.get("hard"), *path, "evictionThreshold", "hard"),
        eviction_soft=soft or _thresholds(nested.get("soft"), *path, "evictionThreshold", "soft"),
        reserve=_strategy(wire.get("kubeReservedStrategy"), *path, "kubeReservedStrategy"),
        worked=worked,
    )


def texts(wire: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """Every setting of a block that can only be a formula: the setting, the resource or "", and the text."""
    limit = wire.get(MAX_PODS)
    if isinstance(limit, str):
        yield MAX_PODS, "", limit
    for setting in (KUBE_RESERVED, SYSTEM_RESERVED):
        held = wire.get(setting)
        for resource, value in held.items() if isinstance(held, Mapping) else ():
            if isinstance(resource, str) and isinstance(value, str) and not _is_quantity(value):
                yield setting, resource, value


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except BadInput:
        return False
    return True


def _worked(wire: Mapping[str, object], *path: str) -> Iterator[Worked]:
    for setting, resource, text in texts(wire):
        place = (*path, setting, resource) if resource else (*path, setting)
        if resource and resource not in RESERVABLE:
            raise BadValue(f"cannot be reserved; use one of {', '.join(sorted(RESERVABLE))}").at(*place)
        try:
            yield Worked(setting, expressions.parse(text, VARIABLES), resource)
        except BadInput as bad:
            raise BadValue(f"{shown(text)} is neither an amount nor an expression: {bad}").at(*place) from None


def without(wire: Mapping[str, object], worked: Iterable[Worked]) -> dict[str, object]:
    """A block without what is a formula."""
    left = dict(wire)
    for one in worked:
        held = left.pop(one.setting, None)
        if one.resource and isinstance(held, Mapping):
            left[one.setting] = {key: value for key, value in held.items() if key != one.resource}
    return left


def _thresholds(wire: object, *path: str) -> tuple[tuple[str, Threshold], ...]:
    if wire is None:
        return ()
    if not isinstance(wire, Mapping):
        raise BadValue(f"expected a map of signals, got {type(wire).__name__}").at(*path)
    found = []
    for raw, text in wire.items():
        name = raw if isinstance(raw, str) else shown(raw)
        signal = _OLD_SIGNALS.get(name, name)
        if signal not in SIGNALS:
            raise BadValue(f"{shown(raw)} is not an eviction signal; use one of {', '.join(sorted(SIGNALS))}").at(*path)
        try:
            found.append((signal, parse_threshold(text)))
        except BadInput as problem:
            raise BadValue(str(problem)).at(*path, name) from None
    return tuple(sorted(found, key=lambda pair: pair[0]))


#: The seed document's spelling of the signals.
_OLD_SIGNALS: Final = {
    "memoryAvailable": MEMORY_AVAILABLE,
    "nodefsAvailable": NODEFS_AVAILABLE,
    "nodefsInodesFree": "nodefs.inodesFree",
    "imagefsAvailable": "imagefs.available",
    "imagefsInodesFree": "imagefs.inodesFree",
    "pidAvailable": "pid.available",
}


def _reserved(wire: object, *path: str) -> Resources:
    found = resources.parse(wire, *path)
    for name in found:
        if name not in RESERVABLE:
            raise BadValue(f"cannot be reserved; use one of {', '.join(sorted(RESERVABLE))}").at(*path, name)
    return found


def _count(value: object, *path: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_COUNT:
        raise BadValue(f"{shown(value)} is not a count; write a whole number from 0 to {LARGEST_COUNT}").at(*path)
    return value


def _strategy(value: object, *path: str) -> ReserveStrategy | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in set(ReserveStrategy):
        raise BadValue(f"{shown(value)} is no strategy; use one of {', '.join(ReserveStrategy)}").at(*path)
    return ReserveStrategy(value)
