"""Watching a MachineSet fill, by the clock of whoever looks; and, where a cloud is a fake, making Nodes of instances.

A real instance joins by itself. That of a fake is given its Node here, as soon as its provider id is on record and it
is ready; kwok plays its kubelet from then on.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct

from bench.live_watch import alongside
from bench.machines_cluster import NAMESPACE, POOL
from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.kube.client import Client
from dovetail.kube.errors import AlreadyExists, KubeError

_HOURS: Final = 3 * 3600.0
_PLAYED: Final = {"kwok-partition": "a", "type": "kwok"}
_ROOM: Final = {"cpu": "4", "memory": "16Gi", "pods": "110"}


class _Metadata(Struct, frozen=True):
    name: str = ""
    labels: dict[str, str] | None = None


class _Reference(Struct, frozen=True):
    name: str = ""


class _Spec(Struct, frozen=True):
    providerID: str = ""  # noqa: N815  (the wire's name)


class _Initialization(Struct, frozen=True):
    infrastructureProvisioned: bool = False  # noqa: N815


class _Status(Struct, frozen=True):
    ready: bool = False
    failureReason: str = ""  # noqa: N815
    phase: str = ""
    initialization: _Initialization | None = None
    nodeRef: _Reference | None = None  # noqa: N815


class _Object(Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status | None = None


class _Event(Struct, frozen=True):
    type: str
    object: _Object


Sink = Callable[[_Object, float], None]
_decode: Final = msgspec.json.Decoder(_Event).decode


@dataclass(slots=True)
class Seen:
    """When each Machine of the set was there, had its instance, and had its Node and ran."""

    created: dict[str, float] = field(default_factory=dict)
    provisioned: dict[str, float] = field(default_factory=dict)
    running: dict[str, float] = field(default_factory=dict)
    #: Machines with a Node, of the set or not.
    noted: set[str] = field(default_factory=set)
    #: When the infrastructure of each was seen to have failed.
    failed: dict[str, float] = field(default_factory=dict)

    def machine(self, one: _Object, now: float) -> None:
        name, status = one.metadata.name, one.status or _Status()
        if status.nodeRef is not None:
            self.noted.add(name)
        if not POOL.items() <= (one.metadata.labels or {}).items():
            return
        self.created.setdefault(name, now)
        if status.initialization is not None and status.initialization.infrastructureProvisioned:
            self.provisioned.setdefault(name, now)
        if status.phase == "Running":
            self.running.setdefault(name, now)

    def infrastructure(self, one: _Object, now: float) -> None:
        if one.status is not None and one.status.failureReason:
            self.failed.setdefault(one.metadata.name, now)

    def last(self) -> tuple[float, float, float]:
        """When the last one was made, had its instance, and ran."""
        made, provisioned, running = (max(each.values()) for each in (self.created, self.provisioned, self.running))
        return made, provisioned, running

    def summary(self) -> str:
        return f"{len(self.created)} made, {len(self.provisioned)} provisioned, {len(self.running)} running"


@asynccontextmanager
async def watched(client: Client, joining: Kind | None) -> AsyncIterator[Seen]:
    """Everything that happens to Machines while the block runs; infrastructure of the kind `joining` is given Nodes."""
    seen, due = Seen(), asyncio.Queue[_Object]()
    beside = [_follow(client, kinds.MACHINES, seen.machine)]
    if joining is not None:

        def infrastructure(one: _Object, now: float) -> None:
            seen.infrastructure(one, now)
            due.put_nowait(one)

        beside.append(_follow(client, joining, infrastructure))
        beside.append(_join(client, due))
    async with alongside(*beside):
        yield seen


async def _follow(client: Client, kind: Kind, sink: Sink) -> None:
    """List and watch; a watch that ends is begun anew with another list, and nothing is missed but a moment."""
    while True:
        listed = await client.list(kind, NAMESPACE, into=_Object)
        for one in listed.items:
            sink(one, time.monotonic())
        try:
            version = listed.resource_version
            async for batch in client.watch_batches(
                kind, NAMESPACE, resource_version=version, timeout=_HOURS, bookmarks=False
            ):
                now = time.monotonic()
                for line in batch:
                    sink(_decode(line).object, now)
        except KubeError as failed:
            print(f"machines: the watch of {kind.plural} broke off: {failed}", file=sys.stderr)


async def _join(client: Client, due: "asyncio.Queue[_Object]") -> None:
    joined: set[str] = set()
    while True:
        one = await due.get()
        provider_id = one.spec.providerID
        if not provider_id or one.status is None or not one.status.ready or provider_id in joined:
            continue
        joined.add(provider_id)
        try:
            await client.create(kinds.NODES, _node(one.metadata.name, provider_id))
        except AlreadyExists:
            continue


def _node(name: str, provider_id: str) -> dict[str, Any]:
    about = {"name": name, "labels": dict(_PLAYED), "annotations": {"kwok.x-k8s.io/node": "fake"}}
    status = {"capacity": dict(_ROOM), "allocatable": dict(_ROOM)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": about,
        "spec": {"providerID": provider_id},
        "status": status,
    }
