"""What pods say about being moved, from one look to the next."""

from __future__ import annotations

import json
from typing import Any, cast

from tests.api.objects import pod, thing

from dovetail.api import kinds
from dovetail.api.disruption.pods import PLACEHOLDER
from dovetail.controllers.buffers import Buffers
from dovetail.controllers.cluster import Cluster, Scope
from dovetail.controllers.disruption.said import Said
from dovetail.controllers.nominations import Nominations
from dovetail.controllers.snapshots import Snapshots
from dovetail.core.pods import Pod, Shape


class Room:
    """Buffers that have these pods."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()

    def pods(self) -> list[Pod]:
        return [Pod(name, Shape(namespace="default")) for name in self.names]


class Watched:
    def __init__(self) -> None:
        self.cluster = Cluster(Scope(()))
        self.buffers = Room()
        snapshots = Snapshots(self.cluster, Nominations(20.0))
        self.said = Said(self.cluster, snapshots, cast(Buffers, self.buffers))
        self.cluster.pods.listen(self.said.changed)
        self.version = 0

    def put(self, name: str, cost: str = "") -> None:
        self.version += 1
        notes = {"controller.kubernetes.io/pod-deletion-cost": cost} if cost else {}
        wire = pod(name, about={"annotations": notes})
        wire["metadata"] |= {"namespace": "default", "resourceVersion": str(self.version)}
        self.cluster.pods.put(self.cluster.pods.codec.item(json.dumps(wire).encode()))

    def budget(self) -> None:
        about = {"name": "b", "namespace": "default", "resourceVersion": "1"}
        wire: dict[str, Any] = thing("PodDisruptionBudget", "policy/v1", about, spec={"selector": {}})
        for one in self.cluster._watched:
            if one.kind == kinds.DISRUPTION_BUDGETS:
                one.store.put(one.codec.item(json.dumps(wire).encode()))

    def costs(self) -> dict[str, str | None]:
        return {name: one.deletion_cost for name, one in self.said.facts().items()}


def test_what_was_handed_out_stays_as_it_was_and_is_the_same_while_nothing_changes():
    live = Watched()
    live.put("a", cost="7")
    before = live.said.facts()
    assert live.said.facts() is before
    live.put("b", cost="9")
    assert live.costs() == {"default/a": "7", "default/b": "9"}
    assert set(before) == {"default/a"}


def test_a_pod_that_changed_says_something_else_and_one_that_is_gone_nothing():
    live = Watched()
    live.put("a", cost="7")
    live.put("b", cost="9")
    live.said.facts()
    live.put("a")
    live.cluster.pods.remove(("default", "b"))
    assert live.costs() == {}


def test_a_new_budget_has_every_pod_read_anew():
    live = Watched()
    live.put("a", cost="7")
    assert not live.said.facts()["default/a"].budgets
    live.budget()
    assert [one.name for one in live.said.facts()["default/a"].budgets] == ["b"]


def test_placeholders_come_and_go_and_the_pods_beside_them_say_what_they_said():
    live = Watched()
    live.put("a", cost="7")
    live.buffers.names = ("a", "room")
    assert live.said.facts() == {"default/a": PLACEHOLDER, "default/room": PLACEHOLDER}
    live.buffers.names = ()
    assert live.costs() == {"default/a": "7"}
