"""§2.10, §2.11: how claims and Nodes end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.lifecycle.claims import START, claim, node

from dovetail.core import conditions
from dovetail.core.conditions import Status
from dovetail.core.effects import Count, Delete, Evict, Observe, Ref, SaveClaim, SaveNode, Say, Step, Terminate
from dovetail.core.lifecycle import drain, finalization, termination
from dovetail.core.lifecycle.drain import DrainPod
from dovetail.core.lifecycle.termination import Leaving
from dovetail.core.nodeclaims import (
    DISRUPTED,
    DRAINED,
    EXCLUDE_FROM_BALANCERS,
    FINALIZER,
    INITIALIZED,
    INSTANCE_TERMINATING,
    LAUNCHED,
    REGISTERED,
    REGISTERED_LABEL,
    TERMINATION_TIME,
    VOLUMES_DETACHED,
    NodeClaim,
    NodeObject,
)
from dovetail.core.resources import Resources

UP = (LAUNCHED, REGISTERED, INITIALIZED)


def pod(name: str = "web-1", **given: object) -> DrainPod:
    return DrainPod(Ref("Pod", name, f"{name}-uid", "default"), **given)  # type: ignore[arg-type]


def leaving_node(**given: object) -> NodeObject:
    given = {"finalizers": (FINALIZER,), **given}
    return node(deleting=START, taints=(DISRUPTED,), **given)  # type: ignore[arg-type]


def kinds(step: Step) -> list[str]:
    return [type(effect).__name__ for effect in step.effects]


def saved_claim(step: Step) -> NodeClaim:
    return next(effect.after for effect in step.effects if isinstance(effect, SaveClaim))


# ---- claims


def test_a_registered_claim_first_deletes_its_node_and_waits_for_it():
    held = claim(true=UP, deleting=START)
    step = finalization.finalize(held, (node(),), START)
    assert kinds(step) == ["Delete"]
    assert kinds(finalization.finalize(held, (leaving_node(),), START)) == []


def test_a_claim_that_does_not_say_yet_that_its_node_joined_says_so_and_is_ended_like_any_other():
    joined = node(labels={REGISTERED_LABEL: "true"})
    step = finalization.finalize(claim(deleting=START), (joined,), START)
    assert kinds(step) == ["SaveClaim"]
    known = saved_claim(step)
    assert (known.provider_id, known.node_name) == (joined.provider_id, joined.name)
    assert kinds(finalization.finalize(known, (joined,), START)) == ["Delete"]


def test_a_claim_whose_node_never_joined_is_not_drained():
    assert kinds(finalization.finalize(claim(deleting=START), (node(),), START)) == ["Terminate"]


def test_a_claim_whose_node_is_gone_terminates_its_machine():
    assert kinds(finalization.finalize(claim(true=UP, deleting=START), (), START)) == ["Terminate"]


def test_a_claim_that_never_launched_still_asks_the_cloud_since_its_buyer_may_have_died():
    assert kinds(finalization.finalize(claim(deleting=START), (), START)) == ["Terminate"]


def test_the_grace_period_becomes_a_deadline_that_nobody_moves():
    held = claim(true=UP, deleting=START, grace=600.0)
    step = finalization.finalize(held, (node(),), START)
    assert saved_claim(step).meta.annotations[TERMINATION_TIME] == "2027-01-15T08:10:00Z"
    dated = claim(true=UP, deleting=START, grace=600.0, annotations={TERMINATION_TIME: "2027-01-01T00:00:00Z"})
    assert kinds(finalization.finalize(dated, (node(),), START)) == ["Delete"]


def test_a_machine_that_is_still_going_is_asked_about_again():
    step = finalization.terminated(Terminate(claim(true=UP, deleting=START)), False, START)
    assert saved_claim(step).is_true(INSTANCE_TERMINATING)
    assert step.again == 5.0


def test_a_claim_goes_when_its_machine_is_gone():
    step = finalization.terminated(Terminate(claim(true=UP, deleting=START)), True, START + 9)
    assert saved_claim(step).meta.finalizers == ()
    assert "Count" in kinds(step)


def test_a_claim_without_our_finalizer_is_not_ours_to_end():
    assert finalization.finalize(claim(true=UP, deleting=START, finalizers=()), (), START) == Step()


def test_a_claim_whose_machine_is_told_to_go_says_so_once_and_of_its_last_generation():
    held = claim(true=UP, deleting=START)
    later = replace(held, meta=replace(held.meta, generation=2))
    told = saved_claim(finalization.terminated(Terminate(later), False, START))
    assert {one.generation for one in told.conditions} == {2}
    assert kinds(finalization.terminated(Terminate(told), False, START + 5)) == []


def test_how_long_a_machine_took_to_go_is_counted_from_when_it_was_told():
    told = saved_claim(finalization.terminated(Terminate(claim(true=UP, deleting=START)), False, START + 3))
    step = finalization.terminated(Terminate(told), True, START + 10)
    took = {one.metric: one.value for one in step.effects if isinstance(one, Observe)}
    assert took == {
        "nodeclaims_instance_termination_duration_seconds": 7.0,
        "nodeclaims_termination_duration_seconds": 10.0,
    }


# ---- nodes


def test_a_node_that_stays_or_is_not_ours_to_end_is_left_alone():
    stays, anothers = node(finalizers=(FINALIZER,)), node(deleting=START)
    for one in (stays, anothers):
        assert termination.terminate(Leaving(one, claim(true=UP)), START) == Step()


def test_a_node_that_is_fenced_off_is_not_written_again():
    fenced = leaving_node(labels={EXCLUDE_FROM_BALANCERS: "karpenter"})
    step = termination.terminate(Leaving(fenced, claim(true=UP, deleting=START), (pod(),)), START)
    assert "SaveNode" not in kinds(step)


def test_a_node_is_counted_as_drained_once():
    here = leaving_node()
    end = ending(termination.terminate(Leaving(here, draining()), START + 5))
    answers = (termination.gone(end, here, False, START + 5), termination.gone(end, here, True, START + 5))
    for step in (*answers, termination.refused(end)):
        assert kinds(step)[:2] == ["SaveClaim", "Count"]
        again = ending(termination.terminate(Leaving(here, saved_claim(step)), START + 10))
        assert "Count" not in kinds(termination.gone(again, here, False, START + 10))
        assert termination.refused(again) == Step()


def test_pods_of_a_node_without_a_claim_are_evicted_for_no_reason_of_ours():
    step = termination.terminate(Leaving(leaving_node(), None, (pod(),)), START)
    assert [one.reason for one in step.effects if isinstance(one, Evict)] == [""]


def test_a_leaving_node_is_fenced_and_its_claim_deleted():
    plain = node(finalizers=(FINALIZER,), deleting=START, taints=())
    step = termination.terminate(Leaving(plain, claim(true=UP), (pod(),)), START)
    assert isinstance(step.effects[0], Delete)
    fenced = next(effect.after for effect in step.effects if isinstance(effect, SaveNode))
    assert fenced.taints == (DISRUPTED,)
    assert fenced.meta.labels[EXCLUDE_FROM_BALANCERS] == "karpenter"


def test_a_node_whose_machine_is_gone_and_that_is_not_ready_goes_without_a_drain():
    gone = Leaving(leaving_node(ready=False), claim(true=UP, deleting=START), (pod(),), instance_gone=True)
    step = termination.terminate(gone, START)
    freed = next(effect.after for effect in step.effects if isinstance(effect, SaveNode))
    assert freed.meta.finalizers == ()
    assert "Evict" not in kinds(step)


def test_a_ready_node_is_drained_even_if_its_machine_is_gone():
    gone = Leaving(leaving_node(), claim(true=UP, deleting=START), (pod(),), instance_gone=True)
    assert "Evict" in kinds(termination.terminate(gone, START))


def test_pods_that_wait_are_evicted_and_named():
    step = termination.terminate(Leaving(leaving_node(), claim(true=UP, deleting=START), (pod(),)), START)
    told = next(effect for effect in step.effects if isinstance(effect, Say))
    assert told.reason == "FailedDraining"
    assert "default/web-1" in told.message
    assert step.again == 1.0


def test_an_empty_node_is_watched_five_seconds_more():
    held = claim(true=UP, deleting=START)
    drained = saved_claim(termination.terminate(Leaving(leaving_node(), held), START))
    found = conditions.found(drained.conditions, DRAINED)
    assert found is not None
    assert (found.status, found.reason) == (Status.UNKNOWN, "Draining")
    early = termination.terminate(Leaving(leaving_node(), drained), START + 4)
    assert "Terminate" not in kinds(early)
    late = termination.terminate(Leaving(leaving_node(), drained), START + 5)
    assert ending(late).claim.is_true(DRAINED)
    assert ending(late).held == drained


def ending(step: Step) -> Terminate:
    return next(effect for effect in step.effects if isinstance(effect, Terminate))


def draining(**given: object) -> NodeClaim:
    held = claim(true=UP, deleting=START, **given)  # type: ignore[arg-type]
    return saved_claim(termination.terminate(Leaving(leaving_node(), held), START))


def test_attached_volumes_are_waited_for_unless_their_pod_stays():
    waiting = Leaving(leaving_node(), draining(), attached=("pv-1", "pv-2"), kept=frozenset({"pv-2"}))
    step = termination.terminate(waiting, START + 6)
    found = conditions.found(saved_claim(step).conditions, VOLUMES_DETACHED)
    assert found is not None
    assert found.reason == "AwaitingVolumeDetachment"
    kept = Leaving(leaving_node(), draining(), attached=("pv-2",), kept=frozenset({"pv-2"}))
    assert "Terminate" in kinds(termination.terminate(kept, START + 6))


def test_a_node_that_waits_for_its_volumes_is_counted_as_drained_once():
    here = leaving_node()
    step = termination.terminate(Leaving(here, draining(), attached=("pv-1",)), START + 6)
    assert kinds(step) == ["SaveNode", "SaveClaim", "Count", "Say"]
    again = termination.terminate(Leaving(here, saved_claim(step), attached=("pv-1",)), START + 7)
    assert "Count" not in kinds(again)
    end = ending(termination.terminate(Leaving(here, saved_claim(step)), START + 8))
    assert "Count" not in kinds(termination.gone(end, here, False, START + 8))


def test_the_deadline_ends_the_wait_for_volumes():
    late = draining(annotations={TERMINATION_TIME: "2027-01-15T08:00:03Z"})
    step = termination.terminate(Leaving(leaving_node(), late, attached=("pv-1",)), START + 6)
    found = conditions.found(ending(step).claim.conditions, VOLUMES_DETACHED)
    assert found is not None
    assert (found.status, found.reason) == (Status.FALSE, "TerminationGracePeriodElapsed")


def test_a_deadline_nobody_can_read_is_told_of_and_stops_nothing():
    odd = draining(annotations={TERMINATION_TIME: "soon"})
    step = termination.terminate(Leaving(leaving_node(), odd), START + 6)
    told = next(effect for effect in step.effects if isinstance(effect, Say))
    assert "'soon' is not a time" in told.message
    assert "Terminate" in kinds(step)


def test_a_node_without_a_claim_is_drained_and_let_go():
    orphan = Leaving(leaving_node(), None)
    step = termination.terminate(orphan, START)
    assert any(isinstance(effect, SaveNode) and not effect.after.meta.finalizers for effect in step.effects)


def test_a_node_goes_when_its_machine_is_gone_and_not_before():
    here = leaving_node()
    end = ending(termination.terminate(Leaving(here, draining()), START + 6))
    assert termination.gone(end, here, False, START + 7).again == 5.0
    step = termination.gone(end, here, True, START + 7)
    assert any(isinstance(effect, SaveNode) and not effect.after.meta.finalizers for effect in step.effects)


def test_what_was_found_out_while_a_node_went_is_one_write_of_its_claim():
    here, held = leaving_node(), draining()
    end = ending(termination.terminate(Leaving(here, held), START + 6))
    step = termination.gone(end, here, False, START + 7)
    assert kinds(step) == ["SaveClaim", "Count"]
    told = saved_claim(step)
    assert all(told.is_true(one) for one in (DRAINED, VOLUMES_DETACHED, INSTANCE_TERMINATING))
    again = ending(termination.terminate(Leaving(here, told), START + 12))
    assert kinds(termination.gone(again, here, False, START + 12)) == []


def test_a_claim_goes_with_its_only_node():
    here = leaving_node()
    end = ending(termination.terminate(Leaving(here, draining(), is_only=True), START + 6))
    step = termination.gone(end, here, True, START + 7)
    assert kinds(step)[0] == "SaveNode"
    (saved,) = (one for one in step.effects if isinstance(one, SaveClaim))
    assert saved.before == end.held
    assert saved.after.meta.finalizers == ()
    took = {one.metric: one.value for one in step.effects if isinstance(one, Observe)}
    assert took["nodeclaims_instance_termination_duration_seconds"] == 0.0
    counted = [one.metric for one in step.effects if isinstance(one, Count)]
    assert counted == ["nodes_terminated_total", "nodes_drained_total", "nodeclaims_terminated_total"]


def test_a_claim_waits_for_its_other_nodes_and_for_whoever_keeps_its_node():
    kept = leaving_node(finalizers=(FINALIZER, "example.com/keep"))
    for leaving in (Leaving(leaving_node(), draining()), Leaving(kept, draining(), is_only=True)):
        step = termination.gone(ending(termination.terminate(leaving, START + 6)), leaving.node, True, START + 7)
        assert saved_claim(step).meta.finalizers == (FINALIZER,)


def test_a_claim_that_others_keep_too_loses_our_finalizer_with_its_node():
    held = replace(draining(), meta=replace(draining().meta, finalizers=(FINALIZER, "example.com/keep")))
    end = ending(termination.terminate(Leaving(leaving_node(), held, is_only=True), START + 6))
    assert saved_claim(termination.gone(end, leaving_node(), True, START + 7)).meta.finalizers == ("example.com/keep",)


@pytest.mark.parametrize("changed", [{"deleting": None}, {"finalizers": ("example.com/keep",)}])
def test_a_claim_nobody_deleted_yet_or_that_is_not_ours_to_end_does_not_go_with_its_node(changed: dict[str, object]):
    held = replace(draining(), meta=replace(draining().meta, **changed))  # type: ignore[arg-type]
    step = termination.terminate(Leaving(leaving_node(), held, is_only=True), START + 6)
    assert not ending(step).is_last


def test_a_node_deleted_before_its_claim_keeps_the_claims_deadline_too():
    """`kubectl delete node` is a deletion like any other: the grace period of its claim bounds the drain."""
    held = claim(true=UP, deleting=START, grace=600.0)
    step = termination.terminate(Leaving(leaving_node(), held, (pod(),)), START + 1)
    dated = saved_claim(step)
    assert dated.meta.annotations[TERMINATION_TIME] == "2027-01-15T08:10:00Z"
    assert [one.about.kind for one in step.effects if isinstance(one, Say)] == ["NodeClaim"]
    assert step.again == 0.0
    then = termination.terminate(Leaving(leaving_node(), dated, (pod(),)), START + 1)
    assert [one.deadline for one in then.effects if isinstance(one, Evict)] == [START + 600]


def test_a_node_with_a_deadline_tells_of_it():
    held = draining(annotations={TERMINATION_TIME: "2027-01-15T08:10:00Z"})
    step = termination.terminate(Leaving(leaving_node(), held, (pod(),)), START + 1)
    told = next(one for one in step.effects if isinstance(one, Say) and one.reason == "TerminationGracePeriodExpiring")
    assert (told.about.kind, told.message) == ("Node", "All pods will be deleted by 2027-01-15T08:10:00Z")


def test_the_volumes_of_a_node_without_a_claim_are_waited_for():
    waiting = Leaving(leaving_node(), None, attached=("pv-1", "pv-2"), kept=frozenset({"pv-2"}))
    step = termination.terminate(waiting, START)
    assert [one.reason for one in step.effects if isinstance(one, Say)] == ["AwaitingVolumeDetachment"]
    assert not any(isinstance(one, SaveNode) and not one.after.meta.finalizers for one in step.effects)
    assert step.again == 1.0


def test_a_node_without_a_claim_is_counted_under_its_own_labels():
    known = {"karpenter.sh/nodepool": "general", "topology.kubernetes.io/zone": "test-zone-a"}
    step = termination.terminate(Leaving(leaving_node(labels=known), None), START)
    counted = {one.metric: one.labels for one in step.effects if isinstance(one, Count)}
    assert counted == {"nodes_terminated_total": {"nodepool": "general", "zone": "test-zone-a"}}


# ---- whom to ask


def asked(*pods: DrainPod, deadline: float | None = None, now: float = START) -> list[str]:
    return [one.pod.ref.name for one in drain.requests(pods, deadline, now)]


def test_pods_leave_in_four_waves():
    plain, daemon = pod("plain"), pod("daemon", daemon=True)
    critical, both = pod("critical", critical=True), pod("both", critical=True, daemon=True)
    assert asked(both, critical, daemon, plain) == ["plain"]
    assert asked(both, critical, daemon) == ["daemon"]
    assert asked(both, critical) == ["critical"]
    assert asked(both) == ["both"]


def test_the_larger_a_pod_is_the_sooner_is_its_turn_and_nobody_waits_long():
    sizes = [Resources({"cpu": cpu, "memory": 2**20}) for cpu in (40, 20, 10, 0)]
    assert drain.turns(sizes) == (0.0, 0.0, 0.0, 0.0), "all are the largest by memory"
    sizes = [Resources({"cpu": cpu, "memory": cpu * 2**10}) for cpu in (40, 20, 10, 1, 0)]
    assert drain.turns(sizes) == (0.0, 0.5, 1.0, 2.0, 2.0)
    assert drain.turns([Resources({})]) == (0.0,)


def test_a_wave_is_over_only_when_its_pods_are_gone():
    assert asked(pod("going", deleting=START + 30), pod("daemon", daemon=True)) == []


def test_pods_whose_time_is_up_are_asked_from_all_waves_at_once():
    long, short = pod("long", critical=True, grace=60.0), pod("short", grace=5.0)
    assert asked(short, long, deadline=START + 30) == ["long", "short"]


def test_pods_that_tolerate_the_taint_mirrors_finished_and_stuck_ones_are_not_waited_for():
    stay = (
        pod("tolerates", tolerates=True),
        pod("mirror", mirror=True),
        pod("finished", finished=True),
        pod("stuck", deleting=START - 61),
    )
    assert drain.waiting(stay, START) == ()
    assert drain.waiting((pod("going", deleting=START - 59),), START)


def test_force_is_a_matter_of_the_deadline_and_the_pods_own_grace():
    assert not drain.must_force(pod(grace=60.0), None, START)
    assert not drain.must_force(pod(grace=30.0), START + 30, START)
    assert drain.must_force(pod(grace=31.0), START + 30, START)
    assert not drain.must_force(pod(grace=None), START + 1, START)
    assert drain.must_force(pod(deleting=START + 31), START + 30, START)
    assert not drain.must_force(pod(deleting=START + 30), START + 30, START)


def test_what_is_left_of_the_grace_is_never_nothing():
    assert drain.force_grace(START + 12.2, START) == 12  # a thirteenth second would be one after the deadline
    assert drain.force_grace(START - 100, START) == 1


def test_the_same_pod_is_asked_with_its_deadline():
    held = claim(true=UP, deleting=START, annotations={TERMINATION_TIME: "2027-01-15T08:00:30Z"})
    step = termination.terminate(Leaving(leaving_node(), held, (pod(grace=5.0),)), START)
    evicted = next(effect for effect in step.effects if isinstance(effect, Evict))
    assert evicted.deadline == START + 30


@pytest.mark.parametrize(
    "stays",
    [{"finished": True}, {"deleting": START}, {"tolerates": True}, {"mirror": True}, {"protected": True}],
    ids=lambda stays: next(iter(stays)),
)
def test_a_pod_is_evicted_unless_it_is_going_or_something_forbids_it(stays: dict[str, object]):
    assert drain.is_evictable(pod())
    assert not drain.is_evictable(pod(**stays))
