"""Sorting a cloud's answers, one type at a time: a type that cannot be read costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from dovetail.clouds.pricelist import PriceList
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering
from dovetail.core.errors import BadField, BadInput, BadValue
from dovetail.core.labels import Dialect

W = TypeVar("W")
Read = tuple[Hardware, tuple[Offering, ...]]


class Answered(Protocol):
    """What the answers of every cloud have beside its types."""

    @property
    def region(self) -> str: ...
    @property
    def prices(self) -> PriceList: ...
    @property
    def problems(self) -> tuple[BadField, ...]: ...


@dataclass(frozen=True, slots=True)
class Sorted:
    """The types that could be read, their rows by name, and what is wrong with the others."""

    hardware: tuple[Hardware, ...]
    offerings: dict[str, tuple[Offering, ...]]
    problems: tuple[BadField, ...]

    def listing(self, cloud: str, answers: Answered, rules: NodeRules, dialect: Dialect) -> Listing:
        return Listing(
            cloud=cloud,
            region=answers.region,
            hardware=self.hardware,
            offerings=self.offerings,
            list_prices=dict(answers.prices.on_demand),
            rules=rules,
            dialect=dialect,
            problems=(*answers.problems, *self.problems),
        )


def sorted_types(wire: Iterable[W], source: str, name: Callable[[W], str], read: Callable[[W], Read]) -> Sorted:
    hardware: list[Hardware] = []
    offerings: dict[str, tuple[Offering, ...]] = {}
    problems: list[BadField] = []
    for one in wire:
        try:
            machine, rows = read(one)
        except BadField as problem:
            problems.append(problem.within(source, name(one)))
        except BadInput as problem:
            problems.append(BadValue(str(problem)).at(source, name(one)))
        else:
            hardware.append(machine)
            offerings[name(one)] = rows
    return Sorted(tuple(hardware), offerings, tuple(problems))
