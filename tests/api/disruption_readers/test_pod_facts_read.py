"""What pods say about being moved: annotations, budgets, owners, readiness."""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec
import pytest
from tests.api.objects import Json, pod, thing

from dovetail.api import disruption_budgets, pod_wire
from dovetail.api.disruption.pods import PodReader, allowed, ready_seconds
from dovetail.api.disruption_budgets import Budget
from dovetail.api.fields import fields
from dovetail.api.pod_forms import StreamedPod
from dovetail.api.pod_stream import PodReader as StreamReader
from dovetail.api.pod_wire import Drafts, PodWire, Times
from dovetail.api.pods import Shapes, Surroundings
from dovetail.core.disruption.facts import NO_FACTS, PodBudget, PodFacts

STARTED = "2026-01-01T00:00:00Z"
AT = 1_767_225_600.0
HOLD, COST, DELETION = (
    "karpenter.sh/do-not-disrupt",
    "karpenter.sh/disruption-cost",
    "controller.kubernetes.io/pod-deletion-cost",
)


def wire_of(one: Json, drafts: Drafts | None = None) -> PodWire:
    return pod_wire.read(fields(one), drafts or Drafts())


def budget(name: str = "keep", left: int | None = None, app: str = "web", **spec: Any) -> Budget:
    spec = {"selector": {"matchLabels": {"app": app}}, **spec}
    status = {} if left is None else {"status": {"disruptionsAllowed": left}}
    wire = thing("PodDisruptionBudget", "policy/v1", {"name": name}, spec=spec, **status)
    return disruption_budgets.read(fields(wire))


def running(name: str = "web", notes: Json | None = None, app: str = "web", **more: Any) -> Json:
    about = {"labels": {"app": app}, **({"annotations": notes} if notes else {}), **more.pop("about", {})}
    status = {"phase": "Running", "startTime": STARTED, **more.pop("status", {})}
    return pod(name, about=about, status=status, nodeName="node-1", **more)


def facts(one: Json, *budgets: Budget) -> PodFacts:
    """As a file has it, which must be what a stream makes of it."""
    shapes = Shapes(Surroundings())
    read = wire_of(one)
    found = PodReader(budgets).facts(read, shapes.shape(read.draft))
    streamed = StreamReader().record(msgspec.json.decode(msgspec.json.encode(one), type=StreamedPod)).wire(Drafts())
    assert PodReader(budgets).facts(streamed, shapes.shape(streamed.draft)) == found
    return found


def test_a_pod_that_says_nothing_shares_the_value_that_says_nothing() -> None:
    assert facts(running()) is NO_FACTS


@pytest.mark.parametrize(
    ("said", "until"),
    [("true", inf), ("2h", AT + 7200), ("90s", AT + 90), ("false", None), ("0s", None), ("soon", None), ("", None)],
)
def test_do_not_disrupt_holds_for_ever_or_from_the_start_of_the_pod(said: str, until: float | None) -> None:
    assert facts(running(notes={HOLD: said})).held_until == until


def test_a_pod_that_has_not_started_is_held_until_it_has() -> None:
    assert facts(running(notes={HOLD: "2h"}, status={"startTime": None})).held_until == inf


def test_costs_are_kept_as_they_are_written() -> None:
    found = facts(running(notes={COST: "1.5", DELETION: "-7"}))
    assert (found.disruption_cost, found.deletion_cost) == ("1.5", "-7")


def test_budgets_that_cover_a_pod_are_named_with_what_they_let_go() -> None:
    found = facts(
        running(), budget("a", 2, maxUnavailable=2), budget("b", 0, minAvailable="100%"), budget("c", app="db")
    )
    assert found.budgets == (PodBudget("a", 2), PodBudget("b", 0, never=True))


def test_a_budget_may_free_pods_that_are_not_ready() -> None:
    unready = {"conditions": [{"type": "Ready", "status": "False"}]}
    found = facts(running(status=unready), budget(left=0, unhealthyPodEvictionPolicy="AlwaysAllow"))
    assert (found.ready, found.budgets[0].frees_unready) == (False, True)


def test_an_owner_is_named_by_kind_and_name() -> None:
    ref = {"kind": "ReplicaSet", "name": "web-5d", "apiVersion": "apps/v1", "controller": True, "uid": "1"}
    assert facts(running(about={"ownerReferences": [ref]})).owner == "ReplicaSet/web-5d"


def test_a_pod_that_tolerates_the_drain_is_not_evicted() -> None:
    assert facts(running(tolerations=[{"operator": "Exists"}])).tolerates
    assert not facts(running(tolerations=[{"key": "other", "operator": "Exists"}])).tolerates


def test_readiness_is_measured_from_the_place_to_the_first_answer() -> None:
    def ready(at: str) -> float | None:
        listed = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": STARTED},
            {"type": "Ready", "status": "True", "lastTransitionTime": at},
        ]
        return facts(running(status={"conditions": listed})).ready_seconds

    assert ready("2026-01-01T00:00:42Z") == 45.0
    assert ready("2026-01-03T00:00:00Z") is None, "it was ready before, and became so again"
    assert ready_seconds(Times(AT, AT, 0.0)) is None
    assert ready_seconds(Times(AT, AT, AT - 60)) is None, "clocks differ"


def test_equal_pods_share_one_value() -> None:
    drafts, reader, shapes = Drafts(), PodReader([budget(left=1)]), Shapes(Surroundings())
    wires = [wire_of(running(f"web-{at}"), drafts) for at in range(5)] + [wire_of(running("x", cpu="2"), drafts)]
    assert len({id(reader.facts(one, shapes.shape(one.draft))) for one in wires}) == 1


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({"maxUnavailable": 1}, 0),
        ({"maxUnavailable": 2}, 1),
        ({"maxUnavailable": "50%"}, 1),
        ({"minAvailable": 2}, 1),
        ({"minAvailable": 9}, 0),
        ({"minAvailable": "50%"}, 1),
        ({}, 0),
    ],
)
def test_a_budget_without_a_status_is_counted_from_the_pods_there_are(spec: Json, left: int) -> None:
    unready = {"conditions": [{"type": "Ready", "status": "False"}]}
    wires = [wire_of(running(f"web-{at}")) for at in range(3)] + [wire_of(running("web-3", status=unready))]
    reader = PodReader([budget(**spec)], wires)
    found = reader.facts(wires[0], Shapes(Surroundings()).shape(wires[0].draft))
    assert found.budgets[0].left == left


def test_a_budget_nobody_can_count_lets_none_go() -> None:
    assert facts(running(), budget(maxUnavailable=1)).budgets[0].left == 0
    assert allowed(budget(maxUnavailable="10%"), 5, 5) == 1, "percentages are rounded up, as the API server does"
