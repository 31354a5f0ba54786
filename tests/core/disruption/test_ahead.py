"""What saves money is decided on ahead of its turn, and waits until budgets have room for it."""

from dataclasses import replace

import pytest
from tests.core.disruption.clusters import NOW, UP, Member, decided, member, pods, policy, world

from dovetail.core.disruption.budgets import AHEAD, Budget
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.passes import decide
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.validation import Turn, turns
from dovetail.core.nodeclaims import DRIFTED
from dovetail.core.nodes import GOES_SOON, Node
from dovetail.core.pods import PodState
from dovetail.core.taints import Effect, Taint

NODES = tuple(member(f"node-{number:02}") for number in range(15))
ONE = policy(budgets=(Budget("1"),))


def test_within_budgets_only_one_is_decided_on() -> None:
    assert len(decided(*NODES, pools=(ONE,)).commands) == 1


def test_ahead_several_times_what_budgets_allow_is_decided_on() -> None:
    made = replace(world(*NODES, pools=(ONE,)), ahead=True)
    assert len(decide(made).commands) == AHEAD


def test_what_waits_already_counts_to_what_is_chosen_ahead_and_not_to_what_is_away() -> None:
    made = replace(world(*NODES, pools=(ONE,)), ahead=True)
    waiting = decide(made).commands[:4]
    more = decide(replace(made, waiting=waiting)).commands
    assert len(more) == AHEAD - 4
    assert not {name for one in more for name in one.names} & {name for one in waiting for name in one.names}


def leaving(count: int, *, marked: bool = False) -> Member:
    """A node that so many of its seven pods leave by themselves."""
    one = member("shrinks", pods=pods("web", 7), marked=marked)
    one.pods = (*(replace(pod, state=PodState.GOING) for pod in one.pods[:count]), *one.pods[count:])
    return one


def test_while_many_pods_leave_by_themselves_no_more_is_chosen_than_may_go() -> None:
    """Which nodes will be worth keeping is known when they are gone. What is empty stays so."""
    full = tuple(member(f"full-{number:02}", pods=pods(f"db-{number}", 1)) for number in range(15))
    two = policy(budgets=(Budget("2"),))

    def chosen(*nodes: Member, waiting: tuple[Command, ...] = ()) -> tuple[Command, ...]:
        return decide(replace(world(*nodes, pools=(two,)), ahead=True, waiting=waiting)).commands

    some = chosen(*full, leaving(2))
    assert sum(len(one.names) for one in some) == 2
    assert chosen(*full, leaving(2), waiting=some) == (), "they count until they are gone"
    assert sum(len(one.names) for one in chosen(*full, leaving(0))) > 2
    assert sum(len(one.names) for one in chosen(*full, leaving(2, marked=True))) > 2, "who is evicted does not count"
    assert len(chosen(*NODES, leaving(2))) == len(NODES)


def test_where_budgets_allow_nothing_nothing_is_chosen_ahead() -> None:
    shut = policy(budgets=(Budget("0"),))
    found = decide(replace(world(*NODES, pools=(shut,)), ahead=True))
    assert found.commands == ()
    assert "allows 0" in found.refusals["node-00"].text


def test_drift_is_not_decided_on_ahead() -> None:
    old = tuple(member(one.node.name, true=(*UP, DRIFTED)) for one in NODES)
    made = replace(world(*old, pools=(ONE,)), ahead=True)
    assert len(decide(made).of(Reason.DRIFTED)) <= 1


@pytest.mark.parametrize("running", [0, 1, 2])
def test_as_many_have_their_turn_as_budgets_have_room_for(running: int) -> None:
    two = policy(budgets=(Budget("2"),))
    made = replace(world(*NODES, pools=(two,)), ahead=True)
    chosen = decide(made).commands
    left = chosen[running:]
    found = [turn for _, turn, _ in turns(left, replace(made, running=chosen[:running]))]
    assert found.count(Turn.NOW) == 2 - running
    assert found[: 2 - running] == [Turn.NOW] * (2 - running)
    assert set(found[2 - running :]) == {Turn.LATER}


def test_a_budget_that_has_shut_meanwhile_ends_the_waiting_and_is_named() -> None:
    chosen = decide(world(*NODES, pools=(ONE,))).commands
    shut = policy(budgets=(Budget("0"),))
    ((_, turn, why),) = turns(chosen, world(*NODES, pools=(shut,), now=NOW + 15))
    assert turn is Turn.NEVER
    assert "budgets[0] (nodes 0) allows 0" in why


def test_plans_look_through_the_mark_of_what_goes_soon() -> None:
    other = Taint("team", Effect.NO_SCHEDULE, "blue")
    assert Node("a", taints=(other, GOES_SOON)).effective_taints == (other,)
    assert Node("a", taints=(other, GOES_SOON), pool="p", ready=False).effective_taints == (other,)
    assert Node("a", taints=(other,)).effective_taints == (other,)
