"""Machines for a cloud that makes them through Cluster API: `clouds.cluster_api.cloud.MachineApi` over the client.

To such a cloud the API server is the cloud's own: what it refuses, and that it cannot be reached, are troubles of the
cloud. An object that is refused for what is in it is for a person, and says what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.cluster_api import reading
from dovetail.api.documents import Document
from dovetail.api.fields import fields
from dovetail.api.kinds import Kind
from dovetail.clouds.cluster_api.objects import CLAIM, Body
from dovetail.clouds.port import Misconfigured, Throttled, Unavailable
from dovetail.core.errors import BadInput
from dovetail.core.machines import names
from dovetail.core.machines.objects import Machine
from dovetail.kube.client import Client
from dovetail.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    TooManyRequests,
    UnknownKind,
)
from dovetail.kube.patches import MergePatch

#: What says where machines stand, and what they boot from.
AROUND: Final = (
    kinds.CLUSTERS,
    *kinds.INFRA_CLUSTERS,
    *kinds.INFRA_TEMPLATES,
    kinds.MACHINE_SETS,
    kinds.MACHINE_DEPLOYMENTS,
)
#: Whoever ends a claim has drained its node and let its volumes go; doing it again would only take time.
_DRAINED: Final = {names.EXCLUDE_DRAINING: "", names.EXCLUDE_DETACH: ""}


@contextmanager
def as_cloud() -> Iterator[None]:
    """Troubles of the API server, said as a cloud says them."""
    try:
        yield
    except TooManyRequests as busy:
        raise Throttled(busy.sentence, 1.0 if busy.wait is None else busy.wait) from busy
    except (Invalid, Forbidden) as refused:
        raise Misconfigured(refused.sentence) from refused
    except KubeError as failed:
        raise Unavailable(failed.sentence) from failed
    except BadInput as bad:
        raise Unavailable(f"a Machine cannot be read: {bad}") from bad


async def served(client: Client) -> tuple[Kind, ...]:
    """The kinds of machine templates that are defined here."""
    found = []
    for kind in kinds.INFRA_TEMPLATES:
        try:
            async for _ in client.pages(kind):
                break
        except UnknownKind:
            continue
        found.append(kind)
    return tuple(found)


class ClaimMachines:
    """Machines of claims, and what is around them."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, kind: Kind, body: Body) -> Mapping[str, Any]:
        about = body["metadata"]
        with as_cloud():
            try:
                return await self._client.create(kind, body, about["namespace"])
            except AlreadyExists:
                return await self._client.get(kind, about["name"], about["namespace"])

    async def make_machine(self, body: Body) -> Machine:
        found = await self.create(kinds.MACHINES, body)
        with as_cloud():
            return reading.machine(fields(found))

    async def get(self, kind: Kind, name: str, namespace: str) -> Mapping[str, Any] | None:
        with as_cloud():
            try:
                return await self._client.get(kind, name, namespace)
            except (NotFound, UnknownKind):
                return None

    async def machine(self, name: str, namespace: str) -> Machine | None:
        found = await self.get(kinds.MACHINES, name, namespace)
        with as_cloud():
            return None if found is None else reading.machine(fields(found))

    async def machines(self, mark: str = "") -> tuple[Machine, ...]:
        """All or none: a machine left out because it cannot be read would count as gone."""
        with as_cloud():
            found = await self._client.list(kinds.MACHINES, labels=f"{CLAIM}={mark}" if mark else CLAIM)
            return tuple(reading.machine(fields(one)) for one in found.items)

    async def release(self, machine: Machine) -> None:
        """A conflict means that another Machine has taken the name: the one meant is gone."""
        name, namespace = machine.name, machine.meta.namespace
        with as_cloud():
            try:
                patch = MergePatch({"metadata": {"annotations": _DRAINED, "uid": machine.meta.uid}})
                await self._client.patch(kinds.MACHINES, name, patch, namespace)
                await self._client.delete(kinds.MACHINES, name, namespace, uid=machine.meta.uid)
            except (NotFound, Conflict):
                return

    async def around(self) -> tuple[Document, ...]:
        found: list[Document] = []
        with as_cloud():
            for kind in AROUND:
                found += [Document((str(kind),), one) for one in await self._listed(kind)]
        return tuple(found)

    async def _listed(self, kind: Kind) -> list[dict[str, Any]]:
        """One list, in whichever version is served; a kind that is not has nothing in it. Items of a list do not say
        what they are, and their status changes all the time without our looking at more than failure domains."""
        for version in dict.fromkeys((kind.version, "v1beta1")):
            try:
                items = (await self._client.list(replace(kind, version=version))).items
            except UnknownKind:
                continue
            about = {"kind": kind.name, "apiVersion": f"{kind.group}/{version}"}
            return [_steady({**one, **about}) for one in items]
        return []


def _steady(one: dict[str, Any]) -> dict[str, Any]:
    """What of an object is looked at: not what changes with every heartbeat of its owner."""
    about = one.get("metadata") or {}
    kept = {
        key: about[key] for key in ("name", "namespace", "labels", "annotations", "ownerReferences") if key in about
    }
    domains = (one.get("status") or {}).get("failureDomains")
    told = {"status": {"failureDomains": domains}} if domains else {}
    return {
        "kind": one["kind"],
        "apiVersion": one["apiVersion"],
        "metadata": kept,
        "spec": one.get("spec") or {},
        **told,
    }
