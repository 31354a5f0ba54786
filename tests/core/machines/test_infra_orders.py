"""The order for an instance is on record before it is made, and until the instance is there (R10)."""

from __future__ import annotations

from tests.core.machines.machine_world import NOW, bought, infra, instance, reason, seen, written

from dovetail.core import timestamps
from dovetail.core.effects import Say
from dovetail.core.machines import infra as lifecycle
from dovetail.core.machines import names
from dovetail.core.machines.effects import Buy, Step
from dovetail.core.machines.infra_objects import (
    InfraMachine,
    Kind,
    Missing,
    Refusal,
    Sent,
)
from dovetail.core.machines.objects import Failure


def ordered(ago: float = 5.0, told: str = "", uid: str = "uid-m") -> InfraMachine:
    """A machine that was ordered a while ago."""
    note = f"{uid} {timestamps.text(NOW - ago)} {told}".rstrip()
    return infra(about={"annotations": {names.ORDERED: note}})


def sent(step: Step) -> Sent:
    return next(one.purchase.sent for one in step.effects if isinstance(one, Buy))


def test_R10_that_an_instance_is_ordered_is_on_record_before_it_is():
    assert sent(lifecycle.advance(seen(answer=Missing()), NOW)) is Sent.NO
    after = written(lifecycle.ordering(infra(), NOW))
    assert sent(lifecycle.advance(seen(after, answer=Missing()), NOW)) is Sent.UNHEARD
    assert lifecycle.ordering(after, NOW).effects == ()


def test_R10_an_order_that_is_sent_again_and_again_does_not_grow_old():
    after = written(lifecycle.ordering(ordered(ago=lifecycle.ORDER_SECONDS / 2), NOW))
    assert after.meta.annotations[names.ORDERED] == f"uid-m {timestamps.text(NOW)}"


def test_R10_an_order_of_the_object_this_one_was_copied_from_is_not_its_own():
    assert sent(lifecycle.advance(seen(ordered(uid="another"), answer=Missing()), NOW)) is Sent.NO
    nonsense = infra(about={"annotations": {names.ORDERED: "uid-m yesterday"}})
    assert sent(lifecycle.advance(seen(nonsense, answer=Missing()), NOW)) is Sent.NO


def test_R10_an_order_that_no_cloud_remembers_any_more_was_carried_out_for_all_anybody_knows():
    step = lifecycle.advance(seen(ordered(ago=lifecycle.ORDER_SECONDS), answer=Missing()), NOW)
    assert not bought(step)
    failure = written(step).failure
    assert failure is not None
    assert failure.reason == names.UPDATE_ERROR
    assert "it is not made again" in failure.message


def test_R10_an_instance_that_is_lost_is_a_failure_that_anybody_can_see():
    step = lifecycle.refused(seen(ordered()), Refusal(Kind.LOST, "it was made and is gone"), NOW)
    assert written(step).failure == Failure(names.UPDATE_ERROR, "it was made and is gone")
    assert reason(written(step)) == "InstanceNotFound"
    assert any(isinstance(one, Say) and one.warning for one in step.effects)


def test_R10_what_the_cloud_says_of_an_order_is_on_record():
    taken = written(lifecycle.refused(seen(ordered()), Refusal(Kind.UNDERWAY, "at it", 3.0, Sent.TAKEN), NOW))
    assert sent(lifecycle.advance(seen(taken, answer=Missing()), NOW)) is Sent.TAKEN
    for kind in (Kind.CAPACITY, Kind.TRANSIENT):
        over = written(lifecycle.refused(seen(taken), Refusal(kind, "none left", sent=Sent.NO), NOW))
        assert names.ORDERED not in over.meta.annotations


def test_R10_a_cloud_that_could_not_be_asked_says_nothing_of_the_order():
    taken = ordered(told="taken")
    after = written(lifecycle.refused(seen(taken), Refusal(Kind.TRANSIENT, "no answer"), NOW))
    assert after.meta.annotations[names.ORDERED] == taken.meta.annotations[names.ORDERED]


def test_an_instance_that_is_there_ends_the_order():
    assert names.ORDERED not in written(lifecycle.bought(seen(ordered()), instance(), NOW)).meta.annotations
