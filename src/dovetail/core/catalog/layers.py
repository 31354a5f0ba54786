"""How a row of the catalog is made, layer by layer, and made again when one layer changes.

From the bottom up; each layer returns the very object it was given where it has nothing to say:

    spec + offerings   from the market                                   ┐
    price book         imports, discounts, extras                        ├ Base, one per node class and kubelet
    InstanceType       resources, overhead, offerings of one type        ┘
    overlays           prices and capacity of whatever matches           ┐ View, one per set of pool labels that
    shortages          rows the market has run out of                    ┘ overlays can tell apart

Every change returns or takes the set of type names it is about, and only those rows are built again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, Offering, instance_type
from dovetail.core.catalog.overlays import Matches, NodeOverlay, Touching, Worn, match, overlaid
from dovetail.core.catalog.overrides import Overrides
from dovetail.core.catalog.pricebook import PriceBook
from dovetail.core.catalog.shortages import Shortage, Shortages
from dovetail.core.catalog.specs import Spec, SpecRules
from dovetail.core.requirements import Requirements

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Catalog:
    """What one pool can buy, at one moment: rows by type name, in the order of the names.

    Pools whose answers are equal hold the same one.
    """

    types: Mapping[str, InstanceType]

    def __len__(self) -> int:
        return len(self.types)

    @property
    def offering_count(self) -> int:
        return sum(len(one.offerings) for one in self.types.values())


class Twins:
    """The rows last made for any pool, by type name: what is made of the same parts again is shared, not made."""

    __slots__ = ("joined", "overlaid")

    def __init__(self) -> None:
        self.joined: dict[str, InstanceType] = {}
        self.overlaid: dict[str, Worn] = {}


class Base:
    """Rows before anything that may differ between pools of one node class."""

    __slots__ = ("offerings", "region", "rows", "rules", "specs", "twins")

    def __init__(self, rules: SpecRules, region: str, twins: Twins | None = None) -> None:
        self.rules = rules
        self.region = region
        self.twins = Twins() if twins is None else twins
        self.specs: Mapping[str, Spec] = {}
        self.offerings: Mapping[str, tuple[Offering, ...]] = {}
        self.rows: dict[str, InstanceType] = {}

    def take_specs(self, specs: Mapping[str, Spec]) -> frozenset[str]:
        """Adopt what was fetched; the names whose spec is another than before."""
        specs, changed = adopted(self.specs, specs)
        self.specs = specs
        return changed

    def take_offerings(self, offerings: Mapping[str, tuple[Offering, ...]]) -> frozenset[str]:
        offerings, changed = adopted(self.offerings, offerings)
        self.offerings = offerings
        return changed

    def rebuild(self, names: Iterable[str], book: PriceBook, overrides: Overrides) -> None:
        for name in names:
            spec = self.specs.get(name)
            if spec is None:
                self.rows.pop(name, None)
                continue
            rows = book.applied(name, self.region, self.offerings.get(name, ()))
            override = overrides.get(name)
            if override is not None:
                # What a node was seen to report, or is thought to, stays so until the user says otherwise.
                spec = override.spec(spec, self.rules, spec.capacity.memory_bytes)
                rows = override.offerings(rows)
            row = self.rows[name] = instance_type(spec, rows, twin=self.twins.joined.get(name))
            self.twins.joined[name] = row


def adopted(old: Mapping[str, T], new: Mapping[str, T]) -> tuple[Mapping[str, T], frozenset[str]]:
    """The new rows, with the old object wherever nothing changed, and the names of what did."""
    if old is new:
        return old, frozenset()
    changed = {name for name in old if name not in new}
    kept: dict[str, T] = {}
    for name, row in new.items():
        known = old.get(name)
        if known is not None and (known is row or known == row):
            kept[name] = known
        else:
            kept[name] = row
            changed.add(name)
    return kept, frozenset(changed)


class View:
    """The rows as pools with certain labels see them."""

    __slots__ = ("_rows", "base", "catalog", "matches", "pool_labels")

    def __init__(self, base: Base, pool_labels: Requirements) -> None:
        self.base = base
        self.pool_labels = pool_labels
        #: By overlay name, which rows of which types it speaks of, whether or not it is let in.
        self.matches: dict[str, Matches] = {}
        self._rows: dict[str, InstanceType] = {}
        self.catalog = Catalog(MappingProxyType(self._rows))

    def rematch(self, overlay: NodeOverlay, names: Iterable[str] | None = None) -> frozenset[str]:
        """Find again what an overlay matches, everywhere or among some types; the names it touched or touches now."""
        before = self.matches.get(overlay.name, {})
        if names is None:
            after: Matches = match(overlay, self.pool_labels, self._named_by_overlay(overlay))
        else:
            chosen = frozenset(names)
            rows = [self.base.rows[name] for name in chosen if name in self.base.rows]
            kept = {name: found for name, found in before.items() if name not in chosen}
            after = {**kept, **match(overlay, self.pool_labels, rows)}
        self.matches[overlay.name] = after
        return frozenset(before) | frozenset(after)

    def _named_by_overlay(self, overlay: NodeOverlay) -> Iterable[InstanceType]:
        """The types worth looking at: those an overlay lists by name, if it lists any, or else all."""
        named = overlay.requirements.get(labels.INSTANCE_TYPE)
        if named is None or named.complement:
            return self.base.rows.values()
        return [self.base.rows[name] for name in named.values if name in self.base.rows]

    def drop_overlay(self, name: str) -> frozenset[str]:
        return frozenset(self.matches.pop(name, {}))

    def rebuild(self, names: Collection[str], overlays: Sequence[NodeOverlay], shortages: Shortages) -> int:
        """Build these rows again; `overlays` are those let in, in order. How many rows were built."""
        if not names:
            return 0
        rows = self._rows.copy()
        arrived = any(name not in rows for name in names)
        built = 0
        for name in names:
            base = self.base.rows.get(name)
            if base is None:
                rows.pop(name, None)
                continue
            touching = tuple((one, found) for one in overlays if (found := self.matches[one.name].get(name)))
            row = self._overlaid(base, touching) if touching else base
            left = shortages.applied(row.spec.hardware, row.offerings)
            rows[name] = row if left is row.offerings else replace(row, offerings=left)
            built += 1
        self._rows = {name: rows[name] for name in sorted(rows)} if arrived else rows
        self.catalog = Catalog(MappingProxyType(self._rows))
        return built

    def _overlaid(self, base: InstanceType, touching: Touching) -> InstanceType:
        row = overlaid(base, touching, self.base.twins.overlaid.get(base.name))
        self.base.twins.overlaid[base.name] = Worn(base.offerings, touching, row)
        return row

    def named_by(self, shortages: Iterable[Shortage]) -> frozenset[str]:
        """The types a set of shortages speaks of."""
        found: set[str] = set()
        for one in shortages:
            if one.instance_type is not None:
                if one.instance_type in self.base.rows:
                    found.add(one.instance_type)
            else:
                found.update(name for name, row in self.base.rows.items() if one.names_type(row.spec.hardware))
        return frozenset(found)
