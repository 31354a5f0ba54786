"""Repair: which policy speaks, how several are merged, and what is done about it."""

from math import inf

import pytest
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
from dovetail.core.disruption import repairing
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import Gates, PodFacts
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.repair_policies import (
    Action,
    Diagnosis,
    RepairPolicies,
    RepairPolicy,
    checked,
    diagnosis,
    next_due,
)
from dovetail.core.errors import BadInput
from dovetail.core.nodeclaims import LAUNCHED, REGISTERED
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.resources import Resources

FALLBACK = RepairPolicy("Ready", Status.FALSE, 600.0, grace=0.0)
UNKNOWN = RepairPolicy("Ready", Status.UNKNOWN, 600.0, reason=".*")
DISK = RepairPolicy("DiskBroken", Status.TRUE, 60.0, reason="^IO", grace=300.0, priority=50)
KERNEL = RepairPolicy("KernelBroken", Status.TRUE, 60.0, reason=".*", priority=20, action=Action.REBOOT)
POLICIES = checked([FALLBACK, UNKNOWN, DISK, KERNEL])
START = NOW - 24 * HOUR


def state(type_: str, reason: str = "", since: float = NOW - 900, status: Status = Status.TRUE) -> Condition:
    return Condition(type_, status, reason, since=since)


def diagnosed(*states: Condition, since: float = START, policies: RepairPolicies = POLICIES) -> Diagnosis | None:
    return diagnosis(policies, states, since, NOW)


# ---- the set


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [UNKNOWN],
        [FALLBACK, FALLBACK],
        [FALLBACK, RepairPolicy("", Status.TRUE, 1.0, reason="x")],
        [FALLBACK, RepairPolicy("A", Status.TRUE, -1.0, reason="x")],
        [FALLBACK, RepairPolicy("A", Status.TRUE, 1.0, reason="x", grace=-1.0)],
        [FALLBACK, RepairPolicy("A", Status.TRUE, 1.0, reason="x", priority=101)],
        [FALLBACK, RepairPolicy("A", Status.TRUE, 1.0, reason="(")],
        [RepairPolicy("Ready", Status.FALSE, 1.0, action=Action.REBOOT)],
    ],
)
def test_a_set_that_makes_no_sense_is_refused(bad: list[RepairPolicy]) -> None:
    with pytest.raises(BadInput):
        checked(bad)


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(BadInput, match=r"toleration is negative.*no regular expression.*exactly one"):
        checked([RepairPolicy("A", Status.TRUE, -1.0, reason="(")])


# ---- one node


def test_a_healthy_node_needs_nothing() -> None:
    assert diagnosed(Condition("Ready", Status.TRUE)) is None


def test_a_condition_has_to_last() -> None:
    assert diagnosed(state("DiskBroken", "IOError", since=NOW - 59)) is None
    assert diagnosed(state("DiskBroken", "IOError", since=NOW - 60)) is not None
    assert next_due(POLICIES, [state("DiskBroken", "IOError", since=NOW - 50)], START, NOW) == 10.0


def test_time_before_the_node_was_made_or_rebooted_does_not_count() -> None:
    assert diagnosed(state("DiskBroken", "IOError", since=NOW - 900), since=NOW - 30) is None


def test_where_no_expression_matches_the_fallback_speaks_with_its_own_settings() -> None:
    other = state("DiskBroken", "Missing", since=NOW - 500)
    assert diagnosed(other) is None, "the fallback bears it longer"
    found = diagnosed(state("DiskBroken", "Missing", since=NOW - 700))
    assert found is not None
    assert (found.action, found.grace) == (Action.REPLACE, 0.0)


def test_a_matching_policy_that_is_not_due_keeps_the_fallback_quiet() -> None:
    slow = checked([FALLBACK, RepairPolicy("DiskBroken", Status.TRUE, 7200.0, reason="IO")])
    assert diagnosed(state("DiskBroken", "IOError", since=NOW - 700), policies=slow) is None


def test_several_conditions_become_one_answer() -> None:
    found = diagnosed(state("DiskBroken", "IOError"), state("KernelBroken", "Panic"))
    assert found is not None
    assert found.action is Action.REPLACE, "the harshest"
    assert (found.condition, found.reason) == ("DiskBroken", "IOError")
    assert found.grace == 300.0


def test_priorities_count_by_their_order_and_waiting_for_half_an_hour_as_one() -> None:
    disk = diagnosed(state("DiskBroken", "IOError", since=NOW - 60))
    waited = diagnosed(state("KernelBroken", "Panic", since=NOW - 60 - 1800))
    assert disk is not None
    assert waited is not None
    assert disk.score == waited.score == 2.0


# ---- the method


def broken(name: str, type_: str = "DiskBroken", reason: str = "IOError", **more: object) -> Member:
    more.setdefault("pods", pods(f"on-{name}", 7))
    return member(name, node_conditions=(state(type_, reason),), **more)


WELL = [member(f"well-{number}", pods=pods(f"well-{number}", 8, gib=2)) for number in range(8)]
ON = Gates(node_repair=True)


def repaired(*members: Member, **more: object) -> Decided:
    of = more.pop("of", {})
    settings = {"pools": [policy(consolidate_after=None, **of)], "gates": ON, "repairs": POLICIES}  # type: ignore[arg-type]
    return decided(*members, *WELL, **{**settings, **more})  # type: ignore[arg-type]


def test_a_broken_node_is_replaced_with_its_drain_bounded() -> None:
    found = repaired(broken("a"))
    assert said(found) == ["replace a -> m4"]
    assert found.commands[0].reason is Reason.UNHEALTHY
    assert found.commands[0].grace == 300.0
    assert repaired(broken("a", grace=60.0)).commands[0].grace == 60.0, "no longer than the claim allows"


def test_nothing_is_repaired_while_the_gate_is_off() -> None:
    assert repaired(broken("a"), gates=Gates()).commands == ()


def test_a_reboot_is_a_command_of_its_own_and_the_third_becomes_a_replacement() -> None:
    found = repaired(broken("a", "KernelBroken", "Panic"))
    assert [one.decision for one in found.commands] == [Decision.REBOOT]
    assert found.commands[0].why == "KernelBroken/Panic"
    often = broken("a", "KernelBroken", "Panic", reboots=(NOW - HOUR, NOW - 2 * HOUR))
    assert [one.decision for one in repaired(often).commands] == [Decision.REPLACE]
    long_ago = broken("a", "KernelBroken", "Panic", reboots=(NOW - HOUR, NOW - 25 * HOUR))
    assert [one.decision for one in repaired(long_ago).commands] == [Decision.REBOOT]


def test_the_budget_paces_repairs_and_the_most_urgent_goes_first() -> None:
    urgent = broken("b", "DiskBroken")
    found = repaired(broken("a", "KernelBroken", "Panic"), urgent, of={"budgets": (Budget("1"),)})
    assert [one.names for one in found.commands] == [("b",)]
    assert found.method_refusals["a"].code is Code.BUDGET


def test_a_node_that_is_not_ready_does_not_hold_up_its_own_repair() -> None:
    assert said(repaired(broken("a", ready=False), of={"budgets": (Budget("1"),)})) == ["replace a -> m4"]


def test_a_node_that_never_came_up_is_replaced_outside_of_budgets() -> None:
    found = repaired(broken("a", true=(LAUNCHED, REGISTERED)), of={"budgets": (Budget("0"),)})
    assert [one.names for one in found.commands] == [("a",)]


def test_owners_may_refuse_repair() -> None:
    found = repaired(broken("a", annotations={"karpenter.sh/do-not-repair": "true"}))
    assert found.method_refusals["a"].code is Code.DO_NOT_REPAIR
    healthy = repaired(member("a", annotations={"karpenter.sh/do-not-repair": "true"}, pods=pods("web")))
    assert "a" not in healthy.method_refusals, "said only where there is something to repair"


def test_held_pods_need_some_grace_period() -> None:
    held = PodFacts(held_until=inf)
    found = repaired(broken("a", "KernelBroken", "Panic", facts=held))
    assert found.method_refusals["a"].code is Code.NO_GRACE
    assert said(repaired(broken("a", facts=held))) == ["replace a -> m4"]


def test_the_breaker_stops_everything_where_too_much_is_broken() -> None:
    found = repaired(*(broken(name) for name in "abcd"))
    assert found.commands == ()
    refusal = found.method_refusals["a"]
    assert refusal.code is Code.BREAKER
    assert refusal.event == "NodeRepairBlocked"
    assert refusal.text.startswith("4 nodes of 12 in NodePool pool are unhealthy, more than 3")


def test_the_breaker_lets_a_fifth_go_and_two_of_a_small_pool() -> None:
    assert len(repaired(broken("a"), broken("b")).commands) >= 1
    small = decided(
        broken("a"),
        broken("b"),
        pools=[policy(consolidate_after=None)],
        gates=ON,
        repairs=POLICIES,
    )
    assert sorted(name for one in small.commands for name in one.names) == ["a", "b"]


def test_a_static_pool_stages_its_replacement_or_says_it_cannot() -> None:
    static = {"replicas": 9, "limits": None}
    found = repaired(broken("a"), of={"pool": static})
    assert said(found) == ["replace a -> 1 from the template"]
    full = {"replicas": 9, "limits": Resources({"nodes": 9})}
    assert repaired(broken("a"), of={"pool": full}).method_refusals["a"].code is Code.STATIC_LIMIT
    first = repaired(broken("a"), of={"pool": full}, gates=Gates(node_repair=True, terminate_first_repair=True))
    assert [one.decision for one in first.commands] == [Decision.TERMINATE_FIRST]
    more = {"replicas": 8, "limits": None}
    assert repaired(broken("a"), of={"pool": more}).method_refusals["a"].code is Code.TRIM_FIRST


def test_a_broken_node_whose_pods_find_no_place_stays_and_names_them() -> None:
    picky = pods("gpu", selector=Requirements([is_in("example.com/gpu", "yes")]))
    refusal = repaired(broken("a", pods=picky, labels={"example.com/gpu": "yes"})).method_refusals["a"]
    assert (refusal.code, refusal.pods) == (Code.UNSCHEDULABLE, ("default/gpu-0",))


def test_a_node_that_could_be_mended_alone_follows_those_that_take_the_last_room() -> None:
    one_slot = (reserved(TYPES[1], 1),)
    pool = policy("pool", is_in(labels.CAPACITY_TYPE, labels.RESERVED), consolidate_after=None)
    found = repaired(broken("a"), broken("b"), types=one_slot, pools=[pool])
    assert said(found) == ["replace a -> m4"]
    assert found.method_refusals["b"].code is Code.NOT_CHOSEN
    assert "it follows them" in found.method_refusals["b"].text


def in_reservation(terminate_first: bool) -> Decided:
    full = (reserved(TYPES[1], 0),)
    one = broken("a", capacity_type=labels.RESERVED, labels={RESERVATION: "cr-1"}, types=full)
    pool = policy("pool", is_in(labels.CAPACITY_TYPE, labels.RESERVED), consolidate_after=None)
    gates = Gates(node_repair=True, terminate_first_repair=terminate_first)
    return decided(one, pools=[pool], types=full, gates=gates, repairs=POLICIES)


def test_a_broken_node_in_a_full_reservation_goes_first_when_the_gate_is_on() -> None:
    assert in_reservation(terminate_first=False).method_refusals["a"].code is Code.UNSCHEDULABLE
    (command,) = in_reservation(terminate_first=True).commands
    assert (command.decision, command.replacements) == (Decision.TERMINATE_FIRST, ())
    assert (command.grace, command.why) == (300.0, "no-reserved-capacity")


def test_a_machine_that_is_no_node_is_not_ill_and_not_counted() -> None:
    launching = member("new").but(node=None)
    assert repairing.diagnosed(launching.machine, world(launching, repairs=POLICIES)) is None
    nodes = [broken(name) for name in "abc"]
    few = world(*nodes, launching, pools=[policy()], repairs=POLICIES)
    assert "3 nodes of 3" in repairing.tripped(few)["pool"].text
