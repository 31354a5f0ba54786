"""Who leaves when, and with how much grace (R42, R44)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.handler import drain
from dovetail.core.handler.drain import PodFacts, Window
from dovetail.core.handler.notices import Kind, Notice
from dovetail.core.handler.policy import Policy, Response
from dovetail.core.handler.standing import Task

NOW = 1_800_000_000.0
LONG = Window(NOW, NOW + 110)
SHORT = Window(NOW, NOW + 25)
POD = PodFacts("web", uid="1")
RAISED = PodFacts("db", uid="2", priority=1000)
CRITICAL = PodFacts("dns", "kube-system", uid="3")


def asked(pods: list[PodFacts], window: Window, now: float, policy: Policy | None = None, **more: object) -> dict:
    found = drain.asks(pods, window, policy or Policy(), now, **more)
    return {one.pod.name: (one.grace, one.force) for one in found}


def task(deadline: float | None) -> Task:
    return Task(Notice("n", Kind.PREEMPT, "s", deadline), Response.DRAIN)


def test_the_window_ends_before_the_machine_does():
    assert drain.window(task(NOW + 30), NOW, Policy(reserve=5)) == SHORT
    assert drain.window(task(None), NOW, Policy(patience=600)) == Window(NOW, NOW + 600)


def test_never_more_than_half_of_a_notice_is_kept_back():
    assert drain.window(task(NOW + 8), NOW, Policy(reserve=10)) == Window(NOW, NOW + 4)
    assert drain.window(task(NOW - 5), NOW, Policy(reserve=10)).length == 0


def test_a_pod_whose_grace_fits_keeps_it():
    assert asked([POD], LONG, NOW) == {"web": (None, False)}


def test_a_pod_whose_grace_does_not_fit_gets_what_is_left():
    assert asked([replace(POD, grace=300)], SHORT, NOW) == {"web": (25, False)}
    assert asked([replace(POD, grace=300)], LONG, NOW + 40.5) == {"web": (69, False)}


def test_grace_is_never_nothing():
    assert asked([POD], SHORT, NOW + 60) == {"web": (1, True)}


def test_a_cap_on_grace_holds():
    assert asked([POD], LONG, NOW, Policy(pod_grace=10)) == {"web": (10, False)}
    assert asked([replace(POD, grace=5)], LONG, NOW, Policy(pod_grace=10)) == {"web": (None, False)}


def test_daemons_mirrors_and_what_has_finished_stay():
    others = [replace(POD, name=f"p{at}", **{what: True}) for at, what in enumerate(("daemon", "mirror", "finished"))]
    assert asked(others, LONG, NOW) == {}
    assert drain.leaving(others) == ()


def test_order_is_kept_where_there_is_time_for_it():
    assert set(asked([POD, RAISED, CRITICAL], LONG, NOW)) == {"web"}
    assert set(asked([RAISED, CRITICAL], LONG, NOW + 1)) == {"db"}
    assert set(asked([CRITICAL], LONG, NOW + 2)) == {"dns"}


def test_nobody_waits_longer_than_its_share():
    assert set(asked([POD, RAISED, CRITICAL], LONG, NOW + 33)) == {"web", "db"}
    assert set(asked([POD, RAISED, CRITICAL], LONG, NOW + 88)) == {"web", "db", "dns"}


def test_half_a_minute_is_too_short_for_order_but_critical_pods_stay_to_the_last_fifth():
    assert set(asked([POD, RAISED, CRITICAL], SHORT, NOW)) == {"web", "db"}
    assert asked([replace(POD, grace=300), CRITICAL], SHORT, NOW) == {"web": (20, False)}
    assert asked([CRITICAL], SHORT, NOW) == {"dns": (25, False)}


def test_budgets_are_asked_until_the_force_point_and_not_after():
    assert asked([POD], LONG, NOW + 54)["web"][1] is False
    assert asked([POD], LONG, NOW + 55) == {"web": (None, True)}
    assert asked([POD], LONG, NOW, Policy(force_after=0.0)) == {"web": (None, True)}


def test_a_pod_that_is_going_is_left_alone_unless_it_takes_too_long():
    assert asked([replace(POD, deleting=NOW + 20)], SHORT, NOW) == {}
    assert asked([replace(POD, deleting=NOW + 300)], SHORT, NOW) == {"web": (25, True)}


def test_a_pod_is_hurried_once_whatever_its_servers_clock_says():
    late = replace(POD, deleting=NOW + 300)
    assert asked([late], SHORT, NOW, promised={"1": NOW + 25}) == {}
    assert asked([late], Window(NOW, NOW + 10), NOW, promised={"1": NOW + 25}) == {"web": (10, True)}


@given(
    pods=st.lists(
        st.builds(
            PodFacts,
            name=st.uuids().map(str),
            uid=st.uuids().map(str),
            namespace=st.sampled_from(["default", "kube-system"]),
            priority=st.integers(-10, 10),
            grace=st.floats(0, 4000),
            deleting=st.none() | st.floats(NOW - 50, NOW + 4000),
        ),
        max_size=12,
    ),
    length=st.floats(0, 900),
    share=st.floats(0, 1.5),
)
def test_no_grace_reaches_past_the_end_of_the_window(pods, length, share):
    window = Window(NOW, NOW + length)
    now = window.at(share)
    for one in drain.asks(pods, window, Policy(), now):
        assert one.seconds <= max(1.0, window.ends - now)


@pytest.mark.parametrize("length", [10.0, 25.0, 110.0])
def test_by_the_end_of_the_window_everybody_has_been_asked(length):
    window = Window(NOW, NOW + length)
    pods = [POD, RAISED, CRITICAL]
    assert set(asked(pods, window, window.ends)) == {"web", "db", "dns"}
