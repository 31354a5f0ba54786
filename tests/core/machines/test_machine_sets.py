"""A MachineSet keeps its count, and who goes first is no accident (R3–R6, R14)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.machines.machine_world import (
    NOW,
    cluster,
    machine,
    machine_set,
    meta,
    mine,
    of_set,
    said,
    up,
    with_notes,
)

from dovetail.core.conditions import found, is_true
from dovetail.core.effects import Delete
from dovetail.core.machines import names, sets, victims
from dovetail.core.machines.effects import MakeMachine, SaveMachine, SaveSet, Step
from dovetail.core.machines.objects import Counts, Failure, Machine, MachineSet, Order, Timeouts
from dovetail.core.machines.sets import Seen


def step(one: MachineSet | None = None, *machines: Machine, **changes: Any) -> Step:
    return sets.advance(Seen(one or machine_set(), changes.get("cluster", cluster()), machines), NOW)


def made(one: Step) -> list[str]:
    return [effect.name for effect in one.effects if isinstance(effect, MakeMachine)]


def deleted(one: Step) -> list[str]:
    return [effect.ref.name for effect in one.effects if isinstance(effect, Delete)]


def saved(one: Step) -> MachineSet:
    return next(effect.after for effect in one.effects if isinstance(effect, SaveSet))


# ------------------------------------------------------------------------------------------------ the count


def test_R14_what_is_missing_is_made_with_names_nobody_has():
    names_made = made(step(machine_set(replicas=3), mine("a")))
    assert len(set(names_made)) == 2
    assert all(one.startswith("s-") and len(one) == 7 for one in names_made)


def test_the_same_step_makes_the_same_names():
    assert made(step()) == made(step())


@given(count=st.integers(1, 60), name=st.text("abc-", min_size=1, max_size=63).filter(str.isalpha))
def test_names_fit_and_differ(count: int, name: str):
    found = sets.fresh_names(machine_set(meta=meta(name)), set(), count, NOW)
    assert len(set(found)) == count
    assert all(len(one) <= 63 for one in found)


def test_names_of_ones_own():
    (first, *_) = made(step(machine_set(naming="{{ .cluster.name }}-spot-{{ .random }}")))
    assert first.startswith("c-spot-")


@pytest.mark.parametrize("pattern", ["{{.cluster.name}}-{{.random}}", "{{- .cluster.name -}}-{{ .random}}"])
def test_names_are_patterned_with_or_without_blanks(pattern: str):
    (first, second) = made(step(machine_set(naming=pattern)))
    assert first != second
    assert all(one.startswith("c-") and "{" not in one for one in (first, second))


def test_a_pattern_that_names_all_machines_alike_comes_to_an_end():
    assert made(step(machine_set(naming="only{{ .randomness }}"))) == ["only{{ .randomness }}"]


def test_what_is_too_many_goes_and_what_is_going_counts():
    going = mine("a", about={"deleting": NOW})
    assert deleted(step(machine_set(replicas=2), going, mine("b"), mine("c"))) == []
    assert deleted(step(machine_set(replicas=1), going, mine("b"), mine("c"))) == ["b"]


def test_a_set_that_may_not_make_machines_makes_none():
    one = machine_set(meta=meta("s", finalizers=(names.SET_FINALIZER,), annotations={names.NO_CREATE: "true"}))
    assert made(step(one)) == []


DESIRED = [
    (3, {}, 0, 3),
    (None, {}, 5, 1),
    (None, {"min": "2", "max": "4"}, 0, 2),
    (None, {"min": "2", "max": "4"}, 3, 3),
    (None, {"min": "2", "max": "4"}, 9, 4),
    (None, {"min": "2", "max": "x"}, 9, 1),
]


@pytest.mark.parametrize(("replicas", "bounds", "there", "wanted"), DESIRED)
def test_left_out_the_count_is_one_or_the_autoscalers(replicas: Any, bounds: dict[str, str], there: int, wanted: int):
    notes = {key: bounds[name] for name, key in (("min", names.MIN_SIZE), ("max", names.MAX_SIZE)) if name in bounds}
    one = machine_set(meta=meta("s", annotations=notes), replicas=replicas, counts=Counts(replicas=there))
    assert sets.desired(one) == wanted


def test_a_set_says_what_is_up_to_date_that_it_is_paused_and_that_it_goes():
    stale = mine("b", conditions=(said(names.READY), said(names.UP_TO_DATE, "False")))
    told = saved(step(machine_set(replicas=2), mine("a"), stale)).conditions
    held = {one.type: (str(one.status), one.reason) for one in told}
    assert held[names.MACHINES_UP_TO_DATE] == ("False", "NotUpToDate")
    assert (held[names.PAUSED], held[names.DELETING]) == (("False", "NotPaused"), ("False", "NotDeleting"))
    none = {one.type: one.reason for one in saved(step(machine_set(replicas=0))).conditions}
    assert (none[names.MACHINES_READY], none[names.MACHINES_UP_TO_DATE]) == ("NoReplicas", "NoReplicas")
    finalizers, notes = (names.SET_FINALIZER,), {names.PAUSED_ANNOTATION: ""}
    paused = machine_set(meta=meta("s", finalizers=finalizers, annotations=notes))
    (told_paused,) = step(paused).effects
    assert isinstance(told_paused, SaveSet)
    assert is_true(told_paused.after.conditions, names.PAUSED)
    going = step(machine_set(meta=meta("s", finalizers=finalizers, deleting=NOW)), mine("a"))
    assert is_true(saved(going).conditions, names.DELETING)
    assert deleted(going) == ["a"]


def test_counts_are_told():
    held = saved(step(None, mine("a"), mine("b", conditions=(said(names.READY, "False"),))))
    assert held.counts == Counts(replicas=2, ready=1, available=0, up_to_date=2)


# ------------------------------------------------------------------------------------------------ whose machines


def test_orphans_with_its_labels_become_its_own_and_those_of_others_do_not():
    orphan = up("o", {"labels": {"app": "a"}})
    theirs = up("t", {"labels": {"app": "a"}, "owners": (of_set("other", "uid-other"),)})
    one = step(machine_set(replicas=1), orphan, theirs)
    (adopted, *_) = [effect.after for effect in one.effects if isinstance(effect, SaveMachine)]
    assert (adopted.name, adopted.meta.controller.uid) == ("o", "uid-s")
    assert (made(one), deleted(one)) == ([], [])


def test_what_may_change_in_place_is_changed_and_nothing_else():
    template = machine(
        "template", {"labels": {"app": "a", "team": "x"}}, timeouts=Timeouts(drain=9.0), zone="elsewhere"
    )
    one = step(machine_set(replicas=1, template=template), mine("a"))
    (after,) = [effect.after for effect in one.effects if isinstance(effect, SaveMachine)]
    assert (after.meta.labels["team"], after.timeouts.drain, after.zone) == ("x", 9.0, "")


# ------------------------------------------------------------------------------------------------ unhealthy machines


UNHEALTHY = (
    said(names.HEALTH_CHECK_SUCCEEDED, "False"),
    said(names.OWNER_REMEDIATED, "False", reason="WaitingForRemediation"),
)


def test_R40_what_a_check_gave_up_on_is_deleted_and_the_count_restored():
    one = step(None, mine("a", conditions=UNHEALTHY), mine("b"))
    assert deleted(one) == ["a"]
    assert len(made(one)) == 1


def test_what_a_check_only_looks_at_askance_stays():
    assert deleted(step(None, mine("a", conditions=UNHEALTHY[:1]), mine("b"))) == []


def test_R10_a_failed_machine_is_no_business_of_the_set_until_a_check_says_so():
    one = step(None, mine("a", failure=Failure("CreateError", "x")), mine("b"))
    assert (made(one), deleted(one)) == ([], [])


# ------------------------------------------------------------------------------------------------ who goes first


def test_marked_and_unwell_machines_go_before_others_whatever_the_order():
    for order in Order:
        fleet = [
            mine("d", about={"created": NOW - 9e6}),
            mine("c", about={"created": NOW}),
            mine("b", node=""),
            with_notes(mine("a2"), **{names.DELETE_MACHINE: ""}),
            mine("z", about={"deleting": NOW}),
        ]
        chosen = [one.name for one in victims.chosen(fleet, 3, order, NOW)]
        assert chosen == ["z", "a2", "b"]


def test_age_decides_where_it_is_asked_to():
    fleet = [mine("old", about={"created": NOW - 86400}), mine("new", about={"created": NOW - 60})]
    assert victims.chosen(fleet, 1, Order.OLDEST, NOW)[0].name == "old"
    assert victims.chosen(fleet, 1, Order.NEWEST, NOW)[0].name == "new"
    assert victims.chosen(fleet, 1, Order.RANDOM, NOW)[0].name == "new"


def test_random_is_the_same_however_often_it_is_asked():
    fleet = [mine(name) for name in "cab"]
    assert [one.name for one in victims.chosen(fleet, 2, Order.RANDOM, NOW)] == ["a", "b"]
    assert victims.chosen(fleet, 2, Order.RANDOM, NOW) == victims.chosen(fleet[::-1], 2, Order.RANDOM, NOW)


# ------------------------------------------------------------------------------------------------ its end


def test_a_set_goes_after_its_machines():
    going = machine_set(meta=meta("s", finalizers=(names.SET_FINALIZER,), deleting=NOW))
    assert deleted(step(going, mine("a"), mine("b", about={"deleting": NOW}))) == ["a"]
    assert saved(step(going)).meta.finalizers == ()


def test_a_set_is_kept_until_then():
    fresh = machine_set(meta=meta("s"))
    assert saved(step(fresh)).meta.finalizers == (names.SET_FINALIZER,)
    assert made(step(fresh)) == []


def test_a_paused_set_does_nothing_but_say_so():
    (told,) = step(cluster=cluster(paused=True)).effects
    assert isinstance(told, SaveSet)
    assert is_true(told.after.conditions, names.PAUSED)
    assert step(told.after, cluster=cluster(paused=True)) == Step()


def test_a_set_without_its_cluster_makes_nothing_says_so_once_and_can_be_deleted():
    one = step(cluster=None)
    assert made(one) == []
    told = found(saved(one).conditions, names.MACHINES_CREATED)
    assert (str(told.status), told.message) == ("False", "there is no Cluster c")
    assert step(saved(one), cluster=None) == Step()
    going = machine_set(meta=meta("s", finalizers=(names.SET_FINALIZER,), deleting=NOW))
    assert deleted(step(going, mine("a"), cluster=None)) == ["a"]
    assert saved(step(going, cluster=None)).meta.finalizers == ()


def test_what_kept_a_set_from_making_machines_is_forgotten_when_they_are_there():
    stuck = saved(sets.stuck(machine_set(), "there is no template", NOW))
    assert found(saved(step(stuck)).conditions, names.MACHINES_CREATED) is not None
    assert found(saved(step(stuck, mine("a"), mine("b"))).conditions, names.MACHINES_CREATED) is None


def test_a_set_at_rest_writes_nothing():
    fleet = (mine("a"), mine("b"))
    settled = saved(step(None, *fleet))
    assert sets.advance(Seen(settled, cluster(), fleet), NOW + 60).effects == ()


def test_a_set_that_leaves_without_our_finalizer_is_left_alone():
    leaving = machine_set(meta=meta("s", deleting=NOW))
    assert step(leaving, mine("a")) == Step()


def test_a_set_whose_template_cannot_be_read_brings_nothing_up_to_date_and_makes_nothing():
    one = step(machine_set(template=None, replicas=1), mine("a"))
    assert not any(isinstance(effect, SaveMachine) for effect in one.effects)
    assert (made(one), deleted(one)) == ([], [])


def test_a_machine_that_says_already_why_it_goes_is_not_told_again():
    given_up = (said(names.HEALTH_CHECK_SUCCEEDED, "False"), said(names.OWNER_REMEDIATED, "False"))
    first = step(machine_set(replicas=1), mine("a", conditions=given_up))
    told = next(effect.after for effect in first.effects if isinstance(effect, SaveMachine))
    again = step(machine_set(replicas=1), told)
    assert deleted(first) == deleted(again) == ["a"]
    assert not any(isinstance(effect, SaveMachine) for effect in again.effects)


# ------------------------------------------------------------------------------------------------ deployments


def test_a_deployment_says_that_nobody_makes_its_machines_and_what_to_write_instead():
    after, said_once = sets.undeployed(machine_set(), NOW)
    held = found(after.conditions, names.MACHINES_CREATED)
    assert held is not None
    assert (str(held.status), held.message) == ("False", said_once.message)
    assert "write a MachineSet" in said_once.message
    assert (said_once.about.kind, said_once.warning) == ("MachineDeployment", True)
    assert sets.undeployed(after, NOW + 60)[0] == after


@pytest.mark.parametrize("about", [{"deleting": NOW}, {"annotations": {names.PAUSED_ANNOTATION: ""}}])
def test_a_deployment_that_is_going_or_paused_is_left_alone(about: dict[str, Any]):
    one = replace(machine_set(), meta=meta("s", **about))
    assert sets.undeployed(one, NOW)[0] is one
