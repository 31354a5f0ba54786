"""A machine that joins as soon as it is bought is written down once (§2.3–§2.5)."""

from __future__ import annotations

from tests.core.lifecycle.claims import START, claim, node

from dovetail.core import conditions
from dovetail.core.effects import Count, Effect, SaveClaim, SaveNode, Step
from dovetail.core.instances import Instance
from dovetail.core.lifecycle import launch, progress, upkeep
from dovetail.core.lifecycle.launch import Bought
from dovetail.core.nodeclaims import (
    INITIALIZED,
    INITIALIZED_LABEL,
    LAUNCHED,
    REGISTERED,
    REGISTERED_LABEL,
    UNREGISTERED,
)
from dovetail.core.taints import Effect as TaintEffect
from dovetail.core.taints import Taint

BOUGHT = Bought(Instance("kwok://node-1", labels={"zone": "a"}), START)
NOT_READY = Taint("node.kubernetes.io/not-ready", TaintEffect.NO_SCHEDULE)
STARTUP = Taint("example.com/agent-not-ready", TaintEffect.NO_SCHEDULE)


def saved(step: Step) -> SaveClaim:
    (found,) = (one for one in step.effects if isinstance(one, SaveClaim))
    return found


def test_a_machine_that_is_not_there_at_once_is_written_down_after_a_moment_with_the_wait_for_its_node():
    assert progress.advance(claim(), (), START, BOUGHT) == Step((), launch.JOINS_SECONDS)
    after = saved(progress.advance(claim(), (), START + launch.JOINS_SECONDS, BOUGHT)).after
    assert (after.provider_id, after.meta.labels["zone"]) == ("kwok://node-1", "a")
    assert after.is_true(LAUNCHED)
    registered = conditions.found(after.conditions, REGISTERED)
    assert registered is not None
    assert registered.reason == "NodeNotFound"


def test_a_node_that_joins_is_waited_for_and_then_all_is_one_write_to_each():
    coming = node(taints=(UNREGISTERED, NOT_READY))
    assert progress.advance(claim(), (coming,), START + 2, BOUGHT) == Step((), launch.USABLE_SECONDS - 2)
    assert not progress.advance(claim(), (node(ready=False),), START + 2, BOUGHT).effects
    step = progress.advance(claim(), (node(),), START + 3, BOUGHT)
    first, last = step.effects[0], saved(step)
    assert isinstance(first, SaveNode), "pods wait for the Node, nobody waits for the claim"
    assert first.after.meta.labels.items() >= {REGISTERED_LABEL: "true", INITIALIZED_LABEL: "true", "zone": "a"}.items()
    assert all(last.after.is_true(one) for one in (LAUNCHED, REGISTERED, INITIALIZED))
    assert last.before == claim(), "what differs from what is written is written"


def test_nobody_waits_for_a_claim_whose_node_can_be_used():
    assert saved(progress.advance(claim(), (node(),), START + 3, BOUGHT)).note
    registered = progress.advance(claim(), (node(ready=False),), START + launch.USABLE_SECONDS, BOUGHT)
    assert not saved(registered).note


def test_a_machine_that_was_bought_is_not_given_up_as_one_that_was_not():
    step = progress.advance(claim(), (node(),), START + 400, BOUGHT)
    assert saved(step).after.is_true(INITIALIZED)


def test_waiting_for_a_node_ends():
    step = progress.advance(claim(), (node(ready=False),), START + launch.USABLE_SECONDS, BOUGHT)
    assert saved(step).after.is_true(REGISTERED)
    assert not saved(step).after.is_true(INITIALIZED)


def test_a_startup_taint_is_not_waited_for():
    held = claim(startup_taints=(STARTUP,))
    after = saved(progress.advance(held, (node(),), START, BOUGHT)).after
    assert after.is_true(REGISTERED)
    assert not after.is_true(INITIALIZED)


def test_what_is_counted_is_counted_once_the_claim_is_written():
    kinds = [type(one) for one in progress.advance(claim(), (node(),), START + 3, BOUGHT).effects]
    assert kinds.index(Count) > kinds.index(SaveClaim)


def test_what_is_said_once_is_said_with_the_claim():
    def counted(step: Step) -> list[Effect]:
        return [one for one in step.effects if isinstance(one, Count)]

    assert not counted(progress.advance(claim(), (node(ready=False),), START + 1, BOUGHT))
    assert len(counted(progress.advance(claim(), (node(),), START + 2, BOUGHT))) == 1


# ---- pods that come and go


def test_pods_that_come_are_dated_when_they_stopped_coming():
    up = (LAUNCHED, REGISTERED, INITIALIZED)
    assert upkeep.pods_moved_after(claim(true=up[:2]), START, START, START) is None
    held = claim(true=up)
    assert upkeep.pods_moved_after(held, START + 1, START + 3, START + 4) == 9.0
    assert upkeep.pods_moved_after(held, START + 1, START + 3, START + 13) == 0.0
    assert upkeep.pods_moved(held, START + 1.5).last_pod_event == START + 1


def test_pods_that_never_stop_coming_are_dated_every_minute():
    held = claim(true=(LAUNCHED, REGISTERED, INITIALIZED))
    assert upkeep.pods_moved_after(held, START, START + 58, START + 59) == 1.0
    assert upkeep.pods_moved_after(held, START, START + 60, START + 60) == 0.0


def test_a_clock_set_back_does_not_keep_pods_from_being_dated():
    held = claim(true=(LAUNCHED, REGISTERED, INITIALIZED))
    assert upkeep.pods_moved_after(held, START, START, START - 500) == 0.0
