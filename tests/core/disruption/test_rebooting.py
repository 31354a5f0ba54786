"""A reboot from request to end, whoever dies in between."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType

import pytest
from tests.core.disruption.clusters import NOW, member

from dovetail.core import conditions, timestamps
from dovetail.core.disruption import rebooting
from dovetail.core.disruption.rebooting import GRACE, PRE_BOOT_ID, TAINT, Answer, Look, answered, next_step, requested
from dovetail.core.effects import Count, Delete, Effect, Evict, Ref, SaveClaim, SaveNode, Say, Step
from dovetail.core.lifecycle.drain import DrainPod
from dovetail.core.nodeclaims import (
    DISRUPTION_REASON,
    INITIALIZED,
    INITIALIZED_LABEL,
    READY,
    REBOOTING,
    TERMINATION_TIME,
    NodeClaim,
    NodeObject,
)

WHY = "KernelDeadlock/Hung"
POD = DrainPod(Ref("Pod", "web-0", "web-0-uid", "default"))


@dataclass
class Patient:
    """One machine. Effects are carried out on it as the API server and its cloud would."""

    claim: NodeClaim
    node: NodeObject | None
    pods: tuple[DrainPod, ...] = ()
    now: float = NOW
    answer: Answer = Answer.DONE
    asked: float | None = None
    comes_back: bool = True
    operations: list[str] = field(default_factory=list)
    told: list[Effect] = field(default_factory=list)
    deleted: bool = False
    #: How many effects of a step are carried out before the process dies; None for all.
    dies_after: int | None = None

    def perform(self, step: Step) -> None:
        for effect in step.effects[: self.dies_after]:
            match effect:
                case SaveClaim(before, after):
                    assert before == self.claim, "written from an older state"
                    self.claim = after
                case SaveNode(before, after):
                    assert before == self.node
                    self.node = after
                case Delete():
                    self.deleted = True
                case _:
                    self.told.append(effect)

    def look(self) -> Look:
        return Look(self.claim, self.node, self.now, self.pods, self.asked)

    def turn(self) -> Step:
        found = next_step(self.look())
        self.perform(found.step)
        if found.operation and (self.dies_after is None or not found.step.effects):
            self._ask(found.operation)
        return found.step

    def _ask(self, operation: str) -> None:
        self.operations.append(operation)
        if self.answer is Answer.DONE and self.comes_back:
            assert self.node is not None
            self.node = replace(self.node, boot_id="after")
        self.asked = self.now if self.asked is None else self.asked
        self.perform(answered(self.look(), self.answer))

    def run(self, turns: int = 40, seconds: float = 15.0) -> Patient:
        for _ in range(turns):
            if self.deleted or self.phase not in (rebooting.REQUESTED, rebooting.ISSUED):
                break
            self.turn()
            self.now += seconds
        return self

    @property
    def phase(self) -> str:
        found = conditions.found(self.claim.conditions, REBOOTING)
        return "" if found is None else found.reason

    @property
    def results(self) -> list[str]:
        return [one.labels["result"] for one in self.told if isinstance(one, Count)]

    @property
    def said(self) -> list[str]:
        return [one.reason for one in self.told if isinstance(one, Say)]


def patient(grace: float | None = 60.0, **more: object) -> Patient:
    one = member("a", labels={INITIALIZED_LABEL: "true"}).machine
    assert one.claim is not None
    assert one.node is not None
    found = Patient(one.claim, replace(one.node, boot_id="before"), **more)  # type: ignore[arg-type]
    dies, found.dies_after = found.dies_after, None
    found.perform(requested(found.claim, WHY, grace, NOW))
    found.dies_after = dies
    return found


def test_a_request_is_written_down_before_anything_happens() -> None:
    one = patient()
    held = conditions.found(one.claim.conditions, REBOOTING)
    assert held is not None
    assert (held.status, held.reason, held.message) == ("True", "RebootRequested", f"rebooting for {WHY}")
    assert one.claim.meta.annotations[GRACE] == "60s"
    assert one.claim.is_true(DISRUPTION_REASON)
    assert requested(one.claim, WHY, None, NOW).effects == (), "it is under way already"


def test_a_reboot_that_goes_well_leaves_a_node_as_it_was() -> None:
    one = patient().run()
    assert one.phase == "RebootSucceeded"
    assert one.results == ["succeeded"]
    assert one.said == ["RebootObserved"]
    assert one.node is not None
    assert one.node.taints == ()
    assert one.claim.meta.annotations.keys().isdisjoint({PRE_BOOT_ID, GRACE})
    assert not one.claim.is_true(DISRUPTION_REASON)
    assert not one.claim.is_true(INITIALIZED), "it is initialized anew"
    assert INITIALIZED_LABEL not in one.node.meta.labels
    assert rebooting.ended(one.claim) is not None
    assert not one.deleted


@pytest.mark.parametrize("effects", [1, 2, 3])
def test_a_process_that_dies_after_every_few_effects_still_reboots_it_once(effects: int) -> None:
    one = patient(dies_after=effects).run()
    assert one.phase == "RebootSucceeded"
    assert len(set(one.operations)) == 1, "the same operation, however often it is asked for"


def test_the_operation_names_claim_request_and_boot() -> None:
    assert patient().run().operations == [f"a-uid-{NOW:.0f}000000000-before"]


def test_pods_are_asked_to_leave_until_the_bound_and_then_ride_the_reboot() -> None:
    one = patient(pods=(POD,))
    one.turn()
    assert one.node is not None
    assert one.node.taints == (TAINT,)
    (evict,) = [told for told in one.told if isinstance(told, Evict)]
    assert (evict.deadline, evict.until) == (None, NOW + 60.0)
    one.now = NOW + 59
    one.turn()
    assert one.operations == []
    one.now = NOW + 60
    one.turn()
    one.turn()
    assert len(one.operations) == 1


def test_without_a_bound_every_pod_is_waited_for() -> None:
    one = patient(None, pods=(POD,))
    one.now = NOW + 86_400
    one.turn()
    assert one.operations == []
    one.pods = ()
    one.run(3)
    assert len(one.operations) == 1


def test_a_bound_of_nothing_drains_nobody() -> None:
    one = patient(0.0, pods=(POD,))
    one.turn()
    one.turn()
    assert len(one.operations) == 1
    assert not any(isinstance(told, Evict) for told in one.told)


def test_even_an_empty_node_is_given_a_moment_to_show_its_taint() -> None:
    one = patient()
    assert one.turn().again == 5.0
    assert one.operations == []


def test_a_request_nobody_can_read_leaves_the_node_alone() -> None:
    one = patient()
    notes = MappingProxyType({**one.claim.meta.annotations, GRACE: "-5s"})
    one.claim = replace(one.claim, meta=replace(one.claim.meta, annotations=notes))
    one.run()
    assert (one.phase, one.results, one.deleted) == ("RebootFailed", ["invalid_request"], False)


def test_a_cloud_that_refuses_costs_the_claim() -> None:
    one = patient(answer=Answer.REFUSED).run()
    assert (one.results, one.deleted, one.said) == (["provider_error"], True, ["RebootFailed"])
    assert one.claim.meta.annotations[TERMINATION_TIME] == timestamps.text(one.now - 15.0 + 60.0)


def test_a_cloud_that_does_not_answer_is_asked_for_five_minutes() -> None:
    one = patient(answer=Answer.AGAIN).run(60)
    assert one.results == ["provider_error"]
    assert 18 <= len(one.operations) <= 24
    assert len(set(one.operations)) == 1


def test_a_machine_that_does_not_come_back_in_time_is_replaced() -> None:
    one = patient(comes_back=False).run(200)
    assert (one.results, one.deleted) == (["recovery_timeout"], True)
    assert 1200 <= one.now - NOW <= 1300


def test_a_machine_that_comes_back_and_is_not_ready_is_replaced() -> None:
    one = patient()
    assert one.node is not None
    bad = tuple(replace(held, status="False") if held.type == READY else held for held in one.node.conditions)
    one.node = replace(one.node, conditions=bad)
    one.run(200)
    assert (one.results, one.deleted, one.said) == (["recovery_timeout"], True, ["RebootObserved", "RebootFailed"])


def test_a_node_that_is_gone_is_waited_for_and_then_given_up() -> None:
    one = patient(comes_back=False)
    one.node = None
    one.run(60)
    assert one.results == ["recovery_timeout"]
    assert 300 <= one.now - NOW <= 330


def test_a_deadline_is_only_ever_moved_to_an_earlier_time() -> None:
    claim = patient().claim
    soon = rebooting.hurried(claim, NOW + 10)
    assert rebooting.hurried(soon, NOW + 60) is soon
    assert rebooting.hurried(soon, NOW + 5) != soon


def test_a_claim_that_leaves_or_is_not_rebooting_is_left_to_others() -> None:
    one = patient()
    leaving = replace(one.claim, meta=replace(one.claim.meta, deleting=NOW))
    assert next_step(Look(leaving, one.node, NOW)).step.effects == ()
    done = one.run().claim
    assert next_step(Look(done, one.node, one.now)).step.effects == ()


def test_a_machine_that_somebody_restarted_meanwhile_is_not_restarted_again() -> None:
    one = patient()
    assert one.node is not None
    notes = MappingProxyType({**one.claim.meta.annotations, PRE_BOOT_ID: "long ago"})
    one.claim = replace(one.claim, meta=replace(one.claim.meta, annotations=notes))
    one.run()
    assert (one.phase, one.operations) == ("RebootSucceeded", [])


def test_a_node_that_was_never_labelled_as_up_has_no_label_to_lose() -> None:
    one = patient()
    assert one.node is not None
    one.node = replace(one.node, meta=replace(one.node.meta, labels=MappingProxyType({})))
    step = answered(one.look(), Answer.DONE)
    assert not any(isinstance(effect, SaveNode) for effect in step.effects)


def test_a_bound_or_an_end_that_nobody_can_read_bounds_nothing() -> None:
    one = patient(answer=Answer.REFUSED)
    notes = MappingProxyType({**one.claim.meta.annotations, GRACE: "soon"})
    one.claim = replace(one.claim, meta=replace(one.claim.meta, annotations=notes))
    one.perform(answered(one.look(), Answer.REFUSED))
    assert one.deleted
    assert TERMINATION_TIME not in one.claim.meta.annotations
    odd = MappingProxyType({TERMINATION_TIME: "soon"})
    dated = rebooting.hurried(replace(one.claim, meta=replace(one.claim.meta, annotations=odd)), NOW)
    assert dated.meta.annotations[TERMINATION_TIME] == timestamps.text(NOW)


def test_what_is_said_of_a_reboot_is_told_from_what_was_said_of_the_one_before() -> None:
    one = patient().run()
    again = one.now
    assert one.node is not None
    one.node = replace(one.node, boot_id="before")
    one.perform(requested(one.claim, WHY, 60.0, again))
    one.run()
    once = [told.dedupe for told in one.told if isinstance(told, Say)]
    assert once == [("a-claim", f"{NOW:.0f}"), ("a-claim", f"{again:.0f}")]
