"""Specs: the half of the catalog that hardly changes (S0.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dovetail.core.catalog.allocatable import NO_SETTINGS, Ledger, NodeRules, Settings, ledger
from dovetail.core.catalog.hardware import Disk, Hardware
from dovetail.core.errors import BadValue
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.requirements import Requirements
from dovetail.core.resources import EPHEMERAL_STORAGE, GIB, Resources

#: No cloud sells a larger disk than 64 TiB.
_LARGEST_DISK_GIB: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Spec:
    """What one type is, to a pool with certain kubelet settings.

    Only what scheduling asks for is kept; the reasons can be told again at any time (`ledger_of`).
    """

    name: str
    requirements: Requirements
    capacity: Resources
    allocatable: Resources
    hardware: Hardware


@dataclass(frozen=True, slots=True)
class SpecRules:
    """Everything besides the hardware that decides a spec; two pools with equal rules share their specs (S0.8)."""

    kubelet: KubeletSettings
    node: NodeRules

    def ledger_of(self, hardware: Hardware, settings: Settings = NO_SETTINGS, memory_seen: int | None = None) -> Ledger:
        return ledger(hardware, self.kubelet, self.node, settings, memory_seen)

    def spec_of(self, hardware: Hardware, settings: Settings = NO_SETTINGS, memory_seen: int | None = None) -> Spec:
        found = self.ledger_of(hardware, settings, memory_seen)
        return Spec(hardware.name, hardware.requirements, found.capacity, found.allocatable, hardware)

    def disk_for(self, hardware: Hardware, wanted_bytes: int, settings: Settings = NO_SETTINGS) -> int:
        """How large a node's disk must be so that pods find this much ephemeral storage on it (S2.12).

        What is held back may itself be a share of the disk, so the size is searched for, in whole GiB. It is never
        below the type's default; local disks, and a size the user states, are what they are.
        """
        default = hardware.disk.size_bytes
        if hardware.disk.local_disks or EPHEMERAL_STORAGE in settings.resources:
            return default

        def holds(size: int) -> bool:
            grown = replace(hardware, disk=Disk(size))
            return self.ledger_of(grown, settings).allocatable.of(EPHEMERAL_STORAGE) >= wanted_bytes

        if holds(default):
            return default
        low = -(-default // GIB)
        high = low + 1
        while not holds(high * GIB):
            low, high = high, high * 2
            if high > _LARGEST_DISK_GIB:
                raise BadValue(f"{wanted_bytes} bytes of ephemeral storage need a larger disk than there is")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle * GIB) else (middle, high)
        return high * GIB


#: What decides how much room a machine has; types that differ in nothing of it have the same.
_Room = tuple[object, ...]


class SpecMaker:
    """Makes the specs of many types under the same rules. Many are the same machine under another name, or with
    another chip or disk: what they hold is worked out once, and is the same object for all of them. Where an
    expression may ask for the name, each is its own."""

    def __init__(self, rules: SpecRules) -> None:
        self._rules = rules
        self._sums: dict[_Room, tuple[Resources, Resources]] = {}

    def spec_of(self, hardware: Hardware, memory_seen: int | None = None) -> Spec:
        room = _room(hardware, memory_seen, named=bool(self._rules.kubelet.worked))
        known = self._sums.get(room)
        if known is None:
            found = self._rules.ledger_of(hardware, memory_seen=memory_seen)
            known = self._sums[room] = found.capacity, found.allocatable
        return Spec(hardware.name, hardware.requirements, *known, hardware)


def _room(one: Hardware, memory_seen: int | None, *, named: bool) -> _Room:
    sizes = (one.cpu_millis, one.memory_bytes, one.firmware_bytes, one.pods, memory_seen)
    return (one.name if named else "", *sizes, one.devices, one.interfaces, one.disk, one.shared_core)
