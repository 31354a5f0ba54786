"""Metrics in Prometheus' text form, under the names dashboards for Karpenter look for.

A family is declared once, with what it means and its labels; a value for a label nobody declared is a mistake of ours
and says so. Counters and histograms are added to; gauges are asked for when somebody looks, so that a gauge cannot be
forgotten when its object goes.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

PREFIX: Final = "karpenter_"
#: A few milliseconds' worth.
LINES_AT_ONCE: Final = 100
#: Seconds; from a millisecond to an hour, as the peer has them.
DURATIONS: Final = (
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 180.0, 300.0, 600.0,
    900.0, 1800.0, 3600.0,
)  # fmt: skip
Labels = tuple[str, ...]
Sample = tuple[Mapping[str, str], float]


@dataclass(slots=True)
class Family:
    """One metric: its name with prefix, its kind, and a value for each set of labels."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    values: dict[Labels, float] = field(default_factory=dict)
    counts: dict[Labels, list[int]] = field(default_factory=dict)
    #: For a gauge that is worked out when it is asked for.
    collect: Callable[[], Iterable[Sample]] | None = None

    def key(self, labels: Mapping[str, str]) -> Labels:
        if len(labels) > len(self.labels) or any(name not in self.labels for name in labels):
            raise ValueError(f"{self.name} has the labels {self.labels}, not {tuple(labels)}")
        return tuple(labels.get(name, "") for name in self.labels)


class Metrics:
    """All families of a process."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}

    def counter(self, name: str, help_: str, *labels: str, prefix: str = PREFIX) -> None:
        self._add(Family(prefix + name, "counter", help_, labels), name)

    def histogram(
        self, name: str, help_: str, *labels: str, buckets: tuple[float, ...] = DURATIONS, prefix: str = PREFIX
    ) -> None:
        self._add(Family(prefix + name, "histogram", help_, labels, buckets), name)

    def gauge(
        self, name: str, help_: str, collect: Callable[[], Iterable[Sample]], *labels: str, prefix: str = PREFIX
    ) -> None:
        """Declared again, it is asked of whoever declared it last: a controller that was started anew."""
        if name in self._families and self._families[name].kind == "gauge":
            del self._families[name]
        self._add(Family(prefix + name, "gauge", help_, labels, collect=collect), name)

    def _add(self, family: Family, name: str) -> None:
        if name in self._families:
            raise ValueError(f"the metric {name} is declared twice")
        self._families[name] = family

    def __contains__(self, name: str) -> bool:
        return name in self._families

    def families(self) -> Iterator[Family]:
        return iter(self._families.values())

    def count(self, name: str, labels: Mapping[str, str], amount: float = 1.0) -> None:
        family = self._families[name]
        key = family.key(labels)
        family.values[key] = family.values.get(key, 0.0) + amount

    def observe(self, name: str, labels: Mapping[str, str], value: float) -> None:
        family = self._families[name]
        key = family.key(labels)
        family.values[key] = family.values.get(key, 0.0) + value
        counts = family.counts.setdefault(key, [0] * (len(family.buckets) + 1))
        counts[bisect_left(family.buckets, value)] += 1

    def value(self, name: str, labels: Mapping[str, str]) -> float:
        """What a counter stands at, for tests and for the demo's table."""
        family = self._families[name]
        return family.values.get(family.key(labels), 0.0)

    def text(self) -> str:
        """Everything, in the text format version 0.0.4."""
        return "".join(line for family in self._families.values() for line in _lines(family))

    async def page(self) -> str:
        """The same, with a pause every so many lines: a page may have a hundred thousand."""
        parts: list[str] = []
        for family in tuple(self._families.values()):
            for line in _lines(family):
                parts.append(line)
                if len(parts) % LINES_AT_ONCE == 0:
                    await asyncio.sleep(0)
        return "".join(parts)


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n"
    if family.collect is not None:
        for labels, value in family.collect():
            yield f"{family.name}{_braced(family.labels, family.key(labels))} {_number(value)}\n"
    elif family.kind == "histogram":
        for key in family.counts:
            yield from _histogram(family, key)
    else:
        for key, value in family.values.items():
            yield f"{family.name}{_braced(family.labels, key)} {_number(value)}\n"


def _histogram(family: Family, key: Labels) -> Iterator[str]:
    total = 0
    names = (*family.labels, "le")
    for bound, count in zip((*family.buckets, float("inf")), family.counts[key], strict=True):
        total += count
        shown = "+Inf" if bound == float("inf") else _number(bound)
        yield f"{family.name}_bucket{_braced(names, (*key, shown))} {total}\n"
    yield f"{family.name}_sum{_braced(family.labels, key)} {_number(family.values[key])}\n"
    yield f"{family.name}_count{_braced(family.labels, key)} {total}\n"


def _braced(names: tuple[str, ...], values: Labels) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
