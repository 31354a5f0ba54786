"""What a person would see of the cluster with kubectl: its machines and pods, read from the server's objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.api import kinds
from dovetail.apiserver.objects import Objects
from dovetail.clouds.sim import nodes
from dovetail.core import labels
from dovetail.core.catalog.prices import NANO
from dovetail.core.nodeclaims import INITIALIZED, LAUNCHED

Object = dict[str, Any]
ORDERED, BOOTING, READY, LEAVING = "ordered", "booting", "ready", "leaving"


@dataclass(frozen=True, slots=True)
class Machine:
    """A claim and what came of it."""

    name: str
    pool: str
    type: str
    zone: str
    capacity_type: str
    nanodollars: int
    state: str
    pods: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The cluster at one moment. `by_app` is how many pods of each deployment run."""

    machines: tuple[Machine, ...]
    running: int
    pending: int
    by_app: Counter[str]

    @property
    def nanodollars(self) -> int:
        """What is paid an hour."""
        return sum(one.nanodollars for one in self.machines)


def look(store: Objects) -> Seen:
    pods = [one for one in store.list(kinds.PODS) if "deletionTimestamp" not in one["metadata"]]
    running = [one for one in pods if one["status"].get("phase") == "Running"]
    on = Counter(one["spec"]["nodeName"] for one in pods if one["spec"].get("nodeName"))
    return Seen(
        tuple(_machine(one, on) for one in store.list(kinds.NODE_CLAIMS)),
        len(running),
        len(pods) - len(running),
        Counter(one["metadata"]["labels"].get("app", "") for one in running),
    )


def _machine(claim: Object, on: Counter[str]) -> Machine:
    told = claim["metadata"].get("labels") or {}
    name = claim["metadata"]["name"]
    return Machine(
        name,
        told.get(labels.NODEPOOL, ""),
        told.get(labels.INSTANCE_TYPE, ""),
        told.get(labels.ZONE, ""),
        told.get(labels.CAPACITY_TYPE, ""),
        round(float(told.get(nodes.PRICE, "0")) * NANO),
        _state(claim),
        on[name],
    )


def _state(claim: Object) -> str:
    if "deletionTimestamp" in claim["metadata"]:
        return LEAVING
    held = {one["type"] for one in (claim.get("status") or {}).get("conditions") or () if one["status"] == "True"}
    if INITIALIZED in held:
        return READY
    return BOOTING if LAUNCHED in held else ORDERED


def still_on(store: Objects, node: str) -> Sequence[str]:
    """Pods that run on a node and were not asked to leave."""
    return [
        one["metadata"]["name"]
        for one in store.list(kinds.PODS, fields=f"spec.nodeName={node}")
        if one["status"].get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]
    ]
