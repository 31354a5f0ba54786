"""§2.4: what a cloud has to find out before a Node may be used, and what is written meanwhile."""

from __future__ import annotations

from tests.core.lifecycle.claims import START, claim, node

from dovetail.core import conditions
from dovetail.core.conditions import Status
from dovetail.core.effects import Count, SaveClaim, SaveNode, Step
from dovetail.core.instances import Instance
from dovetail.core.lifecycle import progress
from dovetail.core.lifecycle.launch import Bought
from dovetail.core.lifecycle.registration import HOOK_SECONDS, Hooked
from dovetail.core.nodeclaims import (
    FINALIZER,
    LAUNCHED,
    READY,
    REGISTERED,
    REGISTERED_LABEL,
    UNREGISTERED,
    NodeClaim,
    NodeObject,
)

PENDING = Hooked(pending=("First", "Second"))
FOUND = Hooked({"part": "3"})


def claim_after(step: Step) -> NodeClaim:
    (found,) = (one for one in step.effects if isinstance(one, SaveClaim))
    return found.after


def node_after(step: Step) -> NodeObject:
    (found,) = (one for one in step.effects if isinstance(one, SaveNode))
    return found.after


def test_a_node_is_kept_closed_while_something_is_to_be_found_out_and_gets_all_that_is_known():
    held = claim(true=(LAUNCHED,), labels={"team": "a"})
    step = progress.advance(held, (node(),), START, hooked=PENDING)
    after = claim_after(step)
    waiting = conditions.found(after.conditions, REGISTERED)
    assert waiting is not None
    assert (waiting.status, waiting.reason) == (Status.UNKNOWN, "RegistrationHookPending")
    assert waiting.message == "First, Second"
    assert after.node_name == ""
    joined = node_after(step)
    assert UNREGISTERED in joined.taints
    assert joined.meta.labels["team"] == "a"
    assert joined.meta.finalizers == (FINALIZER,)
    assert REGISTERED_LABEL not in joined.meta.labels
    assert not any(isinstance(effect, Count) for effect in step.effects)
    assert step.again == HOOK_SECONDS


def test_it_is_written_once_and_then_looked_at_again_and_again():
    first = progress.advance(claim(true=(LAUNCHED,)), (node(),), START, hooked=PENDING)
    again = progress.advance(claim_after(first), (node_after(first),), START + 1, hooked=PENDING)
    assert again.effects == ()
    assert again.again == HOOK_SECONDS


def test_what_was_found_stands_on_the_claim_and_on_its_node_when_it_opens():
    first = progress.advance(claim(true=(LAUNCHED,)), (node(),), START, hooked=PENDING)
    step = progress.advance(claim_after(first), (node_after(first),), START + 1, hooked=FOUND)
    assert claim_after(step).meta.labels["part"] == "3"
    assert claim_after(step).is_true(READY)
    assert node_after(step).meta.labels["part"] == "3"
    assert UNREGISTERED not in node_after(step).taints


def test_a_claims_own_label_is_not_overruled():
    for own, told in (("1", "1"), ("", "3")):
        step = progress.advance(claim(true=(LAUNCHED,), labels={"part": own}), (node(),), START, hooked=FOUND)
        assert claim_after(step).meta.labels["part"] == told


def test_a_machine_that_is_not_written_down_yet_waits_too():
    bought = Bought(Instance("kwok://node-1", labels={"zone": "a"}), START)
    step = progress.advance(claim(), (node(),), START, bought, PENDING)
    after = claim_after(step)
    assert after.is_true(LAUNCHED)
    assert not after.is_true(REGISTERED)
    assert node_after(step).meta.labels["zone"] == "a"
    opened = progress.advance(claim(), (node(),), START, bought, FOUND)
    assert claim_after(opened).meta.labels["part"] == node_after(opened).meta.labels["part"] == "3"


def test_nobody_is_waited_for_longer_than_for_a_node():
    held = claim(true=(LAUNCHED,))
    waiting = claim_after(progress.advance(held, (node(),), START, hooked=PENDING))
    late = progress.advance(waiting, (node(),), START + 900, hooked=PENDING)
    assert [one.labels["reason"] for one in late.effects if isinstance(one, Count)] == ["registration_timeout"]
