"""What three clouds say of a machine's end, read (R42): the usual words, and all the odd ones."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core import timestamps
from dovetail.core.errors import BadInput
from dovetail.core.handler import age, aws, azure, gcp
from dovetail.core.handler.notices import Kind, http_date

NOW = 1_800_000_000.0


def test_both_forms_of_an_http_date_are_read():
    assert http_date("Mon, 19 Sep 2016 18:29:47 GMT") == timestamps.seconds("2016-09-19T18:29:47Z")
    assert http_date("21 Jan 2019 09:00:43 GMT") == timestamps.seconds("2019-01-21T09:00:43Z")


@pytest.mark.parametrize("text", ["", "tomorrow", "Mon, 19 Foo 2016 18:29:47 GMT", "32 Jan 2019 09:00:43 GMT"])
def test_what_is_no_date_says_so(text):
    with pytest.raises(BadInput):
        http_date(text)


# ---- AWS


def itn(**fields: str) -> str:
    return json.dumps({"action": "terminate", "time": timestamps.text(NOW + 100), **fields})


def test_an_interruption_says_when():
    (one,) = aws.interruption(itn(), NOW)
    assert (one.kind, one.deadline, one.ends, one.guessed) == (Kind.PREEMPT, NOW + 100, True, False)


def test_a_path_that_is_not_there_says_that_there_is_nothing():
    assert aws.interruption(None, NOW) == aws.rebalance(None, NOW) == aws.maintenance(None, NOW) == ()


@pytest.mark.parametrize("text", ["", "<html>busy</html>", "[]", "null", '"terminate"', "[" * 100_000])
def test_garbage_is_an_error_and_no_notice(text):
    with pytest.raises(BadInput):
        aws.interruption(text, NOW)


@pytest.mark.parametrize("fields", [{"time": "soon"}, {"time": ""}, {"time": None}, {"time": 5}])
def test_an_interruption_at_a_time_nobody_can_read_is_still_one(fields):
    (one,) = aws.interruption(json.dumps({"action": "terminate", **fields}), NOW)
    assert (one.deadline, one.guessed) == (NOW + 120, True)


def test_a_time_no_cloud_would_give_is_a_wrong_clock():
    (one,) = aws.interruption(itn(time=timestamps.text(NOW + 9000)), NOW)
    assert (one.deadline, one.guessed) == (NOW + 120, True)


def test_hibernation_begins_with_its_notice():
    (one,) = aws.interruption(itn(action="hibernate"), NOW)
    assert one.deadline == NOW


def test_a_recommendation_ends_nothing():
    (one,) = aws.rebalance('{"noticeTime": "2027-01-15T08:00:00Z"}', NOW)
    assert (one.kind, one.deadline, one.ends) == (Kind.REBALANCE, None, False)


def scheduled(**fields: str) -> str:
    usual = {"EventId": "instance-event-1", "Code": "system-reboot", "State": "active", "Description": "x"}
    return json.dumps([{**usual, "NotBefore": "21 Jan 2027 09:00:43 GMT", **fields}])


def test_scheduled_events_are_maintenance_and_some_end_the_machine():
    (one,) = aws.maintenance(scheduled(), NOW)
    assert (one.kind, one.ends, one.deadline) == (Kind.MAINTENANCE, False, timestamps.seconds("2027-01-21T09:00:43Z"))
    (one,) = aws.maintenance(scheduled(Code="instance-retirement"), NOW)
    assert one.ends


@pytest.mark.parametrize("state", ["completed", "canceled", "Canceled"])
def test_a_scheduled_event_that_is_over_is_none(state):
    assert aws.maintenance(scheduled(State=state), NOW) == ()


def test_a_scheduled_event_without_a_readable_time_is_now():
    (one,) = aws.maintenance(scheduled(NotBefore="?"), NOW)
    assert (one.deadline, one.guessed) == (NOW, True)


def test_an_empty_list_of_events_is_none():
    assert aws.maintenance("[]", NOW) == aws.maintenance(" \n", NOW) == ()


# ---- GCP


def test_R25_preemption_gives_half_a_minute_from_when_it_is_seen():
    assert gcp.preempted("FALSE\n", NOW) == ()
    (one,) = gcp.preempted("TRUE\n", NOW)
    assert (one.kind, one.deadline, one.guessed) == (Kind.PREEMPT, NOW + 30, True)


@pytest.mark.parametrize("text", ["", "YES", "<html>"])
def test_any_other_word_is_an_error(text):
    with pytest.raises(BadInput):
        gcp.preempted(text, NOW)
    with pytest.raises(BadInput):
        gcp.maintenance(text, NOW, preemptible=True)


def test_maintenance_moves_a_machine_or_stops_it():
    assert gcp.maintenance("NONE", NOW, preemptible=True) == ()
    (moved,) = gcp.maintenance("MIGRATE_ON_HOST_MAINTENANCE", NOW, preemptible=False)
    assert (moved.kind, moved.ends) == (Kind.FREEZE, False)
    (stopped,) = gcp.maintenance("TERMINATE_ON_HOST_MAINTENANCE", NOW, preemptible=False)
    assert (stopped.kind, stopped.ends, stopped.deadline) == (Kind.MAINTENANCE, False, NOW + 3600)
    (ended,) = gcp.maintenance("TERMINATE_ON_HOST_MAINTENANCE", NOW, preemptible=True)
    assert (ended.kind, ended.ends, ended.deadline) == (Kind.PREEMPT, True, NOW + 30)


# ---- Azure


def document(*events: dict) -> str:
    return json.dumps({"DocumentIncarnation": 3, "Events": list(events)})


def event(**fields: object) -> dict:
    usual = {"EventId": "e", "EventType": "Preempt", "Resources": ["pool_0"], "EventStatus": "Scheduled"}
    return {**usual, "NotBefore": "Fri, 15 Jan 2027 08:00:30 GMT", **fields}


def test_an_event_that_names_us_is_ours():
    (one,) = azure.events(document(event()), ("Pool_0",), NOW)
    assert (one.id, one.kind, one.deadline, one.acknowledge) == ("e", Kind.PREEMPT, NOW + 30, "e")


def test_an_event_that_names_others_is_not():
    assert azure.events(document(event(Resources=["pool_1"])), ("pool_0",), NOW) == ()
    assert azure.events(document(event(Resources=None)), ("pool_0",), NOW) == ()


def test_an_event_that_names_others_too_is_not_ours_to_start():
    (one,) = azure.events(document(event(Resources=["pool_0", "pool_1"])), ("pool_0",), NOW)
    assert one.acknowledge == ""


def test_an_event_that_has_started_is_now_and_is_not_started_again():
    (one,) = azure.events(document(event(EventStatus="Started", NotBefore="")), ("pool_0",), NOW)
    assert (one.deadline, one.acknowledge) == (NOW, "")


def test_an_event_without_a_time_gives_the_least_its_kind_gives():
    (one,) = azure.events(document(event(NotBefore="")), ("pool_0",), NOW)
    assert (one.deadline, one.guessed) == (NOW + 30, True)


@pytest.mark.parametrize(
    ("told", "kind", "ends"),
    [
        ("Preempt", Kind.PREEMPT, True),
        ("Terminate", Kind.PREEMPT, True),
        ("Reboot", Kind.MAINTENANCE, False),
        ("Redeploy", Kind.MAINTENANCE, False),
        ("Freeze", Kind.FREEZE, False),
    ],
)
def test_each_type_of_event_is_of_a_kind(told, kind, ends):
    (one,) = azure.events(document(event(EventType=told)), ("pool_0",), NOW)
    assert (one.kind, one.ends) == (kind, ends)


def test_a_type_nobody_has_heard_of_is_left_alone():
    assert azure.events(document(event(EventType="Levitate")), ("pool_0",), NOW) == ()


@pytest.mark.parametrize("text", ["", "[]", '{"Events": {}}', '{"Events": [1]}'])
def test_an_odd_document_is_an_error(text):
    with pytest.raises(BadInput):
        azure.events(text, ("pool_0",), NOW)


def test_a_document_without_events_has_none():
    assert azure.events('{"DocumentIncarnation": 1}', ("pool_0",), NOW) == ()


@pytest.mark.parametrize(
    ("provider_id", "names"),
    [
        ("azure:///subscriptions/s/.../virtualMachineScaleSets/aks-pool/virtualMachines/12", ("aks-pool_12",)),
        ("azure:///subscriptions/s/.../virtualMachines/worker-1", ("worker-1",)),
        ("azure:///nothing", ()),
    ],
)
def test_a_provider_id_says_what_azure_calls_the_machine(provider_id, names):
    assert azure.names_of(provider_id) == names


# ---- age (R24, R42)


def test_a_machine_that_may_run_a_day_leaves_in_the_last_half_hour():
    day, booted = 86400.0, NOW
    leaves = age.leaves_at(booted, day, "n")
    assert booted + day - 1800 <= leaves <= booted + day - 900
    assert age.too_old(booted, day, "n", leaves - 1) == ()
    (one,) = age.too_old(booted, day, "n", leaves)
    assert (one.kind, one.deadline) == (Kind.AGE_LIMIT, booted + day)
    assert age.too_old(booted, 0, "n", booted + 10 * day) == ()


def test_machines_of_one_hour_do_not_leave_in_one_minute():
    moments = {age.leaves_at(NOW, 86400.0, f"spot-{number}") // 60 for number in range(50)}
    assert len(moments) > 8


# ---- whatever comes


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_no_answer_whatever_makes_more_than_a_bad_input(text):
    for read in (
        lambda: aws.interruption(text, NOW),
        lambda: aws.rebalance(text, NOW),
        lambda: aws.maintenance(text, NOW),
        lambda: gcp.preempted(text, NOW),
        lambda: gcp.maintenance(text, NOW, preemptible=True),
        lambda: azure.events(text, ("pool_0",), NOW),
    ):
        with contextlib.suppress(BadInput):
            assert isinstance(read(), tuple)
