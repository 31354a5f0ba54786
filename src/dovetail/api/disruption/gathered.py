"""What disruption needs of files and planning does not keep: claims and Nodes whole, and pods as they were written."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.api.disruption.machines import FileReader
from dovetail.api.disruption_budgets import Budget
from dovetail.api.fields import Fields
from dovetail.api.pod_wire import PodWire
from dovetail.core.nodeclaims import NodeClaim, NodeObject


@dataclass(slots=True)
class Gathered:
    """Objects as they are met; one that cannot be read raises `BadInput` and is not here."""

    reader: FileReader = field(default_factory=FileReader)
    claims: dict[str, NodeClaim] = field(default_factory=dict)
    nodes: dict[str, NodeObject] = field(default_factory=dict)
    pods: tuple[PodWire, ...] = ()
    budgets: tuple[Budget, ...] = ()

    def take_claim(self, wire: Fields) -> None:
        one = self.reader.claim(wire)
        self.claims[one.name] = one

    def take_node(self, wire: Fields) -> None:
        one = self.reader.node(wire)
        self.nodes[one.name] = one
