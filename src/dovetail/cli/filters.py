"""Which types and rows of a catalogue a person wants to see, and in which order."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from dovetail.api import selectors
from dovetail.cli import flags
from dovetail.core import labels
from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.prices import parse_amount
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.views.type_list import Listed


@dataclass(frozen=True, slots=True)
class Filter:
    """What is asked for. `pool` is what a NodePool lets its nodes be."""

    selector: Requirements = EMPTY
    pool: Requirements = EMPTY
    capacity_types: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()
    max_nanodollars: int | None = None

    @property
    def is_about_rows(self) -> bool:
        """Whether a type without a fitting row is of no interest."""
        return bool(self.capacity_types or self.zones or self.max_nanodollars is not None or len(self.pool))

    def narrowed(self, one: Listed) -> Listed | None:
        """The type with the rows that fit, or None if it does not fit itself."""
        kind = one.type
        if not kind.requirements.compatible(self.selector) or not kind.requirements.intersects(self.pool):
            return None
        rows = tuple(row for row in kind.offerings if self._fits(row))
        if not rows and (self.is_about_rows or kind.offerings):
            return None
        return one if len(rows) == len(kind.offerings) else replace(one, type=replace(kind, offerings=rows))

    def _fits(self, row: Offering) -> bool:
        if self.capacity_types and row.capacity_type is not None and row.capacity_type not in self.capacity_types:
            return False
        if self.zones and row.zone is not None and row.zone not in self.zones:
            return False
        if self.max_nanodollars is not None and (row.price is None or row.price.nanodollars > self.max_nanodollars):
            return False
        return row.requirements.intersects(self.selector) and row.requirements.intersects(self.pool)


def _by_price(one: Listed) -> tuple[bool, int, str]:
    """Cheapest row first; then what cannot be bought, at its list price; unpriced last."""
    row = one.type.cheapest
    price = row.price if row is not None else one.list_price
    return (row is None, price.nanodollars if price is not None else 2**63, one.name)


#: What --sort takes. Prices and names go up, sizes go up too: the smallest that will do is what people look for.
ORDERS: Final[dict[str, Callable[[Listed], Any]]] = {
    "price": _by_price,
    "name": lambda one: one.name,
    "cpu": lambda one: (one.type.spec.hardware.cpu_millis, one.type.spec.hardware.memory_bytes, one.name),
    "memory": lambda one: (one.type.spec.hardware.memory_bytes, one.type.spec.hardware.cpu_millis, one.name),
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which types")
    group.add_argument(
        "-l",
        "--selector",
        metavar="TERMS",
        action="append",
        help="by labels: 'kubernetes.io/arch=arm64, karpenter.k8s.aws/instance-cpu>=4' (repeatable)",
    )
    group.add_argument("--capacity-type", action="append", choices=labels.CAPACITY_TYPES, help="repeatable")
    group.add_argument("--zone", metavar="ZONE", action="append", help="repeatable")
    group.add_argument("--max-price", metavar="DOLLARS", help="only rows that cost at most this an hour")
    group.add_argument("--sort", choices=tuple(ORDERS), default="name", help="default: name")
    group.add_argument("--limit", metavar="N", type=flags.count, help="only the first N")


def of_flags(given: argparse.Namespace, pool: Requirements) -> Filter:
    return Filter(
        selector=_selector(given.selector or ()),
        pool=pool,
        capacity_types=frozenset(given.capacity_type or ()),
        zones=frozenset(given.zone or ()),
        max_nanodollars=_amount(given.max_price),
    )


def _selector(texts: Iterable[str]) -> Requirements:
    try:
        return Requirements(one for text in texts for one in selectors.parse(text))
    except BadInput as problem:
        raise BadValue(str(problem)).at("--selector") from None


def _amount(text: str | None) -> int | None:
    try:
        return None if text is None else parse_amount(text.removeprefix("$"))
    except BadInput as problem:
        raise BadValue(str(problem)).at("--max-price") from None


def chosen(entries: Iterable[Listed], asked: Filter, order: str, limit: int | None) -> list[Listed]:
    """The types that fit, in order."""
    found = sorted((one for entry in entries if (one := asked.narrowed(entry)) is not None), key=ORDERS[order])
    return found if limit is None else found[:limit]
