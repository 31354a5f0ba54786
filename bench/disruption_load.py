"""A day's load and a day's prices, drawn from seeded dice: the same for whoever is measured with them.

Forty Deployments of the five sizes of the live benchmark follow the sun, each with a phase, a depth and a noise of its
own; a horizontal autoscaler as Kubernetes has it sits between load and replicas: it lets a tenth pass, and scales down
to the most that was wanted in the last five minutes. They ask for on-demand capacity, for spot, or half for each.

On-demand prices stand still. Each spot price, of a type in a zone, wanders about its mean: a new one every hour, some
three percent from the one before, pulled back by a tenth of the way, so that over the day it stays within a fifth.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from types import MappingProxyType
from typing import Final

from bench.live_world import SIZES
from dovetail.clouds.listed import ListedMarket
from dovetail.clouds.load import load
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, Offering, sorted_offerings
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.pods import Pod, Shape
from dovetail.core.requirements import Requirement, Requirements, is_in, requirement
from dovetail.core.resources import Resources

HOUR: Final = 3600.0
STEP: Final = 300.0
DEPLOYMENTS: Final = 40
#: Cores of the largest type allowed, as in the live benchmark.
_CORES: Final = "9"
_CPU_LABEL: Final = "karpenter.kwok.sh/instance-cpu"
_TOLERANCE: Final = 0.1
_WANDER, _PULL = 0.03, 0.1
NODE_CLASS: Final = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")


def pool() -> NodePool:
    """One pool that buys both kinds of capacity."""
    wanted: list[Requirement] = [
        is_in(labels.OS, "linux"),
        is_in(labels.ARCH, "amd64"),
        is_in(labels.CAPACITY_TYPE, labels.SPOT, labels.ON_DEMAND),
        requirement(_CPU_LABEL, "Lt", [_CORES]),
    ]
    return NodePool("default", NODE_CLASS, Requirements(wanted))


# ---- load


@dataclass(slots=True)
class Deployment:
    """One that follows the sun. `replicas` is what its autoscaler asks for now."""

    name: str
    shape: Shape
    mean: float
    depth: float
    phase: float
    noise: float = 0.04
    drift: float = 0.0
    replicas: int = 0
    _before: int = field(default=0)

    def step(self, now: float, dice: Random) -> None:
        """Look at the load as an autoscaler does."""
        self.drift = 0.9 * self.drift + dice.gauss(0.0, self.noise)
        sun = 1.0 - self.depth * math.cos(2 * math.pi * (now - self.phase) / (24 * HOUR))
        wanted = max(1, math.ceil(self.mean * sun * (1.0 + self.drift)))
        most, self._before = max(wanted, self._before), wanted
        if not self.replicas or abs(wanted / self.replicas - 1) > _TOLERANCE:
            self.replicas = wanted if wanted > self.replicas else min(self.replicas, most)


def deployments(seed: int, pods: int, kind: str | None = None) -> list[Deployment]:
    """So many pods on average over the day. They ask for one kind of capacity, or half of them for each."""
    dice = Random(seed)
    found = []
    for number in range(DEPLOYMENTS):
        cpu, mib = SIZES[number % len(SIZES)]
        asked = kind or (labels.ON_DEMAND if number % 2 else labels.SPOT)
        requests = Resources({"cpu": cpu, "memory": mib * 2**20, "pods": 1})
        chosen = Requirements([is_in(labels.CAPACITY_TYPE, asked)])
        shape = Shape(labels=(("app", f"app-{number}"),), requests=requests, selector=chosen)
        found.append(
            Deployment(
                f"app-{number}",
                shape,
                mean=pods / DEPLOYMENTS * dice.uniform(0.5, 1.5),
                depth=dice.uniform(0.2, 0.6),
                phase=dice.gauss(3.0, 1.5) * HOUR,
            )
        )
    return found


def born(one: Deployment, number: int, now: float) -> Pod:
    return Pod(f"{one.name}-{number}", one.shape, f"uid-{number}", created=now, owner="ReplicaSet")


# ---- prices


@cache
def listed() -> Catalog:
    """Of all types only those the pool may buy: a day asks for them thousands of times."""
    sold = CatalogCache(ListedMarket(load("kwok", None))).catalog(pool(), 0.0)
    wanted = pool().requirements
    return Catalog(MappingProxyType({name: one for name, one in sold.types.items() if _allowed(one, wanted)}))


def _allowed(kind: InstanceType, wanted: Requirements) -> bool:
    return kind.requirements.intersects(wanted)


class Market:
    """What there is to buy, hour by hour. Without `wobble` prices stand still."""

    def __init__(self, seed: int, wobble: bool = True) -> None:
        self._dice = Random(seed)
        self._wobble = wobble
        self._factors: dict[tuple[str, str], float] = {}
        self.catalog = listed()

    def step(self) -> None:
        if not self._wobble:
            return
        types = {name: self._moved(one) for name, one in listed().types.items()}
        self.catalog = Catalog(MappingProxyType(types))

    def _moved(self, kind: InstanceType) -> InstanceType:
        return replace(kind, offerings=sorted_offerings(self._row(kind.name, row) for row in kind.offerings))

    def _row(self, name: str, row: Offering) -> Offering:
        if row.capacity_type != labels.SPOT or row.price is None:
            return row
        key = (name, row.zone or "")
        log = (1 - _PULL) * math.log(self._factors.get(key, 1.0)) + self._dice.gauss(0.0, _WANDER)
        self._factors[key] = math.exp(log)
        return replace(row, price=replace(row.price, nanodollars=round(row.price.nanodollars * math.exp(log))))


def prices(catalog: Catalog) -> Mapping[tuple[str, str, str], float]:
    """Dollars an hour of every row."""
    return dict(_prices(catalog))


def _prices(catalog: Catalog) -> Iterator[tuple[tuple[str, str, str], float]]:
    for name, one in catalog.types.items():
        for row in one.offerings:
            if row.price is not None:
                yield (name, row.zone or "", row.capacity_type or ""), row.price.nanodollars / 1e9
