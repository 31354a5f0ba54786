"""A command is judged again before it starts: it goes on, falls apart, or is dropped with the reason."""

from dataclasses import replace
from math import inf

import pytest
from tests.core.disruption.clusters import HOUR, NOW, Member, decided, member, pods, policy, world

from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import Gates, PodFacts
from dovetail.core.disruption.passes import decide
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.repair_policies import RepairPolicy, checked
from dovetail.core.disruption.validation import due, judge_again, judge_all, settling
from dovetail.core.nodeclaims import LAUNCHED, REGISTERED


def first(*members: Member, **more: object) -> Command:
    return decided(*members, **more).commands[0]  # type: ignore[arg-type]


def test_what_saves_money_waits_and_what_is_outdated_does_not() -> None:
    command = first(member("a"))
    assert settling(command) == 15.0
    assert due(command) == NOW + 15.0
    assert settling(replace(command, reason=Reason.DRIFTED)) == 0.0


def test_a_command_that_still_holds_goes_on() -> None:
    nodes = (member("a", pods=pods("web", 2)), member("b", pods=pods("db", 5)))
    again = judge_again(first(*nodes), world(*nodes, now=NOW + 15))
    assert [one.names for one in again.commands] == [("a",)]
    assert again.refusals == ()


def test_a_node_that_is_no_longer_empty_stays() -> None:
    again = judge_again(first(member("a")), world(member("a", pods=pods("web")), now=NOW + 15))
    assert again.commands == ()
    assert again.refusals[0][1].code is Code.CHURN


def test_a_node_that_is_gone_or_wanted_drops_the_command_with_its_name() -> None:
    command = first(member("a"))
    assert judge_again(command, world(now=NOW + 15)).refusals[0][1].text == "a: node is gone"
    wanted = world(member("a", nominated=True), now=NOW + 15)
    assert judge_again(command, wanted).refusals[0][1].text == "a: node is nominated for a pending pod"


def test_room_that_was_taken_meanwhile_drops_it() -> None:
    nodes = (member("a", "m2", pods=pods("web", 4, gib=2)), member("b", pods=pods("db", 4)))
    command = first(*nodes)
    assert command.names == ("a",)
    fuller = (nodes[0], member("b", pods=pods("db", 8)))
    again = judge_again(command, world(*fuller, now=NOW + 15))
    assert again.commands == ()
    assert again.refusals[0][0] == ("a",)


def test_a_delete_that_would_now_need_a_machine_is_dropped() -> None:
    nodes = (member("a", "m8", pods=pods("web", 3)), member("b", "m2", pods=pods("db", 1)))
    command = first(*nodes)
    assert command.replacements == ()
    fuller = (nodes[0], member("b", "m2", pods=pods("db", 4, gib=2)))
    assert judge_again(command, world(*fuller, now=NOW + 15)).commands == ()


def test_a_pod_that_may_not_be_evicted_any_more_drops_it() -> None:
    nodes = (member("a", pods=pods("web", 2)), member("b", pods=pods("db", 5)))
    held = (member("a", pods=pods("web", 2), facts=PodFacts(held_until=inf)), nodes[1])
    assert judge_again(first(*nodes), world(*held, now=NOW + 15)).refusals[0][1].code is Code.POD_HELD


def test_budgets_that_shrank_drop_it() -> None:
    again = judge_again(first(member("a")), world(member("a"), pools=[policy(budgets=(Budget("0"),))], now=NOW + 15))
    assert again.refusals[0][1].code is Code.BUDGET


def test_drift_that_was_taken_back_drops_it() -> None:
    drifted = Condition("Drifted", Status.TRUE, "AMIDrift", "AMIDrift", NOW - HOUR)
    node = member("a", pods=pods("web", 7), conditions=(drifted,))
    command = first(node)
    assert command.reason is Reason.DRIFTED
    assert judge_again(command, world(node)).commands != ()
    assert judge_again(command, world(member("a", pods=pods("web", 7)))).refusals[0][1].code is Code.CHURN


def test_a_node_that_goes_before_its_replacement_is_not_asked_where_its_pods_go() -> None:
    drifted = Condition("Drifted", Status.TRUE, "AMIDrift", "AMIDrift", NOW - HOUR)
    node = member("a", pods=pods("web", 7), conditions=(drifted,))
    going = replace(first(node), decision=Decision.TERMINATE_FIRST, replacements=())
    assert judge_again(going, world(node)).commands == (going,)
    assert judge_again(going, world(member("a", pods=pods("web", 7)))).commands == ()


def test_nodes_of_a_running_command_are_left_alone_and_their_pods_keep_their_room() -> None:
    nodes = (
        member("a", "m2", pods=pods("web", 3)),
        member("b", pods=pods("db", 4)),
        member("c", "m2", pods=pods("x", 3)),
    )
    command = first(*nodes)
    busy = world(*nodes, running=(command,), now=NOW + 1)
    found = decide(busy)
    assert {found.refusals[name].code for name in command.names} == {Code.RUNNING}
    assert all(set(one.names).isdisjoint(command.names) for one in found.commands)
    receiving = {placed.node.name for placed in command.group.placed}
    assert receiving.isdisjoint(name for one in found.commands for name in one.names)


def test_a_node_that_became_empty_meanwhile_goes_as_it_was_to_go() -> None:
    nodes = (member("a", pods=pods("web", 2)), member("b", pods=pods("db", 5)))
    command = first(*nodes)
    assert command.reason is Reason.UNDERUTILIZED
    again = judge_again(command, world(member("a"), nodes[1], now=NOW + 15))
    assert [one.names for one in again.commands] == [("a",)]


ILL = Condition("DiskBroken", Status.TRUE, "IOError", since=NOW - HOUR)
REPAIRS = {
    "gates": Gates(node_repair=True),
    "repairs": checked(
        [
            RepairPolicy("Ready", Status.FALSE, 600.0, grace=0.0),
            RepairPolicy("DiskBroken", Status.TRUE, 60.0, reason="IO", grace=300.0),
        ]
    ),
}


def test_a_node_that_is_well_again_is_not_repaired() -> None:
    ill = member("a", pods=pods("web", 7), node_conditions=(ILL,))
    command = first(ill, **REPAIRS)
    assert command.reason is Reason.UNHEALTHY
    assert judge_again(command, world(ill, **REPAIRS)).commands != ()
    well = judge_again(command, world(member("a", pods=pods("web", 7)), **REPAIRS))
    assert [(names, one.text) for names, one in well.refusals] == [(("a",), "a is well again")]


def test_a_broken_node_that_never_came_up_takes_nothing_from_a_budget_the_second_time_either() -> None:
    none_left = {"pools": [policy(budgets=(Budget("0"),))], **REPAIRS}
    never_up = member("a", pods=pods("web", 1), node_conditions=(ILL,), true=(LAUNCHED, REGISTERED))
    command = first(never_up, **none_left)
    assert [one.names for one in judge_again(command, world(never_up, **none_left)).commands] == [("a",)]
    up = member("a", pods=pods("web", 1), node_conditions=(ILL,))
    assert judge_again(command, world(up, **none_left)).refusals[0][1].code is Code.BUDGET


@pytest.mark.parametrize("reason", [Reason.EXPIRED, Reason.INTERRUPTED])
def test_what_has_to_go_goes_whatever_budgets_say(reason: Reason) -> None:
    nodes = (member("a", pods=pods("web", 2)), member("b", pods=pods("db", 5)))
    going = replace(first(*nodes), reason=reason)
    none_left = world(*nodes, pools=[policy(budgets=(Budget("0"),))], now=NOW + 15)
    assert [one.names for one in judge_again(going, none_left).commands] == [("a",)]


# ---- many at once


def test_commands_that_still_hold_together_go_on_in_their_order() -> None:
    nodes = (member("a"), member("b", pods=pods("web", 2)), member("c", pods=pods("db", 5)))
    commands = decided(*nodes).commands
    assert [one.names for one in commands] == [("a",), ("b",)]
    again = judge_all(commands, world(*nodes, now=NOW + 15))
    assert [[command.names for command in one.commands] for one in again] == [[("a",)], [("b",)]]


def test_one_that_no_longer_holds_is_dropped_and_the_others_go_on() -> None:
    nodes = (member("a"), member("b", pods=pods("web", 2)), member("c", pods=pods("db", 5)))
    commands = decided(*nodes).commands
    later = (member("a", pods=pods("new", 1)), *nodes[1:])
    again = judge_all(commands, world(*later, now=NOW + 15))
    assert [len(one.commands) for one in again] == [0, 1]
    assert again[0].refusals[0][1].code is Code.CHURN


def test_two_that_count_on_the_same_room_do_not_both_get_it() -> None:
    nodes = (member("a", pods=pods("web", 2)), member("b", pods=pods("api", 2)), member("c", pods=pods("db", 5)))
    one, other = (first(nodes[at], nodes[2]) for at in (0, 1))
    assert (one.names, other.names) == (("a",), ("b",))
    together = judge_all((one, other), world(*nodes, now=NOW + 15))
    assert sorted(len(again.commands) for again in together) == [0, 1]


def test_a_budget_for_one_lets_only_the_first_of_two_go() -> None:
    nodes = (member("a"), member("b"))
    commands = decided(*nodes, pools=[policy(budgets=(Budget("2"),))]).commands
    assert len(commands) == 2
    again = judge_all(commands, world(*nodes, pools=[policy(budgets=(Budget("1"),))], now=NOW + 15))
    assert [len(one.commands) for one in again] == [1, 0]
    assert again[1].refusals[0][1].code is Code.BUDGET


def test_pods_of_nodes_that_wait_for_their_turn_do_not_keep_those_whose_turn_it_is() -> None:
    nodes = (member("a", pods=pods("web", 2)), member("b", pods=pods("api", 1)), member("c", pods=pods("db", 4)))
    one, other = (first(nodes[at], nodes[2]) for at in (0, 1))
    assert (one.names, other.names) == (("a",), ("b",))
    waits = replace(world(*nodes, now=NOW + 15), waiting=(other,))
    (again,) = judge_all((one,), waits)
    assert [command.names for command in again.commands] == [("a",)], again.refusals


def test_a_pod_that_has_no_other_place_keeps_the_node_whose_turn_it_is() -> None:
    nodes = (member("a", pods=pods("web", 2)), member("c", pods=pods("db", 5)))
    command = first(*nodes)
    assert command.names == ("a",)
    (again,) = judge_all((command,), world(*nodes, waiting=pods("new", 4), now=NOW + 15))
    assert again.commands == ()
    assert "pods are on their way" in again.refusals[0][1].text


def test_a_pod_that_keeps_one_node_keeps_no_other():
    nodes = (
        member("a", pods=pods("web", 1)),
        member("b", pods=pods("api", 1)),
        member("c", pods=pods("db", 4)),
    )
    one, other = (first(nodes[at], nodes[2]) for at in (0, 1))
    came = world(*nodes, waiting=[*pods("large", 1, cpu=3000), *pods("small", 1)], now=NOW + 15)
    again = judge_all((one, other), came)
    assert sorted(len(found.commands) for found in again) == [0, 1]
