"""A Machine on its way to be a Node, and what it says meanwhile (R33–R35, R39)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.machines.machine_world import ID, NOW, cluster, infra, machine, node, of_set, said, up

from dovetail.core.conditions import found
from dovetail.core.effects import SaveNode, Say
from dovetail.core.machines import names, node_marks, progress
from dovetail.core.machines.effects import Own, SaveMachine, Step
from dovetail.core.machines.objects import Address, Failure, Gate, Machine, ObjectRef, Phase
from dovetail.core.machines.progress import BootstrapConfig, Seen
from dovetail.core.taints import Effect, Taint


def ready_infra(**changes: Any) -> Any:
    owner = progress.controller_of(machine())
    about = {"owners": (owner,), "labels": {names.CLUSTER_NAME: "c"}}
    defaults = {"provider_id": ID, "provisioned": True, "ready": True, "conditions": (said(names.READY),)}
    return infra(about=about, **defaults | changes)


def looked(one: Machine | None = None, **changes: Any) -> tuple[Machine, Step]:
    before = one or machine()
    step = progress.advance(Seen(before, **{"cluster": cluster(), "infra": ready_infra()} | changes), NOW)
    after = next((effect.after for effect in step.effects if isinstance(effect, SaveMachine)), before)
    return after, step


def reason(one: Machine, type_: str) -> tuple[str, str]:
    held = found(one.conditions, type_)
    return (str(held.status), held.reason) if held is not None else ("", "")


def saved_node(step: Step) -> Any:
    return next(one.after for one in step.effects if isinstance(one, SaveNode))


# ------------------------------------------------------------------------------------------------ phases


PHASES = [
    (Phase.PENDING, {"one": machine(secret=""), "infra": infra()}),
    (Phase.PROVISIONING, {"infra": infra()}),
    (Phase.PROVISIONED, {}),
    (Phase.RUNNING, {"nodes": (node(),)}),
    (Phase.FAILED, {"infra": infra(failure=Failure("CreateError", "too low"))}),
]


@pytest.mark.parametrize(("phase", "changes"), PHASES, ids=[str(phase) for phase, _ in PHASES])
def test_a_machine_is_as_far_as_its_parts_are(phase: Phase, changes: dict[str, Any]):
    assert looked(**changes)[0].phase is phase


def test_what_the_infrastructure_found_out_is_copied():
    after, _ = looked(infra=ready_infra(addresses=(Address("InternalIP", "10.0.0.1"),), zone="us-east-1a"))
    assert (after.provider_id, after.stands_in) == (ID, "us-east-1a")
    assert after.addresses == (Address("InternalIP", "10.0.0.1"),)


def test_R39_a_failure_of_the_infrastructure_is_the_machines_and_names_its_object():
    after, _ = looked(infra=infra(failure=Failure("InsufficientResources", "no capacity")))
    assert after.failure == Failure("InsufficientResources", "AWSMachine m: no capacity")
    assert reason(after, names.INFRASTRUCTURE_READY) == ("False", "InsufficientResourcesFailed")


def test_infrastructure_that_was_there_and_is_gone_is_a_failure():
    after, _ = looked(up(), infra=None)
    assert after.failure is not None
    assert after.provisioned


def test_infrastructure_that_was_never_there_is_waited_for():
    after, step = looked(infra=None)
    assert after.failure is None
    assert reason(after, names.INFRASTRUCTURE_READY) == ("False", "DoesNotExist")
    assert step.again == progress.ABSENT_SECONDS


def test_provisioned_never_goes_back():
    after, _ = looked(up(), infra=ready_infra(ready=False, provisioned=False))
    assert after.provisioned


def test_an_infrastructure_of_the_older_contract_is_understood():
    after, _ = looked(infra=ready_infra(provisioned=False, ready=True))
    assert after.provisioned


# ------------------------------------------------------------------------------------------------ owners


def test_the_infrastructure_is_taken_over_from_the_set_that_made_it():
    _, step = looked(infra=infra(about={"owners": (of_set(),)}))
    (own,) = [one for one in step.effects if isinstance(one, Own)]
    assert (own.ref.kind, own.owner.kind, own.owner.controller, own.cluster) == ("AWSMachine", "Machine", True, "c")


def test_a_machine_alone_belongs_to_its_cluster_and_one_of_a_set_does_not():
    alone, _ = looked()
    assert [(one.kind, one.controller) for one in alone.meta.owners] == [("Cluster", False)]
    of = machine(about={"owners": (of_set(),)})
    assert [one.kind for one in looked(of)[0].meta.owners] == ["MachineSet"]
    orphan = machine(about={"labels": {names.SET_NAME: "s"}})
    assert looked(orphan)[0].meta.owners == ()


def test_a_machine_is_kept_until_it_is_undone_and_carries_its_clusters_name():
    after, _ = looked()
    assert after.meta.finalizers == (names.MACHINE_FINALIZER,)
    assert after.meta.labels[names.CLUSTER_NAME] == "c"


# ------------------------------------------------------------------------------------------------ bootstrap data


CONFIG = ObjectRef("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "m")


def test_bootstrap_data_is_taken_when_it_is_made():
    waiting = machine(secret="", bootstrap=CONFIG)
    owned = BootstrapConfig(controller="uid-m")
    assert looked(waiting, bootstrap=owned)[0].bootstrapped is False
    after, _ = looked(waiting, bootstrap=replace(owned, ready=True, secret="made"))
    assert (after.bootstrapped, after.secret) == (True, "made")
    assert reason(after, names.BOOTSTRAP_READY) == ("True", "Ready")


def test_a_config_that_is_not_there_is_looked_for_again():
    after, step = looked(machine(secret="", bootstrap=CONFIG), infra=infra())
    assert (after.phase, step.again) == (Phase.PENDING, progress.ABSENT_SECONDS)


def test_a_config_that_nobody_reads_is_named_with_what_to_write_instead():
    after, step = looked(machine(secret="", bootstrap=CONFIG), infra=infra())
    held = found(after.conditions, names.BOOTSTRAP_READY)
    assert held is not None
    assert held.message.startswith("spec.bootstrap.configRef: nobody here makes bootstrap data from KubeadmConfig m; ")
    assert "bootstrap.dataSecretName" in held.message
    assert [one.message for one in step.effects if isinstance(one, Say)] == [held.message]


def test_data_that_a_config_made_before_is_used():
    after, step = looked(machine(secret="made", bootstrap=CONFIG), infra=infra())
    assert reason(after, names.BOOTSTRAP_READY) == ("True", "Ready")
    assert not [one for one in step.effects if isinstance(one, Say)]


# ------------------------------------------------------------------------------------------------ the Node


def test_a_node_is_a_machines_by_its_provider_id_alone():
    after, _ = looked(nodes=(node("n-1"),))
    assert after.node == "n-1"


def test_two_nodes_of_one_id_are_nobodys():
    after, step = looked(nodes=(node("n-1"), node("n-2")))
    assert after.node == ""
    assert [one.reason for one in step.effects if isinstance(one, Say)] == ["FailedSetNodeRef"]
    assert not any(isinstance(one, SaveNode) for one in step.effects)


def test_the_node_a_machine_became_is_written_once():
    after, _ = looked(up(), nodes=(node("another"),))
    assert after.node == "node-m"


def test_a_node_that_is_gone_is_told_of_and_not_forgotten():
    after, _ = looked(up(), nodes=())
    assert after.node == "node-m"
    assert reason(after, names.NODE_HEALTHY) == ("False", "NodeDeleted")


HEALTH = [
    ((said("Ready", "Unknown"),), ("Unknown", "NodeHealthyUnknown")),
    ((said("Ready", "False"),), ("False", "NodeNotHealthy")),
    ((), ("Unknown", "NodeHealthyUnknown")),
    (
        (said("Ready"), said("MemoryPressure"), said("DiskPressure", "False"), said("PIDPressure", "False")),
        ("False", "NodeNotHealthy"),
    ),
]


@pytest.mark.parametrize(("held", "wanted"), HEALTH)
def test_a_node_is_healthy_when_it_is_ready_and_under_no_pressure(held: Any, wanted: tuple[str, str]):
    after, _ = looked(nodes=(node(conditions=held),))
    assert reason(after, names.NODE_HEALTHY) == wanted


def test_a_machine_is_ready_when_all_its_parts_are_and_available_after_a_while():
    after, step = looked(machine(min_ready=60.0), nodes=(node(),))
    assert after.is_true(names.READY)
    assert reason(after, names.AVAILABLE) == ("False", "WaitingForMinReadySeconds")
    assert step.again == 60.0
    later = progress.advance(Seen(after, cluster(), ready_infra(), nodes=(node(),)), NOW + 60)
    saved = next(one.after for one in later.effects if isinstance(one, SaveMachine))
    assert saved.is_true(names.AVAILABLE)


def test_gates_of_ones_own_count():
    gated = machine(gates=(Gate("example.com/Burnt", negative=True),), conditions=(said("example.com/Burnt"),))
    assert reason(looked(gated, nodes=(node(),))[0], names.READY) == ("False", "NotReady")


# ------------------------------------------------------------------------------------------------ what the Node carries


def test_R33_R35_the_node_of_an_interruptible_machine_is_labelled_and_told_of_once():
    _, step = looked(infra=ready_infra(interruptible=True), nodes=(node(),))
    assert saved_node(step).meta.labels == {names.INTERRUPTIBLE: ""}
    (told,) = [one for one in step.effects if isinstance(one, Say)]
    assert (told.reason, told.about.kind) == ("SuccessfulSetInterruptibleNodeLabel", "Machine")
    _, again = looked(infra=ready_infra(interruptible=True), nodes=(saved_node(step),))
    assert not any(isinstance(one, SaveNode | Say) for one in again.effects)


def test_R34_the_label_is_put_back_and_taken_off_as_the_truth_is():
    labelled = saved_node(looked(infra=ready_infra(interruptible=True), nodes=(node(),))[1])
    torn_off = replace(labelled, meta=replace(labelled.meta, labels={}))
    _, step = looked(infra=ready_infra(interruptible=True), nodes=(torn_off,))
    assert names.INTERRUPTIBLE in saved_node(step).meta.labels
    _, step = looked(infra=ready_infra(interruptible=False), nodes=(labelled,))
    assert names.INTERRUPTIBLE not in saved_node(step).meta.labels


def test_R34_a_label_somebody_else_put_there_goes_too_when_it_is_not_true():
    lying = node(about={"labels": {names.INTERRUPTIBLE: "", "team": "a"}})
    assert dict(node_marks.marked(lying, machine(), False).meta.labels) == {"team": "a"}


def test_R33_where_the_infrastructure_does_not_say_nothing_is_done():
    kept = node(about={"labels": {names.INTERRUPTIBLE: ""}})
    assert names.INTERRUPTIBLE in node_marks.marked(kept, machine(), None).meta.labels
    assert names.INTERRUPTIBLE not in node_marks.marked(node(), machine(), None).meta.labels


def test_labels_of_a_machine_come_and_go_and_those_of_others_stay():
    role = {"node-role.kubernetes.io/worker": "", "team": "mine"}
    marked = node_marks.marked(node(about={"labels": {"theirs": "x"}}), machine(about={"labels": role}), None)
    assert dict(marked.meta.labels) == {"node-role.kubernetes.io/worker": "", "theirs": "x"}
    assert dict(node_marks.marked(marked, machine(), None).meta.labels) == {"theirs": "x"}


def test_annotations_of_a_machine_that_are_meant_for_nodes_come_and_go_and_those_of_others_stay():
    own = {"node.cluster.x-k8s.io/rack": "7", "a.node.cluster.x-k8s.io/b": "", "node-role.kubernetes.io/worker": ""}
    marked = node_marks.marked(node(about={"annotations": {"theirs": "x"}}), machine(about={"annotations": own}), None)
    held = marked.meta.annotations
    assert (held["node.cluster.x-k8s.io/rack"], held["theirs"]) == ("7", "x")
    assert "node-role.kubernetes.io/worker" not in held
    assert held[names.ANNOTATIONS_FROM_MACHINE] == "a.node.cluster.x-k8s.io/b,node.cluster.x-k8s.io/rack"
    left = node_marks.marked(marked, machine(), None).meta.annotations
    assert "node.cluster.x-k8s.io/rack" not in left
    assert (left["theirs"], left[names.ANNOTATIONS_FROM_MACHINE]) == ("x", "")


@pytest.mark.parametrize(
    ("key", "handed"),
    [
        ("node-role.kubernetes.io/worker", True),
        ("a.node-restriction.kubernetes.io/x", True),
        ("node.cluster.x-k8s.io/x", True),
        ("notnode.cluster.x-k8s.io/x", False),
        ("node.cluster.x-k8s.io", False),
        ("team", False),
    ],
)
def test_only_labels_meant_for_nodes_are_handed_down(key: str, handed: bool):
    assert node_marks.is_handed_down(key) is handed


def test_the_taint_that_waits_for_the_machine_is_taken_off():
    waiting = node(taints=(Taint(names.UNINITIALIZED, Effect.NO_SCHEDULE), Taint("keep", Effect.NO_SCHEDULE)))
    assert [one.key for one in node_marks.marked(waiting, machine(), None).taints] == ["keep"]


def test_a_paused_cluster_stops_everything_but_saying_so():
    after, step = looked(cluster=cluster(paused=True), nodes=(node(),))
    assert [type(one).__name__ for one in step.effects] == ["SaveMachine"]
    assert after.is_true(names.PAUSED)
    assert after.node == ""


def test_a_second_look_at_the_same_thing_writes_nothing():
    after, step = looked(infra=ready_infra(interruptible=True), nodes=(node(),))
    held = saved_node(step)
    again = progress.advance(Seen(after, cluster(), ready_infra(interruptible=True), nodes=(held,)), NOW + 5)
    assert again.effects == ()


# ------------------------------------------------------------------------------------------------ whose it is


def test_a_machine_whose_cluster_is_not_there_waits_for_it():
    after, step = looked(cluster=None)
    assert step == Step((), progress.ABSENT_SECONDS)
    assert after == machine()


def test_a_bootstrap_config_is_taken_over_once():
    ref = ObjectRef("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "m")
    waiting = machine(bootstrap=ref, secret="")
    mine = progress.controller_of(waiting)
    taken = [one for one in looked(waiting, bootstrap=BootstrapConfig())[1].effects if isinstance(one, Own)]
    assert taken == [Own(ref, "default", mine, "c")]
    _, again = looked(waiting, bootstrap=BootstrapConfig(controller=waiting.meta.uid))
    assert not any(isinstance(one, Own) for one in again.effects)


def test_R9_an_infrastructure_machine_of_another_machine_is_left_to_it():
    anothers = ready_infra()
    owner = replace(progress.controller_of(machine()), name="other", uid="uid-other")
    anothers = replace(anothers, meta=replace(anothers.meta, owners=(owner,)))
    after, step = looked(infra=anothers)
    assert reason(after, names.INFRASTRUCTURE_READY) == ("False", "OwnedByAnother")
    assert (after.provider_id, after.provisioned) == ("", False)
    assert not any(isinstance(one, Own) for one in step.effects)
    held = found(after.conditions, names.INFRASTRUCTURE_READY)
    assert held is not None
    assert held.message == "AWSMachine m belongs to Machine other; one machine is one instance"


def test_a_machine_a_health_check_found_unhealthy_is_not_ready():
    ill = up(conditions=(said(names.HEALTH_CHECK_SUCCEEDED, "False"),))
    after, _ = looked(ill, nodes=(node(),))
    held = found(after.conditions, names.READY)
    assert held is not None
    assert (str(held.status), held.message) == (
        "False",
        "HealthCheckSucceeded: a health check found it unhealthy",
    )


def test_a_node_says_which_set_made_its_machine():
    notes = node_marks.marked(node(), machine(about={"owners": (of_set("workers"),)}), None).meta.annotations
    assert (notes[names.NODE_OWNER_KIND], notes[names.NODE_OWNER_NAME]) == ("MachineSet", "workers")
    alone = node_marks.marked(node(), machine(), None).meta.annotations
    assert names.NODE_OWNER_KIND not in alone
