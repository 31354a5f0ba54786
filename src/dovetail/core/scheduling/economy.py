"""Machines not worth their money: whoever packs nodes as full as they go ends up on the largest type there is.

The largest machines have memory, or devices, that most pods never use, and a price to match: several smaller ones hold
the same pods for less. So each claim's type is held against the type that holds its mixture of cpu and memory for the
least, both taken as full. Where much of a plan's money goes to types far above that, the plan is made again with only
those types that come near the best price: once anywhere, which is best where pods may go anywhere, and once in some
zone, which is best where they must be in all. The cheapest plan is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core import resources
from dovetail.core.resources import CPU, MEMORY, Resources
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.problem import Claim, Plan

#: A type this much above the best price for what it holds is dear.
_DEAR: Final = 1.5
#: A plan that spends this share of its money on dear types is looked at again.
_SHARE: Final = 0.2
#: And then types this much above the best price are left out.
_NEAR: Final = 1.25


@dataclass(frozen=True, slots=True)
class _Load:
    """What the pods of a pool's claims ask for: together, and the largest of them."""

    cpu: int
    memory: int
    largest: Resources


def economical(compiled: Compiled, plan: Plan) -> Iterator[Mapping[str, int]]:
    """The types to plan with again, as bits by pool, in two readings; nothing where the plan is cheap enough."""
    bought = _by_pool(plan.claims)
    dear = {
        one.pool.name: _worth_having(one, _load(bought[one.pool.name]))
        for one in compiled.indexes
        if one.pool.name in bought and _is_dear(one, bought[one.pool.name])
    }
    for reading in (0, 1) if any(dear.values()) else ():
        yield {name: sum(1 << at for at in kept[reading]) for name, kept in dear.items() if kept}


def _by_pool(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    found: dict[str, list[Claim]] = {}
    for one in claims:
        found.setdefault(one.pool.name, []).append(one)
    return found


def _is_dear(index: PoolIndex, claims: Sequence[Claim]) -> bool:
    """Whether too much is spent on types that are far above the best price. A single pod has no choice."""
    total = dear = 0
    known: dict[int, float] = {}
    for one in claims:
        price = one.choice.offering.price
        if price is None:
            return False
        total += price.nanodollars
        if len(one.pods) < 2:
            continue
        key = id(one.requests)
        if key not in known:
            known[key] = _best(index, one.requests)
        has = one.choice.instance_type.allocatable
        if price.nanodollars * _share(one.requests, has) > known[key] * _DEAR:
            dear += price.nanodollars
    return dear > total * _SHARE


def _share(asked: Resources, has: Resources) -> float:
    """How much of a machine is taken, by what is taken most of."""
    cpu, memory = has.of(CPU), has.of(MEMORY)
    return max(asked.of(CPU) / cpu if cpu else 0.0, asked.of(MEMORY) / memory if memory else 0.0)


def _best(index: PoolIndex, asked: Resources) -> float:
    """What all this would cost at least, could it be poured.

    Only types for which no other is cheaper both by cpu and by memory need be looked at; there are a handful.
    """
    cpu, memory = asked.of(CPU), asked.of(MEMORY)
    return min((max(cpu * by_cpu, memory * by_memory) for by_cpu, by_memory in index.frontier), default=0.0)


def _worth_having(index: PoolIndex, load: _Load) -> tuple[set[int], set[int]] | None:
    """The positions of types near the best price anywhere, and near the best of some zone."""
    counts = _counts(index, load)
    zones = []
    for prices in index.cheapest_in_zone.values():
        costs = {at: price * counts[at] for at, price in prices.items() if at in counts}
        if costs:
            zones.append((min(costs.values()), costs))
    if not zones:
        return None
    best = min(least for least, _ in zones)
    anywhere = {at for _, costs in zones for at, cost in costs.items() if cost <= best * _NEAR}
    somewhere = {at for least, costs in zones for at, cost in costs.items() if cost <= least * _NEAR}
    return anywhere, somewhere


def _load(claims: Iterable[Claim]) -> _Load:
    cpu = memory = 0
    largest: dict[str, int] = {}
    for one in claims:
        cpu, memory = cpu + one.requests.of(CPU), memory + one.requests.of(MEMORY)
        for shape in {id(pod.shape): pod.shape for pod in one.pods}.values():
            for name, amount in shape.requests.items():
                if amount > largest.get(name, 0):
                    largest[name] = amount
    return _Load(cpu, memory, Resources(largest))


def _counts(index: PoolIndex, load: _Load) -> dict[int, float]:
    """Of every type that holds the largest pod, how many machines the whole load would fill."""
    found = {}
    for at, room in enumerate(index.room):
        cpu, memory = room.of(CPU), room.of(MEMORY)
        if cpu > 0 and memory > 0 and _holds(room, load.largest):
            found[at] = max(load.cpu / cpu, load.memory / memory)
    return found


def _holds(room: Resources, largest: Resources) -> bool:
    return all(room.of(name) >= amount for name, amount in largest.items() if name != resources.EPHEMERAL_STORAGE)
