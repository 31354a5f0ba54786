"""Node classes of a cloud that resolves them, on the embedded API server: what is written, when, and what goes last."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from tests.clouds.aws.classes import HOME, node_class
from tests.live.virtual_time import World, run
from tools.aws_server import Account, AwsServer

from dovetail.api import kinds
from dovetail.api.crds.every import of_cloud
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.apiserver.writes import Deletion, MergePatch
from dovetail.clouds.aws.access import Access
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.nodeclass import Kit, Resolver
from dovetail.clouds.aws.reservation_counts import Counts
from dovetail.clouds.aws.templates import Templates
from dovetail.clouds.port import ClassReport, CloudError, NodeClasses, Throttled
from dovetail.controllers.classes import SWEEP_SECONDS, Classes
from dovetail.controllers.cluster import Cluster, Scope
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import Say
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef
from dovetail.kube import watch
from dovetail.kube.client import Client
from dovetail.kube.clock import Clock
from dovetail.kube.config import from_document
from dovetail.kube.transport import Options as ClientOptions

FINALIZER = "karpenter.k8s.aws/termination"
HASH = "karpenter.k8s.aws/ec2nodeclass-hash"
Object = dict[str, Any]


@dataclass
class Told(NodeClasses):
    """A resolver that reports what it is told to."""

    again: float = 3600.0
    status: Object = field(default_factory=lambda: {"instanceProfile": "p"})
    message: str = ""
    ready: Status = Status.TRUE
    claims: dict[str, dict[str, str]] = field(default_factory=dict)
    trouble: CloudError | None = None
    looked: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    swept: list[list[str]] = field(default_factory=list)

    async def resolve(self, ref: NodeClassRef, wire: Mapping[str, object], claims: Sequence[NodeClaim]) -> ClassReport:
        self.looked.append(ref.name)
        conditions = (Condition("Ready", self.ready, "Ready", self.message, 1_800_000_000.0, 1),)
        return ClassReport(self.status, conditions, {HASH: "7"}, self.claims, self.again)

    async def release(self, ref: NodeClassRef, wire: Mapping[str, object]) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.released.append(ref.name)

    async def sweep(self, claims: Iterable[NodeClaim]) -> None:
        self.swept.append([one.name for one in claims])


@dataclass
class Place:
    """An API server, and the controller of classes."""

    server: EmbeddedServer
    classes: Classes
    said: list[Say]
    failures: list[Exception]

    def put(self, kind: Any, obj: Object) -> Object:
        return self.server.store.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, **obj}, "")

    def get(self, name: str = "default", kind: Any = kinds.EC2_NODE_CLASSES) -> Object | None:
        held = self.server.store.storage.get(kind, name)
        return None if held is None else cast(Object, held.object())

    def edit(self, name: str, body: Object) -> None:
        self.server.store.patch(kinds.EC2_NODE_CLASSES, name, MergePatch(body))

    def delete(self, kind: Any, name: str) -> None:
        self.server.store.delete(kind, name, "", Deletion())

    async def until(self, true: Any, seconds: float = 30.0) -> None:
        end = asyncio.get_running_loop().time() + seconds
        while not true():
            assert asyncio.get_running_loop().time() < end, (self.get(), self.failures)
            await asyncio.sleep(0.05)


@asynccontextmanager
async def opened(resolver: NodeClasses, clock: Clock | None = None) -> AsyncIterator[Place]:
    said: list[Say] = []
    failures: list[Exception] = []
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(EmbeddedServer(Options(tls=False, controllers=False)))
        for one in of_cloud("aws"):
            server.store.create(kinds.CRDS, copy.deepcopy(one.manifest()), "")
        options = ClientOptions(clock=clock) if clock else ClientOptions()
        client = await stack.enter_async_context(Client(from_document(server.kubeconfig()), options))
        cluster = Cluster(Scope((kinds.EC2_NODE_CLASSES,)))
        classes = Classes(cluster, client, lambda key, failed: failures.append(failed), resolver, said.append)
        watching = watch.Options(clock=clock) if clock else watch.Options()
        tasks = [asyncio.create_task(cluster.watch(cast(watch.Source, client), watching))]
        await cluster.synced()
        classes.listen()
        tasks.append(asyncio.create_task(classes.run()))
        try:
            yield Place(server, classes, said, failures)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def wire(name: str = "default", **spec: Any) -> Object:
    made = node_class(name=name, **spec)
    return {"metadata": {"name": name}, "spec": made["spec"]}


def claim(name: str, annotations: Mapping[str, str] | None = None, of: str = "default") -> Object:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": of}
    return {"metadata": {"name": name, "annotations": dict(annotations or {})},
            "spec": {"nodeClassRef": ref, "requirements": []}}  # fmt: skip


def ready(place: Place, name: str = "default") -> str:
    found = (place.get(name) or {}).get("status", {}).get("conditions", [])
    return next((one["status"] for one in found if one["type"] == "Ready"), "")


def test_a_class_is_finalized_resolved_and_told_of_in_one_write_each() -> None:
    async def scenario() -> None:
        told = Told()
        async with opened(told, World().clock()) as place:
            place.put(kinds.EC2_NODE_CLASSES, wire())
            await place.until(lambda: ready(place) == "True")
            await asyncio.sleep(5)
            held = place.get()
            assert held is not None
            assert held["metadata"]["finalizers"] == [FINALIZER]
            assert held["metadata"]["annotations"] == {HASH: "7"}
            assert held["status"]["instanceProfile"] == "p"
            assert told.looked == ["default"], "what is written by ourselves brings no second look"
            before = held["metadata"]["resourceVersion"]
            place.edit("default", {"spec": {"role": "another"}})
            await place.until(lambda: len(told.looked) == 2)
            await asyncio.sleep(5)
            after = place.get()
            assert after is not None
            assert int(after["metadata"]["resourceVersion"]) > int(before)
            assert after["status"] == held["status"]
            assert not place.failures

    run(scenario())


def test_a_class_is_looked_at_again_when_the_cloud_says_and_written_only_if_it_changed() -> None:
    async def scenario() -> None:
        told = Told(again=60.0)
        async with opened(told, World().clock()) as place:
            place.put(kinds.EC2_NODE_CLASSES, wire())
            await place.until(lambda: ready(place) == "True")
            first = place.get()
            await asyncio.sleep(600)
            assert len(told.looked) == 11
            assert place.get() == first
            told.status = {"subnets": [{"id": "subnet-1", "zone": "a", "zoneID": "z"}]}
            await place.until(lambda: "subnets" in (place.get() or {})["status"], 120)
            assert (place.get() or {})["status"]["instanceProfile"] == "p"

    run(scenario())


def test_a_sentence_that_is_another_one_each_time_makes_no_loop() -> None:
    async def scenario() -> None:
        told = Told(again=60.0)
        resolve = told.resolve

        async def chatty(*args: Any) -> ClassReport:
            told.message = f"request {len(told.looked)} was refused"
            return await resolve(*args)

        told.resolve = chatty  # type: ignore[method-assign]
        async with opened(told, World().clock()) as place:
            place.put(kinds.EC2_NODE_CLASSES, wire())
            await asyncio.sleep(300)
            assert len(told.looked) <= 6

    run(scenario())


def test_claims_of_another_version_are_told_and_one_that_is_gone_holds_up_nobody() -> None:
    async def scenario() -> None:
        told = Told(claims={"gone": {HASH: "7"}, "there": {HASH: "7"}})
        async with opened(told, World().clock()) as place:
            place.put(kinds.NODE_CLAIMS, claim("there", {HASH: "1"}))
            place.put(kinds.EC2_NODE_CLASSES, wire())
            await place.until(lambda: ready(place) == "True")
            held = place.get("there", kinds.NODE_CLAIMS)
            assert held is not None
            assert held["metadata"]["annotations"][HASH] == "7"
            assert not place.failures

    run(scenario())


def test_a_class_that_is_deleted_waits_for_its_claims_and_takes_what_was_made_for_it() -> None:
    async def scenario() -> None:
        told = Told()
        async with opened(told, World().clock()) as place:
            place.put(kinds.NODE_CLAIMS, claim("one"))
            place.put(kinds.EC2_NODE_CLASSES, wire())
            await place.until(lambda: ready(place) == "True")
            place.delete(kinds.EC2_NODE_CLASSES, "default")
            await place.until(lambda: place.said)
            assert place.said[0].reason == "WaitingOnNodeClaimTermination"
            assert "one" in place.said[0].message
            assert not told.released
            place.delete(kinds.NODE_CLAIMS, "one")
            await place.until(lambda: place.get() is None)
            assert told.released == ["default"]

    run(scenario())


def test_a_class_stays_while_its_cloud_cannot_remove_what_it_made() -> None:
    async def scenario() -> None:
        told = Told(trouble=Throttled("busy"))
        async with opened(told, World().clock()) as place:
            place.put(kinds.EC2_NODE_CLASSES, wire())
            await place.until(lambda: ready(place) == "True")
            place.delete(kinds.EC2_NODE_CLASSES, "default")
            await asyncio.sleep(30)
            assert place.get() is not None
            assert any(isinstance(one, Throttled) for one in place.failures)
            told.trouble = None
            await place.until(lambda: place.get() is None, 120)

    run(scenario())


def test_leftovers_are_swept_every_half_hour_with_the_claims_there_are() -> None:
    async def scenario() -> None:
        told = Told()
        async with opened(told, World().clock()) as place:
            place.put(kinds.NODE_CLAIMS, claim("one"))
            await asyncio.sleep(2 * SWEEP_SECONDS + 10)
            assert told.swept == [["one"], ["one"]]

    run(scenario())


# ---- with the real thing: the resolver on AWS's test server


@asynccontextmanager
async def resolving(server: AwsServer) -> AsyncIterator[Resolver]:
    def now() -> float:
        return server.world.now

    async with Aws(Access("us-east-1", server.url, attempts=2)) as aws:
        templates = Templates(aws, HOME.name, now=now)
        yield Resolver(Kit(aws, templates, HOME, lambda: "1.35", Counts(), now))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]},
        {"amiSelectorTerms": [{"alias": "windows2022@latest"}]},
        {"amiSelectorTerms": [{"name": "al2023-*"}], "amiFamily": "Custom", "userData": "#!/bin/sh"},
        {"capacityReservationSelectorTerms": [{"instanceType": "m5.large", "type": "open"}]},
    ],
)
def test_a_class_on_the_server_is_what_aws_has(aws_server: AwsServer, aws_account: Account, spec: Object) -> None:
    """What the resolver reports passes the schema of the status, and nothing of it is pruned."""
    from tools.aws_server.reservations import reserve

    reserve("m5.large", "us-east-1a", 2, InstanceMatchCriteria="open")

    async def scenario() -> None:
        async with resolving(aws_server) as resolver, opened(resolver) as place:
            place.put(kinds.EC2_NODE_CLASSES, wire(role=aws_account.role, **spec))
            await place.until(lambda: ready(place) == "True")
            held = place.get()
            assert held is not None
            status = held["status"]
            assert len(status["subnets"]) == len(aws_account.zones)
            assert status["amis"][0]["requirements"]
            counts = [one["availableInstanceCount"] for one in status.get("capacityReservations", [])]
            assert counts == ([2] if "capacityReservationSelectorTerms" in spec else [])
            ref = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
            report = await resolver.resolve(ref, held, ())
            assert {name: status[name] for name in report.status} == report.status
            place.delete(kinds.EC2_NODE_CLASSES, "default")
            await place.until(lambda: place.get() is None)
            assert not place.failures

    asyncio.run(scenario())
