"""Prices for what us-east-1 has no published price for. Each answer is a number and the sentence that made it.

The rules are tried in this order; the first that knows, decides:

1. another region's price, divided by that region's median ratio to us-east-1;
2. the previous generation at the same size, times the step its neighbours took between those generations;
3. the plainer family of the same generation at the same size (p5 for p5e);
4. the same family at another size, scaled by vCPU (by memory for burstable types, whose vCPUs are alike);
5. least squares on vCPU, GiB and accelerators over the category, of relative error.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from . import least_squares
from .aws_families import category_of, family_of, plainer_siblings, predecessors, size_of
from .output import money

Prices = Mapping[str, Decimal]
FIT_DIGITS = 4  # a fitted price claims no more than this many digits

HOST_ONLY = " Sold only as a Dedicated Host, so no instance is ever billed at this rate."


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One other region: its prices, its median ratio to us-east-1, and the day they were published."""

    region: str
    prices: Prices
    ratio: Decimal
    date: str


@dataclass(frozen=True, slots=True)
class Modelled:
    price: Decimal
    rule: str
    date: str


@dataclass(frozen=True, slots=True)
class UsEast1:
    types: Mapping[str, Mapping[str, Any]]
    prices: Prices
    date: str
    elsewhere: tuple[Elsewhere, ...]

    def model(self, name: str) -> Modelled:
        rules: tuple[Callable[[str], Modelled | None], ...] = (
            self.from_another_region,
            self.from_previous_generation,
            self.from_plainer_sibling,
            self.from_another_size,
        )
        answer = next((found for rule in rules if (found := rule(name))), None) or self.from_least_squares(name)
        if name.startswith("mac"):
            return Modelled(answer.price, answer.rule + HOST_ONLY, answer.date)
        return answer

    def from_another_region(self, name: str) -> Modelled | None:
        for place in self.elsewhere:
            if price := place.prices.get(name):
                ratio = f"that region's median ratio {money(place.ratio)}"
                rule = f"The {place.region} price {money(price)} divided by {ratio}."
                return Modelled(price / place.ratio, rule, place.date)
        return None

    def from_previous_generation(self, name: str) -> Modelled | None:
        family, size = family_of(name), size_of(name)
        for older in predecessors(family, self._families()):
            if price := self.prices.get(f"{older.name}.{size}"):
                step, neighbours = self._step(name, older.generation)
                how = f"times {money(step)}, the median step from {neighbours}" if neighbours else "unchanged"
                rule = f"The price of {older.name}.{size}, the previous generation at this size, {how}."
                return Modelled(price * step, rule, self.date)
        return None

    def from_plainer_sibling(self, name: str) -> Modelled | None:
        for sibling in plainer_siblings(family_of(name), self._families()):
            other = f"{sibling.name}.{size_of(name)}"
            if price := self.prices.get(other):
                return Modelled(price, f"The price of {other}, the plainer family of the generation.", self.date)
        return None

    def from_another_size(self, name: str) -> Modelled | None:
        family = family_of(name)
        by_memory = family.series == "t"
        mine = self._features(name)[1 if by_memory else 0]
        for other in sorted(self.prices.keys() & self.types.keys()):
            if family_of(other) == family and "metal" not in other:
                theirs = self._features(other)[1 if by_memory else 0]
                what = "memory" if by_memory else "vCPU"
                price = self.prices[other] * Decimal(str(mine)) / Decimal(str(theirs))
                return Modelled(price, f"The price of {other} scaled by {what}.", self.date)
        return None

    def from_least_squares(self, name: str) -> Modelled:
        category = category_of(family_of(name))
        peers = [
            other
            for other in sorted(self.prices.keys() & self.types.keys())
            if category_of(family_of(other)) == category and "metal" not in other
        ]
        points = [(self._features(other), float(self.prices[other])) for other in peers]
        weights = least_squares.fit(points)
        mine = self._features(name)
        fitted = sum(weight * feature for weight, feature in zip(weights, mine, strict=True))
        rule = f"Least squares on vCPU, GiB and accelerators over {len(peers)} {category} types."
        return Modelled(Decimal(f"{fitted:.{FIT_DIGITS}g}"), rule, self.date)

    def _families(self) -> set[str]:
        return {name.split(".")[0] for name in self.prices}

    def _step(self, name: str, older: int) -> tuple[Decimal, str]:
        """How much dearer the general, compute and memory neighbours became from `older` to this generation.

        Bare metal is left out: the published list has some of it at the dedicated-tenancy rate.
        """
        family = family_of(name)
        tail = family.name.removeprefix(f"{family.series}{family.generation}")
        steps: list[Decimal] = []
        neighbours = []
        for series in {"c", "m", "r"} - {family.series} if family.generation - older == 1 else ():
            old, new = f"{series}{older}{tail}.", f"{series}{family.generation}{tail}."
            pairs = [(other, old + size_of(other)) for other in self.prices if other.startswith(new)]
            found = [self.prices[a] / self.prices[b] for a, b in pairs if b in self.prices and "metal" not in a]
            if found:
                steps += found
                neighbours.append(f"{old.rstrip('.')} to {new.rstrip('.')}")
        if not steps:
            return Decimal(1), ""
        return round(statistics.median(steps), 4), " and ".join(sorted(neighbours))

    def _features(self, name: str) -> tuple[float, float, float]:
        described = self.types[name]
        vcpus = described["VCpuInfo"]["DefaultVCpus"]
        return float(vcpus), described["MemoryInfo"]["SizeInMiB"] / 1024, accelerators_of(described)


def accelerators_of(described: Mapping[str, Any]) -> float:
    """Whole devices of any kind; a partitioned GPU counts as its share."""
    total = 0.0
    for gpu in described.get("GpuInfo", {}).get("Gpus", ()):
        whole = gpu.get("LogicalGpuCount", 0) * gpu.get("GpuPartitionSize", 1.0)
        total += gpu["Count"] or whole
    for device in described.get("NeuronInfo", {}).get("NeuronDevices", ()):
        total += device["Count"]
    if not total:
        for device in described.get("InferenceAcceleratorInfo", {}).get("Accelerators", ()):
            total += device["Count"]
    return total
