"""Health checks whose machines somebody else heals: one request for each, as long as it is unhealthy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.machines.machine_world import NOW, check, cluster, labelled, machine, meta, mine, node, said

from dovetail.core.conditions import Condition, found
from dovetail.core.effects import Say
from dovetail.core.machines import external, names, remediation
from dovetail.core.machines.effects import DropRequest, MakeRequests, SaveCheck, SaveMachine, Step
from dovetail.core.machines.external import Requests
from dovetail.core.machines.health import Target
from dovetail.core.machines.objects import Failure, Failures, HealthCheck, Machine, ObjectRef, Request, Sign

TEMPLATE = ObjectRef("remedy.example.com", "RemedyTemplate", "r")
GONE = Requests(template="spec.remediation.templateRef.name: there is no RemedyTemplate r in namespace default")
LOST = Target(mine("a"))
FAILED = machine("a", {"labels": {"app": "a"}}, failure=Failure("InsufficientResources", "none"))


def helped(**changes: Any) -> HealthCheck:
    """A check whose machines somebody else heals."""
    return check(**{"template": TEMPLATE} | changes)


def request(of: Machine, **changes: Any) -> Request:
    defaults = {"name": of.name, "uid": f"request-{of.name}", "machine": of.meta.uid, "check": "h"}
    return Request(**defaults | changes)


def advance(of: HealthCheck, *targets: Target, held: Requests = external.NONE, now: float = NOW) -> Step:
    return remediation.advance(of, cluster(), targets, now, held)


def made(step: Step) -> list[str]:
    return [one.name for effect in step.effects if isinstance(effect, MakeRequests) for one in effect.machines]


def dropped(step: Step) -> list[str]:
    return [effect.request.name for effect in step.effects if isinstance(effect, DropRequest)]


def told(step: Step, type_: str = names.EXTERNALLY_REMEDIATED) -> Condition | None:
    """What the one machine that is written says."""
    (after,) = [one.after for one in step.effects if isinstance(one, SaveMachine)]
    return found(after.conditions, type_)


def of_check(step: Step, type_: str) -> Condition | None:
    (after,) = [one.after for one in step.effects if isinstance(one, SaveCheck)]
    return found(after.conditions, type_)


def as_left(step: Step, of: HealthCheck, *targets: Target) -> tuple[HealthCheck, tuple[Target, ...]]:
    """A check and its machines as a step leaves them."""
    machines = {one.after.name: one.after for one in step.effects if isinstance(one, SaveMachine)}
    after = next((one.after for one in step.effects if isinstance(one, SaveCheck)), of)
    return after, tuple(replace(one, machine=machines.get(one.machine.name, one.machine)) for one in targets)


def asked() -> Machine:
    """A machine that somebody else is asked to heal."""
    ill = said(names.HEALTH_CHECK_SUCCEEDED, "False", reason="NodeDeleted")
    return mine("a", conditions=(ill, said(names.EXTERNALLY_REMEDIATED, "False", reason="WaitingForRemediation")))


# ------------------------------------------------------------------------------------------------ asking


def test_an_unhealthy_machine_gets_a_request_and_its_owner_is_not_asked():
    step = advance(helped(), LOST)
    assert made(step) == ["a"]
    assert told(step, names.OWNER_REMEDIATED) is None
    waiting = told(step)
    assert waiting is not None
    assert (str(waiting.status), waiting.reason) == ("False", "WaitingForRemediation")
    assert [one.reason for one in step.effects if isinstance(one, Say)] == ["MachineMarkedUnhealthy"]


def test_what_is_asked_for_is_on_record_before_it_is_made():
    kinds = [type(one) for one in advance(helped(), LOST).effects]
    assert kinds.index(MakeRequests) > max(kinds.index(SaveMachine), kinds.index(SaveCheck))


def test_a_request_that_stands_is_not_made_again_and_the_check_comes_to_rest():
    of, targets = as_left(advance(helped(), LOST), helped(), LOST)
    held = Requests(held=(request(LOST.machine),))
    step = advance(of, *targets, held=held, now=NOW + 60)
    assert made(step) == []
    available = of_check(step, names.EXTERNAL_REQUEST_AVAILABLE)
    assert available is not None
    assert str(available.status) == "True"
    of, targets = as_left(step, of, *targets)
    rest = advance(of, *targets, held=held, now=NOW + 120)
    assert (rest.effects, rest.again) == ((), external.AGAIN_SECONDS)


def test_every_unhealthy_machine_gets_one_whoever_has_one_already():
    held = Requests(held=(request(LOST.machine),))
    assert made(advance(helped(), LOST, Target(mine("b")), Target(mine("c")), held=held)) == ["b", "c"]


def test_a_request_that_somebody_deleted_is_made_again_and_not_told_of_again():
    of, targets = as_left(advance(helped(), LOST), helped(), LOST)
    step = advance(of, *targets, now=NOW + 600)
    assert made(step) == ["a"]
    assert not any(isinstance(one, SaveMachine | Say) for one in step.effects)


def test_no_request_is_made_while_too_many_are_unhealthy_or_for_a_machine_that_goes():
    assert made(advance(helped(most=0), LOST)) == []
    going = mine("a", about={"deleting": NOW - 5.0})
    assert made(advance(helped(), Target(going))) == []


def test_a_request_on_its_way_out_or_of_a_machine_before_is_waited_for():
    for odd in (request(LOST.machine, is_deleting=True), request(LOST.machine, machine="uid-before")):
        step = advance(helped(), LOST, held=Requests(held=(odd,)))
        assert (made(step), dropped(step), step.again) == ([], [], external.IN_THE_WAY_SECONDS)


def test_a_failed_machine_is_counted_once_however_often_it_is_looked_at():
    of, targets, held = helped(), (Target(FAILED),), external.NONE
    for turn in range(5):
        step = advance(of, *targets, held=held, now=NOW + 3600.0 * turn)
        assert made(step) == (["a"] if turn == 0 else [])
        of, targets = as_left(step, of, *targets)
        held = Requests(held=(request(FAILED),))
    assert of.failures == Failures(1, NOW)


def test_failed_machines_get_their_requests_ever_more_slowly_too():
    step = advance(helped(failures=Failures(3, NOW - 10.0)), Target(FAILED))
    assert made(step) == []
    assert told(step) is None


# ------------------------------------------------------------------------------------------------ what cannot be made


def test_a_template_that_is_not_there_is_told_of_on_both_objects_and_looked_for_again():
    step = advance(helped(), LOST, held=GONE)
    assert made(step) == []
    lost, missing = told(step), of_check(step, names.EXTERNAL_TEMPLATE_AVAILABLE)
    assert lost is not None
    assert missing is not None
    assert (lost.reason, lost.message) == ("RemediationTemplateNotFound", f"MachineHealthCheck h: {GONE.template}")
    assert (str(missing.status), missing.reason) == ("False", "ExternalRemediationTemplateNotFound")
    assert missing.message == GONE.template
    (event,) = [one for one in step.effects if isinstance(one, Say)]
    assert (event.about.kind, event.reason, event.message) == ("MachineHealthCheck", missing.reason, GONE.template)
    assert step.again == external.AGAIN_SECONDS
    of, targets = as_left(step, helped(), LOST)
    assert advance(of, *targets, held=GONE, now=NOW + 60).effects == ()


def test_it_is_told_of_before_any_machine_is_unhealthy():
    step = advance(helped(), Target(mine("a"), node("node-a")), held=GONE)
    missing = of_check(step, names.EXTERNAL_TEMPLATE_AVAILABLE)
    assert missing is not None
    assert str(missing.status) == "False"


def test_once_the_template_is_there_the_request_is_made():
    of, targets = as_left(advance(helped(), LOST, held=GONE), helped(), LOST)
    step = advance(of, *targets, now=NOW + 60)
    assert made(step) == ["a"]
    waiting, there = told(step), of_check(step, names.EXTERNAL_TEMPLATE_AVAILABLE)
    assert waiting is not None
    assert there is not None
    assert (waiting.reason, str(there.status)) == ("WaitingForRemediation", "True")


def test_once_the_template_is_there_a_machine_whose_turn_has_not_come_does_not_miss_it_any_more():
    of = helped(failures=Failures(3, NOW - 10.0))
    of, targets = as_left(advance(of, Target(FAILED), held=GONE), of, Target(FAILED))
    assert found(targets[0].machine.conditions, names.EXTERNALLY_REMEDIATED) is not None
    step = advance(of, *targets, now=NOW + 1)
    assert (made(step), told(step)) == ([], None)
    of, targets = as_left(step, of, *targets)
    assert not [one for one in advance(of, *targets, now=NOW + 2).effects if isinstance(one, SaveMachine)]


def test_requests_that_cannot_be_looked_up_are_neither_made_nor_removed():
    held = Requests(listing="spec.remediation.templateRef: list remedies: forbidden")
    step = advance(helped(), LOST, Target(mine("b"), node("node-b")), held=held)
    assert (made(step), dropped(step)) == ([], [])
    unavailable = of_check(step, names.EXTERNAL_REQUEST_AVAILABLE)
    assert unavailable is not None
    assert (unavailable.reason, unavailable.message) == ("ExternalRemediationRequestCreationFailed", held.listing)


def test_a_request_that_is_refused_is_told_of_once_and_asked_for_again_later():
    of, (target,) = as_left(advance(helped(), LOST), helped(), LOST)
    step = external.unmade(of, ((target.machine, "forbidden"), (mine("b"), "forbidden too")), NOW)
    refused = of_check(step, names.EXTERNAL_REQUEST_AVAILABLE)
    assert refused is not None
    assert refused.message == "Machine a: forbidden (and 1 more)"
    (event,) = [one for one in step.effects if isinstance(one, Say)]
    assert (event.reason, event.warning) == ("ExternalRemediationRequestCreationFailed", True)
    assert step.again == external.AGAIN_SECONDS
    of, (target,) = as_left(step, of, target)
    noted = found(target.machine.conditions, names.EXTERNALLY_REMEDIATED)
    assert noted is not None
    assert (noted.reason, noted.message) == ("RemediationRequestCreationFailed", "MachineHealthCheck h: forbidden")
    again = advance(of, target, now=NOW + 60)
    assert made(again) == ["a"]
    assert [type(one) for one in again.effects] == [MakeRequests]
    stands = advance(of, target, held=Requests(held=(request(target.machine),)), now=NOW + 120)
    waiting = told(stands)
    assert waiting is not None
    assert waiting.reason == "WaitingForRemediation"


def test_a_request_refused_again_for_the_same_reason_is_not_told_of_again():
    of, (target,) = as_left(advance(helped(), LOST), helped(), LOST)
    of, (target,) = as_left(external.unmade(of, ((target.machine, "forbidden"),), NOW), of, target)
    again = external.unmade(of, ((target.machine, "forbidden"),), NOW + 60)
    assert (again.effects, again.again) == ((), external.AGAIN_SECONDS)


# ------------------------------------------------------------------------------------------------ taking it back


def test_the_request_of_a_machine_that_is_well_again_is_removed():
    well = Target(asked(), node("node-a"))
    step = advance(helped(), well, held=Requests(held=(request(well.machine),)))
    assert dropped(step) == ["a"]
    assert told(step) is None
    assert of_check(step, names.EXTERNAL_REQUEST_AVAILABLE) is None


def test_one_that_is_on_its_way_out_is_not_removed_twice():
    well = Target(mine("a"), node("node-a"))
    assert dropped(advance(helped(), well, held=Requests(held=(request(well.machine, is_deleting=True),)))) == []


def test_a_machine_that_is_not_well_yet_keeps_its_request():
    """A reboot passes through other conditions, whose time has not run out, before the node is ready again."""
    booting = node("node-a", conditions=(said("Ready", "False", NOW - 10.0),))
    of = helped(node_signs=(Sign("Ready", "False", 60.0),))
    step = advance(of, Target(asked(), booting), held=Requests(held=(request(asked()),)))
    assert dropped(step) == []
    assert told(step) is not None


def test_the_request_of_a_machine_that_is_not_looked_after_any_more_is_removed():
    left = mine("a", about={"labels": {"app": "b"}}, conditions=asked().conditions)
    held = Requests(held=(request(left),))
    step = advance(helped(), Target(left), held=held)
    assert dropped(step) == ["a"]
    assert told(step) is None
    skipped = mine("a", about={"annotations": {names.SKIP_REMEDIATION: ""}})
    assert dropped(advance(helped(), Target(skipped), held=held)) == ["a"]


def test_requests_of_others_and_of_paused_machines_stay():
    well, paused = mine("a"), mine("b", about={"annotations": {names.PAUSED_ANNOTATION: ""}})
    strange = mine("c", about={"labels": {"app": "b"}})
    held = Requests(
        held=(request(well, check="other"), request(paused), request(strange, check=""), request(mine("gone"))),
        others=(helped(meta=meta("other")),),
    )
    targets = (Target(well, node("node-a")), Target(paused), Target(strange))
    assert dropped(advance(helped(), *targets, held=held)) == []
    assert dropped(advance(helped(), targets[0], held=Requests(held=(request(well, machine=""),)))) == []


def test_a_request_that_cannot_be_removed_is_told_of():
    (event,) = external.kept(helped(), request(mine("a")), "forbidden").effects
    assert isinstance(event, Say)
    assert (event.reason, event.warning) == ("ExternalRemediationRequestDeletionFailed", True)


def test_a_check_that_lost_its_template_says_no_more_of_it():
    of, _ = as_left(advance(helped(), LOST, held=GONE), helped(), LOST)
    step = advance(replace(of, template=None), Target(asked(), node("node-a")))
    assert of_check(step, names.EXTERNAL_TEMPLATE_AVAILABLE) is None
    assert told(step) is None


# ------------------------------------------------------------------------------------------------ checks that overlap


class Pair:
    """Two checks of the same machine, judged in turns, and all that each of them wrote."""

    def __init__(self, first: HealthCheck, second: HealthCheck, one: Target, *listed: Requests) -> None:
        self.checks, self.target = [first, second], one
        self.listed = listed or (external.NONE, external.NONE)
        self.held: tuple[Request, ...] = ()

    def round(self, now: float) -> list[str]:
        """What both write on the machine now."""
        wrote = []
        for at, other in ((0, 1), (1, 0)):
            of = self.checks[at]
            held = self.held if of.template is not None else ()
            seen = replace(self.listed[at], held=held, others=(self.checks[other],))
            step = advance(of, self.target, held=seen, now=now)
            self.checks[at], (self.target,) = as_left(step, of, self.target)
            wrote += [of.name for one in step.effects if isinstance(one, SaveMachine)]
            self.held += tuple(request(self.target.machine, check=of.name) for _ in made(step))
        return wrote


def broken_node() -> Target:
    return Target(mine("a"), node("node-a", conditions=(said("Broken"),)))


def seeing(name: str, *, ill: bool = True, **changes: Any) -> HealthCheck:
    """A check to which a broken node is a sign, or is not."""
    signs = (Sign("Broken", "True", 30.0),) if ill else ()
    return helped(**{"meta": meta(name), "node_signs": signs} | changes)


SLOWER = (Sign("Broken", "True", 60.0),)


@pytest.mark.parametrize(
    ("second", "listed"),
    [
        (seeing("b", ill=False, template=None), ()),
        (seeing("b", ill=False), ()),
        (seeing("b", node_signs=SLOWER), ()),
        (seeing("b", node_signs=SLOWER), (GONE, Requests(template="spec.remediation.templateRef: another reason"))),
        (seeing("b", node_signs=SLOWER), (GONE, external.NONE)),
        (seeing("b", ill=False, template=None), (GONE, external.NONE)),
    ],
)
def test_two_checks_of_one_machine_come_to_rest_whatever_each_sees(second: HealthCheck, listed: tuple[Requests, ...]):
    pair = Pair(seeing("a"), second, broken_node(), *listed)
    assert pair.round(NOW)
    assert [pair.round(NOW + turn) for turn in range(1, 10)] == [[]] * 9
    assert pair.target.machine.is_false(names.HEALTH_CHECK_SUCCEEDED)
    assert pair.target.machine.is_false(names.EXTERNALLY_REMEDIATED)


def test_a_refusal_is_not_told_on_a_machine_that_another_check_asks_for():
    asked_by_a = advance(seeing("a"), broken_node())
    _, (target,) = as_left(asked_by_a, seeing("a"), broken_node())
    step = external.unmade(seeing("b"), ((target.machine, "forbidden"),), NOW)
    assert [type(one) for one in step.effects] == [SaveCheck, Say]


@pytest.mark.parametrize(
    "other", [None, seeing("a", template=None), seeing("a", selector=labelled(app="b")), seeing("a", cluster="d")]
)
def test_a_request_whose_check_is_gone_or_looks_elsewhere_goes_when_another_finds_the_machine_well(
    other: HealthCheck | None,
):
    _, (target,) = as_left(advance(seeing("a"), broken_node()), seeing("a"), broken_node())
    well = replace(target, node=node("node-a"))
    held = Requests(held=(request(well.machine, check="a"),), others=(other,) if other is not None else ())
    step = advance(seeing("b"), well, held=held)
    assert (dropped(step), told(step)) == (["a"], None)
    there = replace(held, others=(seeing("a"),))
    step = advance(seeing("b"), well, held=there)
    assert dropped(step) == []
    assert not any(isinstance(one, SaveMachine) for one in step.effects)


def test_a_check_takes_over_what_one_that_is_gone_asked_for_and_does_not_ask_twice():
    of, target = seeing("b"), broken_node()
    _, (target,) = as_left(advance(seeing("a"), target), seeing("a"), target)
    held = Requests(held=(request(target.machine, check="a"),))
    step = advance(of, target, held=held)
    assert made(step) == []
    waiting = told(step)
    assert waiting is not None
    assert (waiting.reason, waiting.message[:21]) == ("WaitingForRemediation", "MachineHealthCheck b:")
    of, (target,) = as_left(step, of, target)
    assert advance(of, target, held=held, now=NOW + 60).effects == ()
