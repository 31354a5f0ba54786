"""One infrastructure machine, one instance: bought once, and failures anybody can see (R9–R14, R32–R40)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.machines.machine_world import (
    ID,
    NOW,
    bought,
    cluster,
    infra,
    instance,
    machine,
    of_set,
    reason,
    said,
    seen,
    spot,
    written,
)

from dovetail.core.conditions import Status, found
from dovetail.core.effects import Delete, Say
from dovetail.core.machines import infra as lifecycle
from dovetail.core.machines import lifetimes, names
from dovetail.core.machines.effects import Buy, Discard, Look, SaveInfra, Step
from dovetail.core.machines.infra_objects import (
    InfraMachine,
    Kind,
    Market,
    Missing,
    Purchase,
    Refusal,
    State,
    Wanted,
    token_of,
)
from dovetail.core.machines.objects import Failure, Owner


def kinds(step: Step) -> list[str]:
    return [type(one).__name__ for one in step.effects]


# ------------------------------------------------------------------------------------------------ before it is bought


def test_R9_the_cloud_is_asked_what_is_there_before_anything_is_bought():
    step = lifecycle.advance(seen(), NOW)
    assert any(isinstance(one, Look) for one in step.effects)
    assert not bought(step)


def test_R13_what_is_not_there_is_simply_bought():
    step = lifecycle.advance(seen(answer=Missing()), NOW)
    assert bought(step)


def test_R9_the_finalizer_is_written_before_the_cloud_is_even_asked():
    step = lifecycle.advance(seen(infra(about={"finalizers": ()})), NOW)
    assert kinds(step) == ["SaveInfra"]
    assert written(step).finalizer in written(step).meta.finalizers
    assert step.again == 0.0


def test_R9_the_same_machine_always_orders_the_same_thing():
    first = lifecycle.purchase(infra(), machine(), cluster())
    again = lifecycle.purchase(replace(infra(), conditions=(said("Ready"),)), machine(), cluster())
    assert first == again
    assert first.token == token_of("uid-m")
    assert len(first.token) == 64
    assert token_of("uid-m") != token_of("uid-n")


def test_a_machine_without_a_zone_stands_in_the_first_of_its_cluster():
    assert lifecycle.purchase(infra(), machine(), cluster()).zone == "a"
    assert lifecycle.purchase(infra(), machine(zone="b"), cluster()).zone == "b"


WAITS = [
    ({"machine": None}, "WaitingForOwner"),
    ({"cluster": None}, "WaitingForOwner"),
    ({"cluster": cluster(infrastructure=None)}, "WaitingForClusterInfrastructure"),
    ({"bootstrap": False}, "WaitingForBootstrapData"),
]


@pytest.mark.parametrize(("changes", "why"), WAITS, ids=[why for _, why in WAITS])
def test_what_is_not_ready_is_waited_for_and_named(changes: dict[str, Any], why: str):
    step = lifecycle.advance(seen(answer=Missing(), **changes), NOW)
    assert not bought(step)
    assert reason(written(step)) == why


@pytest.mark.parametrize(
    "paused",
    [{"cluster": cluster(paused=True)}, {"infra": infra(about={"annotations": {names.PAUSED_ANNOTATION: ""}})}],
)
def test_a_paused_machine_is_left_alone_even_half_way(paused: dict[str, Any]):
    step = lifecycle.advance(seen(**{"answer": Missing()} | paused), NOW)
    assert kinds(step) == ["SaveInfra"]
    assert written(step).is_true(names.PAUSED)


# ------------------------------------------------------------------------------------------------ once it is there


def test_R9_an_instance_whose_buyer_died_is_found_and_kept():
    step = lifecycle.advance(seen(answer=instance()), NOW)
    assert not bought(step)
    assert (written(step).provider_id, written(step).ready, written(step).provisioned) == (ID, True, True)


def test_an_instance_that_starts_is_looked_at_again_soon_and_has_its_id_at_once():
    step = lifecycle.advance(seen(answer=instance(State.PENDING)), NOW)
    assert (written(step).provider_id, written(step).ready) == (ID, False)
    assert step.again == lifecycle.STARTING_SECONDS


def test_R10_an_instance_that_is_not_there_any_more_is_never_made_again():
    step = lifecycle.advance(seen(infra(provider_id=ID, ready=True, provisioned=True), answer=Missing()), NOW)
    assert not bought(step)
    failed = written(step)
    assert failed.failure == Failure(names.UPDATE_ERROR, f"instance {ID} is gone; it is not made again")
    assert (failed.ready, failed.provisioned, reason(failed)) == (False, True, "InstanceNotFound")


@pytest.mark.parametrize("state", [State.GOING, State.GONE])
def test_R10_a_terminated_instance_is_a_failure_with_an_event(state: State):
    step = lifecycle.advance(seen(infra(provider_id=ID), answer=instance(state)), NOW)
    assert written(step).failure is not None
    assert reason(written(step)) == "InstanceTerminated"
    assert [one.reason for one in step.effects if isinstance(one, Say)] == ["InstanceTerminated"]


@pytest.mark.parametrize("state", [State.STOPPED, State.STOPPING])
def test_R12_R29_a_stopped_instance_is_reported_and_not_started(state: State):
    """A deallocated VM costs money, and its Node only goes NotReady: the failure lets a health check remove it."""
    one = infra(provider_id=ID, wanted=spot())
    step = lifecycle.advance(seen(one, answer=instance(state, interruptible=True, said="deallocated")), NOW)
    assert reason(written(step)) == "Evicted"
    assert set(kinds(step)) <= {"SaveInfra", "Say"}
    plain = lifecycle.advance(seen(infra(provider_id=ID), answer=instance(state)), NOW)
    assert reason(written(plain)) == "InstanceStopped"


def test_R38_a_failed_machine_asks_the_cloud_nothing_more():
    failed = infra(failure=Failure("CreateError", "x"))
    step = lifecycle.advance(seen(failed, answer=Missing()), NOW)
    assert set(kinds(step)) <= {"SaveInfra"}
    assert lifecycle.advance(seen(written(step)), NOW + 3600) == Step()


# ------------------------------------------------------------------------------------------------ the truth about spot


@pytest.mark.parametrize("market", [Market.SPOT, Market.PREEMPTIBLE])
def test_R32_every_way_to_ask_for_spot_is_interruptible_before_there_is_an_instance(market: Market):
    step = lifecycle.advance(seen(infra(wanted=spot(market=market)), answer=Missing(), bootstrap=False), NOW)
    assert written(step).interruptible is True


def test_R8_a_machine_that_did_not_ask_for_spot_is_not_interruptible():
    step = lifecycle.advance(seen(answer=Missing(), bootstrap=False), NOW)
    assert written(step).interruptible is False


@pytest.mark.parametrize("truth", [True, False])
def test_R34_the_clouds_word_goes_before_the_spec(truth: bool):
    asked = infra(wanted=spot() if not truth else Wanted("aws", "m5.large"), interruptible=not truth)
    step = lifecycle.advance(seen(asked, answer=instance(interruptible=truth)), NOW)
    assert written(step).interruptible is truth


@pytest.mark.parametrize("where", ["infra", "machine"])
def test_R36_a_control_plane_on_spot_is_refused_without_a_call(where: str):
    """The label may come after admission, and then from either object."""
    about = {"labels": {names.CONTROL_PLANE: ""}}
    one = infra(about=about if where == "infra" else None, wanted=spot())
    owner = machine(about=about if where == "machine" else None)
    step = lifecycle.advance(seen(one, machine=owner, answer=Missing()), NOW)
    assert not bought(step)
    failure = written(step).failure
    assert failure is not None
    assert failure.reason == names.INVALID_CONFIGURATION


def test_a_control_plane_that_stays_is_bought():
    assert bought(
        lifecycle.advance(
            seen(
                infra(about={"labels": {names.CONTROL_PLANE: ""}, "finalizers": (infra().finalizer,)}), answer=Missing()
            ),
            NOW,
        )
    )


def test_R16_a_price_that_cannot_be_is_refused_without_a_call():
    step = lifecycle.advance(seen(infra(wanted=spot(max_price="cheap")), answer=Missing()), NOW)
    assert not bought(step)
    failure = written(step).failure
    assert failure is not None
    assert "such as 0.05" in failure.message


# ------------------------------------------------------------------------------------------------ when it is refused


def refusal(kind: Kind, wait: float | None = None) -> Refusal:
    return Refusal(kind, "SpotMaxPriceTooLow: 0.01 is below 0.05", wait)


def test_R38_R39_a_persistent_refusal_fails_at_once_and_visibly():
    step = lifecycle.refused(seen(), refusal(Kind.PERSISTENT), NOW)
    failed = written(step)
    assert failed.failure == Failure(names.CREATE_ERROR, "SpotMaxPriceTooLow: 0.01 is below 0.05")
    held = found(failed.conditions, names.READY)
    assert held is not None
    assert (held.status, held.reason) == (Status.FALSE, "InstanceProvisionFailed")
    assert any(isinstance(one, Say) and one.warning for one in step.effects)


def test_R38_want_of_capacity_is_believed_after_three_refusals_and_waits_between_them():
    one, now, waits = infra(wanted=spot()), NOW, []
    for _ in range(lifecycle.REFUSALS - 1):
        step = lifecycle.refused(seen(one), refusal(Kind.CAPACITY), now)
        one = written(step)
        assert one.failure is None
        waits.append(step.again)
        # Looked at too soon, as after a restart, nothing is asked.
        early = lifecycle.advance(seen(one, answer=Missing()), now + 1)
        assert not bought(early)
        assert early.again == pytest.approx(step.again - 1)
        now += step.again
        assert bought(lifecycle.advance(seen(one, answer=Missing()), now))
    assert waits == [30.0, 60.0]
    failed = written(lifecycle.refused(seen(one), refusal(Kind.CAPACITY), now))
    assert failed.failure is not None
    assert failed.failure.reason == names.INSUFFICIENT_RESOURCES
    assert "asked 3 times" in failed.failure.message


def test_R9_each_attempt_has_a_number_that_survives_a_restart_and_the_token_stays():
    def order(held: InfraMachine, now: float) -> Purchase:
        effects = lifecycle.advance(seen(held, answer=Missing()), now).effects
        return next(each.purchase for each in effects if isinstance(each, Buy))

    one = infra(wanted=spot())
    refused = written(lifecycle.refused(seen(one), refusal(Kind.CAPACITY), NOW))
    first, second = order(one, NOW), order(refused, NOW + 60)
    assert (first.attempt, second.attempt) == (0, 1)
    assert first.token == second.token


def test_R38_an_order_under_way_is_no_refusal_and_is_written_down_once():
    step = lifecycle.refused(seen(), Refusal(Kind.UNDERWAY, "GCP is making it", 3.0), NOW)
    assert step.again == 3.0
    known = written(step)
    held = found(known.conditions, names.INSTANCE_READY)
    assert held is not None
    assert (held.status, held.reason) == (Status.FALSE, "InstanceProvisionStarted")
    assert (known.failure, known.provider_id) == (None, "")
    assert lifecycle.refused(seen(known), Refusal(Kind.UNDERWAY, "GCP is making it", 3.0), NOW + 3) == Step((), 3.0)


def test_R38_want_of_capacity_is_believed_after_five_minutes_too():
    one = written(lifecycle.refused(seen(), refusal(Kind.CAPACITY, wait=290.0), NOW))
    assert one.failure is None
    assert written(lifecycle.refused(seen(one), refusal(Kind.CAPACITY), NOW + 301)).failure is not None


@pytest.mark.parametrize(
    "note", ["", "x", "1", "many 2026-01-01T00:00:00Z 2026-01-01T00:00:00Z", "1 noon noon", "9" * 5000 + " a b"]
)
def test_a_note_nobody_can_read_is_none(note: str):
    one = infra(about={"annotations": {names.REFUSALS: note}, "finalizers": (infra().finalizer,)})
    assert bought(lifecycle.advance(seen(one, answer=Missing()), NOW))


def test_the_note_goes_when_the_instance_comes():
    one = infra(about={"annotations": {names.REFUSALS: "1 2026-01-01T00:00:00Z 2026-01-01T00:00:30Z"}})
    step = lifecycle.bought(seen(one), instance(), NOW)
    assert names.REFUSALS not in written(step).meta.annotations


def test_a_transient_refusal_is_tried_again_for_ever():
    one = infra()
    for number in range(50):
        step = lifecycle.refused(seen(one), refusal(Kind.TRANSIENT, wait=700.0), NOW + number)
        assert step.again == 700.0
        one = next((effect.after for effect in step.effects if isinstance(effect, SaveInfra)), one)
        assert one.failure is None


# ------------------------------------------------------------------------------------------------ the end


def leaving(**changes: Any) -> InfraMachine:
    return infra(about={"deleting": NOW, "finalizers": (infra().finalizer,)}, **changes)


def test_a_deleted_machine_has_its_instance_removed_though_its_owners_are_gone():
    step = lifecycle.advance(seen(leaving(provider_id=ID), machine=None, cluster=None), NOW)
    assert kinds(step) == ["Discard"]
    assert isinstance(step.effects[0], Discard)


def test_a_failed_machine_is_removed_like_any_other():
    step = lifecycle.advance(seen(leaving(failure=Failure("UpdateError", "x"))), NOW)
    assert kinds(step) == ["Discard"]


def test_the_object_stays_until_the_instance_is_gone():
    going = lifecycle.discarded(leaving(provider_id=ID), gone=False, now=NOW)
    assert written(going).meta.finalizers == (infra().finalizer,)
    assert going.again == lifecycle.GOING_SECONDS
    assert written(lifecycle.discarded(leaving(), gone=True, now=NOW)).meta.finalizers == ()


def test_a_machine_without_our_finalizer_is_not_ours_to_remove():
    assert lifecycle.advance(seen(infra(about={"deleting": NOW, "finalizers": ("other",)})), NOW) == Step()


# ------------------------------------------------------------------------------------------------ the day of GCP


def preemptible(name: str = "m") -> InfraMachine:
    wanted = Wanted("gcp", "n2-standard-4", Market.PREEMPTIBLE, lifetime=lifetimes.DAY)
    return infra(name, wanted=wanted, provider_id=ID, interruptible=True)


def owned() -> Any:
    return machine(about={"owners": (of_set(),)})


def test_R24_R42_a_preemptible_machine_goes_before_its_day_is_over_while_there_is_time():
    look = seen(preemptible(), machine=owned(), answer=instance(created=NOW, interruptible=True))
    leaves = lifetimes.leaves_at(preemptible(), NOW)
    assert leaves is not None
    assert NOW + lifetimes.DAY - 5400 <= leaves <= NOW + lifetimes.DAY - 1800
    early = lifecycle.advance(look, leaves - 10)
    assert not any(isinstance(one, Delete) for one in early.effects)
    assert early.again == pytest.approx(10)
    late = lifecycle.advance(look, leaves)
    assert [one.ref.kind for one in late.effects if isinstance(one, Delete)] == ["Machine"]


def test_R24_machines_made_together_do_not_all_go_together():
    moments = {lifetimes.leaves_at(preemptible(f"m-{number}"), NOW) for number in range(20)}
    assert len(moments) == 20
    assert max(moments) - min(moments) > lifetimes.SPREAD_SECONDS / 2


def test_R24_a_machine_nobody_would_replace_is_told_of_and_kept():
    look = seen(preemptible(), answer=instance(created=NOW, interruptible=True))
    step = lifecycle.advance(look, NOW + lifetimes.DAY - 60)
    assert not any(isinstance(one, Delete) for one in step.effects)
    assert any(isinstance(one, Say) and one.reason == "LifetimeEnding" for one in step.effects)


def test_R24_a_machine_of_a_claim_is_left_to_whoever_looks_after_claims():
    claim = Owner("karpenter.sh/v1", "NodeClaim", "n", "uid-n", controller=True)
    look = seen(preemptible(), machine=machine(about={"owners": (claim,)}), answer=instance(created=NOW))
    step = lifecycle.advance(look, NOW + lifetimes.DAY - 60)
    assert not any(isinstance(one, Delete | Say) for one in step.effects)


def test_spot_without_a_limit_lives_on():
    assert lifetimes.leaves_at(infra(wanted=spot()), NOW) is None


def test_a_machine_meant_to_be_short_lived_is_not_replaced_sooner():
    wanted = Wanted("gcp", "n2-standard-4", Market.SPOT, lifetime=3600.0)
    assert lifetimes.leaves_at(infra(wanted=wanted), NOW) is None


def test_conditions_do_not_move_when_nothing_changes():
    step = lifecycle.advance(seen(answer=instance()), NOW)
    again = lifecycle.advance(seen(written(step), answer=instance()), NOW + 60)
    assert kinds(again) == []
    assert again.again == lifecycle.WATCH_SECONDS


def test_the_annotations_of_others_stay():
    one = infra(about={"annotations": {"a": "b"}, "finalizers": (infra().finalizer,)})
    noted = written(lifecycle.refused(seen(one), refusal(Kind.CAPACITY), NOW))
    assert dict(noted.meta.annotations)["a"] == "b"


# ------------------------------------------------------------------------------------------------ a cloud in silence


REFUSED = Refusal(Kind.PERSISTENT, "AuthFailure: the credentials are not valid")


def test_R39_credentials_that_fail_before_anything_was_bought_stand_in_the_conditions():
    step = lifecycle.unanswered(infra(), REFUSED, NOW)
    for type_ in (names.INSTANCE_READY, names.READY):
        told = found(written(step).conditions, type_)
        assert (told.status, told.reason, told.message) == (Status.FALSE, "CloudNotAnswering", REFUSED.message)
    assert step.again == lifecycle.RETRY_SECONDS
    assert written(lifecycle.unanswered(written(step), REFUSED, NOW + 60)).conditions == written(step).conditions


def test_R12_a_machine_that_runs_stays_ready_while_its_cloud_cannot_be_asked():
    running = written(lifecycle.advance(seen(answer=instance()), NOW))
    silent = written(lifecycle.unanswered(running, REFUSED, NOW + 60))
    assert (silent.ready, silent.is_true(names.READY)) == (True, True)
    assert found(silent.conditions, names.INSTANCE_READY).status is Status.UNKNOWN
    back = written(lifecycle.advance(seen(silent, answer=instance()), NOW + 120))
    assert back.is_true(names.INSTANCE_READY)


def test_a_cloud_that_asks_for_patience_is_no_news():
    running = infra(provider_id=ID, provisioned=True)
    assert lifecycle.unanswered(running, Refusal(Kind.TRANSIENT, "slow down", 7.0), NOW) == Step((), 7.0)


def test_R39_an_instance_that_cannot_be_removed_says_why():
    going = infra(about={"deleting": NOW}, provider_id=ID)
    told = found(written(lifecycle.unanswered(going, REFUSED, NOW)).conditions, names.INSTANCE_READY)
    assert (told.reason, told.message) == ("InstanceDeletionFailed", REFUSED.message)


def test_R36_a_control_plane_on_spot_that_runs_already_is_told_of_and_left_alone():
    control_plane = machine(about={"labels": {names.CONTROL_PLANE: ""}})
    running = infra(wanted=spot(), provider_id=ID, ready=True, provisioned=True)
    step = lifecycle.advance(seen(running, machine=control_plane), NOW)
    told = found(written(step).conditions, names.PERMITTED)
    assert (told.status, told.reason) == (Status.FALSE, names.INVALID_CONFIGURATION)
    assert written(step).failure is None
    again = lifecycle.advance(seen(written(step)), NOW)
    assert found(written(again).conditions, names.PERMITTED) is None


def test_a_note_of_a_clock_that_was_ahead_keeps_nobody_waiting_for_years():
    note = "1 2026-01-01T00:00:00Z 2099-01-01T00:00:00Z"
    assert bought(lifecycle.advance(seen(infra(about={"annotations": {names.REFUSALS: note}}), answer=Missing()), NOW))


def test_an_instance_whose_machine_is_not_there_is_watched_and_nothing_more():
    up = lifecycle.found(seen(infra(provider_id=ID), machine=None), instance(), NOW)
    assert kinds(up) == ["SaveInfra"]
    assert up.again == lifecycle.WATCH_SECONDS
