"""The clusters of the disruption benchmark, as one file of objects that both sides read.

A cluster is a `List` with one object a line: a NodePool, Nodes with their NodeClaims, Pods and PodDisruptionBudgets, as
`kubectl get -o json` would show them, so `dovetail consolidate --plan -f` reads it, too. Types are those the kwok
provider brings along. Everything is drawn from seeded dice; a file is written once and again only when rules change.

Deployments have a hundred pods, in twenty namespaces: half of them plain, a quarter spread over zones, a quarter of
which no two share a host. A third are covered by a PodDisruptionBudget, of which one in a hundred lets nobody go; one
pod in two thousand says do-not-disrupt. Nodes are of nine types, spot and on demand, and filled from two fifths to the
brim: scale-downs leave clusters like that. An eighth of them belong to a pool of their own, with Deployments that run
nowhere else, and are as full as they can be: to give one of those up, something has to be bought.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, Self

from bench.report import RESULTS
from dovetail.clouds.kwok.export import export_types
from dovetail.clouds.listed import ListedMarket
from dovetail.clouds.load import load
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.labels import ARCH, CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, NODEPOOL, ON_DEMAND, OS, SPOT, ZONE
from dovetail.core.nodepools import NodeClassRef, NodePool

Json = dict[str, Any]
FOLDER: Final = RESULTS / "worlds"
POOL: Final = "default"
#: A pool of its own and the label by which its Deployments ask for it; every eighth node and Deployment is of it.
DEDICATED: Final = "dedicated"
_TEAM: Final = {"example.com/team": "search"}
_EIGHTH: Final = 6
#: Its nodes and pods have one size, of which thirty fill one and no thirty-first fits.
_FULL_CPUS, _FULL_MILLIS = 16, 525
NODE_CLASS: Final = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
ZONES: Final = ("test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d")
#: When everything that is there came to be, and when the cluster is looked at: a day later.
BEGAN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
PODS_EACH: Final = 30
_REPLICAS: Final = 100
_NAMESPACES: Final = 20
_SEED: Final = 7
_CPUS: Final = (8, 16, 32)
_CPU_MILLIS: Final = (100, 200, 400, 750)
_MEMORY_MIB: Final = (128, 256, 512, 1024, 1536)
_TRIES: Final = 40


@dataclass(frozen=True, slots=True)
class Files:
    """Where one cluster's files are."""

    types: Path
    cluster: Path


def files(nodes: int) -> Files:
    """A cluster of so many nodes and thirty times as many pods, written now if it is not there."""
    return Files(_written("types-kwok", types()), _written(f"cluster-{nodes}", objects(nodes)))


def types() -> Iterator[Json]:
    return iter(export_types(load("kwok", None)))


def _written(name: str, lines: Iterable[Json]) -> Path:
    path = FOLDER / f"{name}-{_edition()}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        for stale in path.parent.glob(f"{name}-????????.json"):
            stale.unlink()
        text = ",\n".join(json.dumps(one, separators=(",", ":")) for one in lines)
        listed = f"[\n{text}\n]"
        if name.startswith("cluster"):
            listed = '{"apiVersion":"v1","kind":"List","items":' + listed + "}"
        path.write_text(listed + "\n", encoding="utf-8")
    return path


@cache
def _edition() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]


# ---- what there is


@dataclass(slots=True)
class _Room:
    """A node while it is being filled: what pods may still take of it, and `kept`, the share that is to stay free."""

    number: int
    pool: str
    type: str
    zone: str
    kind: str
    cpu: int
    memory: int
    pods: int
    kept: tuple[int, int] = (0, 0)
    held: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        return f"node-{self.number:05d}"

    def opened(self) -> Self:
        """With all there is, should the others be full."""
        self.cpu, self.memory, self.kept = self.cpu + self.kept[0], self.memory + self.kept[1], (0, 0)
        return self


@dataclass(frozen=True, slots=True)
class _Deployment:
    number: int
    cpu: int
    memory: int
    rule: str

    @property
    def app(self) -> str:
        return f"app-{self.number}"

    @property
    def namespace(self) -> str:
        return f"team-{self.number % _NAMESPACES}"

    @property
    def pool(self) -> str:
        return _pool_of(self.number)


def _pool_of(number: int) -> str:
    return DEDICATED if number % 8 == _EIGHTH else POOL


def objects(nodes: int) -> Iterator[Json]:
    """The cluster: pool, nodes and claims, budgets, pods. Every pod stands where it is allowed to."""
    dice = Random(_SEED)
    deployments = [_deployment(number, dice) for number in range(nodes * PODS_EACH // _REPLICAS)]
    full = -(-sum(one.pool == DEDICATED for one in deployments) * _REPLICAS // PODS_EACH)
    rooms = [_room(number, _pool_of(number) if number // 8 < full else POOL, dice) for number in range(nodes)]
    yield _pool(POOL, {})
    yield _pool(DEDICATED, _TEAM)
    for room in rooms:
        yield _node(room)
        yield _claim(room)
    for one in deployments:
        if one.number % 3 == 0:
            yield _budget(one)
    yield from _pods(rooms, deployments, dice)


@cache
def _sizes() -> dict[str, tuple[dict[str, str], int, int, int]]:
    """Of each type: capacity as written, and what of it pods can have, in thousandths, bytes and pods."""
    told = {one["name"]: one["resources"] for one in types()}
    pool = NodePool(POOL, NodeClassRef(**NODE_CLASS))
    sold = CatalogCache(ListedMarket(load("kwok", None))).catalog(pool, 0.0)
    rooms = {name: one.allocatable for name, one in sold.types.items()}
    return {name: (told[name], room.of("cpu"), room.of("memory"), room.of("pods")) for name, room in rooms.items()}


def _room(number: int, pool: str, dice: Random) -> _Room:
    name = f"{dice.choice('csm')}-{_FULL_CPUS if pool == DEDICATED else dice.choice(_CPUS)}x-amd64-linux"
    kind = SPOT if dice.random() < 0.5 else ON_DEMAND
    _, cpu, memory, pods = _sizes()[name]
    full = 1.0 if pool == DEDICATED else 0.4 + 0.6 * dice.random()
    zone = ZONES[number // 2 % len(ZONES)]
    most = int(cpu * full), int(memory * full)
    return _Room(number, pool, name, zone, kind, *most, pods, (cpu - most[0], memory - most[1]))


def _deployment(number: int, dice: Random) -> _Deployment:
    rule = ("", "zones", "", "hosts")[number % 4]
    if _pool_of(number) == DEDICATED:
        return _Deployment(number, _FULL_MILLIS, 512, rule)
    return _Deployment(number, dice.choice(_CPU_MILLIS), dice.choice(_MEMORY_MIB), rule)


# ---- objects


def _meta(name: str, number: int, namespace: str = "", **more: Any) -> Json:
    about = {"name": name, "uid": f"00000000-0000-4000-8000-{number:012d}", "creationTimestamp": BEGAN, "generation": 1}
    return {**about, **({"namespace": namespace} if namespace else {}), **more}


def _conditions(*types_: str) -> list[Json]:
    return [
        {"type": one, "status": "True", "reason": one, "message": "", "lastTransitionTime": BEGAN} for one in types_
    ]


def _pool(name: str, labels: dict[str, str]) -> Json:
    wanted = [
        {"key": OS, "operator": "In", "values": ["linux"]},
        {"key": ARCH, "operator": "In", "values": ["amd64"]},
        {"key": CAPACITY_TYPE, "operator": "In", "values": [SPOT, ON_DEMAND]},
    ]
    about = {"metadata": {"labels": labels}} if labels else {}
    template = {**about, "spec": {"nodeClassRef": NODE_CLASS, "requirements": wanted, "expireAfter": "Never"}}
    disruption = {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "0s",
        "budgets": [{"nodes": "10%"}],
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": _meta(name, len(name)),
        "spec": {"template": template, "disruption": disruption},
        "status": {"conditions": _conditions("ValidationSucceeded", "NodeClassReady", "Ready")},
    }


def _labels(room: _Room) -> dict[str, str]:
    return {
        INSTANCE_TYPE: room.type,
        ZONE: room.zone,
        CAPACITY_TYPE: room.kind,
        NODEPOOL: room.pool,
        ARCH: "amd64",
        OS: "linux",
        "karpenter.kwok.sh/kwoknodeclass": NODE_CLASS["name"],
        HOSTNAME: room.name,
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        **(_TEAM if room.pool == DEDICATED else {}),
    }


def _resources(room: _Room) -> Json:
    written, cpu, memory, pods = _sizes()[room.type]
    has = {"cpu": f"{cpu}m", "memory": str(memory), "pods": str(pods)}
    return {"capacity": written, "allocatable": {**written, **has}}


def _node(room: _Room) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _meta(room.name, 1_000_000 + room.number, labels=_labels(room)),
        "spec": {"providerID": f"kwok://{room.name}"},
        "status": {**_resources(room), "conditions": _conditions("Ready")},
    }


def _claim(room: _Room) -> Json:
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in list(_labels(room).items())[:6]]
    up = _conditions("Launched", "Registered", "Initialized", "Ready", "Consolidatable")
    for one in up:
        one["observedGeneration"] = 1
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": _meta(f"claim-{room.number:05d}", 2_000_000 + room.number, labels=_labels(room)),
        "spec": {"nodeClassRef": NODE_CLASS, "requirements": wanted, "expireAfter": "Never", "resources": {}},
        "status": {
            "nodeName": room.name,
            "providerID": f"kwok://{room.name}",
            **_resources(room),
            "conditions": up,
        },
    }


def _budget(one: _Deployment) -> Json:
    left = 0 if one.number % 300 == 0 else 10
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _meta(one.app, 3_000_000 + one.number, one.namespace),
        "spec": {"maxUnavailable": "10%", "selector": {"matchLabels": {"app": one.app}}},
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": left,
            "currentHealthy": _REPLICAS - 10 + left,
            "desiredHealthy": _REPLICAS - 10,
            "expectedPods": _REPLICAS,
        },
    }


# ---- pods, each put where it may stand


def _pods(rooms: list[_Room], deployments: list[_Deployment], dice: Random) -> Iterator[Json]:
    order = [one for one in deployments for _ in range(_REPLICAS)]
    dice.shuffle(order)
    own = [room for room in rooms if room.pool == DEDICATED]
    shared = [room for room in rooms if room.pool == POOL]
    by_zone = [[room for room in shared if room.zone == zone] for zone in ZONES]
    counts: dict[int, list[int]] = {}
    for number, one in enumerate(order):
        zones = counts.setdefault(one.number, [0] * len(ZONES))
        if one.pool == DEDICATED:
            room = next(room for room in own if _takes(room, one))
        else:
            room = _found(one, shared if one.rule != "zones" else by_zone[zones.index(min(zones))], dice)
        room.cpu, room.memory, room.pods = room.cpu - one.cpu, room.memory - one.memory * 2**20, room.pods - 1
        room.held.add(one.number)
        zones[ZONES.index(room.zone)] += 1
        yield _pod(number, one, room, held=dice.random() < 1 / 2000)


def _found(one: _Deployment, among: list[_Room], dice: Random) -> _Room:
    """A node with room, by chance; should chance fail, the first one that has any, to its last bit."""
    for _ in range(_TRIES):
        room = dice.choice(among)
        if _takes(room, one):
            return room
    return next(room for room in among if _takes(room, one) or _takes(room.opened(), one))


def _takes(room: _Room, one: _Deployment) -> bool:
    if room.cpu < one.cpu or room.memory < one.memory * 2**20 or room.pods < 1:
        return False
    return one.rule != "hosts" or one.number not in room.held


def _pod(number: int, one: _Deployment, room: _Room, held: bool) -> Json:
    chosen = {"matchLabels": {"app": one.app}}
    requests = {"cpu": f"{one.cpu}m", "memory": f"{one.memory}Mi"}
    spec: Json = {
        "nodeName": room.name,
        "containers": [{"name": "main", "image": "main", "resources": {"requests": requests}}],
    }
    if one.rule == "zones":
        rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": chosen}
        spec["topologySpreadConstraints"] = [rule]
    elif one.rule == "hosts":
        term = {"labelSelector": chosen, "topologyKey": HOSTNAME}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if one.pool == DEDICATED:
        spec["nodeSelector"] = _TEAM
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{one.app}-5d", "controller": True}
    more: Json = {"labels": {"app": one.app}, "ownerReferences": [{**owner, "uid": f"owner-{one.number}"}]}
    if held:
        more["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _meta(f"{one.app}-{number:06d}", 4_000_000 + number, one.namespace, **more),
        "spec": spec,
        "status": {"phase": "Running", "conditions": _conditions("PodScheduled", "Ready")},
    }
