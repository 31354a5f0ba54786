"""Static pools: a drifted node goes for one from the template, within replicas and limits."""

from dataclasses import replace
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
    world,
)

from dovetail.core import labels
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import Gates, PodFacts
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.stages import StaticCount, static_counts
from dovetail.core.requirements import is_in
from dovetail.core.resources import Resources


def drifted(name: str, since: float = NOW - HOUR, **more: object) -> Member:
    condition = Condition("Drifted", Status.TRUE, "NodePoolDrifted", "NodePoolDrifted", since)
    return member(name, conditions=(condition,), pods=pods(f"on-{name}"), **more)


def static(*members: Member, replicas: int = 2, limit: int | None = None, **more: object) -> Decided:
    limits = None if limit is None else Resources({"nodes": limit})
    of = more.pop("of", {})
    pool = policy("pool", pool={"replicas": replicas, "limits": limits}, **of)  # type: ignore[arg-type]
    return decided(*members, pools=[pool], **more)  # type: ignore[arg-type]


def test_every_drifted_node_is_replaced_from_the_template() -> None:
    found = static(drifted("a"), drifted("b"))
    assert said(found) == ["replace a -> 1 from the template", "replace b -> 1 from the template"]
    assert all(one.replacements == () for one in found.commands)


def test_a_pool_with_more_nodes_than_replicas_is_trimmed_first() -> None:
    found = static(drifted("a"), drifted("b"), replicas=1)
    assert said(found) == []
    assert {one.code for one in found.method_refusals.values()} == {Code.TRIM_FIRST}


def test_the_longest_drifted_goes_first_within_the_budget() -> None:
    found = static(drifted("a"), drifted("b", since=NOW - 5 * HOUR), of={"budgets": (Budget("1"),)})
    assert said(found) == ["replace b -> 1 from the template"]


def test_the_limit_on_nodes_bounds_how_many_are_staged() -> None:
    found = static(drifted("a"), drifted("b"), limit=3)
    assert said(found) == ["replace a -> 1 from the template"]
    assert found.method_refusals["b"].code is Code.STATIC_LIMIT


def test_at_the_limit_nodes_go_first_only_with_the_gate() -> None:
    assert said(static(drifted("a"), drifted("b"), limit=2)) == []
    found = static(drifted("a"), drifted("b"), limit=2, gates=Gates(terminate_first_drift=True))
    assert said(found) == ["terminate-first a", "terminate-first b"]
    assert {one.why for one in found.commands} == {"static-at-limit"}


def test_a_pool_that_does_not_refill_itself_never_terminates_first() -> None:
    gates = Gates(terminate_first_drift=True)
    assert said(static(drifted("a"), drifted("b"), limit=2, gates=gates, of={"deleting": True})) == []


def test_where_all_reservations_are_full_only_who_holds_a_slot_may_go() -> None:
    types = (reserved(TYPES[1], 0),)
    holder = drifted("a", capacity_type=labels.RESERVED, labels={RESERVATION: "cr-1"}, types=types)
    other = drifted("b", types=types)
    pool = policy("pool", is_in(labels.CAPACITY_TYPE, labels.RESERVED), pool={"replicas": 2})
    found = decided(holder, other, pools=[pool], types=types, gates=Gates(terminate_first_drift=True))
    assert said(found) == ["terminate-first a"]
    assert found.method_refusals["b"].code is Code.RESERVATIONS_FULL


def test_who_is_held_or_over_budget_is_told_so() -> None:
    held = drifted("a", facts=PodFacts(held_until=inf))
    told = static(held, drifted("b")).method_refusals["a"]
    assert told.code is Code.POD_HELD
    (pod,) = told.pods
    assert pod in told.message
    assert told.message.endswith("a terminationGracePeriod would let the node go all the same")
    none = static(drifted("a"), drifted("b"), of={"budgets": (Budget("0"),)})
    assert {one.code for one in none.method_refusals.values()} == {Code.BUDGET}


def test_nodes_of_another_pool_and_nodes_that_go_are_not_too_many() -> None:
    going = drifted("b", marked=True)
    found = static(drifted("a"), going, member("other", pool="other"), replicas=1)
    assert said(found) == ["replace a -> 1 from the template"]


def test_a_node_whose_replacement_is_under_way_still_counts() -> None:
    both = (drifted("a"), drifted("b"))
    (first, _) = static(*both).commands
    later = world(*both, pools=[policy("pool", pool={"replicas": 2})], running=(first,))
    assert static_counts(later, "pool") == StaticCount(active=1, pending=1)
    gone = replace(both[1].machine.claim, meta=replace(both[1].machine.claim.meta, deleting=NOW))
    assert static_counts(world(both[0], both[1].but(claim=gone)), "pool") == StaticCount(active=1, deleting=1)
