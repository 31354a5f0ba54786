"""Watching a cluster fill, with times finer than the objects' own, which know whole seconds.

    pods created ─ first claim ─ last claim ─ all launched ─ all registered ─ all initialized ─ all bound
     └── batch, plan ──┘└ create ─┘└─ launch ──┘└─ register ──┘└── initialize ──┘└──── bind ────┘

Every stage lasts from the end of the stage before until the *last* claim is through it, so stages add up to the whole;
a stage that was over before the one before it has no length.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.kube.client import Client

PHASES: Final = ("Launched", "Registered", "Initialized")
STAGES: Final = ("batch", "plan", "create", "launch", "register", "initialize", "bind")
_HOURS: Final = 3 * 3600.0


class _Metadata(Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class _Spec(Struct, frozen=True):
    nodeName: str = ""  # noqa: N815  (the wire's name)


class _Condition(Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(Struct, frozen=True):
    conditions: list[_Condition] = []


class _Object(Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Event(Struct, frozen=True):
    type: str
    object: _Object


_decode: Final = msgspec.json.Decoder(_Event).decode


@dataclass(slots=True)
class Seen:
    """What happened so far, by the monotonic clock."""

    created: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    claims: dict[str, dict[str, float]] = field(default_factory=dict)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def pod(self, event: _Event, now: float) -> None:
        about = event.object.metadata
        if about.namespace != "default":
            return
        self.created.setdefault(about.name, now)
        if event.object.spec.nodeName:
            self.bound.setdefault(about.name, now)

    def claim(self, event: _Event, now: float) -> None:
        reached = self.claims.setdefault(event.object.metadata.name, {"": now})
        for one in event.object.status.conditions:
            if one.status == "True" and one.type in PHASES:
                reached.setdefault(one.type, now)

    def node(self, event: _Event, now: float) -> None:
        self.nodes[event.object.metadata.name] = event.object.metadata.labels

    def initialized(self) -> bool:
        return all(PHASES[-1] in one for one in self.claims.values())

    def stages(self, began: float, plan: float) -> dict[str, float]:
        """How long each took, in seconds; `plan` is what the controller says of its planning."""
        end = max(self.bound.values())
        first = min((one[""] for one in self.claims.values()), default=end)
        marks = [max(began, first - plan), first]
        marks += (max(one.get(phase, end) for one in self.claims.values()) for phase in ("", *PHASES))
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
    sinks: tuple[tuple[Kind, Callable[[Any, float], None]], ...] = (
        (kinds.PODS, seen.pod),
        (kinds.NODE_CLAIMS, seen.claim),
        (kinds.NODES, seen.node),
    )
    tasks = [asyncio.create_task(_follow(client, kind, sink, seen.changed)) for kind, sink in sinks]
    try:
        yield seen
        for task in tasks:
            assert not task.done(), f"a watch of the benchmark ended: {task}"
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(client: Client, kind: Kind, sink: Callable[[Any, float], None], changed: asyncio.Event) -> None:
    version = (await client.list(kind)).resource_version
    while True:
        async for batch in client.watch_batches(kind, resource_version=version, timeout=_HOURS, bookmarks=False):
            now = time.monotonic()
            for line in batch:
                sink(_decode(line), now)
            changed.set()
        raise RuntimeError(f"the watch of {kind.plural} ended")
