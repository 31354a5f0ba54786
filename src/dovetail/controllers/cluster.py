"""The cluster as it is watched: a store for each kind, and the few ways in which they are looked things up in.

Everything known comes from watches (and from the answers to our own writes, which say the same a moment earlier).
Nothing is decided before every store has been filled once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from dovetail.api import (
    containers,
    disruption_budgets,
    instance_types,
    kinds,
    node_overlays,
    nodes,
    pods,
    volumes,
    workloads,
)
from dovetail.api.buffers import read_template
from dovetail.api.fields import Fields
from dovetail.api.kinds import Kind
from dovetail.api.live import buffers, declared, pools
from dovetail.api.live.claims import ClaimReader, ClaimWire
from dovetail.api.live.nodes import NodeReader, NodeWire
from dovetail.api.pod_stream import version_of
from dovetail.api.pod_wire import Draft, Drafts
from dovetail.api.scheduler_config import Service
from dovetail.api.workloads import Workload
from dovetail.controllers.purchases import Purchases
from dovetail.controllers.server_time import ServerTime
from dovetail.controllers.sums import Part, Sums
from dovetail.core import labels
from dovetail.core.effects import Ref
from dovetail.core.errors import BadInput
from dovetail.core.lifecycle.pools import Held, PoolRecord, capacity
from dovetail.core.nodeclaims import INSTANCE_TERMINATING, NodeClaim, NodeObject
from dovetail.core.nodepools import NodeClassRef
from dovetail.kube import watch
from dovetail.kube.decoding import Codec, Plain, Stored, Typed
from dovetail.kube.pod_store import PodStore
from dovetail.kube.store import Key, Store
from dovetail.kube.watch import Reflector, Source

V = TypeVar("V")
PROVIDER: Final = "provider"
POOL: Final = "pool"
NODE: Final = "node"
#: What a buffer may be a share of.
SCALABLES: Final = (kinds.DEPLOYMENTS, kinds.STATEFUL_SETS, kinds.REPLICA_SETS)
#: Who says which pods belong together, besides services.
OWNERS: Final = (kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS)


@dataclass(frozen=True, slots=True)
class Watched:
    """One kind that is watched: how its objects are read, and where they are kept."""

    kind: Kind
    codec: Codec[Any]
    store: Store[Any]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A volume attached to a node."""

    node: str
    volume: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What this process looks at besides what everybody needs."""

    class_kinds: tuple[Kind, ...]
    overlays: bool = True
    buffers: bool = False
    #: Default spread constraints are in force, which are worked out from services and workloads.
    by_owner: bool = False
    #: The labels the cloud gives its machines.
    well_known: frozenset[str] = labels.WELL_KNOWN


class Cluster:
    """All stores."""

    def __init__(self, scope: Scope, time: ServerTime | None = None) -> None:
        self.scope, self.time = scope, time or ServerTime()
        self.drafts = Drafts(scope.by_owner)
        self.pods = PodStore(scope.by_owner)
        self.nodes: Store[Stored[NodeObject]] = Store({PROVIDER: _provider})
        self.claims: Store[Stored[NodeClaim]] = Store({PROVIDER: _provider, POOL: _pool})
        self.pools: Store[Stored[PoolRecord]] = Store()
        self.attachments: Store[Stored[Attachment]] = Store({NODE: lambda one: (one.value.node,)})
        self._sums = Sums(self._held_of)
        self.purchases = Purchases(self._sums.stir)
        self.claims.listen(self._claim_changed)
        self.nodes.listen(self._node_changed)
        self._claim_reader, self._node_reader = ClaimReader(), NodeReader()
        self._watched: list[Watched] = []
        self._typed(kinds.NODES, Typed(NodeWire, _kept(self._node_reader.of), _known(self.nodes)), self.nodes)
        claims = Typed(ClaimWire, _kept(self._claim), _known(self.claims))
        self._typed(kinds.NODE_CLAIMS, claims, self.claims)
        self._typed(kinds.PODS, self.pods.codec, self.pods)
        self._typed(kinds.NODE_POOLS, Plain(_told_its_kind(kinds.NODE_POOLS, pools.read)), self.pools)
        self._typed(kinds.VOLUME_ATTACHMENTS, Plain(_attachment), self.attachments)
        self.classes = {one: self._plain(one, _whole) for one in scope.class_kinds}
        self.volume_claims = self._plain(kinds.PERSISTENT_VOLUME_CLAIMS, volumes.read_claim)
        self.volumes = self._plain(kinds.PERSISTENT_VOLUMES, volumes.read_volume)
        self.storage_classes = self._plain(kinds.STORAGE_CLASSES, volumes.read_storage_class)
        self.csi_nodes = self._plain(kinds.CSI_NODES, nodes.read_csi_node)
        self.priorities = self._plain(kinds.PRIORITY_CLASSES, _priority)
        self.runtimes = self._plain(kinds.RUNTIME_CLASSES, pods.read_runtime_class)
        self.limit_ranges = self._plain(kinds.LIMIT_RANGES, containers.read_limit_range)
        self.namespaces = self._plain(kinds.NAMESPACES, _labels)
        self.budgets = self._plain(kinds.DISRUPTION_BUDGETS, disruption_budgets.read)
        self.daemons = self._plain(kinds.DAEMON_SETS, lambda wire: workloads.read(wire, "DaemonSet", self.drafts))
        self.overlays = (
            self._plain(kinds.NODE_OVERLAYS, declared.reader(node_overlays.read)) if scope.overlays else None
        )
        self.overrides = self._plain(kinds.INSTANCE_TYPES, declared.reader(instance_types.read))
        gated = scope.buffers
        self.buffers = self._plain(kinds.CAPACITY_BUFFERS, buffers.read) if gated else None
        self.templates = self._plain(kinds.POD_TEMPLATES, self._template) if gated else None
        self.scalables = {kind.name: self._plain(kind, self._workload(kind)) for kind in SCALABLES} if gated else {}
        by_owner = scope.by_owner
        self.services = self._plain(kinds.SERVICES, _service) if by_owner else None
        self.owners = {kind: self._plain(kind, workloads.belonging) for kind in OWNERS} if by_owner else {}
        self.reflectors: tuple[Reflector[Any], ...] = ()

    def _typed(self, kind: Kind, codec: Codec[Any], store: Store[Any]) -> None:
        self._watched.append(Watched(kind, codec, store))

    def _plain(self, kind: Kind, read: Callable[[Fields], V]) -> Store[Stored[V]]:
        store: Store[Stored[V]] = Store()
        self._typed(kind, Plain(_told_its_kind(kind, read)), store)
        return store

    def _workload(self, kind: Kind) -> Callable[[Fields], Workload]:
        return lambda wire: workloads.read(wire, kind.name, self.drafts)

    def _template(self, wire: Fields) -> tuple[tuple[str, str], Draft, int]:
        key, draft = read_template(wire, self.drafts)
        return key, draft, wire.map("metadata").whole("generation", 0, 2**53) or 0

    # ---- watching

    async def watch(self, client: Source, options: watch.Options | None = None) -> None:
        """Keep every store up to date until cancelled."""
        self.reflectors = tuple(Reflector(client, one.kind, one.codec, one.store, options) for one in self._watched)
        async with asyncio.TaskGroup() as group:
            for one in self.reflectors:
                group.create_task(one.run(), name=f"watch {one.kind}")

    async def synced(self) -> None:
        """Return once everything there is has been seen."""
        while not self.reflectors:
            await asyncio.sleep(0)
        for one in self.reflectors:
            await one.synced.wait()

    @property
    def is_synced(self) -> bool:
        return bool(self.reflectors) and all(one.synced.is_set() for one in self.reflectors)

    @property
    def is_ready(self) -> bool:
        """All is seen, and the kinds without which there is nothing to do are served."""
        needed = (kinds.NODE_POOLS, kinds.NODE_CLAIMS)
        return self.is_synced and all(one.served for one in self.reflectors if one.kind in needed)

    def sees(self, kind: Kind) -> bool:
        """Whether what is held of a kind is all there is: an empty store may be one whose kind is not served."""
        return any(
            one.kind == kind and one.synced.is_set() and one.served and not one.trouble for one in self.reflectors
        )

    def unreadable(self, kind: Kind) -> frozenset[str]:
        """Names of objects that are there and could not be read."""
        return frozenset(name for one in self.reflectors if one.kind == kind for _, name in one.refused)

    # ---- looking things up

    def claim(self, name: str) -> NodeClaim | None:
        found = self.claims.get(name)
        return found.value if found is not None else None

    def node(self, name: str) -> NodeObject | None:
        found = self.nodes.get(name)
        return found.value if found is not None else None

    def is_expected(self, node: str) -> bool:
        """Whether a node of this name is there, or is a claim that has no Node yet."""
        return ("", node) in self.nodes or ("", node) in self.claims

    def nodes_of(self, provider_id: str) -> tuple[NodeObject, ...]:
        return tuple(one.value for one in self.nodes.by(PROVIDER, provider_id)) if provider_id else ()

    def nodes_owned_by(self, claim: NodeClaim) -> tuple[NodeObject, ...]:
        """By what the Nodes say, every one of which is looked at."""
        found = (one.value for one in self.nodes)
        return tuple(node for node in found if any(owner.uid == claim.meta.uid for owner in node.meta.owners))

    def claims_of(self, provider_id: str) -> tuple[NodeClaim, ...]:
        if not provider_id:
            return ()
        found = tuple(one.value for one in self.claims.by(PROVIDER, provider_id))
        owner = None if found else self.purchases.owner(provider_id)
        held = None if owner is None else self.claim(owner)
        return found if held is None else (held,)

    def claims_of_pool(self, pool: str) -> Iterator[NodeClaim]:
        return (one.value for one in self.claims.by(POOL, pool))

    def held(self, pool: str) -> Held:
        """What the nodes of a pool that are to stay have together."""
        return self._sums.of(pool)

    def _held_of(self, name: str) -> Part | None:
        """What a claim adds to that."""
        written = self.claim(name)
        if written is None or written.is_deleting or not written.pool:
            return None
        claim = self.purchases.known(written)
        if not claim.provider_id or claim.is_true(INSTANCE_TERMINATING):
            return None
        return claim.pool or "", capacity(claim, next(iter(self.nodes_of(claim.provider_id)), None))

    def _claim_changed(self, old: Stored[NodeClaim] | None, new: Stored[NodeClaim] | None) -> None:
        for one in (old, new):
            if one is not None:
                self._sums.stir(one.value.name)

    def _node_changed(self, old: Stored[NodeObject] | None, new: Stored[NodeObject] | None) -> None:
        for one in (old, new):
            if one is not None:
                for claim in self.claims_of(one.value.provider_id):
                    self._sums.stir(claim.name)

    def pool(self, name: str) -> PoolRecord | None:
        found = self.pools.get(name)
        return found.value if found is not None else None

    def manages(self, claim: NodeClaim) -> bool:
        """Whether its node class is one of ours; other claims are somebody else's."""
        return self.is_ours(claim.node_class)

    def is_ours(self, ref: NodeClassRef) -> bool:
        return any((one.group, one.name) == (ref.group, ref.kind) for one in self.classes)

    # ---- learning from our own writes

    def learn_claim(self, answer: dict[str, Any], new: bool = False) -> None:
        with suppress(msgspec.ValidationError, BadInput):  # the watch says that it is left out, and why
            self._learn_claim(self._claim(msgspec.convert(answer, ClaimWire)), new)

    def _claim(self, wire: ClaimWire) -> NodeClaim:
        return self._claim_reader.of(wire, self.claim(wire.metadata.name))

    def _learn_claim(self, claim: NodeClaim, new: bool) -> None:
        if new:
            self.time.learn(claim.meta.created)
        self._learn(self.claims, claim, new)

    def learn_node(self, answer: dict[str, Any]) -> None:
        with suppress(msgspec.ValidationError, BadInput):
            self._learn(self.nodes, self._node_reader.of(msgspec.convert(answer, NodeWire)), False)

    @staticmethod
    def _learn(store: Store[Any], value: NodeClaim | NodeObject, new: bool) -> None:
        one = _stored(value)
        if new:
            store.put(one)
        else:
            store.learn(one, last=value.is_deleting and not value.meta.finalizers)

    def pod_ref(self, key: Key) -> Ref | None:
        one = self.pods.get(key[1], key[0])
        return Ref("Pod", one.name, one.uid, one.namespace) if one is not None else None


# ---- how objects are read


def _stored(value: NodeClaim | NodeObject) -> Stored[Any]:
    return Stored(("", value.name), value.meta.uid, version_of(value.meta.version), value)


def _kept(read: Callable[[Any], Any]) -> Callable[[Any], Stored[Any]]:
    return lambda wire: _stored(read(wire))


def _known(store: Store[Stored[Any]]) -> Callable[[Any], Stored[Any] | None]:
    """What is held of an object, if it is of the version that its metadata names."""

    def held(metadata: Any) -> Stored[Any] | None:
        one = store.get(metadata.name)
        version = metadata.resource_version
        same = one is not None and version and one.value.meta.version == version and one.uid == metadata.uid
        return one if same else None

    return held


def _provider(one: Stored[Any]) -> Iterable[Hashable]:
    return (one.value.provider_id,) if one.value.provider_id else ()


def _pool(one: Stored[NodeClaim]) -> Iterable[Hashable]:
    return (one.value.pool,) if one.value.pool else ()


def _told_its_kind(kind: Kind, read: Callable[[Fields], V]) -> Callable[[Fields], V]:
    """Items of a list do not say what they are; readers of files want to hear it."""
    told = {"apiVersion": kind.api_version, "kind": kind.name}
    return lambda wire: read(Fields({**told, **wire.wire}, wire.path))


def _whole(wire: Fields) -> Fields:
    return wire


def _labels(wire: Fields) -> dict[str, str]:
    return wire.map("metadata").labels("labels")


def _service(wire: Fields) -> Service:
    return Service(wire.map("spec").labels("selector"))


def _priority(wire: Fields) -> tuple[int, bool]:
    return wire.whole("value", -(2**31), 2**31) or 0, wire.flag("globalDefault")


def _attachment(wire: Fields) -> Attachment:
    spec = wire.map("spec")
    return Attachment(spec.text("nodeName") or "", spec.map("source").text("persistentVolumeName") or "")
