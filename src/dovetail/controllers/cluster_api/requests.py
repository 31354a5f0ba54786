"""Requests for remediation, in a cluster: looked up, made and removed.

Whoever heals machines defines the kinds, so how they are served is found out from the API server, once, and again when
they are not there any more. What is refused is a sentence that begins with the field it comes from.

A look follows every change of a machine, so nothing is asked at every look. What there is, is known for a few seconds
while somebody heals or may have to, for longer while all is well; what was refused is asked for again after a while. A
check that makes or removes a request looks anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from dovetail.api import fields
from dovetail.api.cluster_api import requests as wire
from dovetail.api.kinds import Kind
from dovetail.core.errors import BadInput
from dovetail.core.machines import external
from dovetail.core.machines.external import Requests
from dovetail.core.machines.objects import Cluster, HealthCheck, Machine, ObjectRef, Request
from dovetail.kube import lists
from dovetail.kube.client import Client
from dovetail.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, KubeError, NotFound, UnknownKind

T = TypeVar("T")
#: So long is known what there is: while a machine is unhealthy or healed, while none is, and where it cannot be used.
BUSY_SECONDS: Final = 5.0
QUIET_SECONDS: Final = 60.0
UNUSABLE_SECONDS: Final = 30.0
#: What can be part of a path; anything else is served nowhere.
_GROUP: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.ASCII)


class _Version(msgspec.Struct, frozen=True):
    version: str = ""


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    versions: tuple[_Version, ...] = ()
    preferred_version: _Version = _Version()


class _Resource(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class _Resources(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pair:
    """The kind of a template, and of what is made from it."""

    template: Kind
    request: Kind


class _Unusable(Exception):
    """A template nobody can make anything from, in a sentence that begins with the field."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was found for a check, and when."""

    ref: ObjectRef
    requests: Requests
    at: float

    def is_good(self, ref: ObjectRef, machines: tuple[Machine, ...], now: float) -> bool:
        age = now - self.at
        if self.ref != ref or not 0 <= age < QUIET_SECONDS:
            return False
        if not self.requests.are_known:
            return age < UNUSABLE_SECONDS
        return age < BUSY_SECONDS or (not self.requests.held and external.are_quiet(machines))


@dataclass(slots=True)
class RemediationRequests:
    """One per process. Checks are known by their uid, and so is what was refused: a Machine's or a request's."""

    client: Client
    _pairs: dict[tuple[str, str], _Pair] = field(default_factory=dict)
    _answers: dict[str, _Answer] = field(default_factory=dict)
    _refused: dict[str, tuple[float, str]] = field(default_factory=dict)

    async def seen(
        self, check: HealthCheck, cluster: Cluster | None, machines: tuple[Machine, ...], now: float
    ) -> Requests:
        """What there is to know before a check is judged; nothing is asked where nothing would be done. `machines` are
        those of its cluster."""
        ref = check.template
        if ref is None or cluster is None or cluster.stops(check.meta):
            return external.NONE
        known = self._answers.get(check.meta.uid)
        if known is None or not known.is_good(ref, machines, now):
            self._answers = {uid: one for uid, one in self._answers.items() if now - one.at < QUIET_SECONDS}
            known = self._answers[check.meta.uid] = _Answer(ref, await self._found(check, ref), now)
        return known.requests

    async def _found(self, check: HealthCheck, ref: ObjectRef) -> Requests:
        try:
            pair = await self._pair(ref)
            await self._template(check, ref, pair)
        except _Unusable as problem:
            return Requests(template=str(problem))
        try:
            listed = await self.client.list(pair.request, check.meta.namespace)
            return Requests(held=tuple(wire.request(fields.fields(one)) for one in listed.items))
        except (KubeError, BadInput) as problem:
            self._forget(ref, problem)
            return Requests(listing=f"{wire.FIELD}: {_told(problem)}")

    async def make(self, check: HealthCheck, machines: tuple[Machine, ...], now: float) -> dict[str, str]:
        """One for each machine; returns the names of those that could not be made, and why."""
        ref = check.template
        if ref is None:
            return {}
        refused = self._refusals(now)
        asked = {one.name: refused[one.meta.uid] for one in machines if one.meta.uid in refused}
        left = [one for one in machines if one.name not in asked]
        if not left:
            return asked
        self._answers.pop(check.meta.uid, None)
        try:
            pair = await self._pair(ref)
            template = await self._template(check, ref, pair)
        except _Unusable as problem:
            return asked | {one.name: str(problem) for one in left}
        for one in left:
            why = await self._create(pair.request, wire.body(check, one, pair.request, ref, template))
            if why:
                asked[one.name] = why
                self._refused[one.meta.uid] = (now + external.AGAIN_SECONDS, why)
        return asked

    async def _create(self, kind: Kind, body: dict[str, Any]) -> str:
        try:
            await self.client.create(kind, body)
        except AlreadyExists:
            return ""
        except KubeError as problem:
            return _told(problem)
        return ""

    async def drop(self, check: HealthCheck, request: Request, now: float) -> str:
        """Returns why it could not be removed, or nothing."""
        why = self._refusals(now).get(request.uid, "")
        if why or check.template is None:
            return why
        self._answers.pop(check.meta.uid, None)
        try:
            pair = await self._pair(check.template)
            await self.client.delete(pair.request, request.name, check.meta.namespace, uid=request.uid)
        except (NotFound, UnknownKind, Conflict):
            return ""
        except (KubeError, _Unusable) as problem:
            why = _told(problem)
            self._refused[request.uid] = (now + external.AGAIN_SECONDS, why)
        return why

    def _refusals(self, now: float) -> dict[str, str]:
        """What was refused not long ago, and why."""
        self._refused = {uid: held for uid, held in self._refused.items() if now < held[0]}
        return {uid: why for uid, (_, why) in self._refused.items()}

    # ---- what others define

    async def _template(self, check: HealthCheck, ref: ObjectRef, pair: _Pair) -> dict[str, Any]:
        try:
            return wire.template_of(await self.client.get(pair.template, ref.name, check.meta.namespace), ref)
        except NotFound:
            where = f"there is no {ref.kind} {ref.name} in namespace {check.meta.namespace}"
            raise _Unusable(f"{wire.FIELD}.name: {where}") from None
        except (KubeError, BadInput) as problem:
            self._forget(ref, problem)
            raise _Unusable(f"{wire.FIELD}: {_told(problem)}") from None

    def _forget(self, ref: ObjectRef, problem: Exception) -> None:
        """A definition that is gone may come back in another version."""
        if isinstance(problem, UnknownKind):
            self._pairs.pop((ref.group, ref.kind), None)

    async def _pair(self, ref: ObjectRef) -> _Pair:
        known = self._pairs.get((ref.group, ref.kind))
        if known is None:
            try:
                known = self._pairs[ref.group, ref.kind] = await self._served(ref)
            except KubeError as problem:
                raise _Unusable(f"{wire.FIELD}: {_told(problem)}") from None
        return known

    async def _served(self, ref: ObjectRef) -> _Pair:
        """In the version the API server likes best of those that have the template."""
        made = ref.kind.removesuffix(wire.SUFFIX)
        if made in ("", ref.kind):
            raise _Unusable(f"{wire.FIELD}.kind: {ref.kind} is no template; the kind of one ends with {wire.SUFFIX}")
        for version in await self._versions(ref.group):
            served = await self._resources(ref.group, version)
            if ref.kind in served and made in served:
                pair = _Pair(served[ref.kind], served[made])
                if not (pair.template.namespaced and pair.request.namespaced):
                    raise _Unusable(f"{wire.FIELD}.kind: {ref.kind} and {made} must both be in namespaces")
                return pair
        raise _Unusable(f"{wire.FIELD}.kind: the API server does not know {ref.kind} and {made} of {ref.group}")

    async def _versions(self, group: str) -> list[str]:
        if _GROUP.fullmatch(group) is None:
            return []
        try:
            found = await self._asked(f"/apis/{group}", _Group)
        except (NotFound, UnknownKind):
            return []
        return list(dict.fromkeys((found.preferred_version.version, *(one.version for one in found.versions))))

    async def _resources(self, group: str, version: str) -> dict[str, Kind]:
        try:
            answer = await self._asked(f"/apis/{group}/{version}", _Resources)
        except (NotFound, UnknownKind):
            return {}
        return {
            one.kind: Kind(group, version, one.kind, one.name, one.namespaced)
            for one in answer.resources
            if "/" not in one.name
        }

    async def _asked(self, path: str, into: type[T]) -> T:
        found: T = lists.decoded(await self.client.raw("GET", path), into, f"GET {path}")
        return found


def _told(problem: Exception) -> str:
    """What a person can do something about is told as it came; the rest differs each time, and is only named."""
    if isinstance(problem, KubeError) and not isinstance(problem, Forbidden | Invalid | NotFound | UnknownKind):
        return f"the API server cannot answer now ({type(problem).__name__})"
    return str(problem)
