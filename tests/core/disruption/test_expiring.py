"""Expiry inside budgets: oldest first, replaced beforehand, and late ones go anyway."""

from typing import Any

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
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import Gates
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.requirements import is_in


def old(name: str, age: float, life: float = 100 * HOUR) -> Member:
    return member(name, pods=pods(f"on-{name}", 7), created=NOW - age, expire_after=life)


def staggered(*members: Member, gate: bool = True, budget: str = "1") -> Decided:
    pool = policy(consolidate_after=None, budgets=(Budget(budget),))
    return decided(*members, pools=[pool], gates=Gates(staggered_expiry=gate))


def test_without_the_option_nothing_is_decided_here() -> None:
    assert staggered(old("a", 101 * HOUR), gate=False).commands == ()


def test_the_oldest_is_replaced_and_the_others_wait_their_turn() -> None:
    found = staggered(old("a", 101 * HOUR), old("b", 102 * HOUR), old("c", 99 * HOUR))
    assert said(found) == ["replace b -> m4"]
    assert found.commands[0].reason is Reason.EXPIRED
    assert found.method_refusals["a"].code is Code.BUDGET
    assert "c" not in found.method_refusals


def test_one_that_is_long_overdue_goes_whatever_budgets_say() -> None:
    found = staggered(old("a", 111 * HOUR), old("b", 101 * HOUR), budget="0")
    assert [one.names for one in found.commands] == [("a",)]
    assert found.commands[0].why == "overdue"


def test_a_node_in_a_full_reservation_is_not_given_up_before_there_is_another() -> None:
    full = (reserved(TYPES[1], 0),)
    told: dict[str, Any] = {"capacity_type": labels.RESERVED, "labels": {RESERVATION: "cr-1"}, "types": full}
    one = member("a", pods=pods("web", 7), created=NOW - 101 * HOUR, expire_after=100 * HOUR, **told)
    pool = policy("pool", is_in(labels.CAPACITY_TYPE, labels.RESERVED), consolidate_after=None)
    found = decided(one, pools=[pool], types=full, gates=Gates(staggered_expiry=True, terminate_first_drift=True))
    assert (said(found), found.method_refusals["a"].code) == ([], Code.UNSCHEDULABLE)
