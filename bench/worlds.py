"""The workloads of the scheduling benchmark, as plain data that both sides read.

A world is files of JSON under `build/bench/worlds`: instance types in the kwok provider's format, Pods and Nodes as a
cluster would list them. Everything is drawn from seeded dice, so a world is the same on every machine; it is written
once and again only when the rules here change. Lists have one object a line, so that they can be read line by line.

`diverse` and `preferences` follow the mixes the peer measures itself with: the same five kinds of pods in equal
parts, the same label values and requests to draw from, the same 400 types at the same prices.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from bench import world_types
from bench.report import RESULTS
from bench.world_types import ZONES, Json
from dovetail.core.labels import ARCH, CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, NODEPOOL, ON_DEMAND, OS, ZONE

FOLDER: Final = RESULTS / "worlds"
POOL: Final = "default"

WHATIF_NODES, WHATIF_PODS_EACH = 1_000, 30
DISTINCT_NODES, DISTINCT_PODS = 10_000, 5_000
_REPLICAS: Final = 100
_NODE_CPUS: Final = 24  # of a node in the what-if world: two thirds full with thirty pods
_SEED: Final = 42

_LETTERS: Final = ("a", "b", "c", "d", "e", "f", "g")
_CPU_MILLIS: Final = (100, 250, 500, 1000, 1500)
_MEMORY_MIB: Final = (100, 256, 512, 1024, 2048, 4096)
_APP: Final = {"app": "nginx"}


@dataclass(frozen=True, slots=True)
class World:
    """Where one workload's files are."""

    types: Path
    pods: Path
    nodes: Path


def world(name: str) -> World:
    """The files of a workload, written now if they are not there: `diverse-5000`, `whatif`, …"""
    kind, _, size = name.partition("-")
    types, pods, nodes = _KINDS[kind]
    return World(
        _written(f"types-{types}", world_types.KINDS[types]),
        _written(f"pods-{name}", lambda: pods(int(size or 0))),
        _written(f"nodes-{kind}", nodes),
    )


def _written(name: str, make: Callable[[], Iterable[Json]]) -> Path:
    path = FOLDER / f"{name}-{_edition()}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        for stale in path.parent.glob(f"{name}-????????.json"):
            stale.unlink()
        lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in make())
        path.write_text(f"[\n{lines}\n]\n" if lines else "[]\n", encoding="utf-8")
    return path


@cache
def _edition() -> str:
    """Which rules the files were made by: those of this module and of the types'."""
    rules = (Path(one).read_bytes() for one in (__file__, world_types.__file__))
    return hashlib.sha256(b"".join(rules)).hexdigest()[:8]


# ---- pods


def _pod(number: int, labels: dict[str, str], cpu_millis: int, memory_mib: int, **spec: object) -> Json:
    requests = {"cpu": f"{cpu_millis}m", "memory": f"{memory_mib}Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number:05d}",
            "namespace": "default",
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "labels": labels,
        },
        "spec": {"containers": [{"name": "main", "image": "main", "resources": {"requests": requests}}], **spec},
    }


def _size(dice: Random) -> tuple[int, int]:
    return dice.choice(_CPU_MILLIS), dice.choice(_MEMORY_MIB)


def _letter(dice: Random, key: str = "my-label") -> dict[str, str]:
    return {key: dice.choice(_LETTERS)}


def _term(key: str, labels: dict[str, str]) -> Json:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key}


def _spread(key: str, labels: dict[str, str]) -> Json:
    chosen = {"labelSelector": {"matchLabels": labels}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **chosen}


def _required(kind: str, *terms: Json) -> Json:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def _diverse(count: int) -> Iterator[Json]:
    """A fifth each: generic, spread over zones, spread over hosts, together in a zone, apart on hosts."""
    dice = Random(_SEED)
    fifth = count // 5
    for number in range(count):
        match number // fifth:
            case 1 | 2 as part:
                key = ZONE if part == 1 else HOSTNAME
                # Label and selector are drawn apart, as the peer does: most of these do not count themselves.
                labels, chosen = _letter(dice), _letter(dice)
                yield _pod(number, labels, *_size(dice), topologySpreadConstraints=[_spread(key, chosen)])
            case 3:
                labels = _letter(dice, "my-affinity")
                yield _pod(number, labels, *_size(dice), affinity=_required("podAffinity", _term(ZONE, labels)))
            case 4:
                apart = _required("podAntiAffinity", _term(HOSTNAME, _APP))
                yield _pod(number, _APP, *_size(dice), affinity=apart)
            case _:
                yield _pod(number, _letter(dice), *_size(dice))


def _generic(count: int) -> Iterator[Json]:
    dice = Random(_SEED)
    return (_pod(number, _letter(dice), *_size(dice)) for number in range(count))


def _preferences(count: int) -> Iterator[Json]:
    """Pods of one size that wish for a zone, and for not sharing it or the host: one wish can be had, one cannot.

    The size is the one the peer's benchmark draws when it is run by itself.
    """
    near = {"key": ZONE, "operator": "In", "values": [ZONES[0]]}
    wished = "preferredDuringSchedulingIgnoredDuringExecution"
    wishes = {
        "nodeAffinity": {wished: [{"weight": 1, "preference": {"matchExpressions": [near]}}]},
        "podAntiAffinity": {
            wished: [
                {"weight": 10, "podAffinityTerm": _term(ZONE, _APP)},
                {"weight": 1, "podAffinityTerm": _term(HOSTNAME, _APP)},
            ]
        },
    }
    return (_pod(number, _APP, 100, 4096, affinity=wishes) for number in range(count))


def _apart(count: int) -> Iterator[Json]:
    """Pods of which no two share a node."""
    apart = _required("podAntiAffinity", _term(HOSTNAME, _APP))
    return (_pod(number, _APP, 250, 256, affinity=apart) for number in range(count))


def _distinct(count: int) -> Iterator[Json]:
    """One pod that fills most of each node, then `count` that wait, no two of a size or an app; a third pick a zone."""
    for number in range(DISTINCT_NODES):
        cpus = _distinct_cpus(number)
        used = cpus * 1000 - 100 - 250 * (1 + number % 7)
        yield _pod(number, {"app": "tenant"}, used, cpus * 1024, nodeName=_node_name(number))
    for number in range(count):
        chosen = {"nodeSelector": {ZONE: ZONES[number % len(ZONES)]}} if number % 3 == 0 else {}
        labels = {"app": f"app-{number}"}
        yield _pod(DISTINCT_NODES + number, labels, 50 + number % 997, 64 + number // 5, **chosen)


def _settled(_: int) -> Iterator[Json]:
    """Deployments of a hundred pods that run: half plain, a quarter spread over zones, a quarter apart on hosts."""
    dice = Random(_SEED)
    for deployment in range(WHATIF_NODES * WHATIF_PODS_EACH // _REPLICAS):
        labels = {"app": f"app-{deployment}"}
        cpu, memory = dice.choice(_CPU_MILLIS[:4]), dice.choice(_MEMORY_MIB[:5])
        constraints: Json = {}
        if deployment % 4 == 1:
            constraints = {"topologySpreadConstraints": [_spread(ZONE, labels)]}
        elif deployment % 4 == 3:
            constraints = {"affinity": _required("podAntiAffinity", _term(HOSTNAME, labels))}
        for number in range(deployment * _REPLICAS, (deployment + 1) * _REPLICAS):
            yield _pod(number, labels, cpu, memory, nodeName=_node_name(number % WHATIF_NODES), **constraints)


# ---- nodes


def _node_name(number: int) -> str:
    return f"node-{number:05d}"


def _node(number: int, cpus: int) -> Json:
    """A node of one of the linear types; what it holds back is what both sides take off such a type."""
    name = _node_name(number)
    held = {"cpu": str(cpus), "memory": f"{2 * cpus}Gi", "pods": str(10 * cpus)}
    labels = {
        HOSTNAME: name,
        ZONE: ZONES[number % len(ZONES)],
        INSTANCE_TYPE: f"fake-it-{cpus - 1}",
        CAPACITY_TYPE: ON_DEMAND,
        ARCH: "amd64",
        OS: "linux",
        NODEPOOL: POOL,
    }
    free = {**held, "cpu": f"{cpus * 1000 - 100}m", "memory": f"{2 * cpus * 1024 - 10}Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": held, "allocatable": free},
    }


def _distinct_cpus(number: int) -> int:
    return 4 + number % 13


def _distinct_nodes() -> Iterator[Json]:
    return (_node(number, _distinct_cpus(number)) for number in range(DISTINCT_NODES))


def _settled_nodes() -> Iterator[Json]:
    return (_node(number, _NODE_CPUS) for number in range(WHATIF_NODES))


def _no_nodes() -> tuple[Json, ...]:
    return ()


_KINDS: Final[dict[str, tuple[str, Callable[[int], Iterable[Json]], Callable[[], Iterable[Json]]]]] = {
    "diverse": ("linear", _diverse, _no_nodes),
    "aws": ("aws", _diverse, _no_nodes),
    "preferences": ("linear", _preferences, _no_nodes),
    "generic": ("linear", _generic, _no_nodes),
    "reserved": ("reserved", _apart, _no_nodes),
    "distinct": ("linear", _distinct, _distinct_nodes),
    "whatif": ("linear", _settled, _settled_nodes),
}
