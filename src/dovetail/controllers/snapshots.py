"""From what is watched to what planning sees: one moment of the cluster, made of the same readers as a user's files.

What changes all the time is small (pods that came and went, a Node's readiness); what is large and stays the same is
kept: shapes for as long as nothing they refer to changes, pools and daemons by the generations of their stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from dovetail.api import containers, kinds, kubelets, nodes, pods, scheduler_config, workloads
from dovetail.api.disruption_budgets import Budgets
from dovetail.api.live import machines
from dovetail.api.pod_stream import PodRecord
from dovetail.api.pod_wire import DAEMONSET, Owner
from dovetail.api.pods import Shapes, Surroundings
from dovetail.api.scheduler_config import Service
from dovetail.api.volumes import Storage
from dovetail.api.workloads import Belonging
from dovetail.collector import RESTING
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.disruption.moves import Move, Moves
from dovetail.controllers.nominations import Nomination, Nominations
from dovetail.core.errors import BadInput
from dovetail.core.lifecycle import protection
from dovetail.core.nodeclaims import NodeObject
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.nodes import Node
from dovetail.core.pods import DaemonSet, Pod, PodState, Shape
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.snapshot import Snapshot
from dovetail.kube.pod_store import NOMINATED, PodStore
from dovetail.kube.store import Key, Store

V = TypeVar("V")
M = TypeVar("M")

_NAME_LABEL: Final = "kubernetes.io/metadata.name"

#: A pod that was given the name of its node waits for the scheduler, as one does that others have to make room for.
_UNBOUND: Final = frozenset({PodState.PENDING, PodState.WAITING})

#: By node.
_Room = dict[str, Resources]


@dataclass(slots=True)
class _Together:
    """Which pods belong together: what services send to, by namespace, and what owners select."""

    services: dict[str, list[Service]] = field(default_factory=dict)
    selectors: dict[tuple[str, Owner], Belonging] = field(default_factory=dict)


class _Newest:
    """The newest pod of each DaemonSet."""

    def __init__(self, pods: PodStore) -> None:
        #: Grows whenever one of them is another.
        self.generation = 0
        self._held: dict[Key, dict[Key, PodRecord]] = {}
        self._found: dict[Key, PodRecord | None] = {}
        for one in pods:
            self._changed(None, one)
        pods.listen(self._changed)

    def _changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        for one, held in ((old, False), (new, True)):
            if one is None or one.owner.kind != DAEMONSET:
                continue
            daemon = (one.namespace, one.owner.name)
            pods = self._held.setdefault(daemon, {})
            newest = self._found.get(daemon)
            if held:
                pods[one.key] = one
            else:
                pods.pop(one.key, None)
            if newest is None or newest.key == one.key or (held and one.created >= newest.created):
                self._found.pop(daemon, None)
                self.generation += 1
            if not pods:
                del self._held[daemon]

    def of(self, namespace: str, name: str) -> PodRecord | None:
        daemon = (namespace, name)
        if daemon not in self._found:
            pods = self._held.get(daemon, {})
            self._found[daemon] = max(pods.values(), key=lambda one: (one.created, one.name), default=None)
        return self._found[daemon]


class _Made(Generic[V, M]):
    """What was made of each of some values; made anew only of those that are other objects than at the last look."""

    def __init__(self, make: Callable[[V], M]) -> None:
        self._make = make
        self._held: dict[str, tuple[V, M]] = {}

    def of(self, values: Iterable[tuple[str, V]]) -> dict[str, M]:
        before, self._held = self._held, {}
        for name, value in values:
            known = before.get(name)
            self._held[name] = known if known is not None and known[0] is value else (value, self._make(value))
        return {name: made for name, (_, made) in self._held.items()}


class _Elsewhere:
    """Pods that planning sees elsewhere, or in another state, than they are.

    Each is the same object from one look to the next for as long as nothing about it changes, so that whoever compares
    two looks sees no difference.
    """

    def __init__(self) -> None:
        #: By the identity of the pod as it is, which is kept here, so that nobody else can come to have it.
        self._before: dict[int, tuple[Pod, Pod]] = {}
        self._now: dict[int, tuple[Pod, Pod]] = {}

    def of(self, pod: Pod, state: PodState, node: str | None = None) -> Pod:
        """The pod in this state, on that node if one is named."""
        node = node or pod.node
        known = self._before.get(id(pod))
        if known is None or known[1].state is not state or known[1].node != node:
            known = (pod, pod.seen_as(state, node))
        self._now[id(pod)] = known
        return known[1]

    def looked(self) -> None:
        """A look is over: who was not asked about in it is forgotten."""
        self._before, self._now = self._now, {}


class Snapshots:
    def __init__(
        self,
        cluster: Cluster,
        nominations: Nominations,
        spread: scheduler_config.Defaults = scheduler_config.NO_DEFAULTS,
        moves: Moves | None = None,
    ) -> None:
        self._cluster, self._nominations, self._spread = cluster, nominations, spread
        self._moves = Moves() if moves is None else moves
        self._around: tuple[tuple[int, ...], _Together, Surroundings] | None = None
        self._together: tuple[tuple[int, ...], _Together] | None = None
        self._shapes: tuple[Surroundings, Shapes] | None = None
        self._pools: tuple[tuple[int, ...], tuple[NodePool, ...]] | None = None
        self._daemons: tuple[tuple[int, ...], tuple[DaemonSet, ...]] | None = None
        self._newest = _Newest(cluster.pods)
        self._elsewhere = _Elsewhere()
        self._of_node = _Made(machines.of_node)
        self._of_claim = _Made(machines.of_claim)
        self._merger = nodes.Merger()

    def take(self) -> Snapshot:
        """The cluster now, with planned pods where they were planned to go."""
        pools = self.pools()
        with RESTING:
            held = tuple(self._nodes({one.name: one for one in pools}))
            placed = self._placed(held)
        self._elsewhere.looked()
        return Snapshot(
            nodes=held,
            pods=placed,
            pools=pools,
            daemons=self.daemons(),
            namespaces=self._namespaces(),
        )

    # ---- what stays the same for long

    def surroundings(self) -> Surroundings:
        """What a pod's meaning depends on; the same object for as long as none of it changes."""
        one = self._cluster
        stores: tuple[Store[Any], ...] = (
            one.volume_claims,
            one.volumes,
            one.storage_classes,
            one.priorities,
            one.runtimes,
            one.limit_ranges,
        )
        seen, together = tuple(store.generation for store in stores), self._belonging()
        if self._around is None or self._around[0] != seen or self._around[1] is not together:
            self._around = (seen, together, self._read_surroundings(together))
        return self._around[2]

    def _belonging(self) -> _Together:
        """Which pods belong together, where default constraints are worked out from that (§4.9); the same object for
        as long as it says the same: ReplicaSets change all the time, and hardly ever whom they select."""
        one = self._cluster
        stores: tuple[Store[Any], ...] = (*(() if one.services is None else (one.services,)), *one.owners.values())
        seen = tuple(store.generation for store in stores)
        if self._together is None or self._together[0] != seen:
            found = _Together()
            for service in one.services or ():
                found.services.setdefault(service.key[0], []).append(service.value)
            for kind, store in one.owners.items():
                for held in store:
                    found.selectors[held.key[0], Owner(kind.name, held.key[1], kind.group)] = held.value
            known = None if self._together is None else self._together[1]
            self._together = (seen, known if known == found else found)
        return self._together[1]

    def _read_surroundings(self, together: _Together) -> Surroundings:
        one = self._cluster
        storage = Storage()
        storage.claims.update((held.key, held.value) for held in one.volume_claims)
        storage.volumes.update((held.key[1], held.value) for held in one.volumes)
        storage.classes.update((held.key[1], held.value) for held in one.storage_classes)
        return Surroundings(
            storage=storage,
            priorities={held.key[1]: held.value[0] for held in one.priorities},
            default_priority=next((held.value[0] for held in one.priorities if held.value[1]), 0),
            runtimes={held.key[1]: held.value for held in one.runtimes},
            limit_ranges=containers.by_namespace((held.key, held.value) for held in one.limit_ranges),
            spread=self._spread,
            services=together.services,
            selectors=together.selectors,
        )

    def shape_of(self, pod: PodRecord) -> Shape:
        """What planning sees of one pod."""
        around = self.surroundings()
        if self._shapes is None or self._shapes[0] is not around:
            self._shapes = (around, Shapes(around))
        return self._shapes[1].shape(pod.form.draft(self._cluster.drafts))

    def pools(self) -> tuple[NodePool, ...]:
        """Every pool of ours, with the kubelet settings of its node class where it has none of its own."""
        one = self._cluster
        seen = (one.pools.generation, *(store.generation for store in one.classes.values()))
        if self._pools is None or self._pools[0] != seen:
            self._pools = (seen, tuple(self._read_pools()))
        return self._pools[1]

    def _read_pools(self) -> Iterator[NodePool]:
        for held in self._cluster.pools:
            record = held.value
            if record.problem:
                yield record.pool
            elif self._is_ours(record.pool.node_class):
                yield record.pool if record.own_kubelet else self._with_class(record.pool)

    def _is_ours(self, ref: NodeClassRef) -> bool:
        return any(kind.group == ref.group and kind.name == ref.kind for kind in self._cluster.classes)

    def _with_class(self, pool: NodePool) -> NodePool:
        ref = pool.node_class
        for kind, store in self._cluster.classes.items():
            held = store.get(ref.name) if (kind.group, kind.name) == (ref.group, ref.kind) else None
            if held is None:
                continue
            try:
                # Whether expressions are enabled is for the class to say: it is not ready if they are not.
                formulas = kind == kinds.EC2_NODE_CLASSES
                kubelet = kubelets.read(held.value.map("spec"), "kubelet", formulas=formulas)
            except BadInput as bad:
                return replace(pool, ready=False, problem=f"{ref.kind} {ref.name}: {bad}")
            return pool if kubelet is None else replace(pool, kubelet=kubelet)
        return pool

    def daemons(self) -> tuple[DaemonSet, ...]:
        around = self.surroundings()
        seen = (self._cluster.daemons.generation, id(around), self._newest.generation)
        if self._daemons is None or self._daemons[0] != seen:
            found = tuple(self._read_daemons(around))
            known = None if self._daemons is None else self._daemons[1]
            self._daemons = (seen, known if known == found else found)
        return self._daemons[1]

    def _read_daemons(self, around: Surroundings) -> Iterator[DaemonSet]:
        shapes = Shapes(around)
        for held in self._cluster.daemons:
            one = held.value
            shape = shapes.daemon(one.draft)
            if shape.problem == pods.NO_DEVICES:
                continue
            newest = self._newest.of(one.namespace, one.owner.name)
            asked = shape if newest is None else shapes.shape(newest.form.draft(self._cluster.drafts))
            yield workloads.daemon_set(one, shape, asked.requests)

    def _namespaces(self) -> Mapping[str, Mapping[str, str]]:
        found = {held.key[1]: {_NAME_LABEL: held.key[1], **held.value} for held in self._cluster.namespaces}
        return MappingProxyType(found)

    def is_overfull(self, node: NodeObject, targets: Iterable[str]) -> bool:
        """Whether a node that is up has too little room for all that are on it and planned onto it, under any of these
        names."""
        held = [one for one in self._cluster.pods.on_node(node.name) if one.state is not PodState.DONE]
        for planned in (one for target in targets for one in self._nominations.on(target)):
            namespace, name = planned.pod
            waiting = self._cluster.pods.get(name, namespace)
            if waiting is not None and waiting.node is None and self._may_lack_room(planned):
                held.append(waiting)
        asked = NOTHING
        for record in held:
            asked += self.shape_of(record).requests
        return not asked.fits_in(node.allocatable)

    # ---- what changes

    def _nodes(self, pools: Mapping[str, NodePool]) -> Iterator[Node]:
        one = self._cluster
        every = nodes.Machines(
            self._of_node.of((held.key[1], held.value) for held in one.nodes),
            self._of_claim.of(
                (held.key[1], one.purchases.known(held.value)) for held in one.claims if one.manages(held.value)
            ),
            {held.key[1]: held.value for held in one.csi_nodes},
        )
        return self._merger.merged(every, pools)

    def _placed(self, held: tuple[Node, ...]) -> tuple[Pod, ...]:
        """Every pod; only those are looked at that are elsewhere, or in another state, than they say."""
        every = dict(self._cluster.pods.made(self.surroundings()))
        for key in self._stranded(held):
            every[key] = self._elsewhere.of(every[key], PodState.PENDING)
        names, leaving = self._names(), {one.name for one in held if one.leaving}
        if self._nominations:
            self._plan(every, held, names, leaving)
        if leaving:
            staying = {one.name for one in held if not one.leaving} if self._moves else set()
            self._move(every, names, leaving, staying)
        return tuple(every.values())

    def _plan(self, every: dict[Key, Pod], held: tuple[Node, ...], names: Mapping[str, str], leaving: Set[str]) -> None:
        """Show the pods that wait where they were planned to go."""
        room = self._room(held, every, names)
        for planned in self._nominations:
            pod = every.get(planned.pod)
            if pod is not None and pod.state in _UNBOUND and planned.uid == pod.uid:
                every[planned.pod] = self._as_planned(pod, planned, names, leaving, room)

    def _move(self, every: dict[Key, Pod], names: Mapping[str, str], leaving: Set[str], staying: Set[str]) -> None:
        """Show the pods of nodes that go where they will go, or as those that go down with their node."""
        budgets = Budgets(one.value for one in self._cluster.budgets)
        for node in leaving:
            for record in self._cluster.pods.on_node(node):
                pod = every[record.key]
                planned = self._moves.get(record.key)
                if planned is not None and staying:
                    every[record.key] = self._moved(pod, planned, names, staying)
                elif pod.state is PodState.BOUND:
                    every[record.key] = self._staying(pod, record, budgets)

    def _stranded(self, held: tuple[Node, ...]) -> frozenset[Key]:
        """Pods that got the name of a node that is gone, or going, from somebody who may not remember them: they wait
        for a node as any other, though the scheduler may not look at them for minutes."""
        if not self._cluster.pods.values(NOMINATED):
            return frozenset()
        staying = {one.name for one in held if not one.leaving}
        return frozenset(pod.key for pod in self._cluster.pods.stranded(staying))

    def _names(self) -> Mapping[str, str]:
        """What a target is called by now: a claim goes by its Node's name, which it may say itself only later."""
        cluster = self._cluster
        names = {one.key[1]: one.value.node_name for one in cluster.claims if one.value.node_name}
        for claim, provider_id in cluster.purchases.machines():
            names.update((claim, node.name) for node in cluster.nodes_of(provider_id))
        return names

    def _room(self, held: tuple[Node, ...], every: Mapping[Key, Pod], names: Mapping[str, str]) -> _Room:
        """What is left on the nodes that pods were planned onto and whose machines are up: from then on the scheduler
        may have given a pod's room to others. While machines are coming that means nothing for a pod whose place is as
        good as another's."""
        targets = {names.get(one.target, one.target) for one in self._nominations if self._may_lack_room(one)}
        room = {node.name: node.allocatable for node in held if node.name in targets}
        for name in room:
            for record in self._cluster.pods.on_node(name):
                pod = every[record.key]
                if pod.takes_room:
                    room[name] -= pod.shape.requests
        return room

    def _may_lack_room(self, planned: Nomination) -> bool:
        return planned.until is not None and (planned.fixed or not self._nominations.coming)

    def _as_planned(
        self, pod: Pod, planned: Nomination, names: Mapping[str, str], leaving: Set[str], room: _Room
    ) -> Pod:
        """Where it will be, for as long as there is room for it there; otherwise one that waits."""
        target = names.get(planned.target, planned.target)
        stays = target not in leaving
        if stays and self._may_lack_room(planned):
            stays = target in room and pod.shape.requests.fits_in(room[target])
            if stays:
                room[target] -= pod.shape.requests
        if stays:
            return self._elsewhere.of(pod, PodState.BOUND, target)
        return pod if pod.state is PodState.PENDING else self._elsewhere.of(pod, PodState.PENDING)

    def _moved(self, pod: Pod, planned: Move, names: Mapping[str, str], staying: Set[str]) -> Pod:
        """A pod of a node that is given up, where it will go; while that is only being ordered it waits."""
        if planned.uid != pod.uid or not pod.moves:
            return pod
        target = names.get(planned.target, planned.target)
        if target not in staying:
            return self._elsewhere.of(pod, PodState.WAITING)
        return self._elsewhere.of(pod, PodState.BOUND, target)

    def _staying(self, pod: Pod, record: PodRecord, budgets: Budgets) -> Pod:
        """A pod that may not be moved goes down with its node; nobody looks for another place for it."""
        held = protection.holds(record.rare.do_not_disrupt, record.started, self._cluster.time.now())
        stays = held or budgets.hold(record.wire(self._cluster.drafts))
        return self._elsewhere.of(pod, PodState.WAITING) if stays else pod
