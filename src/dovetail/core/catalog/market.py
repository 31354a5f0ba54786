"""The cloud port's four questions (S0.1), and the one a cloud may answer instead (S0.4).

They are plain calls on what the cloud's client already knows: a background loop talks to the API, keeps the answers and
bumps a generation. Asking is therefore cheap, cannot fail half way, and may be done inside a decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.catalog.specs import Spec, SpecRules
from dovetail.core.nodepools import NodePool


@runtime_checkable
class Market(Protocol):
    """A cloud that tells specs and offerings apart."""

    def spec_rules(self, pool: NodePool) -> SpecRules:
        """By which rules this pool's specs are made; InstanceType overrides are worked out with them again."""

    def specs(self, pool: NodePool) -> Mapping[str, Spec]:
        """Every type the pool's node class could launch, by name."""

    def specs_generation(self, pool: NodePool) -> int:
        """Moves when `specs` would answer differently."""

    def offerings(self, pool: NodePool) -> Mapping[str, tuple[Offering, ...]]:
        """The rows of every type, by type name; all of them, available or not."""

    def offerings_generation(self, pool: NodePool) -> int:
        """Moves when `offerings` would answer differently."""


@runtime_checkable
class CombinedMarket(Protocol):
    """A cloud that only answers the old question."""

    def spec_rules(self, pool: NodePool) -> SpecRules: ...

    def instance_types(self, pool: NodePool) -> Mapping[str, InstanceType]:
        """Specs and offerings together, made anew at every call."""
