"""The end of a Machine, part by part, each of them a state that a crash does not lose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.machines.machine_world import NOW, cluster, machine, meta, node, said

from dovetail.core.conditions import found
from dovetail.core.effects import Delete, Evict, Ref
from dovetail.core.machines import deletion, draining, names
from dovetail.core.machines.deletion import Ending
from dovetail.core.machines.draining import Manner, Pod
from dovetail.core.machines.effects import Cordon, SaveMachine, Step
from dovetail.core.machines.objects import EndTimes, Machine, ObjectRef, Timeouts


def leaving(about: dict[str, Any] | None = None, **changes: Any) -> Machine:
    held = {"deleting": NOW, "finalizers": (names.MACHINE_FINALIZER,)} | (about or {})
    return machine(about=held, **{"node": "n", "provider_id": "x"} | changes)


def ending(one: Machine | None = None, **changes: Any) -> Ending:
    defaults = {"cluster": cluster(), "infra": False, "node": node(unschedulable=True)}
    return Ending(one or leaving(), **defaults | changes)


def part(step: Step) -> str:
    """Which part of the end the machine says it is in."""
    saved = [one.after for one in step.effects if isinstance(one, SaveMachine)]
    held = found(saved[-1].conditions, names.DELETING) if saved else None
    return held.reason if held is not None else ""


def deleted(step: Step) -> list[str]:
    return [one.ref.kind for one in step.effects if isinstance(one, Delete)]


def pod(name: str = "p", **changes: Any) -> Pod:
    return Pod(Ref("Pod", name, f"uid-{name}", "default"), **changes)


def test_a_machine_goes_part_by_part():
    hooked = leaving({"annotations": {names.PRE_DRAIN + "/a": "", names.PRE_TERMINATE: ""}})
    assert part(deletion.finalize(ending(hooked, pods=(pod(),)), NOW)) == "WaitingForPreDrainHook"
    terminate = leaving({"annotations": {names.PRE_TERMINATE: ""}})
    assert part(deletion.finalize(ending(terminate, pods=(pod(),)), NOW)) == "DrainingNode"
    assert part(deletion.finalize(ending(terminate, attached=("pv",)), NOW)) == "WaitingForVolumeDetach"
    assert part(deletion.finalize(ending(terminate), NOW)) == "WaitingForPreTerminateHook"
    infra = deletion.finalize(ending(), NOW)
    assert (part(infra), deleted(infra)) == ("WaitingForInfrastructureDeletion", ["AWSMachine"])
    config = leaving(bootstrap=ObjectRef("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "m"))
    step = deletion.finalize(ending(config, infra=None, bootstrap=False), NOW)
    assert (part(step), deleted(step)) == ("WaitingForBootstrapDeletion", ["KubeadmConfig"])
    step = deletion.finalize(ending(infra=None), NOW)
    assert (part(step), deleted(step)) == ("DeletingNode", ["Node"])
    (last,) = deletion.finalize(ending(infra=None, node=None), NOW).effects
    assert isinstance(last, SaveMachine)
    assert last.after.meta.finalizers == ()


def test_what_is_going_already_is_not_asked_again():
    step = deletion.finalize(ending(infra=True), NOW)
    assert (part(step), deleted(step)) == ("WaitingForInfrastructureDeletion", [])


def test_a_node_is_closed_to_new_pods_before_it_is_believed_to_be_empty():
    step = deletion.finalize(ending(node=node()), NOW)
    assert any(isinstance(one, Cordon) for one in step.effects)
    assert part(step) == "DrainingNode"


def test_pods_are_asked_to_go_and_waited_for():
    step = deletion.finalize(ending(pods=(pod("a"), pod("b", deleting=NOW))), NOW)
    assert [one.pod.name for one in step.effects if isinstance(one, Evict)] == ["a"]
    assert step.again == deletion.RETRY_SECONDS


SHORT = [
    {"one": leaving({"annotations": {names.EXCLUDE_DRAINING: ""}})},
    {"one": leaving(timeouts=Timeouts(drain=60.0), ends=EndTimes(drain=NOW - 61.0))},
    {"one": leaving(ends=EndTimes(pre_terminate=NOW - 1))},
    {"infra": True},
    {"infra": None},
    {"cluster": cluster(meta=meta("c", deleting=NOW))},
    {"cluster": None},
    {"control_plane": False},
    {"one": leaving(node=""), "node": None},
]


@pytest.mark.parametrize("changes", SHORT)
def test_what_must_not_or_cannot_be_drained_is_not(changes: dict[str, Any]):
    step = deletion.finalize(ending(**{"pods": (pod(),)} | changes), NOW)
    assert not any(isinstance(one, Evict) for one in step.effects)
    assert part(step) not in ("DrainingNode", "WaitingForVolumeDetach")


UNDRAINED = [
    {"one": leaving({"annotations": {names.PRE_TERMINATE: ""}}, node=""), "node": None},
    {"one": leaving({"annotations": {names.PRE_TERMINATE: ""}}), "node": None},
    {"one": leaving({"annotations": {names.PRE_TERMINATE: ""}}), "cluster": cluster(meta=meta("c", deleting=NOW))},
]


@pytest.mark.parametrize("changes", UNDRAINED)
def test_a_hook_before_the_end_of_its_instance_holds_a_machine_without_a_node_too(changes: dict[str, Any]):
    """The Node of a machine that was taken away may be gone; whoever set the hook is not done for that."""
    step = deletion.finalize(ending(**changes), NOW)
    assert (part(step), deleted(step)) == ("WaitingForPreTerminateHook", [])


def test_a_hook_before_the_drain_holds_a_machine_whose_node_is_gone():
    hooked = leaving({"annotations": {names.PRE_DRAIN: ""}})
    assert part(deletion.finalize(ending(hooked, node=None), NOW)) == "WaitingForPreDrainHook"
    never_a_node = leaving({"annotations": {names.PRE_DRAIN: ""}}, node="")
    assert part(deletion.finalize(ending(never_a_node, node=None), NOW)) == "WaitingForInfrastructureDeletion"


def test_a_node_nobody_wrote_down_is_drained_and_deleted_too():
    """Deleted a moment after its Node came: the Node is known by its provider id, and must not stay behind."""
    young = leaving(node="")
    assert part(deletion.finalize(ending(young, pods=(pod(),)), NOW)) == "DrainingNode"
    step = deletion.finalize(ending(young, infra=None), NOW)
    assert (part(step), deleted(step)) == ("DeletingNode", ["Node"])


def test_draining_without_a_limit_goes_on():
    step = deletion.finalize(ending(leaving(ends=EndTimes(drain=NOW - 1e6)), pods=(pod(),)), NOW)
    assert part(step) == "DrainingNode"


def test_volumes_are_waited_for_so_long():
    late = leaving(timeouts=Timeouts(detach=30.0), ends=EndTimes(detach=NOW - 31))
    assert part(deletion.finalize(ending(late, attached=("pv",)), NOW)) == "WaitingForInfrastructureDeletion"
    free = leaving({"annotations": {names.EXCLUDE_DETACH: ""}})
    assert part(deletion.finalize(ending(free, attached=("pv",)), NOW)) == "WaitingForInfrastructureDeletion"


def test_a_machine_that_was_taken_away_does_not_hang_on_pods_nobody_can_end():
    """Its kubelet is silent: pods are asked at once, and those asked are not waited for (R29, §3.3)."""
    silent = node(unschedulable=True, conditions=(said("Ready", "Unknown"),))
    first = deletion.finalize(ending(node=silent, pods=(pod(),)), NOW)
    assert [one.deadline for one in first.effects if isinstance(one, Evict)] == [NOW]
    gone = ending(node=silent, pods=(pod(deleting=NOW - 2.0),), attached=("pv",))
    assert part(deletion.finalize(gone, NOW)) == "WaitingForInfrastructureDeletion"


def test_a_node_that_will_not_go_is_given_up_on():
    step = deletion.finalize(ending(infra=None), NOW)
    waiting = next(one.after for one in step.effects if isinstance(one, SaveMachine))
    later = deletion.finalize(ending(waiting, infra=None), NOW + 5)
    assert later.again == deletion.NODE_SECONDS
    (last,) = deletion.finalize(ending(waiting, infra=None), NOW + 11).effects
    assert isinstance(last, SaveMachine)
    assert last.after.meta.finalizers == ()
    patient = replace(waiting, timeouts=Timeouts(node=0.0))
    assert deletion.finalize(ending(patient, infra=None), NOW + 1e6).again == deletion.NODE_SECONDS


def test_each_part_of_the_end_has_its_own_time():
    """A drain of an hour does not use up the ten seconds a Node has to go."""
    drained = leaving(conditions=(said(names.DELETING, since=NOW - 3600.0, reason="DrainingNode"),))
    step = deletion.finalize(ending(drained, infra=None), NOW)
    begun = next(one.after for one in step.effects if isinstance(one, SaveMachine))
    assert deletion.finalize(ending(begun, infra=None), NOW + 5).again == deletion.NODE_SECONDS


def test_a_paused_machine_stays_where_it_is():
    assert deletion.finalize(ending(cluster=cluster(paused=True)), NOW) == Step()
    assert deletion.finalize(ending(leaving({"annotations": {names.PAUSED_ANNOTATION: ""}})), NOW) == Step()


# ------------------------------------------------------------------------------------------------ whom a drain asks


def names_of(pods: tuple[Pod, ...]) -> list[str]:
    return [one.ref.name for one in pods]


def test_daemons_mirrors_and_pods_that_ask_to_be_left_are_left():
    pods = (pod("daemon", daemon=True), pod("mirror", mirror=True), pod("skip", manner=Manner.SKIP))
    assert draining.judged(pods, silent=False, now=NOW).is_done


def test_a_pod_that_asks_to_finish_is_waited_for_and_not_asked():
    held = draining.judged((pod("job", manner=Manner.WAIT),), silent=False, now=NOW)
    assert (names_of(held.ask), names_of(held.wait)) == ([], ["job"])
    assert draining.judged((pod("job", manner=Manner.WAIT, finished=True),), silent=False, now=NOW).is_done


def test_a_pod_that_takes_its_time_is_waited_for_while_its_kubelet_speaks():
    slow = pod("slow", deleting=NOW - 600.0)
    assert names_of(draining.judged((slow,), silent=False, now=NOW).wait) == ["slow"]
    assert draining.judged((slow,), silent=True, now=NOW).is_done


def test_pods_go_by_turns():
    pods = (pod("late", turn=5), pod("soon", turn=-1), pod("going", turn=-1, deleting=NOW))
    held = draining.judged(pods, silent=False, now=NOW)
    assert names_of(held.ask) == ["soon"]
    assert sorted(names_of(held.wait)) == ["going", "late"]
    held = draining.judged((pods[0], pods[2]), silent=False, now=NOW)
    assert names_of(held.ask) == []


@pytest.mark.parametrize(
    ("label", "manner"),
    [("Skip", Manner.SKIP), ("wait-completed", Manner.WAIT), ("x", Manner.DRAIN), (None, Manner.DRAIN)],
)
def test_a_label_nobody_knows_is_none(label: str | None, manner: Manner):
    assert draining.manner_of(label) is manner


def test_a_machine_that_stays_or_that_is_not_ours_to_undo_is_left_alone():
    for one in (machine(about={"finalizers": (names.MACHINE_FINALIZER,)}), leaving({"finalizers": ()})):
        assert deletion.finalize(ending(one), NOW) == Step()
