"""The simulated cloud under the whole controller: started anew while machines have not joined yet, and interrupted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.live import objects

from dovetail.api import kinds
from dovetail.api.crds.every import DEFINITIONS
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.clouds.sim.chaos import ChaosCloud, Surroundings
from dovetail.clouds.sim.cloud import Habits, SimCloud
from dovetail.clouds.sim.market import SimMarket
from dovetail.controllers.batching import Window
from dovetail.controllers.controller import Choices, Controller
from dovetail.controllers.declared import declare
from dovetail.controllers.fake_kubelets import FakeKubelets
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.node_api import Nodes
from dovetail.controllers.telling import Telling
from dovetail.core.scheduling.solve import solve
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.events import Recorder

CLASS = {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": "default"}}
POOL = objects.pool()
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]},
}

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD["spec"]},
    },
}


@asynccontextmanager
async def cluster() -> AsyncIterator[Client]:
    """A cluster in which nothing plays kubelet."""
    server = EmbeddedServer(Options(tls=False))
    async with server, Client(config.from_document(server.kubeconfig())) as client:
        for one in DEFINITIONS:
            await client.create(kinds.CRDS, one.manifest())
        await client.create(kinds.NODE_POOLS, POOL)
        yield client


@asynccontextmanager
async def task_of(work: Awaitable[None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def dovetail(client: Client, ahead: float = 0.0) -> AsyncIterator[ChaosCloud]:
    """One process's life, with its kubelets; its clock may be ahead."""

    async def planned(problem: Any) -> Any:
        return solve(problem)

    habits = Habits(now=lambda: time.time() + ahead)
    fake = FakeKubelets(client, "kwok-partition=a")
    sim = SimCloud(SimMarket(), Nodes(client, "kwok-partition=a"), habits)
    cloud = ChaosCloud(sim, around=Surroundings(fake.kubelets))
    telling = Telling(Recorder(client), declare(Metrics()))
    controller = Controller(client, cloud, telling, planned, Choices(window=Window(0.01, 0.1)))
    async with task_of(fake.run()), task_of(controller.run()):
        yield cloud
    cloud.close()


async def until(found: Callable[[], Awaitable[Any]]) -> Any:
    for _ in range(400):
        got = await found()
        if got:
            return got
        await asyncio.sleep(0.02)
    raise AssertionError("waited in vain")


def test_a_node_joins_though_whoever_bought_it_is_gone() -> None:
    async def scenario() -> None:
        async with cluster() as client:
            await client.create(kinds.KWOK_NODE_CLASSES, {**CLASS, "spec": {"nodeRegistrationDelay": "10m"}})
            await client.create(kinds.PODS, POD)

            async def is_(condition: str) -> Any:
                for one in (await client.list(kinds.NODE_CLAIMS)).items:
                    held = (one.get("status") or {}).get("conditions") or ()
                    if any(each["type"] == condition and each["status"] == "True" for each in held):
                        return one
                return None

            async with dovetail(client):
                bought = await until(lambda: is_("Launched"))
            assert (await client.list(kinds.NODES)).items == []
            async with dovetail(client, ahead=601.0) as cloud:
                joined = await until(lambda: is_("Initialized"))
                assert joined["metadata"]["uid"] == bought["metadata"]["uid"]
                assert [one.claim for one in await cloud.instances()] == [joined["metadata"]["name"]]
            (node,) = (await client.list(kinds.NODES)).items
            assert node["spec"]["providerID"] == bought["status"]["providerID"]
            for key in ("node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"):
                assert node["metadata"]["labels"][key] == bought["metadata"]["labels"][key]
            assert node["status"]["capacity"] == bought["status"]["capacity"]

    asyncio.run(scenario())


def test_pods_of_an_interrupted_machine_run_elsewhere_before_it_is_taken_away() -> None:
    async def scenario() -> None:
        async with cluster() as client, dovetail(client) as cloud:
            await client.create(kinds.KWOK_NODE_CLASSES, CLASS)
            await client.create(kinds.DEPLOYMENTS, DEPLOYMENT)

            async def running(avoiding: str = "") -> str:
                for one in (await client.list(kinds.PODS)).items:
                    node = one["spec"].get("nodeName", "")
                    if one["status"]["phase"] == "Running" and "deletionTimestamp" not in one["metadata"]:
                        return str(node) if node != avoiding else ""
                return ""

            first = await until(running)
            old = await client.get(kinds.NODES, first)
            cloud.interrupt(f"kwok://{first}", notice=3600.0)
            second = await until(lambda: running(first))
            new = await client.get(kinds.NODES, second)
            place = ("node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "karpenter.sh/capacity-type")
            was, is_ = ([one["metadata"]["labels"][key] for key in place] for one in (old, new))
            assert was[2] == "spot"
            assert is_ != was
            assert "deletionTimestamp" in (await client.get(kinds.NODE_CLAIMS, first))["metadata"]

    asyncio.run(scenario())
