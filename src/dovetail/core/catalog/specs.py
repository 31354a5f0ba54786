"""Specs: the half of the catalog that hardly changes (S0.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dovetail.core.catalog.allocatable import NO_SETTINGS, Ledger, NodeRules, Settings, ledger
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.requirements import Requirements
from dovetail.core.resources import Resources


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

    @property
    def overhead(self) -> Resources:
        """Everything between what the node reports and what pods may have."""
        return self.capacity - self.allocatable


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


def specs_of(
    hardware: Iterable[Hardware], rules: SpecRules, memory_seen: Mapping[str, int] | None = None
) -> dict[str, Spec]:
    seen = memory_seen or {}
    return {one.name: rules.spec_of(one, memory_seen=seen.get(one.name)) for one in hardware}
