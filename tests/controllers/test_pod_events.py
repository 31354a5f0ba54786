"""When pods last came or went: known at once, written when they stopped, and never twice."""

from dataclasses import replace

import pytest
from tests.core.lifecycle.claims import START, claim

from dovetail.controllers.pod_events import PodEvents
from dovetail.core.nodeclaims import INITIALIZED, LAUNCHED, REGISTERED, NodeClaim

UP = claim(true=(LAUNCHED, REGISTERED, INITIALIZED))


def written(after: NodeClaim) -> NodeClaim:
    """As it comes back."""
    return replace(UP, last_pod_event=after.last_pod_event)


def test_what_happened_is_known_before_it_is_written():
    events = PodEvents()
    assert events.known(UP) is UP
    events.happened(UP.name, START + 5.5)
    assert events.known(UP).last_pod_event == START + 5
    assert events.due(UP, START + 6) == 9.5


def test_every_pod_puts_the_write_off():
    events = PodEvents()
    events.happened(UP.name, START)
    events.happened(UP.name, START + 8)
    assert events.due(UP, START + 10) == 8.0


def test_what_was_written_is_not_written_again_and_still_known_until_it_comes_back():
    events = PodEvents()
    events.happened(UP.name, START)
    after = events.known(UP)
    events.said(after)
    assert events.due(UP, START + 60) is None
    assert events.known(UP) == after
    assert events.known(written(after)) == written(after)
    assert events.known(UP) is UP, "the claim said it: nothing is remembered"


def test_what_was_not_written_stays_due():
    events = PodEvents()
    events.happened(UP.name, START)
    events.known(UP)
    assert events.due(UP, START + 60) == 0.0


@pytest.mark.parametrize("later", [12, 62])
def test_a_pod_that_comes_while_it_is_written_is_written_next_and_not_at_once(later: int):
    events = PodEvents()
    events.happened(UP.name, START)
    after = events.known(UP)
    events.happened(UP.name, START + later)
    events.said(after)
    assert events.due(written(after), START + later) == 10.0


def test_what_somebody_else_wrote_with_it_begins_a_new_minute_too():
    events = PodEvents()
    events.happened(UP.name, START)
    after = events.known(UP)
    events.happened(UP.name, START + 62)
    assert events.due(written(after), START + 62) == 10.0


def test_a_pod_that_came_before_a_restart_is_remembered_unless_it_was_written():
    events = PodEvents()
    events.remember(UP, START + 5)
    events.remember(UP, START + 3)
    assert events.known(UP).last_pod_event == START + 5
    told = replace(UP, last_pod_event=START + 9)
    other = PodEvents()
    other.remember(told, START + 9)
    assert other.known(told) is told


def test_the_next_pod_after_a_write_has_its_own_minute():
    events = PodEvents()
    events.happened(UP.name, START)
    events.said(events.known(UP))
    events.happened(UP.name, START + 300)
    assert events.due(UP, START + 300) == 10.0


def test_a_claim_that_is_gone_is_forgotten():
    events = PodEvents()
    events.happened(UP.name, START)
    events.forget(UP.name)
    assert events.known(UP) is UP
