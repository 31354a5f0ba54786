"""Watching a cluster fill, with times finer than the objects' own, which know whole seconds.

    pods created ─ first claim ─ last claim ─ all launched ─ all registered ─ all initialized ─ all bound
     └── batch, plan ──┘└ create ─┘└─ launch ──┘└─ register ──┘└── initialize ──┘└──── bind ────┘

Every stage lasts from the end of the stage before until the *last* claim is through it, so stages add up to the whole;
a stage that was over before the one before it has no length.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.core.nodeclaims import UNREGISTERED
from dovetail.kube.client import Client
from dovetail.kube.errors import KubeError

PHASES: Final = ("Launched", "Registered", "Initialized")
STAGES: Final = ("batch", "plan", "create", "launch", "register", "initialize", "bind")
_HOURS: Final = 3 * 3600.0


class _Metadata(Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Taint(Struct, frozen=True):
    key: str = ""


class _Spec(Struct, frozen=True):
    nodeName: str = ""  # noqa: N815  (the wire's name)
    taints: list[_Taint] | None = None


class _Condition(Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(Struct, frozen=True):
    conditions: list[_Condition] | None = None


class _Object(Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Event(Struct, frozen=True):
    type: str
    object: _Object


Sink = Callable[[_Object, float], None]
_decode: Final = msgspec.json.Decoder(_Event).decode


@dataclass(slots=True)
class Seen:
    """What happened so far, by the monotonic clock."""

    created: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    claims: dict[str, dict[str, float]] = field(default_factory=dict)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    #: By Node: when it was there, had lost its buyer's taint, was ready, had lost the node controller's, and all.
    joined: dict[str, dict[str, float]] = field(default_factory=dict)

    def pod(self, one: _Object, now: float) -> None:
        about = one.metadata
        if about.namespace != "default":
            return
        self.created.setdefault(about.name, now)
        if one.spec.nodeName:
            self.bound.setdefault(about.name, now)

    def said(self, bound: dict[str, float]) -> None:
        """When the scheduler itself says that it had bound these; what a watch told later is forgotten."""
        for name in bound.keys() & self.bound.keys():
            self.bound[name] = min(self.bound[name], bound[name])

    def claim(self, one: _Object, now: float) -> None:
        reached = self.claims.setdefault(one.metadata.name, {"": now})
        for held in one.status.conditions or ():
            if held.status == "True" and held.type in PHASES:
                reached.setdefault(held.type, now)

    def node(self, one: _Object, now: float) -> None:
        self.nodes[one.metadata.name] = one.metadata.labels or {}
        reached = self.joined.setdefault(one.metadata.name, {"Joined": now})
        taints = [taint.key for taint in one.spec.taints or ()]
        if UNREGISTERED.key not in taints:
            reached.setdefault("Opened", now)
        if any(held.type == "Ready" and held.status == "True" for held in one.status.conditions or ()):
            reached.setdefault("NodeReady", now)
            if not any(key.startswith("node.kubernetes.io/") for key in taints):
                reached.setdefault("Cleared", now)
            if not taints:
                reached.setdefault("Untainted", now)

    def initialized(self) -> bool:
        return all(PHASES[-1] in one for one in self.claims.values())

    def summary(self) -> str:
        counts = {phase: sum(phase in one for one in self.claims.values()) for phase in PHASES}
        return f"{len(self.claims)} created, {counts}"

    def timeline(self, began: float) -> dict[str, list[float]]:
        """When each pod was created and bound, each claim written and through its phases, and each Node there, opened
        by its buyer, ready, cleared by the node controller, and free of taints: to look into a run."""
        moments = {"created": list(self.created.values()), "bound": list(self.bound.values())}
        for phase in ("", *PHASES):
            moments[phase or "Claimed"] = [one[phase] for one in self.claims.values() if phase in one]
        for phase in ("Joined", "Opened", "NodeReady", "Cleared", "Untainted"):
            moments[phase] = [one[phase] for one in self.joined.values() if phase in one]
        return {name: sorted(round(one - began, 3) for one in times) for name, times in moments.items()}

    def stages(self, began: float, plan: float) -> dict[str, float]:
        """How long each took, in seconds; `plan` is what the controller says of its planning."""
        end = max(self.bound.values())
        first = min((one[""] for one in self.claims.values()), default=end)
        marks = [max(began, first - plan), first]
        marks += (max((one.get(phase, end) for one in self.claims.values()), default=end) for phase in ("", *PHASES))
        marks.append(end)
        lengths, before = {}, began
        for name, mark in zip(STAGES, marks, strict=True):
            reached = min(max(before, mark), end)
            lengths[name] = reached - before
            before = reached
        return lengths


@asynccontextmanager
async def watched(client: Client) -> AsyncIterator[Seen]:
    """Everything that happens to pods, claims and Nodes while the block runs."""
    seen = Seen()
    sinks = ((kinds.PODS, seen.pod), (kinds.NODE_CLAIMS, seen.claim), (kinds.NODES, seen.node))
    async with alongside(*(_follow(client, kind, sink) for kind, sink in sinks)):
        yield seen


@asynccontextmanager
async def alongside(*watchers: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """These run while the block does; one that fails fails the measurement."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in watchers]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def _follow(client: Client, kind: Kind, sink: Sink) -> None:
    """List and watch; a watch that ends is begun anew with another list, and nothing is missed but a moment."""
    while True:
        try:
            listed = await client.list(kind, into=_Object)
            for one in listed.items:
                sink(one, time.monotonic())
            version = listed.resource_version
            async for batch in client.watch_batches(kind, resource_version=version, timeout=_HOURS, bookmarks=False):
                now = time.monotonic()
                for line in batch:
                    sink(_decode(line).object, now)
        except KubeError as failed:
            print(f"live: the watch of {kind.plural} broke off: {failed}", file=sys.stderr)
            await asyncio.sleep(1.0)
