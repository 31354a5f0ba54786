"""Health checks: who is unhealthy, when nothing is done, how slowly failures are replaced (R14, R40, R41)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.machines.machine_world import NOW, check, cluster, machine, meta, mine, node, said, up, with_notes

from dovetail.core.conditions import found, is_true
from dovetail.core.effects import Say
from dovetail.core.machines import health, names, remediation
from dovetail.core.machines.effects import SaveCheck, SaveMachine, Step
from dovetail.core.machines.health import Target
from dovetail.core.machines.objects import Backoff, Failure, Failures, HealthCheck, Machine, ObjectRef, Sign

FAILED = Failure("InsufficientResources", "no capacity")


def judged(one: Machine, held: Any = None, **changes: Any) -> health.Health:
    of = check(**changes)
    return health.judged(of, cluster(), Target(one, held), NOW)


def well(name: str, **changes: Any) -> Target:
    return Target(mine(name, **changes), node(f"node-{name}"))


def barren(name: str, **changes: Any) -> Target:
    """A machine the market had nothing for."""
    about = {"labels": {"app": "a"}, "created": NOW - 60} | changes.pop("about", {})
    return Target(machine(name, about, failure=FAILED, **changes))


def advance(of: HealthCheck, *targets: Target, now: float = NOW) -> Step:
    return remediation.advance(of, cluster(), targets, now)


def saved(step: Step, of: HealthCheck) -> HealthCheck:
    return next((one.after for one in step.effects if isinstance(one, SaveCheck)), of)


def handed_over(step: Step) -> list[str]:
    """Machines their owner is asked to replace now."""
    changed = [one.after for one in step.effects if isinstance(one, SaveMachine)]
    return [one.name for one in changed if one.is_false(names.OWNER_REMEDIATED)]


# ------------------------------------------------------------------------------------------------ who is unhealthy


def test_R40_a_failed_machine_is_unhealthy_at_once():
    found_ = judged(machine(failure=FAILED))
    assert (found_.reason, found_.barren) == ("MachineHasFailure", True)
    assert judged(up(failure=FAILED), node()).barren is False


def test_a_node_that_is_gone_is_unhealthy_at_once():
    assert judged(up()).reason == "NodeDeleted"


def test_R14_a_machine_that_never_became_a_node_is_unhealthy_after_a_while():
    late = machine(about={"created": NOW - 601.0})
    assert (judged(late).reason, judged(late).barren) == ("NodeStartupTimeout", True)
    early = judged(machine(about={"created": NOW - 590.0}))
    assert (early.reason, early.again) == ("", pytest.approx(11.0))
    assert judged(late, startup=0.0) == health.HEALTHY
    assert judged(machine(about={"created": NOW - 601.0}, provider_id="x")).barren is False


def test_R14_the_while_counts_from_when_everything_it_needs_was_there():
    fresh = (said(names.INFRASTRUCTURE_READY, since=NOW - 10.0),)
    assert judged(machine(conditions=fresh)).again == pytest.approx(591.0)
    assert judged(machine()).is_unhealthy


SIGNS = (Sign("Ready", "Unknown", 300.0), Sign("Ready", "False", 300.0))


@pytest.mark.parametrize("status", ["Unknown", "False"])
def test_a_condition_of_the_node_must_have_held_long_enough(status: str):
    old = node(conditions=(said("Ready", status, NOW - 301.0),))
    assert judged(up(), old, node_signs=SIGNS).reason == "UnhealthyNode"
    recent = node(conditions=(said("Ready", status, NOW - 290.0),))
    assert judged(up(), recent, node_signs=SIGNS).again == pytest.approx(11.0)
    exact = node(conditions=(said("Ready", status, NOW - 300.0),))
    assert not judged(up(), exact, node_signs=SIGNS).is_unhealthy


def test_a_condition_of_the_machine_counts_too():
    sign = (Sign("example.com/Burnt", "True", 10.0),)
    burnt = up(conditions=(said("example.com/Burnt"),))
    assert judged(burnt, node(), machine_signs=sign).reason == "UnhealthyMachine"


UNSOLD = (Sign(names.INFRASTRUCTURE_READY, "False", 300.0),)


def unsold(name: str, **changes: Any) -> Target:
    """A machine its cloud has not answered about, nor refused."""
    held = (said(names.INFRASTRUCTURE_READY, "False", NOW - 301.0),)
    return Target(machine(name, {"labels": {"app": "a"}, "created": NOW - 301.0}, conditions=held, **changes))


def test_R41_a_sign_of_a_machine_that_was_never_bought_is_a_failure_to_back_off_from():
    found_ = judged(unsold("a").machine, machine_signs=UNSOLD)
    assert (found_.reason, found_.barren) == ("UnhealthyMachine", True)
    for bought in ({"provider_id": "x"}, {"node": "node-a"}):
        found_ = judged(unsold("a", **bought).machine, node(), machine_signs=UNSOLD)
        assert (found_.reason, found_.barren) == ("UnhealthyMachine", False)


def test_an_annotation_asks_for_it():
    assert judged(with_notes(up(), **{names.REMEDIATE: ""}), node()).reason == "HasRemediateAnnotation"


@pytest.mark.parametrize("changes", [{"control_plane": None}, {"infrastructure": None}])
def test_nothing_is_said_of_machines_of_a_cluster_that_is_not_up(changes: dict[str, Any]):
    verdict = health.judged(check(), cluster(**changes), Target(machine(failure=FAILED)), NOW)
    assert verdict == health.HEALTHY


# ------------------------------------------------------------------------------------------------ when nothing is done


@pytest.mark.parametrize(
    ("most", "expected", "wanted"), [("100%", 3, 3), ("40%", 4, 1), ("49%", 2, 0), (2, 9, 2), ("2", 9, 2), ("0%", 5, 0)]
)
def test_a_share_is_rounded_down(most: int | str, expected: int, wanted: int):
    assert remediation.bound(most, expected) == wanted


def test_too_many_unhealthy_at_once_are_left_alone_and_told_of():
    of = check(most="40%")
    step = advance(of, Target(mine("a")), Target(mine("b")), well("c"))
    assert handed_over(step) == []
    after = saved(step, of)
    assert (after.tally.expected, after.tally.healthy, after.tally.allowed) == (3, 1, 0)
    held = found(after.conditions, names.REMEDIATION_ALLOWED)
    assert held is not None
    assert held.reason == "TooManyUnhealthy"
    assert any(isinstance(one, Say) and one.reason == "RemediationRestricted" for one in step.effects)


def test_what_is_found_is_written_on_the_machine_even_then():
    step = advance(check(most=0), Target(mine("a")))
    (after,) = [one.after for one in step.effects if isinstance(one, SaveMachine)]
    assert after.is_false(names.HEALTH_CHECK_SUCCEEDED)
    assert not after.is_false(names.OWNER_REMEDIATED)


@pytest.mark.parametrize(("span", "done"), [((1, 2), True), ((2, 3), False), ((0, 0), False)])
def test_a_range_goes_before_the_bound(span: tuple[int, int], done: bool):
    step = advance(check(span=span, most=0), Target(mine("a")), well("b"))
    assert (handed_over(step) == ["a"]) is done


def test_a_pending_machine_counts_as_not_well():
    of = check(most="0%")
    young = Target(machine("y", {"labels": {"app": "a"}, "created": NOW - 5}))
    assert saved(advance(of, young, well("b")), of).tally.healthy == 1


def test_machines_that_are_to_be_left_alone_are_and_those_of_others_too():
    of = check()
    skipped = mine("a", about={"annotations": {names.SKIP_REMEDIATION: ""}})
    paused = mine("b", about={"annotations": {names.PAUSED_ANNOTATION: ""}})
    other = mine("c", about={"labels": {"app": "b"}})
    step = advance(of, Target(skipped), Target(paused), Target(other), Target(replace(mine("d"), cluster="e")))
    assert saved(step, of).tally.targets == ()


def test_a_machine_that_is_well_again_is_not_replaced():
    asked = mine(
        "a",
        conditions=(
            said(names.HEALTH_CHECK_SUCCEEDED, "False"),
            said(names.OWNER_REMEDIATED, "False", reason="WaitingForRemediation"),
        ),
    )
    step = advance(check(), Target(asked, node("node-a")))
    (after,) = [one.after for one in step.effects if isinstance(one, SaveMachine)]
    assert after.is_true(names.HEALTH_CHECK_SUCCEEDED)
    assert found(after.conditions, names.OWNER_REMEDIATED) is None


def test_a_check_at_rest_writes_nothing():
    of = check()
    step = advance(of, well("a"))
    target = Target(next(one.after for one in step.effects if isinstance(one, SaveMachine)), node("node-a"))
    assert advance(saved(step, of), target, now=NOW + 60).effects == ()


# ------------------------------------------------------------------------------------------------ back-off


def test_R41_failed_machines_are_replaced_ever_more_slowly():
    of, now, gaps = check(), NOW, []
    for number in range(10):
        one = barren(f"m-{number}", about={"created": now - 60})
        step = advance(of, one, now=now)
        of = saved(step, of)
        if handed_over(step):
            gaps.append(0.0)
            continue
        assert step.again is not None
        waited = found(of.conditions, names.REMEDIATION_BACKOFF)
        assert waited is not None
        assert str(waited.status) == "True"
        gaps.append(step.again)
        now += step.again
        step = advance(of, one, now=now)
        assert handed_over(step) == [f"m-{number}"]
        of = saved(step, of)
    assert gaps[0] == 0.0
    plain = [min(30.0 * 2**number, 1800.0) for number in range(9)]
    assert gaps[1:] == [pytest.approx(one, rel=0.11) for one in plain]
    assert of.failures.count == 10


def test_R41_one_failed_machine_is_handed_over_at_a_time():
    step = advance(check(), barren("a"), barren("b"), barren("c"))
    assert handed_over(step) == ["a"]


def test_R41_a_cloud_that_sells_nothing_for_a_while_has_no_set_remade_at_once():
    of = check(machine_signs=UNSOLD)
    step = advance(of, unsold("a"), unsold("b"), unsold("c"))
    assert handed_over(step) == ["a"]
    assert saved(step, of).failures == Failures(1, NOW)


def test_R41_the_row_survives_a_restart():
    of = check(failures=Failures(count=3, last=NOW - 10.0))
    step = advance(of, barren("a"))
    assert handed_over(step) == []
    assert step.again == pytest.approx(remediation.delay(of, 3) - 10.0)


def test_R41_a_machine_that_was_taken_away_is_replaced_at_once():
    of = check(failures=Failures(count=5, last=NOW - 1.0))
    taken = Target(mine("a", failure=Failure("UpdateError", "terminated")))
    step = advance(of, taken)
    assert handed_over(step) == ["a"]
    assert saved(step, of).failures == of.failures


def test_R41_a_machine_that_comes_up_and_stays_so_ends_the_row():
    of = check(failures=Failures(count=5, last=NOW - 8000.0))
    young = well("a", about={"created": NOW - 7000.0}, conditions=(said(names.READY, since=NOW - 3500.0),))
    assert saved(advance(of, young), of).failures.count == 5
    stayed = well("a", about={"created": NOW - 7000.0}, conditions=(said(names.READY, since=NOW - 3600.0),))
    assert saved(advance(of, stayed), of).failures == Failures()


def test_R41_a_machine_from_before_proves_nothing():
    of = check(failures=Failures(count=5, last=NOW - 100.0))
    old = well("a", about={"created": NOW - 9e5}, conditions=(said(names.READY, since=NOW - 8e5),))
    assert saved(advance(of, old), of).failures.count == 5


def test_R41_the_delay_is_bounded_and_its_numbers_are_the_checks_own():
    of = check(backoff=Backoff(base=10.0, cap=40.0))
    assert [remediation.delay(of, count) for count in (1, 2, 3, 500)] == [
        pytest.approx(one, rel=0.11) for one in (10.0, 20.0, 40.0, 40.0)
    ]
    other = replace(of, meta=meta("other"))
    assert remediation.delay(of, 1) != remediation.delay(other, 1)


def test_a_machine_that_somebody_else_replaces_is_not_handed_to_its_owner():
    step = advance(check(template=ObjectRef("g", "Remedy", "r")), Target(mine("a")))
    assert handed_over(step) == []


def test_a_check_without_its_cluster_or_of_a_paused_one_does_nothing_but_say_that_it_is_paused():
    ill = barren("a")
    assert remediation.advance(check(), None, (ill,), NOW) == Step()
    (told,) = remediation.advance(check(), cluster(paused=True), (ill,), NOW).effects
    assert isinstance(told, SaveCheck)
    assert is_true(told.after.conditions, names.PAUSED)
    assert remediation.advance(told.after, cluster(paused=True), (ill,), NOW + 60) == Step()
    (resumed,) = remediation.advance(told.after, cluster(), (), NOW + 120).effects
    assert isinstance(resumed, SaveCheck)
    assert not is_true(resumed.after.conditions, names.PAUSED)


def test_a_machine_that_is_unhealthy_still_is_not_written_again():
    first = advance(check(), barren("a"))
    marked = next(one.after for one in first.effects if isinstance(one, SaveMachine))
    second = advance(saved(first, check()), Target(marked), now=NOW + 60)
    assert not any(isinstance(one, SaveMachine | Say) for one in second.effects)
