"""Kubelets for simulated machines, on any API server: two watches, one queue, and what they write.

`clouds.sim.kubelets` decides; here it is told what is seen and given hands. Use a client of its own for it where there
is a controller in the same process: a thousand heartbeats are not to stand in the way of decisions.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from dovetail.api import kinds
from dovetail.api.live.meta import ConditionWire
from dovetail.api.pod_stream import version_of
from dovetail.clouds.sim.kubelets import (
    RUN_FOR,
    STAGE,
    UNHEALTHY,
    Key,
    Kubelets,
    NodeKey,
    Pace,
    PodKey,
    SeenNode,
    SeenPod,
)
from dovetail.controllers.queue import WorkQueue
from dovetail.core import labels, timestamps
from dovetail.core.errors import BadInput
from dovetail.kube.client import Client
from dovetail.kube.decoding import Stored, Typed
from dovetail.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from dovetail.kube.patches import MergePatch, StrategicPatch
from dovetail.kube.store import Store
from dovetail.kube.watch import Options, Reflector, Source

_log: Final = logging.getLogger(__name__)
WORKERS: Final = 32
_LEASES: Final = "kube-node-lease"


# ---- what is read


class _Owner(msgspec.Struct, gc=False):
    kind: str = ""


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[_Owner] | None = None


class _NodeSpec(msgspec.Struct, rename={"provider_id": "providerID"}, gc=False):
    provider_id: str = ""


class _Info(msgspec.Struct, rename={"boot_id": "bootID"}, gc=False):
    boot_id: str = ""


class _NodeStatus(msgspec.Struct, rename="camel", gc=False):
    conditions: list[ConditionWire] | None = None
    node_info: _Info | None = None


class _Node(msgspec.Struct, gc=False):
    metadata: _Meta
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class _Container(msgspec.Struct, gc=False):
    name: str = ""
    image: str = ""


class _PodSpec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""
    containers: list[_Container] | None = None
    restart_policy: str = "Always"


class _PodStatus(msgspec.Struct, rename="camel", gc=False):
    phase: str = "Pending"
    start_time: str | None = None
    conditions: list[ConditionWire] | None = None


class _Pod(msgspec.Struct, gc=False):
    metadata: _Meta
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


def _moment(written: str | None) -> float:
    return timestamps.seconds(written) if written else 0.0


def _kept(about: _Meta, value: Any) -> Stored[Any]:
    return Stored((about.namespace, about.name), about.uid, version_of(about.resource_version), value)


def _node(wire: _Node) -> Stored[SeenNode]:
    about, told = wire.metadata, wire.metadata.labels or {}
    ready = next((one.status for one in wire.status.conditions or () if one.type == "Ready"), "")
    node = SeenNode(
        about.name,
        about.uid,
        wire.spec.provider_id,
        _moment(about.creation_timestamp),
        ready,
        wire.status.node_info.boot_id if wire.status.node_info is not None else "",
        told.get(labels.ARCH, ""),
        told.get(labels.OS, ""),
        told.get(STAGE) == UNHEALTHY,
    )
    return _kept(about, node)


def _run_for(wire: _Pod, job: float) -> float | None:
    """How long a pod runs: what it says, or a Job's share; a pod that is started again whenever it ends never ends."""
    if wire.spec.restart_policy == "Always":
        return None
    written = (wire.metadata.annotations or {}).get(RUN_FOR)
    if written:
        try:
            return timestamps.duration(written)
        except BadInput as bad:
            _log.warning("pod %s/%s: annotation %s: %s", wire.metadata.namespace, wire.metadata.name, RUN_FOR, bad)
    of_job = any(one.kind == "Job" for one in wire.metadata.owner_references or ())
    return job if of_job else None


def _pod(wire: _Pod, job: float) -> Stored[SeenPod]:
    about, spec, status = wire.metadata, wire.spec, wire.status
    bound = next((one.last_transition_time for one in status.conditions or () if one.type == "PodScheduled"), None)
    pod = SeenPod(
        about.namespace,
        about.name,
        about.uid,
        spec.node_name,
        status.phase,
        tuple((one.name, one.image) for one in spec.containers or ()),
        _run_for(wire, job),
        _moment(bound or about.creation_timestamp),
        _moment(status.start_time),
        _moment(about.deletion_timestamp) if about.deletion_timestamp else None,
        about.deletion_grace_period_seconds or 0,
        bool(about.finalizers),
    )
    return _kept(about, pod)


# ---- what is written


class KubeletCalls:
    """`KubeletApi` over the client. An object that is gone, or another by now, needs nothing from us."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def set_node_status(self, name: str, status: dict[str, Any]) -> None:
        try:
            await self._client.patch(kinds.NODES, name, StrategicPatch({"status": status}), subresource="status")
        except NotFound:
            return

    async def set_pod_status(self, pod: SeenPod, status: dict[str, Any]) -> None:
        patch = StrategicPatch({"metadata": {"uid": pod.uid}, "status": status})
        try:
            await self._client.patch(kinds.PODS, pod.name, patch, pod.namespace, subresource="status")
        except (NotFound, Conflict):
            return

    async def end_pod(self, pod: SeenPod) -> None:
        try:
            await self._client.delete(kinds.PODS, pod.name, pod.namespace, uid=pod.uid, grace=0)
        except (NotFound, Conflict):
            return

    async def renew_lease(self, lease: dict[str, Any]) -> None:
        name = lease["metadata"]["name"]
        patch = MergePatch(
            {"metadata": {"ownerReferences": lease["metadata"]["ownerReferences"]}, "spec": lease["spec"]}
        )
        try:
            await self._client.patch(kinds.LEASES, name, patch, _LEASES)
        except NotFound:
            try:
                await self._client.create(kinds.LEASES, lease, _LEASES)
            except AlreadyExists:
                return


# ---- the loop


class FakeKubelets:
    """Kubelets for all Nodes that `selector` names."""

    def __init__(
        self, client: Client, selector: str, pace: Pace | None = None, now: Callable[[], float] = time.time
    ) -> None:
        chosen = pace or Pace()
        self._queue: WorkQueue[Key] = WorkQueue(self._look, self._failed)
        self.kubelets = Kubelets(KubeletCalls(client), self._queue.add, chosen, now)
        self._nodes: Store[Stored[SeenNode]] = Store()
        self._pods: Store[Stored[SeenPod]] = Store()
        self._nodes.listen(self._node_changed)
        self._pods.listen(self._pod_changed)
        source = cast(Source, client)
        bound = Options(fields="spec.nodeName!=")
        self._reflectors: tuple[Reflector[Any], ...] = (
            Reflector(source, kinds.NODES, Typed(_Node, _node), self._nodes, Options(labels=selector)),
            Reflector(source, kinds.PODS, Typed(_Pod, lambda wire: _pod(wire, chosen.job)), self._pods, bound),
        )

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for one in self._reflectors:
                group.create_task(one.run())
            group.create_task(self._queue.run(WORKERS))

    async def _look(self, key: Key) -> float | None:
        return await self.kubelets.look(key)

    def _node_changed(self, old: Stored[SeenNode] | None, new: Stored[SeenNode] | None) -> None:
        if new is not None:
            self.kubelets.node_seen(new.value)
        elif old is not None:
            self.kubelets.node_gone(old.value.name)
            self._queue.forget(NodeKey(old.value.name))

    def _pod_changed(self, old: Stored[SeenPod] | None, new: Stored[SeenPod] | None) -> None:
        if new is not None:
            self.kubelets.pod_seen(new.value)
        elif old is not None:
            key = PodKey(*old.key)
            self.kubelets.pod_gone(key)
            self._queue.forget(key)

    def _failed(self, key: Key, problem: Exception) -> None:
        known = isinstance(problem, KubeError)
        _log.warning("kubelet %s: %s", key, problem, exc_info=None if known else problem)
