"""The simulated cloud and its kubelets on an API server: the embedded one, and a real control plane.

What a Node, a lease and a pod go through is decided by the server and its controllers, so both must be content.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from tests.contract.cloud.sim_worlds import CLASS, READY
from tests.contract.cloud.worlds import claim, order
from tests.control_plane_plugin import GROUP

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.clouds.port import NotFound, Throttled, Unavailable
from dovetail.clouds.sim.cloud import Habits, SimCloud
from dovetail.clouds.sim.kubelets import Pace
from dovetail.clouds.sim.market import SimMarket
from dovetail.controllers.fake_kubelets import FakeKubelets
from dovetail.controllers.node_api import Nodes
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.errors import NotFound as ObjectNotFound
from dovetail.kube.retry import Patience
from dovetail.kube.transport import Options as ClientOptions

PATIENCE = 120.0


@dataclass
class Place:
    """A cloud in a partition of its own on some server."""

    client: Client
    partition: str
    cloud: SimCloud
    node_class: Any = CLASS

    def another(self) -> SimCloud:
        cloud = SimCloud(SimMarket(), Nodes(self.client, self.selector), Habits(self.partition))
        cloud.set_node_class(CLASS, READY)
        return cloud

    @property
    def selector(self) -> str:
        return f"kwok-partition={self.partition}"

    @asynccontextmanager
    async def kubelets(self, pace: Pace | None = None) -> AsyncIterator[FakeKubelets]:
        fake = FakeKubelets(self.client, self.selector, pace)
        task = asyncio.create_task(fake.run())
        try:
            yield fake
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def seen(self, kind: Kind, name: str, namespace: str = "") -> dict[str, Any] | None:
        try:
            return await self.client.get(kind, name, namespace)
        except ObjectNotFound:
            return None


async def until(found: Callable[[], Awaitable[Any]]) -> Any:
    """What `found` finds, once it finds something."""
    for _ in range(int(PATIENCE / 0.05)):
        got = await found()
        if got:
            return got
        await asyncio.sleep(0.05)
    raise AssertionError("waited in vain")


@asynccontextmanager
async def at(where: config.ClusterConfig) -> AsyncIterator[Place]:
    async with Client(where) as client:
        partition = f"t-{uuid4().hex[:8]}"
        place = Place(client, partition, SimCloud(SimMarket(), Nodes(client, f"kwok-partition={partition}")))
        place.cloud = place.another()
        try:
            yield place
        finally:
            for one in await place.cloud.instances():
                await client.delete(kinds.NODES, one.provider_id.removeprefix("kwok://"))


@asynccontextmanager
async def embedded() -> AsyncIterator[Place]:
    async with (
        EmbeddedServer(Options(tls=False, controllers=True)) as server,
        at(config.from_document(server.kubeconfig())) as place,
    ):
        yield place


Open = Callable[[], AbstractAsyncContextManager[Place]]


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group(GROUP))])
def opened(request: pytest.FixtureRequest) -> Open:
    if request.param == "embedded":
        return embedded
    control_plane = request.getfixturevalue("control_plane")
    return lambda: at(config.load(str(control_plane.kubeconfig), None, {}))


def condition(one: dict[str, Any] | None, kind: str) -> str:
    found = ((one or {}).get("status") or {}).get("conditions") or ()
    return next((str(each["status"]) for each in found if each["type"] == kind), "")


def test_a_machine_is_a_node_from_launch_to_return(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as place:
            name = f"m-{place.partition}"
            made = await place.cloud.launch(order(place, name))
            node = await place.client.get(kinds.NODES, name)
            assert node["spec"]["providerID"] == made.provider_id == f"kwok://{name}"
            assert node["status"]["phase"] == "Pending"
            assert node["metadata"]["labels"].items() >= made.labels.items()
            assert ("karpenter.sh/unregistered", "NoExecute") in [
                (one["key"], one["effect"]) for one in node["spec"]["taints"]
            ]
            assert (await place.another().launch(order(place, name))).capacity == made.capacity
            assert [one.provider_id for one in await place.another().instances()] == [made.provider_id]
            await place.cloud.reboot(claim(place, name, provider_id=made.provider_id), "op")
            node = await place.client.get(kinds.NODES, name)
            assert node["status"]["nodeInfo"]["bootID"] == "kwok-op"
            with pytest.raises(NotFound):
                await place.cloud.terminate(claim(place, name))
            assert await place.seen(kinds.NODES, name) is None

    asyncio.run(scenario())


def test_a_node_gets_ready_and_beats(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as place, place.kubelets():
            name = f"m-{place.partition}"
            await place.cloud.launch(order(place, name))

            async def ready() -> Any:
                node = await place.seen(kinds.NODES, name)
                return node if condition(node, "Ready") == "True" else None

            node = await until(ready)
            assert node["status"]["phase"] == "Running"
            assert {one["type"] for one in node["status"]["addresses"]} == {"InternalIP", "Hostname"}
            lease = await until(lambda: place.seen(kinds.LEASES, name, "kube-node-lease"))
            assert lease["spec"]["holderIdentity"] == name
            assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]

    asyncio.run(scenario())


def pod(name: str, node: str, notes: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": notes or {}},
        "spec": {
            "nodeName": node,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "simulated"}],
            "automountServiceAccountToken": False,
            **spec,
        },
    }


def test_pods_run_and_end_and_jobs_are_done(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as place, place.kubelets(Pace(job=0.1)):
            node, web = f"m-{place.partition}", f"web-{place.partition}"
            await place.cloud.launch(order(place, node))
            await until(lambda: place.seen(kinds.SERVICE_ACCOUNTS, "default", "default"))
            await place.client.create(kinds.PODS, pod(web, node))
            once = pod(f"once-{web}", node, {"karpenter.kwok.sh/run-for": "0s"}, restartPolicy="OnFailure")
            await place.client.create(kinds.PODS, once)
            template = pod("", node, restartPolicy="Never")["spec"]
            job = {"metadata": {"name": web}, "spec": {"template": {"spec": template}}}
            await place.client.create(kinds.JOBS, {"apiVersion": "batch/v1", "kind": "Job", **job}, "default")

            async def running() -> Any:
                found = await place.seen(kinds.PODS, web, "default")
                return found if found is not None and found["status"]["phase"] == "Running" else None

            found = await until(running)
            assert condition(found, "Ready") == "True"
            assert found["status"]["startTime"]
            assert found["status"]["podIP"]
            await place.client.delete(kinds.PODS, web, "default", grace=30)

            async def over() -> bool:
                done = condition(await place.seen(kinds.JOBS, web, "default"), "Complete") == "True"
                ended = await place.client.get(kinds.PODS, f"once-{web}", "default")
                done = done and ended["status"]["phase"] == "Succeeded"
                return done and await place.seen(kinds.PODS, web, "default") is None

            await until(over)
            await place.client.delete(kinds.JOBS, web, "default")
            await place.client.delete(kinds.PODS, f"once-{web}", "default", grace=0)

    asyncio.run(scenario())


@pytest.mark.parametrize(("code", "error"), [(429, Throttled), (503, Unavailable), (403, Unavailable)])
def test_troubles_of_the_api_server_are_troubles_of_the_cloud(code: int, error: type[Exception]) -> None:
    async def scenario() -> None:
        async with EmbeddedServer(Options(tls=False, controllers=False)) as server:
            hasty = ClientOptions(patience=Patience(first=0.01, longest=0.02, budget=0.05, attempt=1.0))
            async with Client(config.from_document(server.kubeconfig()), hasty) as client:
                server.faults.answer(code, times=50, retry_after=7 if code == 429 else None)
                with pytest.raises(error) as caught:
                    await Nodes(client, "kwok-partition=a").get("a")
                assert getattr(caught.value, "wait", 7.0) == 7.0

    asyncio.run(scenario())
