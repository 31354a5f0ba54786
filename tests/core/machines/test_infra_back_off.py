"""What passes is tried again, later each time; what was ordered a moment ago is not let go of (R9, R10, R38)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.machines.machine_world import ID, NOW, cluster, infra, instance, machine

from dovetail.core import timestamps
from dovetail.core.conditions import found
from dovetail.core.effects import Say
from dovetail.core.machines import infra as lifecycle
from dovetail.core.machines import names
from dovetail.core.machines.effects import Buy, Discard, Look, SaveInfra, Step
from dovetail.core.machines.infra import Seen
from dovetail.core.machines.infra_objects import InfraMachine, Kind, Missing, Refusal

FAULT = Refusal(Kind.TRANSIENT, "EC2 did not answer")
DOUBLED = [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]


def seen(one: InfraMachine, **changes: Any) -> Seen:
    return Seen(**{"infra": one, "machine": machine(), "cluster": cluster(), "bootstrap": True} | changes)


def written(step: Step) -> InfraMachine:
    return next(one.after for one in reversed(step.effects) if isinstance(one, SaveInfra))


def asks(step: Step) -> bool:
    return any(isinstance(one, Look | Buy | Discard) for one in step.effects)


def after_faults(count: int) -> tuple[InfraMachine, float]:
    """A machine that failed so often in a way that passes, and the moment of the last."""
    one, now = infra(), NOW
    for number in range(count):
        step = lifecycle.refused(seen(one), FAULT, now)
        one = written(step)
        now += (step.again or 0.0) if number + 1 < count else 0.0
    return one, now


# ------------------------------------------------------------------------------------------------ faults that pass


def test_R38_a_fault_that_passes_is_tried_again_later_each_time_up_to_five_minutes():
    one, now, waits = infra(), NOW, []
    for _ in DOUBLED:
        step = lifecycle.refused(seen(one), FAULT, now)
        one = written(step)
        assert one.failure is None
        waits.append(step.again)
        now += step.again or 0.0
    assert waits == DOUBLED


def test_R38_looked_at_too_soon_as_after_a_restart_nothing_is_asked():
    one, now = after_faults(3)
    early = lifecycle.advance(seen(one), now + 1)
    assert not asks(early)
    assert early.again == pytest.approx(19.0)
    assert asks(lifecycle.advance(seen(one), now + 20))


def test_R38_a_throttled_cloud_is_asked_no_sooner_than_it_asks_for_and_later_each_time():
    one, waits = infra(), []
    for _ in range(4):
        step = lifecycle.refused(seen(one), Refusal(Kind.TRANSIENT, "slow down", 12.0), NOW)
        one = written(step)
        waits.append(step.again)
    assert waits == [12.0, 12.0, 20.0, 40.0]
    tomorrow = lifecycle.refused(seen(one), Refusal(Kind.TRANSIENT, "come tomorrow", 86400.0), NOW)
    assert tomorrow.again == lifecycle.BELIEVED_SECONDS


def test_R38_a_cloud_that_cannot_even_be_asked_before_anything_is_there_is_asked_later_each_time():
    one, now, waits = infra(), NOW, []
    for _ in DOUBLED:
        step = lifecycle.unanswered(one, FAULT, now)
        one = written(step)
        waits.append(step.again)
        now += step.again or 0.0
    assert waits == DOUBLED
    busy = lifecycle.unanswered(one, Refusal(Kind.TRANSIENT, "slow down", 2.0), now)
    assert busy.again == 300.0
    assert written(busy).conditions == one.conditions


@pytest.mark.parametrize("one", [infra(provider_id=ID), infra(about={"deleting": NOW})], ids=["there", "going"])
def test_an_instance_that_is_there_or_is_to_go_is_asked_about_at_one_pace(one: InfraMachine):
    for number in range(9):
        step = lifecycle.unanswered(one, FAULT, NOW + number)
        assert step.again == lifecycle.UNASKED_SECONDS
        one = next((each.after for each in step.effects if isinstance(each, SaveInfra)), one)


def test_a_row_of_faults_ends_with_the_instance():
    one, now = after_faults(5)
    there = written(lifecycle.bought(seen(one), instance(), now))
    assert names.FAULTS not in there.meta.annotations


def test_a_row_of_faults_ends_with_the_spec_it_was_met_with():
    one, now = after_faults(5)
    edited = infra(about={"annotations": one.meta.annotations, "generation": 2})
    assert asks(lifecycle.advance(seen(edited), now))
    assert lifecycle.refused(seen(edited), FAULT, now).again == lifecycle.RETRY_SECONDS


def test_a_machine_that_waits_can_be_deleted_meanwhile():
    one, now = after_faults(9)
    going = infra(about={"annotations": one.meta.annotations, "deleting": now})
    assert asks(lifecycle.advance(seen(going), now))


@pytest.mark.parametrize("note", ["", "x", "1 1", "many 1 2099-01-01T00:00:00Z", "1 1 noon", "9" * 5000 + " 1 noon"])
def test_a_note_of_faults_nobody_can_read_is_none(note: str):
    assert asks(lifecycle.advance(seen(infra(about={"annotations": {names.FAULTS: note}})), NOW))


def test_nor_is_one_of_a_clock_that_was_years_ahead():
    note = "1 1 2099-01-01T00:00:00Z"
    assert asks(lifecycle.advance(seen(infra(about={"annotations": {names.FAULTS: note}})), NOW))


def test_a_secret_without_bootstrap_data_is_looked_at_again_later_each_time_up_to_a_minute_and_said():
    one, now, waits = infra(), NOW, []
    for _ in range(8):
        step = lifecycle.unbooted(seen(one), "boot", now)
        waits.append(step.again)
        now += step.again or 0.0
        assert [said.reason for said in step.effects if isinstance(said, Say)] == ["FailedCreate"]
        one = next((each.after for each in step.effects if isinstance(each, SaveInfra)), one)
    assert waits == [5.0, 5.0, 10.0, 20.0, 40.0, 60.0, 60.0, 60.0]
    told = found(one.conditions, names.INSTANCE_READY)
    assert told is not None
    assert told.message == "Secret boot has no bootstrap data"


def test_only_a_secret_that_was_missing_and_nothing_else_is_waited_for_without_asking_the_cloud():
    one = written(lifecycle.unbooted(seen(infra()), "boot", NOW))
    assert lifecycle.awaited_secret(seen(one)) == "boot"
    assert lifecycle.awaited_secret(seen(one, machine=machine(secret="other"))) == ""
    assert lifecycle.awaited_secret(seen(one, machine=None)) == lifecycle.awaited_secret(seen(infra())) == ""
    assert lifecycle.awaited_secret(seen(replace(one, provider_id=ID))) == ""
    assert lifecycle.awaited_secret(seen(written(lifecycle.ordering(one, NOW)))) == "", "an instance may show"


def test_R10_no_wait_is_so_long_that_an_order_is_forgotten_meanwhile():
    assert lifecycle.BELIEVED_SECONDS + lifecycle.SHOWN_SECONDS < lifecycle.ORDER_SECONDS


# ------------------------------------------------------------------------------------------------ what may yet show


def leaving(ago: float | None = None, uid: str = "uid-m", told: str = "", **changes: Any) -> InfraMachine:
    """A machine that is being deleted, ordered so long ago, if at all."""
    notes = {} if ago is None else {names.ORDERED: f"{uid} {timestamps.text(NOW - ago)} {told}".rstrip()}
    return infra(about={"deleting": NOW, "annotations": notes}, **changes)


def is_kept(one: InfraMachine) -> bool:
    step = lifecycle.discarded(one, gone=True, now=NOW)
    return infra().finalizer in written(step).meta.finalizers


@pytest.mark.parametrize("told", ["", "taken"])
@pytest.mark.parametrize("id_", ["", "aws:///us-east-1a/i-wrong"])
def test_R9_the_object_of_an_order_a_moment_ago_stays_though_nothing_is_there(told: str, id_: str):
    young = leaving(5.0, told=told, provider_id=id_)
    step = lifecycle.discarded(young, gone=True, now=NOW)
    assert is_kept(young)
    assert step.again == lifecycle.GOING_SECONDS
    said = found(written(step).conditions, names.INSTANCE_READY)
    assert said is not None
    assert (said.reason, said.message) == (
        "Deleting",
        "an instance was ordered a moment ago and may not be shown yet",
    )
    assert asks(lifecycle.advance(seen(written(step)), NOW + 5))


def test_R9_it_goes_once_everything_that_was_ordered_would_have_shown():
    assert is_kept(leaving(lifecycle.SHOWN_SECONDS - 1))
    assert not is_kept(leaving(lifecycle.SHOWN_SECONDS))
    assert not is_kept(leaving())


def test_an_order_of_another_object_or_of_a_clock_that_was_ahead_keeps_nothing():
    assert not is_kept(leaving(5.0, uid="another"))
    assert is_kept(leaving(-30.0))
    assert not is_kept(leaving(-86400.0))


def test_R9_an_order_that_is_sent_again_is_young_again():
    first = written(lifecycle.ordering(infra(), NOW - 600))
    again = written(lifecycle.ordering(first, NOW))
    assert again.meta.annotations[names.ORDERED] == f"uid-m {timestamps.text(NOW)}"
    assert lifecycle.ordering(again, NOW).effects == ()


def test_the_notes_of_a_launch_are_all_taken_off_when_it_is_there():
    notes = {one: f"uid-m {timestamps.text(NOW)}" for one in names.LAUNCH_NOTES} | {"theirs": "stays"}
    held = written(lifecycle.advance(seen(infra(about={"annotations": notes}), answer=instance()), NOW))
    assert dict(held.meta.annotations) == {"theirs": "stays"}
    assert asks(lifecycle.advance(seen(infra(), answer=Missing()), NOW))
