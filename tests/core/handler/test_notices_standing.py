"""What stands after many answers, and what follows from it (R42)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dovetail.core.handler.notices import Kind, Notice
from dovetail.core.handler.policy import RESPONSES, Policy, Response
from dovetail.core.handler.standing import Standing, Task, Told, chosen

NOW = 1_800_000_000.0
SPOT = Notice("spot", Kind.PREEMPT, "a", NOW + 120)
GUESS = replace(SPOT, guessed=True)
REBALANCE = Notice("rebalance", Kind.REBALANCE, "b", None, ends=False)


def two(doubts: int = 3) -> Standing:
    return Standing((Told("a", doubts), Told("b", 1)))


def test_a_notice_repeated_is_one_notice():
    standing = two().heard("a", (SPOT,)).heard("a", (SPOT,))
    assert standing.notices == (SPOT,)


def test_a_server_that_stumbles_takes_nothing_back():
    standing = two().heard("a", (SPOT,)).heard("a", ()).heard("a", ())
    assert standing.notices == (SPOT,)
    assert standing.heard("a", ()).notices == ()


def test_answers_without_it_count_only_in_a_row():
    standing = two()
    for said in ((SPOT,), (), (), (SPOT,), (), ()):
        standing = standing.heard("a", said)
    assert standing.notices == (SPOT,)


def test_a_notice_that_changes_its_time_twice_has_the_last_one():
    sooner, later = replace(SPOT, deadline=NOW + 60), replace(SPOT, deadline=NOW + 90)
    standing = two().heard("a", (SPOT,)).heard("a", (sooner,)).heard("a", (later,))
    assert standing.notices == (later,)


def test_the_first_guess_holds():
    standing = two().heard("a", (GUESS,)).heard("a", (replace(GUESS, deadline=NOW + 500),))
    assert [one.deadline for one in standing.notices] == [NOW + 120]


def test_an_earlier_process_guessed_better():
    standing = two().heard("a", (GUESS,)).reminded("spot", NOW + 20)
    assert [one.deadline for one in standing.notices] == [NOW + 20]
    said = two().heard("a", (SPOT,)).reminded("spot", NOW + 20)
    assert [one.deadline for one in said.notices] == [NOW + 120]


def test_nothing_is_believed_before_every_source_has_answered_often_enough():
    standing = two(doubts=2)
    assert not standing.heard("a", ()).heard("b", ()).settled
    assert standing.heard("a", ()).heard("a", ()).heard("b", ()).settled


def test_what_drains_comes_before_what_only_marks():
    standing = two().heard("b", (REBALANCE,)).heard("a", (SPOT,))
    assert chosen(standing, Policy(), NOW) == Task(SPOT, Response.DRAIN)
    assert chosen(two().heard("b", (REBALANCE,)), Policy(), NOW) == Task(REBALANCE, Response.MARK)


def test_what_is_sooner_comes_first():
    sooner = replace(SPOT, id="other", source="b", deadline=NOW + 30)
    task = chosen(two().heard("a", (SPOT,)).heard("b", (sooner,)), Policy(), NOW)
    assert task is not None
    assert task.notice == sooner


def test_what_nobody_wants_to_hear_of_is_not_acted_upon():
    policy = Policy(responses={**RESPONSES, Kind.PREEMPT: Response.IGNORE})
    assert chosen(two().heard("a", (SPOT,)), policy, NOW) is None
    freeze = replace(SPOT, kind=Kind.FREEZE, ends=False)
    assert chosen(two().heard("a", (freeze,)), Policy(), NOW) is None


def test_maintenance_weeks_away_waits_for_its_time():
    one = replace(SPOT, kind=Kind.MAINTENANCE, deadline=NOW + 86400)
    assert chosen(two().heard("a", (one,)), Policy(), NOW) is None
    assert chosen(two().heard("a", (one,)), Policy(), NOW + 86400 - 900) is not None


@pytest.mark.parametrize(
    ("notice", "response", "replaces"),
    [
        (SPOT, Response.DRAIN, True),
        (SPOT, Response.MARK, False),
        (replace(SPOT, kind=Kind.MAINTENANCE, ends=False), Response.DRAIN, False),
        (REBALANCE, Response.MARK, False),
        (REBALANCE, Response.DRAIN, True),
    ],
)
def test_a_machine_is_replaced_where_it_does_not_come_back(notice, response, replaces):
    assert Task(notice, response).replaces is replaces
