"""Specs as a node class sees them: the region's hardware with the class's disk, operating system and interfaces.

Most classes change nothing about a machine, and then the region's own objects are used; classes that change the same
share what they change (S0.8). `Shelf` keeps specs by everything that decides them: the rules, the change, and what
nodes with the class's images were seen to report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from dovetail.clouds.aws.class_terms import BOTTLEROCKET, WINDOWS, ClassTerms
from dovetail.clouds.aws.region import Region
from dovetail.clouds.aws.wire import TypeAnswer
from dovetail.core import labels
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.density import KUBERNETES_DENSITY, ByInterface
from dovetail.core.catalog.formulas import settled
from dovetail.core.catalog.hardware import Disk, Hardware
from dovetail.core.catalog.specs import Spec, SpecMaker, SpecRules
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.requirements import Requirement, Requirements, is_in
from dovetail.core.resources import GIB, Resources

EFA: Final = "vpc.amazonaws.com/efa"
WINDOWS_ADDRESSES: Final = "vpc.amazonaws.com/PrivateIPv4Address"
_GIGABYTE: Final = 10**9
_USUAL_DISK: Final = 20 * GIB
_DEFAULT_CARD: Final = 0


@dataclass(frozen=True, slots=True)
class Change:
    """What a class changes about every machine; the default is what the region's hardware has already."""

    disk_bytes: int = _USUAL_DISK
    instance_store: bool = False
    windows_build: str = ""
    #: How many interfaces are for EFA alone, None where as many as there are will be asked for.
    efa_only: int | None = None


NO_CHANGE: Final = Change()


def change_of(terms: ClassTerms) -> Change:
    efa_only = terms.efa_only if terms.interfaces else None
    return Change(terms.storage_bytes, terms.instance_store, terms.windows_build, efa_only)


def rules_of(terms: ClassTerms, kubelet: KubeletSettings, usual: NodeRules) -> SpecRules:
    """By which rules specs are made: how the family counts pods, and what its agents keep (`spec/aws` §2.2, §2.3)."""
    rules = usual
    if terms.family.startswith(WINDOWS):
        rules = replace(rules, density=KUBERNETES_DENSITY, keeps_for_limit=True)
    elif terms.family == BOTTLEROCKET:
        kubelet = replace(kubelet, pods_per_core=None)  # it has no such setting
        rules = replace(rules, keeps_for_limit=True)
    lost = sum(one.efa_only and one.card == _DEFAULT_CARD for one in terms.interfaces)
    if lost and isinstance(rules.density, ByInterface):
        held = rules.density.reserved_interfaces + lost
        rules = replace(rules, density=replace(rules.density, reserved_interfaces=held))
    return SpecRules(kubelet, rules)


def changed(hardware: Hardware, one: TypeAnswer, change: Change) -> Hardware:
    """The machine as the class will have it; the very same object where nothing changes."""
    disk, requirements, devices = _disk(hardware, one, change), hardware.requirements, hardware.devices
    if change.windows_build and requirements.value(labels.ARCH) == "amd64":
        requirements = _on_windows(requirements, change.windows_build)
        addresses = max(0, one.network_info.ipv4_addresses_per_interface - 1)
        devices = Resources({**devices, WINDOWS_ADDRESSES: addresses})
    if change.efa_only is not None and devices.of(EFA) != change.efa_only:
        others = {name: amount for name, amount in devices.items() if name != EFA}
        devices = Resources({**others, EFA: change.efa_only} if change.efa_only else others)
    same = disk is hardware.disk and requirements is hardware.requirements and devices is hardware.devices
    return hardware if same else replace(hardware, disk=disk, requirements=requirements, devices=devices)


def _disk(hardware: Hardware, one: TypeAnswer, change: Change) -> Disk:
    store = one.instance_storage_info
    if change.instance_store and store is not None and store.total_size_in_gb:
        return Disk(store.total_size_in_gb * _GIGABYTE, 1)
    return hardware.disk if change.disk_bytes == hardware.disk.size_bytes else Disk(change.disk_bytes)


def _on_windows(has: Requirements, build: str) -> Requirements:
    found: list[Requirement] = [*has.without(labels.OS, labels.WINDOWS_BUILD)]
    return Requirements([*found, is_in(labels.OS, "windows"), is_in(labels.WINDOWS_BUILD, build)])


@dataclass(frozen=True, slots=True)
class SpecKey:
    """All that decides a class's specs besides the region."""

    rules: SpecRules
    change: Change = NO_CHANGE
    seen: tuple[tuple[str, int], ...] = ()


Specs = Mapping[str, Spec]


@dataclass(frozen=True, slots=True)
class Shelf:
    """The machines and specs of one region that somebody has asked for. Filled as they are asked; never emptied, as
    another region has a shelf of its own, which takes over from this one whatever is made of the same parts."""

    region: Region
    _machines: dict[Change, Mapping[str, Hardware]] = field(default_factory=dict)
    _specs: dict[SpecKey, Specs] = field(default_factory=dict)
    _failing: dict[tuple[SpecRules, Change], str] = field(default_factory=dict)

    def machines(self, change: Change) -> Mapping[str, Hardware]:
        known = self._machines.get(change)
        if known is None:
            types = self.region.types
            made = {one.name: changed(one, types[one.name], change) for one in self.region.listing.hardware}
            known = self._machines[change] = MappingProxyType(made)
        return known

    def specs(self, key: SpecKey) -> Specs:
        known = self._specs.get(key)
        if known is None:
            known = self._specs[key] = self._made(key)
        return known

    def unworkable(self, rules: SpecRules, change: Change) -> str:
        """Which formula of the rules fails for a type, "" if none does."""
        known = self._failing.get((rules, change))
        if known is None:
            found = (settled(one, rules.kubelet, rules.node.density).problem for one in self.machines(change).values())
            known = self._failing[rules, change] = next(filter(None, found), "")
        return known

    def drop_measured(self) -> None:
        """Something was measured: specs that hold measurements are made anew, and cheaply, when they are asked for."""
        for key in [one for one in self._specs if one.seen]:
            del self._specs[key]

    def _made(self, key: SpecKey) -> Specs:
        """Types nobody has measured have the specs they have without measurements."""
        seen = dict(key.seen)
        machines = self.machines(key.change)
        usual = self.specs(replace(key, seen=())) if seen else {}
        maker = SpecMaker(key.rules)
        found: dict[str, Spec] = {}
        for name, machine in machines.items():
            spec = usual.get(name)
            if spec is None or name in seen:
                spec = maker.spec_of(machine, seen.get(name))
            found[name] = spec
        return MappingProxyType(found)

    def moved_to(self, region: Region) -> Shelf:
        """A shelf for another look at the region, with everything on it that was on this one. Takes its time."""
        if region.listing.hardware is self.region.listing.hardware and region.types is self.region.types:
            return Shelf(region, self._machines, self._specs, self._failing)
        shelf = Shelf(region)
        for change, old in list(self._machines.items()):
            new = shelf.machines(change)
            kept = {name: old[name] if old.get(name) == one else one for name, one in new.items()}
            shelf._machines[change] = MappingProxyType(kept)
        for key in list(self._specs):
            shelf._specs[key] = _taken_over(self._specs[key], shelf, key)
        return shelf


def _taken_over(old: Specs, shelf: Shelf, key: SpecKey) -> Specs:
    seen, machines = dict(key.seen), shelf.machines(key.change)
    maker = SpecMaker(key.rules)
    found: dict[str, Spec] = {}
    for name, machine in machines.items():
        known = old.get(name)
        if known is None or known.hardware is not machine:
            known = maker.spec_of(machine, seen.get(name))
        found[name] = known
    return MappingProxyType(found)
