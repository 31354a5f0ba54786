"""Events of EventBridge, read."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.aws_server import events

from dovetail.clouds.aws import interruption_messages as messages
from dovetail.clouds.aws.interruption_messages import Event
from dovetail.core.errors import BadInput
from dovetail.core.lifecycle import interruption

#: 2026-11-15T12:00:00Z
NOON = 1_794_744_000.0
ID = "i-0123456789abcdef0"


def read(event: dict[str, Any], **more: Any) -> Event:
    return messages.read(json.dumps({**event, "id": "e", "time": "2026-11-15T12:00:00Z", **more}))


def test_a_spot_machine_is_gone_two_minutes_after_its_warning() -> None:
    found = read(events.warning("spot", ID, **{"instance-action": "terminate"}))
    assert found == Event(interruption.SPOT, "e", (ID,), NOON, NOON + 120)


def test_a_recommendation_says_no_time() -> None:
    assert read(events.warning("rebalance", ID)) == Event("rebalance_recommendation", "e", (ID,), NOON)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("stopping", "instance_stopped"),
        ("stopped", "instance_stopped"),
        ("shutting-down", "instance_terminated"),
        ("terminated", "instance_terminated"),
        ("pending", "no_op"),
        ("running", "no_op"),
    ],
)
def test_a_machine_that_stops_is_going_and_one_that_starts_is_not(state: str, kind: str) -> None:
    assert read(events.warning("state", ID, state=state)).kind == kind


def test_a_reservation_that_is_taken_back_says_when() -> None:
    found = read(events.warning("reservation", ID, **{"instance-termination-time": "2026-11-15T12:05:00Z"}))
    assert (found.kind, found.ends) == ("capacity_reservation_interrupted", NOON + 300)


def test_without_a_time_a_reservation_is_taken_back_after_two_minutes() -> None:
    assert read(events.warning("reservation", ID)).ends == NOON + 120


def test_planned_maintenance_names_all_its_machines_and_when_it_begins() -> None:
    found = read(events.maintenance(ID, "i-2", starts="Sat, 5 Dec 2026 15:05:00 GMT"))
    assert (found.kind, found.instances) == ("scheduled_change", (ID, "i-2"))
    assert found.ends == NOON + 20 * 86_400 + 3 * 3600 + 300


@pytest.mark.parametrize("other", [{"service": "RDS"}, {"eventTypeCategory": "issue"}])
def test_other_health_events_are_somebody_elses(other: dict[str, str]) -> None:
    assert read(events.maintenance(ID, **other)).kind == "no_op"


@pytest.mark.parametrize(
    "other",
    [
        {"version": "1"},
        {"source": "aws.s3"},
        {"detail-type": "EC2 Fleet State Change"},
        {"source": None},
        {"source": []},
    ],
)
def test_events_nobody_here_knows_are_nothing_to_do(other: dict[str, Any]) -> None:
    assert read(events.warning("spot", ID), **other).kind == "no_op"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[]", "no event"),
        ('"spot"', "no event"),
        (json.dumps({**events.warning("spot", ID), "detail": None}), "no detail"),
        (json.dumps(events.warning("spot", "")), "instance-id"),
        (json.dumps({**events.warning("state", ID), "detail": {"instance-id": ID}}), "no state"),
        (json.dumps({**events.warning("spot", ID), "id": 7}), "no id"),
        (json.dumps(events.maintenance(ID, affectedEntities="all")), "affectedEntities"),
    ],
    ids=range(9),
)
def test_a_message_that_lacks_what_it_must_have_says_what(body: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        messages.read(body)


@pytest.mark.parametrize("when", [None, "", "tomorrow", 7, "2026-13-45T99:00:00Z"])
def test_a_time_that_cannot_be_read_costs_only_the_time(when: object) -> None:
    found = read(events.warning("spot", ID), time=when)
    assert (found.instances, found.at, found.ends) == ((ID,), None, None)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    kind=st.sampled_from([one[1] for one in messages._READERS]),
    source=st.sampled_from(["aws.ec2", "aws.health"]),
    detail=_JSON,
    more=st.dictionaries(st.sampled_from(["id", "time", "resources"]), _JSON),
)
def test_whatever_stands_in_a_message_it_is_read_or_refused(kind: str, source: str, detail: Any, more: Any) -> None:
    body = json.dumps({"version": "0", "source": source, "detail-type": kind, "detail": detail, **more})
    with contextlib.suppress(BadInput):
        found = messages.read(body)
        assert all(isinstance(one, str) and one for one in found.instances)
