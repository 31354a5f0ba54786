"""Drifted nodes are replaced: replacement first, as many as budgets allow, and who cannot be is told why."""

from math import inf

from tests.core.disruption.clusters import (
    HOUR,
    NOW,
    RESERVATION,
    TYPES,
    Member,
    decided,
    member,
    pods,
    policy,
    reserved,
    said,
)

from dovetail.core import labels
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import Gates, PodFacts
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.requirements import Requirements, is_in


def drifted(name: str, of: str = "m4", since: float = NOW - HOUR, **more: object) -> Member:
    condition = Condition("Drifted", Status.TRUE, "NodePoolDrifted", "NodePoolDrifted", since)
    return member(name, of, conditions=(condition,), **more)


#: Saving is switched off, so that only drift acts.
QUIET = {"consolidate_after": None}


def only_drift(*members: Member, **more: object) -> Decided:
    of = more.pop("of", {})
    return decided(*members, pools=[policy(**{**QUIET, **of})], **more)  # type: ignore[arg-type]


def test_a_drifted_node_is_replaced_whatever_that_costs() -> None:
    found = only_drift(drifted("a", "m2", pods=pods("web", 3, cpu=600)))
    assert said(found) == ["replace a -> m2"]
    assert found.commands[0].reason is Reason.DRIFTED
    assert found.commands[0].saved == 0


def test_a_drifted_node_whose_pods_fit_elsewhere_goes_without_a_replacement() -> None:
    assert said(only_drift(drifted("a", pods=pods("web", 2)), member("b", pods=pods("db")))) == ["delete a"]


def test_nodes_without_pods_go_first_then_the_longest_drifted() -> None:
    one_at_a_time = {"budgets": (Budget("1"),)}
    old = drifted("a", pods=pods("web", 7), since=NOW - 9 * HOUR)
    empty = drifted("b")
    young = drifted("c", pods=pods("db", 7))
    assert said(only_drift(old, empty, young, of=one_at_a_time)) == ["delete b"]
    assert said(only_drift(old, young, of=one_at_a_time)) == ["replace a -> m4"]


def test_as_many_go_at_once_as_the_budget_allows() -> None:
    fleet = [drifted(f"n{number:02d}", pods=pods(f"web{number}", 7)) for number in range(40)]
    found = only_drift(*fleet, of={"budgets": (Budget("50%"),)})
    gone = [name for one in found.commands for name in one.names]
    assert len(gone) == len(set(gone)) == 20
    assert len(found.commands) > 1, "they do not all hang together"
    assert {one.code for one in found.method_refusals.values()} == {Code.BUDGET}


def test_each_node_knows_which_replacements_it_waits_for() -> None:
    found = only_drift(drifted("a", pods=pods("web", 7)), drifted("b", pods=pods("db", 7)))
    for one in found.commands:
        for name in one.names:
            needed = {pod.key for claim in one.needed(name) for pod in claim.pods}
            mine = {pod.key for candidate in one.candidates if candidate.name == name for pod in candidate.pods}
            assert mine <= needed


def test_a_node_whose_pods_find_no_place_stays_and_names_them() -> None:
    picky = pods("gpu", selector=Requirements([is_in("example.com/gpu", "yes")]))
    found = only_drift(drifted("a", pods=picky, labels={"example.com/gpu": "yes"}))
    assert said(found) == []
    refusal = found.method_refusals["a"]
    assert refusal.code is Code.UNSCHEDULABLE
    assert refusal.pods == ("default/gpu-0",)
    assert refusal.event == "DisruptionBlocked"


def test_a_held_node_stays_unless_its_claim_has_a_grace_period() -> None:
    held = PodFacts(held_until=inf)
    stays = only_drift(drifted("a", pods=pods("db", 7), facts=held))
    assert stays.method_refusals["a"].code is Code.POD_HELD
    assert "terminationGracePeriod" in stays.method_refusals["a"].text
    goes = only_drift(drifted("a", pods=pods("db", 7), facts=held, grace=600.0))
    assert said(goes) == ["replace a -> m4"], "its pods are planned for though nobody may evict them"


def test_a_held_pod_that_finds_no_place_goes_down_with_its_node() -> None:
    picky = pods("gpu", selector=Requirements([is_in("example.com/gpu", "yes")]))
    one = drifted("a", pods=picky, facts=PodFacts(held_until=inf), grace=60.0, labels={"example.com/gpu": "yes"})
    assert said(only_drift(one)) == ["delete a"]


def test_a_rollout_stops_when_fresh_machines_do_not_come_up() -> None:
    found = only_drift(drifted("a", pods=pods("web", 7)), of={"healthy": False})
    assert said(found) == []
    assert found.method_refusals["a"].code is Code.UNHEALTHY_POOL


def test_a_canary_goes_first_and_the_rest_when_it_is_up() -> None:
    old = {"karpenter.sh/nodepool-hash": "0"}
    fleet = [drifted(name, pods=pods(f"web{name}", 7), claim_annotations=old) for name in "abcd"]
    first = only_drift(*fleet, of={"canary": 1})
    assert sum(len(one.names) for one in first.commands) == 1
    assert [one.code for one in first.method_refusals.values()] == [Code.CANARY] * 3
    fresh = member("fresh", pods=pods("other", 7))
    rest = only_drift(*fleet, fresh, of={"canary": 1})
    assert sum(len(one.names) for one in rest.commands) == 4


def test_drift_is_not_stopped_by_consolidate_after_of_its_destination() -> None:
    busy = member("b", pods=pods("db"), last_pod_event=NOW - 1)
    found = only_drift(drifted("a", pods=pods("web", 2)), busy, of={"consolidate_after": 3600.0})
    assert "delete a" in said(found)


# ---- terminate first

ONLY_RESERVED = is_in(labels.CAPACITY_TYPE, labels.RESERVED)
FULL = (reserved(TYPES[1], 0),)


def in_reservation(**gates: bool) -> Decided:
    one = drifted("a", pods=pods("web", 7), capacity_type=labels.RESERVED, labels={RESERVATION: "cr-1"}, types=FULL)
    pool = policy("pool", ONLY_RESERVED, consolidate_after=None)
    return decided(one, pools=[pool], types=FULL, gates=Gates(**gates))


def test_a_node_in_a_full_reservation_stays_while_the_gate_is_off() -> None:
    assert said(in_reservation()) == []
    assert in_reservation().method_refusals["a"].code is Code.UNSCHEDULABLE


def test_a_node_in_a_full_reservation_goes_first_when_the_gate_is_on() -> None:
    found = in_reservation(terminate_first_drift=True)
    assert [one.decision for one in found.commands] == [Decision.TERMINATE_FIRST]
    assert found.commands[0].replacements == ()
    assert found.commands[0].why == "no-reserved-capacity"


def test_a_node_stays_though_its_gate_is_on_where_no_slot_would_help_it() -> None:
    picky = pods("gpu", selector=Requirements([is_in("example.com/gpu", "yes")]))
    gpu = {"example.com/gpu": "yes"}
    outside = drifted("a", pods=picky, labels=gpu)
    found = only_drift(outside, gates=Gates(terminate_first_drift=True))
    assert (said(found), found.method_refusals["a"].code) == ([], Code.UNSCHEDULABLE)
    inside = drifted("a", pods=picky, capacity_type=labels.RESERVED, labels={RESERVATION: "cr-1", **gpu}, types=FULL)
    pool = policy("pool", ONLY_RESERVED, consolidate_after=None)
    found = decided(inside, pools=[pool], types=FULL, gates=Gates(terminate_first_drift=True))
    assert (said(found), found.method_refusals["a"].code) == ([], Code.UNSCHEDULABLE)


def test_a_node_that_could_go_alone_waits_for_those_that_take_the_last_room() -> None:
    pool = policy("pool", ONLY_RESERVED, consolidate_after=None)
    both = (drifted("a", pods=pods("web", 7)), drifted("b", pods=pods("db", 7)))
    found = decided(*both, pools=[pool], types=(reserved(TYPES[1], 1),))
    assert said(found) == ["replace a -> m4"]
    assert found.method_refusals["b"].code is Code.NOT_CHOSEN


def test_two_nodes_that_would_share_a_dearer_machine_go_one_by_one() -> None:
    """Each finds room alone; together they would leave half of their pods to one of the large machines for sale."""
    first, second, third, fourth = pods("web", 4, cpu=900)
    a, b = drifted("a", "m2", pods=[first, third]), drifted("b", "m2", pods=[second, fourth])
    pool = policy("pool", is_in(labels.INSTANCE_TYPE, "m16"), consolidate_after=None)
    found = decided(a, b, member("c", "m2"), pools=[pool])
    assert said(found) == ["delete a", "replace b -> m16"]
