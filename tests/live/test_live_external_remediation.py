"""Machines that somebody else heals: one request for each, made once, removed when the machine is well."""

from __future__ import annotations

from typing import Any

import pytest
from tests.live.dying import After, watched
from tests.live.live_machines import LiveMachines
from tests.live.test_live_cluster_api import live, status
from tests.live.test_live_machines_odd import told
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.controllers.cluster_api import gauges
from dovetail.controllers.metrics import Metrics
from dovetail.core import timestamps
from dovetail.core.machines import names
from dovetail.core.machines.effects import DropRequest, Effect, MakeRequests, SaveCheck

GROUP = "remedy.example.com"
TEMPLATES = Kind(GROUP, "v1alpha1", "RebootTemplate", "reboottemplates", namespaced=True)
REQUESTS = Kind(GROUP, "v1alpha1", "Reboot", "reboots", namespaced=True)
REMEDY = {"templateRef": {"apiGroup": GROUP, "kind": TEMPLATES.name, "name": "r"}}
SIGNS = {"unhealthyNodeConditions": [{"type": "Broken", "status": "True", "timeoutSeconds": 30}]}


def definition(kind: Kind) -> dict[str, Any]:
    """What a remediation provider installs; it wants to be told how a machine is rebooted."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    asked = {"type": "object", "required": ["hard"], "properties": {"hard": {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"spec": asked if kind is REQUESTS else anything}}
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    called = {"plural": kind.plural, "singular": kind.name.lower(), "kind": kind.name, "listKind": f"{kind.name}List"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": called, "versions": [version]}
    about = {"apiVersion": kinds.CRDS.api_version, "kind": kinds.CRDS.name}
    return {**about, "metadata": {"name": str(kind)}, "spec": spec}


def defined(one: LiveMachines, kind: Kind) -> None:
    one.put(kinds.CRDS, definition(kind))


def provided(one: LiveMachines, **spec: Any) -> None:
    for kind in (TEMPLATES, REQUESTS):
        defined(one, kind)
    offered(one, **spec)


def offered(one: LiveMachines, **spec: Any) -> None:
    template = {"metadata": {"labels": {"way": "power"}}, "spec": spec or {"hard": True}}
    one.put(TEMPLATES, {"metadata": {"name": "r"}, "spec": {"template": template}})


def broken(one: LiveMachines, machine: str, is_broken: bool = True) -> None:
    held = [each for each in status(one.get(kinds.NODES, f"node-{machine}"))["conditions"] if each["type"] != "Broken"]
    sign = {"type": "Broken", "status": str(is_broken), "reason": "Test"}
    sign["lastTransitionTime"] = timestamps.text(one.world.now())
    one.edit(kinds.NODES, f"node-{machine}", {"status": {"conditions": [*held, sign]}}, subresource="status")


def requests(one: LiveMachines) -> list[str]:
    return sorted(each["metadata"]["name"] for each in one.all(REQUESTS))


def about(one: LiveMachines, type_: str) -> dict[str, Any]:
    return told(one, kinds.HEALTH_CHECKS, "h", type_)


async def broke(one: LiveMachines, replicas: int = 1) -> list[str]:
    """So many machines are up, and all of them break."""
    one.check(checks=SIGNS, remediation=REMEDY)
    one.workers(replicas)
    await one.until(lambda: one.running() == replicas)
    for each in one.machines():
        broken(one, each)
    return one.machines()


def test_a_broken_machine_gets_one_request_that_goes_when_it_is_well():
    metrics = gauges.declare(Metrics())

    async def scenario(one: LiveMachines) -> None:
        provided(one)
        (name,) = await broke(one)
        await one.until(lambda: requests(one) == [name])
        made = one.get(REQUESTS, name)
        machine = one.get(kinds.MACHINES, name)
        (owner,) = made["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Machine", machine["metadata"]["uid"])
        assert made["metadata"]["labels"] == {"way": "power", names.CLUSTER_NAME: "c"}
        assert made["metadata"]["annotations"] == {
            names.CLONED_FROM_NAME: "r",
            names.CLONED_FROM_KIND: f"RebootTemplate.{GROUP}",
            names.HEALTH_CHECK: "h",
        }
        assert made["spec"] == {"hard": True}
        await one.until(lambda: about(one, names.EXTERNAL_REQUEST_AVAILABLE).get("status") == "True")
        assert told(one, kinds.MACHINES, name, names.EXTERNALLY_REMEDIATED)["reason"] == "WaitingForRemediation"
        assert not told(one, kinds.MACHINES, name, names.OWNER_REMEDIATED)
        await one.stop()
        one.start()
        await one.settle(3600)
        assert one.get(REQUESTS, name)["metadata"]["uid"] == made["metadata"]["uid"]
        assert one.machines() == [name]
        broken(one, name, False)
        await one.until(lambda: requests(one) == [])
        await one.until(lambda: not told(one, kinds.MACHINES, name, names.EXTERNALLY_REMEDIATED))
        assert one.machines() == [name]
        assert metrics.value(gauges.REMEDIATIONS, {"reason": "UnhealthyNode"}) == 1
        broken(one, name)
        await one.until(lambda: requests(one) == [name])
        assert metrics.value(gauges.REMEDIATIONS, {"reason": "UnhealthyNode"}) == 2

    counted(metrics, scenario)


def counted(metrics: Metrics, scenario: Any) -> None:
    """As a process counts what it does."""

    async def through() -> None:
        one = LiveMachines()
        one.boundary = gauges.Counting(metrics)
        async with one:
            await scenario(one)

    run(through())


def test_every_machine_gets_its_own_and_one_that_is_left_alone_loses_it():
    async def scenario(one: LiveMachines) -> None:
        provided(one)
        first, second = await broke(one, 2)
        await one.until(lambda: requests(one) == [first, second])
        one.edit(kinds.MACHINES, first, {"metadata": {"annotations": {names.SKIP_REMEDIATION: ""}}})
        await one.until(lambda: requests(one) == [second])
        one.delete(REQUESTS, second)
        await one.until(lambda: requests(one) == [second], 3600)

    live(scenario)


def test_a_kind_nobody_defined_is_told_of_by_its_field_and_used_once_it_is_there():
    async def scenario(one: LiveMachines) -> None:
        (name,) = await broke(one)
        await one.until(lambda: about(one, names.EXTERNAL_TEMPLATE_AVAILABLE).get("status") == "False")
        message = about(one, names.EXTERNAL_TEMPLATE_AVAILABLE)["message"]
        assert message.startswith("spec.remediation.templateRef.kind: the API server does not know RebootTemplate")
        await one.until(lambda: told(one, kinds.MACHINES, name, names.EXTERNALLY_REMEDIATED))
        noted = told(one, kinds.MACHINES, name, names.EXTERNALLY_REMEDIATED)
        assert noted["reason"] == "RemediationTemplateNotFound"
        assert noted["message"] == f"MachineHealthCheck h: {message}"
        await one.settle(3600)
        events = [said for said in one.said if said.reason == "ExternalRemediationTemplateNotFound"]
        assert [(said.about.name, said.message) for said in events] == [("h", message)]
        for kind in (TEMPLATES, REQUESTS):
            defined(one, kind)
        await one.until(lambda: ".name: there is no" in about(one, names.EXTERNAL_TEMPLATE_AVAILABLE)["message"])
        offered(one)
        await one.until(lambda: requests(one) == [name])
        await one.until(lambda: about(one, names.EXTERNAL_TEMPLATE_AVAILABLE)["status"] == "True")

    live(scenario)


def test_a_request_the_api_server_refuses_is_told_of_and_made_once_it_is_not():
    async def scenario(one: LiveMachines) -> None:
        provided(one, soft=True)
        (name,) = await broke(one)
        await one.until(lambda: about(one, names.EXTERNAL_REQUEST_AVAILABLE).get("status") == "False")
        refused = about(one, names.EXTERNAL_REQUEST_AVAILABLE)
        assert refused["reason"] == "ExternalRemediationRequestCreationFailed"
        assert "spec.hard" in refused["message"]
        writes = one.get(kinds.HEALTH_CHECKS, "h")["metadata"]["resourceVersion"]
        await one.settle(600)
        assert one.get(kinds.HEALTH_CHECKS, "h")["metadata"]["resourceVersion"] == writes
        one.delete(TEMPLATES, "r")
        offered(one)
        await one.until(lambda: requests(one) == [name], 600)
        await one.until(lambda: about(one, names.EXTERNAL_REQUEST_AVAILABLE)["status"] == "True")
        assert told(one, kinds.MACHINES, name, names.EXTERNALLY_REMEDIATED)["reason"] == "WaitingForRemediation"

    live(scenario)


def beside(one: LiveMachines, name: str, **changes: Any) -> None:
    """Another check of the same machines."""
    spec = one.get(kinds.HEALTH_CHECKS, "h")["spec"] | changes
    one.put(kinds.HEALTH_CHECKS, {"metadata": {"name": name}, "spec": spec})


def test_a_second_check_that_sees_nothing_wrong_lets_the_machine_be_healed_and_nobody_writes_for_ever():
    async def scenario(one: LiveMachines) -> None:
        provided(one)
        (name,) = await broke(one)
        beside(one, "sees-nothing", checks={"nodeStartupTimeoutSeconds": 600}, remediation={})
        await one.until(lambda: about(one, names.EXTERNAL_REQUEST_AVAILABLE).get("status") == "True")
        writes = one.get(kinds.MACHINES, name)["metadata"]["resourceVersion"]
        await one.settle(600)
        assert one.get(kinds.MACHINES, name)["metadata"]["resourceVersion"] == writes
        assert requests(one) == [name]

    live(scenario)


def test_a_request_of_a_check_that_was_replaced_goes_when_the_new_one_finds_the_machine_well():
    async def scenario(one: LiveMachines) -> None:
        provided(one)
        (name,) = await broke(one)
        await one.until(lambda: requests(one) == [name])
        beside(one, "instead")
        one.delete(kinds.HEALTH_CHECKS, "h")
        await one.settle(60)
        assert requests(one) == [name]
        broken(one, name, False)
        await one.until(lambda: requests(one) == [])
        await one.until(lambda: not told(one, kinds.MACHINES, name, names.EXTERNALLY_REMEDIATED))

    live(scenario)


def _asked(effect: Effect) -> bool:
    """A check that knows its template was written: its request comes next."""
    return isinstance(effect, SaveCheck) and effect.after.tally.healthy == 0 and effect.after.tally.expected == 1


@pytest.mark.parametrize("kind", [_asked, MakeRequests, DropRequest])
def test_a_process_that_dies_before_or_after_a_request_makes_it_once_and_removes_it(kind: Any):
    is_it = kind if kind is _asked else lambda effect: isinstance(effect, kind)

    async def through() -> None:
        one = LiveMachines()
        one.boundary = After(is_it)
        async with one, watched(one):
            provided(one)
            (name,) = await broke(one)
            await one.until(lambda: requests(one) == [name])
            uid = one.get(REQUESTS, name)["metadata"]["uid"]
            await one.settle(600)
            assert one.get(REQUESTS, name)["metadata"]["uid"] == uid
            broken(one, name, False)
            await one.until(lambda: requests(one) == [])
            await one.settle(60)
            assert not told(one, kinds.MACHINES, name, names.EXTERNALLY_REMEDIATED)

    run(through())
