"""What both sides are given on a live cluster: instance types, one NodePool, and Deployments of pods.

The types are those the kwok provider brings along, written once to a file that both read. `plain` is five Deployments
of different sizes, on nodes of up to eight cores; `spread` is two whose pods keep apart from their like, so that half
as many nodes are needed as there are pods; `large` asks for nodes of one size, of which each holds thirty of its pods.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.report import RESULTS
from dovetail.clouds.kwok.export import export_types
from dovetail.clouds.load import load
from dovetail.core.labels import ARCH, CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, OS, ZONE

Json = dict[str, Any]
POOL: Final = "default"
#: By cores in thousandths and memory in MiB.
SIZES: Final = ((500, 1024), (750, 1536), (1000, 2048), (1250, 1024), (1500, 4096))
#: Cores of the largest type allowed: without such a limit a thousand pods fit on a handful of nodes.
_LARGEST: Final = "8"
_ROOMY: Final = "32"
_CPU_LABEL: Final = "karpenter.kwok.sh/instance-cpu"


@dataclass(frozen=True, slots=True)
class Workload:
    """So many pods of a kind."""

    kind: str
    pods: int

    def objects(self) -> list[Json]:
        """The Deployments, each of its share."""
        match self.kind:
            case "plain":
                sizes: tuple[tuple[int, int], ...] = SIZES
            case "spread":
                sizes = ((250, 512), (500, 1024))
            case "large":
                sizes = ((1050, 1024),) * 10
            case other:
                raise ValueError(f"there is no workload {other!r}; there are plain, spread and large")
        share, rest = divmod(self.pods, len(sizes))
        return [
            _deployment(f"app-{number}", share + (number < rest), size, apart=self.kind == "spread")
            for number, size in enumerate(sizes)
        ]

    def pool(self) -> Json:
        wanted = [_one_of(OS, "linux"), _one_of(ARCH, "amd64")]
        limit = _one_of(_CPU_LABEL, _ROOMY) if self.kind == "large" else _at_most(_CPU_LABEL, _LARGEST)
        wanted.append(limit)
        reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
        template = {"spec": {"nodeClassRef": reference, "requirements": wanted, "expireAfter": "Never"}}
        disruption = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}
        return _object("karpenter.sh/v1", "NodePool", POOL, {"template": template, "disruption": disruption})


def node_class() -> Json:
    return _object("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", "default", {})


def _one_of(key: str, *values: str) -> Json:
    return {"key": key, "operator": "In", "values": list(values)}


def _at_most(key: str, value: str) -> Json:
    return {"key": key, "operator": "Lt", "values": [str(int(value) + 1)]}


def _deployment(name: str, replicas: int, size: tuple[int, int], *, apart: bool) -> Json:
    chosen = {"matchLabels": {"app": name}}
    requests = {"cpu": f"{size[0]}m", "memory": f"{size[1]}Mi"}
    spec: Json = {
        "containers": [{"name": "main", "image": "main:1", "resources": {"requests": requests}}],
        "terminationGracePeriodSeconds": 0,
    }
    if apart:
        rule = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": chosen}
        spec["topologySpreadConstraints"] = [rule]
    template = {"metadata": {"labels": chosen["matchLabels"]}, "spec": spec}
    body = {"replicas": replicas, "selector": chosen, "template": template}
    return _object("apps/v1", "Deployment", name, body, "default")


def _object(api: str, kind: str, name: str, spec: Json, namespace: str = "") -> Json:
    about = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": about, "spec": spec}


# ---- types and what they cost


@cache
def types_file() -> Path:
    path = RESULTS / "live" / "types.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(export_types(load("kwok", None))), indent=1), encoding="utf-8")
    return path


@cache
def _prices() -> dict[tuple[str, str, str], float]:
    prices: dict[tuple[str, str, str], float] = {}
    for one in json.loads(types_file().read_text(encoding="utf-8")):
        for row in one["offerings"]:
            told = {wish["key"]: wish["values"][0] for wish in row["Requirements"]}
            prices[one["name"], told[ZONE], told[CAPACITY_TYPE]] = float(row["Price"])
    return prices


def price(nodes: Iterable[dict[str, str]]) -> float:
    """Dollars an hour, by the Nodes' labels."""
    prices = _prices()
    return sum(prices[one[INSTANCE_TYPE], one[ZONE], one[CAPACITY_TYPE]] for one in nodes)
