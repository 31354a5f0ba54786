"""Machines that are asked for in odd ways, or that others meddle with: each says what is wrong, and no instance is
bought twice, lost or taken from another (R9, R12, R34, R39)."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.live.live_machines import LABELS, LiveMachines
from tests.live.test_live_cluster_api import interruptible, live, status

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.clouds import port
from dovetail.clouds.sim.machines import CREATE, DELETE, FIND, Fault
from dovetail.controllers.cluster_api.deployments import Deployments
from dovetail.core import timestamps
from dovetail.core.machines import names

BOOT = {"dataSecretName": "boot"}


def told(one: LiveMachines, kind: Kind, name: str, type_: str) -> dict[str, Any]:
    held = status(one.get(kind, name)).get("conditions") or []
    return next((each for each in held if each["type"] == type_), {})


def alone(one: LiveMachines, name: str, infra: str, **about: Any) -> None:
    """A Machine nobody made but a person."""
    reference = {"apiGroup": kinds.AWS_MACHINES.group, "kind": kinds.AWS_MACHINES.name, "name": infra}
    spec = {"clusterName": "c", "bootstrap": BOOT, "infrastructureRef": reference}
    one.put(kinds.MACHINES, {"metadata": {"name": name} | about, "spec": spec})


def bare(one: LiveMachines, name: str, **spec: Any) -> None:
    one.put(kinds.AWS_MACHINES, {"metadata": {"name": name}, "spec": {"instanceType": "m5.large"} | spec})


# ------------------------------------------------------------------------------------------------ credentials


def test_R39_credentials_that_are_refused_stand_in_the_conditions_of_both_objects_and_pass():
    async def scenario(one: LiveMachines) -> None:
        refused = port.Misconfigured("AuthFailure: AWS was not able to validate the provided access credentials")
        one.cloud.fail(*(Fault(FIND, refused) for _ in range(3)))
        one.workers(1)
        await one.until(one.machines)
        (name,) = one.machines()
        await one.until(
            lambda: "AuthFailure" in told(one, kinds.AWS_MACHINES, name, "InstanceReady").get("message", "")
        )
        await one.until(
            lambda: "AuthFailure" in told(one, kinds.MACHINES, name, "InfrastructureReady").get("message", "")
        )
        await one.until(lambda: one.running() == 1)
        assert told(one, kinds.AWS_MACHINES, name, "InstanceReady")["status"] == "True"

    live(scenario)


def test_R12_a_running_machine_whose_credentials_ran_out_is_told_of_and_not_replaced():
    async def scenario(one: LiveMachines) -> None:
        one.check()
        one.workers(1, spot={})
        await one.until(lambda: one.running() == 1)
        before = one.machines()
        one.cloud.fail(*(Fault(FIND, port.Misconfigured("ExpiredToken: log in again")) for _ in range(10)))
        await one.until(lambda: told(one, kinds.AWS_MACHINES, before[0], "InstanceReady")["status"] == "Unknown")
        await one.settle(90)
        assert (one.machines(), one.running()) == (before, 1)
        await one.until(lambda: told(one, kinds.AWS_MACHINES, before[0], "InstanceReady")["status"] == "True")

    live(scenario)


def test_R39_an_instance_that_cannot_be_removed_keeps_its_object_and_says_why():
    async def scenario(one: LiveMachines) -> None:
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        one.cloud.fail(*(Fault(DELETE, port.Misconfigured("UnauthorizedOperation")) for _ in range(3)))
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(
            lambda: told(one, kinds.AWS_MACHINES, name, "InstanceReady")["reason"] == "InstanceDeletionFailed"
        )
        await one.until(one.is_empty)
        assert one.cloud.running == ()

    live(scenario)


# ------------------------------------------------------------------------------------------------ what is missing


def test_a_set_whose_template_was_deleted_says_so_keeps_its_counts_true_and_goes_on_when_it_is_back():
    async def scenario(one: LiveMachines) -> None:
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        spec = one.get(kinds.AWS_TEMPLATES, "t")["spec"]
        one.delete(kinds.AWS_TEMPLATES, "t")
        one.scale(3)
        await one.until(lambda: told(one, kinds.MACHINE_SETS, "s", names.MACHINES_CREATED).get("status") == "False")
        assert "awsmachinetemplates" in told(one, kinds.MACHINE_SETS, "s", names.MACHINES_CREATED)["message"].lower()
        assert told(one, kinds.MACHINE_SETS, "s", names.SCALING_UP)["message"] == "1 of 3 are there"
        one.put(kinds.AWS_TEMPLATES, {"metadata": {"name": "t"}, "spec": spec})
        await one.until(lambda: one.running() == 3)
        await one.until(lambda: not told(one, kinds.MACHINE_SETS, "s", names.MACHINES_CREATED))

    live(scenario)


def test_a_set_that_wants_a_bootstrap_provider_is_told_what_to_write_instead():
    async def scenario(one: LiveMachines) -> None:
        one.workers(0)
        config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "k"}
        bootstrap = {"bootstrap": {"dataSecretName": None, "configRef": config}}
        one.edit(kinds.MACHINE_SETS, "s", {"spec": {"replicas": 1, "template": {"spec": bootstrap}}})
        await one.until(lambda: told(one, kinds.MACHINE_SETS, "s", names.MACHINES_CREATED))
        message = told(one, kinds.MACHINE_SETS, "s", names.MACHINES_CREATED)["message"]
        assert message.startswith("spec.template.spec.bootstrap.configRef: ")
        assert "bootstrap.dataSecretName" in message
        assert one.machines() == []

    live(scenario)


def test_so_is_a_machine_and_it_runs_once_it_names_a_secret():
    async def scenario(one: LiveMachines) -> None:
        config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "k"}
        reference = {"apiGroup": kinds.AWS_MACHINES.group, "kind": kinds.AWS_MACHINES.name, "name": "n"}
        bare(one, "n")
        spec = {"clusterName": "c", "bootstrap": {"configRef": config}, "infrastructureRef": reference}
        one.put(kinds.MACHINES, {"metadata": {"name": "n"}, "spec": spec})
        await one.until(lambda: told(one, kinds.MACHINES, "n", names.BOOTSTRAP_READY))
        assert told(one, kinds.MACHINES, "n", names.BOOTSTRAP_READY)["message"].startswith("spec.bootstrap.configRef: ")
        assert {said.about.name for said in one.said if said.reason == "BootstrapConfigNotRead"} == {"n"}
        one.edit(kinds.MACHINES, "n", {"spec": {"bootstrap": BOOT}})
        await one.until(lambda: one.running() == 1)

    live(scenario)


def test_a_deployment_is_told_that_nobody_makes_its_machines():
    async def scenario(one: LiveMachines) -> None:
        one.workers(0)
        spec = dict(one.get(kinds.MACHINE_SETS, "s")["spec"]) | {"replicas": 2}
        one.put(kinds.MACHINE_DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
        theirs = {"apiGroup": kinds.GCP_TEMPLATES.group, "kind": kinds.GCP_TEMPLATES.name, "name": "t"}
        other = spec | {"template": {"spec": spec["template"]["spec"] | {"infrastructureRef": theirs}}}
        one.put(kinds.MACHINE_DEPLOYMENTS, {"metadata": {"name": "other"}, "spec": other})
        deployments = Deployments(
            one.client,
            (kinds.AWS_MACHINES,),
            lambda key, problem: one.problems.append(f"{key}: {problem!r}"),
            one.said.append,
            one.world.now,
        )
        task = asyncio.create_task(deployments.run())
        await one.until(lambda: told(one, kinds.MACHINE_DEPLOYMENTS, "d", names.MACHINES_CREATED))
        await one.settle(60.0)
        (said,) = [said for said in one.said if said.about.kind == kinds.MACHINE_DEPLOYMENTS.name]
        assert "write a MachineSet" in said.message
        assert told(one, kinds.MACHINE_DEPLOYMENTS, "d", names.MACHINES_CREATED)["message"] == said.message
        assert not told(one, kinds.MACHINE_DEPLOYMENTS, "other", names.MACHINES_CREATED)
        assert one.machines() == []
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    live(scenario)


def test_a_secret_without_the_key_buys_nothing_and_says_so():
    async def scenario(one: LiveMachines) -> None:
        one.delete(kinds.SECRETS, "boot")
        one.put(kinds.SECRETS, {"metadata": {"name": "boot"}, "data": {"valeu": "I2Nsb3VkLWNvbmZpZwo="}})
        one.workers(1)
        await one.until(one.machines)
        (name,) = one.machines()
        await one.until(lambda: "has no bootstrap data" in str(told(one, kinds.AWS_MACHINES, name, "InstanceReady")))
        assert one.cloud.made == 0

    live(scenario)


def test_a_cloud_is_not_asked_again_and_again_for_want_of_a_secret_that_is_found_when_it_comes():
    async def scenario(one: LiveMachines) -> None:
        held = one.get(kinds.SECRETS, "boot")
        one.delete(kinds.SECRETS, "boot")
        one.workers(2)
        one.tick = 600.0
        await one.settle(3600.0)
        assert len(one.cloud.calls) <= 4
        one.tick = 1.0
        one.put(kinds.SECRETS, {"metadata": {"name": "boot"}, "data": held["data"]})
        await one.until(lambda: len(one.cloud.running) == 2, 75.0)

    live(scenario)


def test_sets_and_machines_of_a_cluster_that_was_deleted_can_be_deleted_too():
    async def scenario(one: LiveMachines) -> None:
        one.workers(2)
        await one.until(lambda: one.running() == 2)
        one.delete(kinds.CLUSTERS, "c")
        await one.until(lambda: one.find(kinds.CLUSTERS, "c") is None)
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(one.is_empty)
        await one.until(lambda: one.find(kinds.MACHINE_SETS, "s") is None)
        assert one.cloud.running == ()

    live(scenario)


# ------------------------------------------------------------------------------------------------ who meddles


def test_R9_a_set_that_has_not_seen_its_own_machines_yet_makes_no_more():
    async def scenario(one: LiveMachines) -> None:
        await one.controller.stores.synced()
        machines = one.controller.stores.machines
        late: list[Any] = []
        machines.put = late.append  # type: ignore[method-assign, assignment]
        one.workers(2)
        await one.until(lambda: len(one.machines()) == 2)
        for number in range(3):
            one.edit(kinds.MACHINE_SETS, "s", {"metadata": {"annotations": {"looked": str(number)}}})
            await one.settle(2)
        assert len(one.machines()) == 2
        del machines.put  # type: ignore[method-assign]
        for each in late:
            machines.put(each)
        await one.until(lambda: one.running() == 2)
        assert one.cloud.made == 2

    live(scenario)


def test_R9_two_machines_that_name_one_infrastructure_machine_are_not_two_owners():
    async def scenario(one: LiveMachines) -> None:
        bare(one, "shared")
        alone(one, "first", "shared")
        await one.until(lambda: one.running() == 1)
        alone(one, "second", "shared")
        await one.until(
            lambda: told(one, kinds.MACHINES, "second", "InfrastructureReady").get("reason") == "OwnedByAnother"
        )
        await one.settle(60)
        (owner,) = one.get(kinds.AWS_MACHINES, "shared")["metadata"]["ownerReferences"]
        assert owner["name"] == "first"
        one.delete(kinds.MACHINES, "second")
        await one.until(lambda: one.machines() == ["first"])
        await one.settle(10)
        assert (one.running(), len(one.cloud.running)) == (1, 1)

    live(scenario)


def test_R9_an_id_that_belongs_to_another_machine_neither_runs_nor_ends_it():
    async def scenario(one: LiveMachines) -> None:
        bare(one, "mine")
        alone(one, "mine", "mine")
        await one.until(lambda: one.running() == 1)
        bare(one, "thief", providerID=one.cloud.running[0].provider_id)
        alone(one, "thief", "thief")
        await one.until(lambda: status(one.get(kinds.AWS_MACHINES, "thief")).get("failureReason") == "UpdateError")
        one.delete(kinds.MACHINES, "thief")
        await one.until(lambda: one.machines() == ["mine"])
        await one.settle(40)
        assert (one.running(), len(one.cloud.running)) == (1, 1)
        assert one.find(kinds.NODES, "node-mine") is not None

    live(scenario)


def test_R34_what_somebody_else_writes_into_a_status_is_put_right():
    async def scenario(one: LiveMachines) -> None:
        one.workers(1, spot={})
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        one.edit(kinds.AWS_MACHINES, name, {"status": {"interruptible": False, "ready": False}}, subresource="status")
        await one.until(lambda: status(one.get(kinds.AWS_MACHINES, name)).get("interruptible") is True)
        assert status(one.get(kinds.AWS_MACHINES, name))["ready"] is True
        await one.until(lambda: interruptible(one) == [True])

    live(scenario)


def test_the_label_of_the_cluster_comes_back_when_somebody_takes_it_off():
    async def scenario(one: LiveMachines) -> None:
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        for kind in (kinds.MACHINES, kinds.AWS_MACHINES):
            one.edit(kind, name, {"metadata": {"labels": {names.CLUSTER_NAME: None}}})
        for kind in (kinds.MACHINES, kinds.AWS_MACHINES):
            await one.until(lambda kind=kind: one.get(kind, name)["metadata"]["labels"].get(names.CLUSTER_NAME) == "c")

    live(scenario)


def test_R9_a_machine_that_is_paused_while_it_is_made_is_found_when_it_is_resumed():
    async def scenario(one: LiveMachines) -> None:
        one.cloud.fail(Fault(CREATE, port.Unavailable("the answer was lost"), after=True))
        one.workers(1)
        await one.until(lambda: one.cloud.made == 1)
        (name,) = one.machines()
        one.edit(kinds.AWS_MACHINES, name, {"metadata": {"annotations": {names.PAUSED_ANNOTATION: ""}}})
        await one.settle(120)
        assert "providerID" not in one.get(kinds.AWS_MACHINES, name)["spec"]
        assert told(one, kinds.AWS_MACHINES, name, names.PAUSED)["status"] == "True"
        one.edit(kinds.AWS_MACHINES, name, {"metadata": {"annotations": {names.PAUSED_ANNOTATION: None}}})
        await one.until(lambda: one.running() == 1)
        assert one.cloud.made == 1

    live(scenario)


def test_a_pattern_of_names_without_blanks_names_every_machine():
    async def scenario(one: LiveMachines) -> None:
        one.workers(2, machineNaming={"template": "{{.machineSet.name}}-w-{{.random}}"})
        await one.until(lambda: one.running() == 2)
        assert all(each.startswith("s-w-") for each in one.machines())
        assert all(each["metadata"]["labels"].items() >= LABELS.items() for each in one.all(kinds.MACHINES))

    live(scenario)


# ------------------------------------------------------------------------------------------------ a notice


def test_R42_a_notice_on_the_node_has_its_machine_drained_and_replaced_while_the_instance_still_runs():
    """What the termination handler writes on a Node is all a health check has to know."""

    async def scenario(one: LiveMachines) -> None:
        one.check(checks={"unhealthyNodeConditions": [{"type": "Terminating", "status": "True", "timeoutSeconds": 0}]})
        one.workers(2, spot={})
        await one.until(lambda: one.running() == 2)
        first, second = one.machines()
        now = timestamps.text(one.world.now())
        held = status(one.get(kinds.NODES, f"node-{first}"))["conditions"]
        notice = {"type": "Terminating", "status": "True", "reason": "SpotInterruption", "lastTransitionTime": now}
        one.edit(kinds.NODES, f"node-{first}", {"status": {"conditions": [*held, notice]}}, subresource="status")
        await one.until(lambda: first not in one.machines(), 60)
        await one.until(lambda: one.running() == 2)
        assert second in one.machines()
        reasons = [each.reason for each in one.said if each.about.name == first]
        assert {"MachineMarkedUnhealthy", "DrainingNode"} <= set(reasons)
        assert (one.cloud.made, len(one.cloud.running)) == (3, 2)

    live(scenario)


def test_a_machine_deleted_before_its_node_is_on_record_leaves_no_node_behind():
    """The Node joined a moment before, and nobody wrote down whose it is: its provider id tells."""

    async def scenario(one: LiveMachines) -> None:
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        await one.stop()
        one.edit(kinds.MACHINES, name, {"status": {"nodeRef": None}}, subresource="status")
        one.scale(0)
        one.delete(kinds.MACHINES, name)
        one.start()
        await one.until(one.is_empty)
        assert one.all(kinds.NODES) == []

    live(scenario)


def test_R39_bootstrap_data_a_cloud_repeats_when_it_refuses_them_are_told_to_nobody():
    """They hold what lets a machine join the cluster; conditions and events are read by many."""

    async def scenario(one: LiveMachines) -> None:
        said = "Invalid value for field 'metadata.items[0].value': '#cloud-config\n'. The value cannot be read"
        one.cloud.fail(Fault(CREATE, port.Misconfigured(said)))
        one.workers(1)
        await one.until(lambda: one.phases() == ["Failed"])
        (name,) = one.machines()
        message = status(one.get(kinds.AWS_MACHINES, name))["failureMessage"]
        assert message.startswith("Invalid value for field")
        assert not any(
            "cloud-config" in str(held) for kind in (kinds.AWS_MACHINES, kinds.MACHINES) for held in one.all(kind)
        )

    live(scenario)
