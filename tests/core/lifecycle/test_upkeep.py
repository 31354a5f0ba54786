"""§2.7, §2.8: expiry, garbage, consistency and the health of a pool's launches."""

from __future__ import annotations

from dataclasses import replace

from tests.core.lifecycle.claims import START, amounts, claim, node

from dovetail.core.effects import Count, Delete, SaveClaim, Say, Step
from dovetail.core.instances import Instance
from dovetail.core.lifecycle import health, upkeep
from dovetail.core.lifecycle.health import Window
from dovetail.core.nodeclaims import CONSISTENT, INITIALIZED, LAUNCHED, REGISTERED

UP = (LAUNCHED, REGISTERED, INITIALIZED)


def test_a_claim_expires_to_the_second():
    held = claim(true=UP, expire_after=3600.0)
    assert upkeep.expired(held, 0, START + 3599).again == 1.0
    step = upkeep.expired(held, 3, START + 3600)
    assert [type(one) for one in step.effects] == [Delete, Count, Count]
    moved = step.effects[-1]
    assert isinstance(moved, Count)
    assert moved.amount == 3


def test_a_claim_that_never_expires_is_not_looked_at_again():
    assert upkeep.expired(claim(true=UP), 0, START + 1e9).again is None


def test_a_registered_claim_whose_machine_is_gone_is_deleted_unless_its_node_is_ready():
    held = claim(true=UP)
    by_id = {held.provider_id: node(ready=False)}
    assert [type(one) for one in upkeep.vanished([held], by_id, {})] == [Delete, Count]
    assert upkeep.vanished([held], {held.provider_id: node()}, {}) == ()
    assert upkeep.vanished([held], by_id, {held.provider_id: Instance(held.provider_id)}) == ()
    assert upkeep.vanished([claim(true=(LAUNCHED,))], {}, {}) == ()


def test_a_machine_that_is_going_is_as_good_as_gone_and_its_pods_are_counted():
    held = claim(true=UP)
    going = {held.provider_id: Instance(held.provider_id, leaving=True)}
    sick, well = {held.provider_id: node(ready=False)}, {held.provider_id: node()}
    assert upkeep.vanished([held], well, going, lambda one: 3) == ()
    found = upkeep.vanished([held], sick, going, lambda one: 3)
    counted = {one.metric: one.amount for one in found if isinstance(one, Count)}
    assert counted == {"nodeclaims_disrupted_total": 1.0, "pods_disruption_initiated_total": 3}


def test_a_machine_nobody_claims_is_found_after_a_while():
    lost = Instance("kwok://lost", claim="gone", created=START)
    assert upkeep.unclaimed([lost], [], START + 29) == ()
    assert upkeep.unclaimed([lost], [], START + 30) == (lost,)
    assert upkeep.unclaimed([replace(lost, leaving=True)], [], START + 30) == ()


def test_a_machine_whose_claim_has_not_written_it_down_yet_is_not_lost():
    fresh = Instance("kwok://fresh", claim="general-1", created=START)
    assert upkeep.unclaimed([fresh], [claim()], START + 1000) == ()


def test_a_node_much_smaller_than_promised_fails_the_check():
    held = claim(true=UP, capacity=amounts(memory="128Gi"), requests=amounts(memory="1Gi"))
    step = upkeep.consistent(held, node(capacity=amounts(memory="64Gi")), START)
    told = next(one for one in step.effects if isinstance(one, Say))
    assert told.message == "expected 128Gi of resource memory, but found 64Gi (50.0% of expected)"
    saved = next(one for one in step.effects if isinstance(one, SaveClaim))
    assert not saved.after.is_true(CONSISTENT)
    nearly = upkeep.consistent(held, node(capacity=amounts(memory="116Gi")), START)
    assert any(isinstance(one, SaveClaim) and one.after.is_true(CONSISTENT) for one in nearly.effects)


def test_two_failures_among_the_last_four_make_a_pool_unhealthy():
    assert Window().healthy is None
    assert Window((False,)).healthy
    assert not Window((False, True, False)).healthy
    assert Window((False, False)).after(True).after(True).after(True).healthy


def test_a_restart_remembers_what_the_condition_said():
    assert health.seeded("True").healthy
    assert health.seeded("False").healthy is False
    assert health.seeded(None).healthy is None


def test_a_machine_whose_claim_cannot_be_read_is_claimed():
    held = Instance("kwok://odd", claim="odd", created=START)
    assert upkeep.unclaimed([held], [], START + 1000, {"odd"}) == ()


def test_a_tenth_of_all_machines_or_five_may_lose_their_claims_before_it_looks_like_a_mistake():
    assert not upkeep.is_suspicious(5, 5)
    assert upkeep.is_suspicious(6, 6)
    assert not upkeep.is_suspicious(100, 1000)
    assert upkeep.is_suspicious(101, 1000)


def test_what_looks_like_a_mistake_waits_and_then_goes_a_few_at_a_time_the_oldest_first():
    lost = tuple(Instance(f"kwok://{at}", created=START - at) for at in range(8))
    assert upkeep.returnable(lost, None) == lost
    assert upkeep.returnable(lost, upkeep.MISTAKE_SECONDS - 1) == ()
    assert upkeep.returnable(lost, upkeep.MISTAKE_SECONDS) == tuple(reversed(lost[3:]))


def test_a_claim_whose_turn_comes_within_budgets_may_live_longer_by_a_share_of_its_life():
    held = claim(true=UP, expire_after=3600.0)
    assert not upkeep.is_expired(held, START + 3599)
    assert upkeep.is_expired(held, START + 3600)
    assert not upkeep.is_expired(held, START + 3960 - 1, patience=0.1)
    assert upkeep.is_expired(held, START + 3960, patience=0.1)
    assert not upkeep.is_expired(claim(true=UP), START + 1e9)


def test_a_claim_that_expires_without_pods_moves_none():
    step = upkeep.expired(claim(true=UP, expire_after=3600.0), 0, START + 3600)
    assert [one.metric for one in step.effects if isinstance(one, Count)] == ["nodeclaims_disrupted_total"]


def test_a_node_that_is_not_up_or_goes_is_not_measured():
    small, promised = node(capacity=amounts(memory="1Gi")), {"capacity": amounts(memory="128Gi")}
    wanted = amounts(memory="1Gi")
    for held in (
        claim(true=(LAUNCHED, REGISTERED), requests=wanted, **promised),
        claim(true=UP, deleting=START, requests=wanted, **promised),
    ):
        assert upkeep.consistent(held, small, START) == Step((), upkeep.CONSISTENCY_SECONDS)
