"""Leader election by a Lease: of several replicas one acts.

The lease names its holder, who renews it every `retry` seconds. Whoever else wants it watches it change; when it has
not changed for `duration` it may be taken. The holder stops acting when it could not renew for `deadline`, which is
shorter: it has stopped before anybody else may begin.

    holder       renew sent ── 10 s ──▶ stops acting
    the other             renew seen ───────── 15 s ─────▶ may begin

Both measure with a clock of their own that only ever grows, from what they did and saw themselves; the times written
into the lease are for people. So clocks that differ, or jump, do no harm. The holder counts from when the renewal was
*sent*: the server cannot have written it before. Two who try at once write over the same version, and one of them is
told of a conflict.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from uuid import uuid4

from dovetail.api.kinds import LEASES, Kind
from dovetail.kube.clock import Clock
from dovetail.kube.errors import AlreadyExists, Conflict, KubeError, NotFound

NAME: Final = "karpenter-leader-election"
_log: Final = logging.getLogger(__name__)
#: Waits between attempts are drawn from once to this much more than `retry`, so that replicas do not meet every time.
_JITTER: Final = 1.2
#: How long letting go of the lease may take when the program ends.
_RELEASE_IN: Final = 2.0
Object = dict[str, Any]


class Source(Protocol):
    """The part of the client that is needed here."""

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object: ...
    async def create(self, kind: Kind, obj: Object, namespace: str = "") -> Object: ...
    async def replace(self, kind: Kind, obj: Object) -> Object: ...


def identity() -> str:
    """Who this process is: the machine's name and something no other process has."""
    return f"{socket.gethostname()}_{uuid4()}"


def _nothing() -> None:
    """Called on loss when nobody asked to be."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Which lease, who wants it, and for how long it is held; seconds."""

    namespace: str
    holder: str = field(default_factory=identity)
    name: str = NAME
    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry * _JITTER < self.deadline < self.duration:
            raise ValueError("a lease needs retry < deadline < duration, or two replicas may act at once")


class Elector:
    """Tries to hold the lease for as long as `run` runs.

    `leading` is set while this replica may act, and `lost` is called the moment it no longer may. Before doing
    something that must not be done twice, ask `holds()`: it looks at the clock, and knows of a process that was stopped
    for a minute and has only just woken up.
    """

    def __init__(
        self, client: Source, terms: Terms, *, clock: Clock | None = None, lost: Callable[[], None] = _nothing
    ) -> None:
        self.leading = asyncio.Event()
        self.terms = terms
        #: Who holds it, as last seen; for people.
        self.holder = ""
        self._client, self._clock, self._lost = client, clock or Clock(), lost
        self._lease: Object | None = None
        self._seen_at = 0.0
        self._renewed = float("-inf")

    def holds(self) -> bool:
        """Whether this replica may act at this very moment."""
        return self.leading.is_set() and self._in_time()

    def _in_time(self) -> bool:
        return self._clock.now() < self._renewed + self.terms.deadline

    async def run(self) -> None:
        """Until cancelled, which gives the lease back; end what acts under it first."""
        try:
            while True:
                await self._acquire()
                await self._keep()
                self._lose()
        finally:
            if self.leading.is_set():
                self._lose()
                await self._release()

    # ---- getting it

    async def _acquire(self) -> None:
        # Heard of only after its deadline, a success is none: it is taken once more.
        while not (await self._attempt(self._take) and self._in_time()):
            await self._clock.sleep(self.terms.retry * (1.0 + (_JITTER - 1.0) * self._clock.chance()))
        self.leading.set()
        _log.info("%s leads", self.terms.holder)

    async def _attempt(self, action: Callable[[], Awaitable[bool]]) -> bool:
        """Whether the lease was written. `_renewed` is when we began to, not when we heard of it."""
        sent = self._clock.now()
        try:
            written = await action()
        except (Conflict, AlreadyExists):
            self._lease = None  # somebody wrote it meanwhile: look again
            return False
        except KubeError as problem:
            _log.debug("lease %s: %s", self.terms.name, problem.sentence)
            return False
        if written:
            self._renewed = sent
        return written

    async def _take(self) -> bool:
        """Take the lease if nobody has it."""
        terms = self.terms
        try:
            found = await self._client.get(LEASES, terms.name, terms.namespace)
        except NotFound:
            self._notice(await self._client.create(LEASES, self._written(None), terms.namespace))
            return True
        self._notice(found)
        if not self._is_free(found):
            return False
        self._notice(await self._client.replace(LEASES, self._written(found)))
        return True

    def _notice(self, lease: Object) -> None:
        """Remember the lease, and when it was first seen to be as it is now."""
        if self._lease is None or _record(lease) != _record(self._lease):
            self._seen_at = self._clock.now()
        self._lease = lease
        self.holder = str(_spec(lease).get("holderIdentity") or "")

    def _is_free(self, lease: Object) -> bool:
        spec = _spec(lease)
        if spec.get("holderIdentity") in (None, "", self.terms.holder):
            return True
        told = spec.get("leaseDurationSeconds")
        lasts = float(told) if isinstance(told, int) and told > 0 else self.terms.duration
        return self._clock.now() >= self._seen_at + lasts

    # ---- keeping it

    async def _keep(self) -> None:
        """Renew until that fails for too long, or somebody else holds the lease."""
        while True:
            await self._bounded(self._clock.sleep(self.terms.retry))
            await self._bounded(self._attempt(self._renew))
            if not self.holds() or self.holder != self.terms.holder:
                return

    async def _bounded(self, action: Awaitable[object]) -> None:
        """Wait for something, but not past the moment at which to stop acting."""
        task = asyncio.ensure_future(action)
        left = self._renewed + self.terms.deadline - self._clock.now()
        alarm = asyncio.ensure_future(self._clock.sleep(max(0.0, left)))
        try:
            await asyncio.wait({task, alarm}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
        finally:
            for one in (task, alarm):
                one.cancel()
            await asyncio.gather(task, alarm, return_exceptions=True)

    async def _renew(self) -> bool:
        """Write our name again; after a conflict or a deletion, look who has it first."""
        terms = self.terms
        if self._lease is None:
            try:
                self._notice(await self._client.get(LEASES, terms.name, terms.namespace))
            except NotFound:
                self._notice(await self._client.create(LEASES, self._written(None), terms.namespace))
                return True
            if self.holder != terms.holder:
                return False
        try:
            self._notice(await self._client.replace(LEASES, self._written(self._lease)))
        except NotFound:
            self._lease = None
            return False
        return True

    # ---- losing it

    def _lose(self) -> None:
        self.leading.clear()
        self._lease = None
        _log.info("%s no longer leads", self.terms.holder)
        self._lost()

    async def _release(self) -> None:
        """Say that nobody holds it, so that the next one need not wait. Failing that, it runs out by itself."""
        try:
            async with asyncio.timeout(_RELEASE_IN):
                found = await self._client.get(LEASES, self.terms.name, self.terms.namespace)
                if _spec(found).get("holderIdentity") == self.terms.holder:
                    spec = {**_spec(self._written(found)), "holderIdentity": "", "leaseDurationSeconds": 1}
                    await self._client.replace(LEASES, {**found, "spec": spec})
        except (KubeError, TimeoutError) as problem:
            _log.debug("lease %s: not released: %s", self.terms.name, problem)

    # ---- writing it

    def _written(self, before: Object | None) -> Object:
        """The lease in our name. Keeping what else is in it, the version above all, makes it ours only if unchanged."""
        terms = self.terms
        now = datetime.fromtimestamp(self._clock.wall(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec: Object = dict(_spec(before)) if before is not None else {}
        changed = spec.get("holderIdentity") != terms.holder
        if changed:
            transitions = spec.get("leaseTransitions")
            spec["leaseTransitions"] = (transitions if isinstance(transitions, int) else 0) + (before is not None)
            spec["acquireTime"] = now
        spec |= {
            "holderIdentity": terms.holder,
            "leaseDurationSeconds": math.ceil(terms.duration),
            "renewTime": now,
        }
        if before is not None:
            return {**before, "spec": spec}
        about = {"name": terms.name, "namespace": terms.namespace}
        return {"apiVersion": LEASES.api_version, "kind": LEASES.name, "metadata": about, "spec": spec}


def _spec(lease: Object) -> Object:
    spec = lease.get("spec")
    return spec if isinstance(spec, dict) else {}


def _record(lease: Object) -> tuple[object, ...]:
    """What changes when a holder renews."""
    spec, about = _spec(lease), lease.get("metadata") or {}
    return (about.get("uid"), spec.get("holderIdentity"), spec.get("renewTime"), spec.get("leaseTransitions"))
