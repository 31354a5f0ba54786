"""Capacity buffers on a whole cluster (§1.4)."""

from __future__ import annotations

from typing import Any

from tests.live import objects
from tests.live.live import SOON, Live, condition
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.controller import Choices

BUFFERED = Choices(window=SOON, buffers=True)


def buffer(name: str = "spare", **spec: Any) -> dict[str, Any]:
    about = {"name": name, "namespace": "default"}
    return {"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": about, "spec": spec}


def template(live: Live, name: str = "small", **changed: Any) -> None:
    inner = {"metadata": {"labels": {"app": name}}, "spec": objects.pod_spec(**changed)}
    live.put(kinds.POD_TEMPLATES, {"metadata": {"name": name, "namespace": "default"}, "template": inner})


def told(live: Live, type_: str, name: str = "spare") -> tuple[str, str]:
    held = condition(live.get(kinds.CAPACITY_BUFFERS, name), type_)
    return (held["status"], held["reason"]) if held else ("", "")


def test_a_buffer_buys_room_before_anybody_needs_it_and_says_so():
    async def scenario() -> None:
        async with Live(BUFFERED) as live:
            template(live)
            live.put(kinds.CAPACITY_BUFFERS, buffer(podTemplateRef={"name": "small"}, replicas=3))
            await live.until(live.ready)
            assert told(live, "ReadyForProvisioning") == ("True", "Resolved")
            await live.until(lambda: told(live, "Provisioning") == ("True", "FitsExistingCapacity"))
            status = live.get(kinds.CAPACITY_BUFFERS, "spare")["status"]
            assert (status["replicas"], status["podTemplateRef"]) == (3, {"name": "small"})
            assert status["provisioningStrategy"] == "buffer.x-k8s.io/active-capacity"
            assert live.claim()["spec"]["resources"]["requests"]["cpu"] == "3"
            await live.settle(120)
            assert len(live.claims()) == 1, "the room is there; nothing more is bought"
            assert not live.events("Nominated"), "pods that nobody made are told nothing"

    run(scenario())


def test_real_pods_take_the_room_at_once_and_it_is_made_anew():
    async def scenario() -> None:
        async with Live(BUFFERED) as live:
            template(live)
            live.put(kinds.CAPACITY_BUFFERS, buffer(podTemplateRef={"name": "small"}, replicas=3))
            await live.until(lambda: told(live, "Provisioning") == ("True", "FitsExistingCapacity"))
            first = live.names()
            live.pods(3)
            await live.until(lambda: len(live.running()) == 3)
            assert {one["spec"]["nodeName"] for one in live.running()} == first
            await live.until(lambda: len(live.ready()) == 2, 120)
            await live.until(lambda: told(live, "Provisioning") == ("True", "FitsExistingCapacity"), 120)

    run(scenario())


def test_a_buffer_follows_the_workload_it_is_a_share_of():
    async def scenario() -> None:
        async with Live(BUFFERED) as live:
            live.pods(4)
            ref = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
            live.put(kinds.CAPACITY_BUFFERS, buffer(scalableRef=ref, percentage=50))
            await live.until(lambda: replicas(live) == 2)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 8}})
            await live.until(lambda: replicas(live) == 4, 5)

    run(scenario())


def replicas(live: Live) -> int | None:
    found: int | None = (live.get(kinds.CAPACITY_BUFFERS, "spare").get("status") or {}).get("replicas")
    return found


def test_a_buffer_of_something_that_is_not_there_says_what():
    async def scenario() -> None:
        async with Live(BUFFERED) as live:
            live.put(kinds.CAPACITY_BUFFERS, buffer(podTemplateRef={"name": "small"}, replicas=1))
            ref = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
            live.put(kinds.CAPACITY_BUFFERS, buffer("share", scalableRef=ref, percentage=50))
            missing = ("False", "PodTemplateNotFound")
            await live.until(lambda: told(live, "ReadyForProvisioning") == missing)
            await live.until(lambda: told(live, "ReadyForProvisioning", "share") == ("False", "ScalableRefNotFound"))
            template(live)
            await live.until(live.ready)
            assert told(live, "ReadyForProvisioning") == ("True", "Resolved")

    run(scenario())


def test_a_buffer_of_nothing_is_empty():
    async def scenario() -> None:
        async with Live(BUFFERED) as live:
            template(live)
            live.put(kinds.CAPACITY_BUFFERS, buffer(podTemplateRef={"name": "small"}, replicas=0))
            live.pods(1)
            await live.until(lambda: told(live, "Provisioning") == ("False", "BufferEmpty"))

    run(scenario())


def test_without_the_gate_buffers_are_not_looked_at():
    async def scenario() -> None:
        async with Live() as live:
            template(live)
            live.put(kinds.CAPACITY_BUFFERS, buffer(podTemplateRef={"name": "small"}, replicas=3))
            await live.settle(60)
            assert not live.claims()

    run(scenario())
