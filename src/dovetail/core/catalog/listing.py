"""A listing: one region of one cloud, read and sorted, whether from a live answer or from the bundled files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.prices import Price
from dovetail.core.errors import BadField
from dovetail.core.labels import KUBERNETES, Dialect


@dataclass(frozen=True, slots=True)
class Listing:
    """What a region sells.

    `list_prices` holds the on-demand list price of every type that has one, also of types no zone here sells now.
    `problems` are the objects that could not be read; the rest of the listing stands without them.
    """

    cloud: str
    region: str
    hardware: tuple[Hardware, ...]
    offerings: Mapping[str, tuple[Offering, ...]]
    list_prices: Mapping[str, Price]
    rules: NodeRules = NodeRules()  # noqa: RUF009  (frozen, so sharing one is the point)
    dialect: Dialect = KUBERNETES
    problems: tuple[BadField, ...] = ()
