"""Offerings as a node class sees them: the region's rows in the zones it has subnets in (`spec/aws` §3).

A row is available to a class if the region sells it, the class can launch the type, and its zone is neither shifted
away from nor out of addresses. In a placement group of partitions every row is there once for each. Rows that the class
changes nothing about are the region's own, and rows are made again type by type: only where the region's have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.class_specs import Shelf, change_of
from dovetail.clouds.aws.class_terms import ClassTerms, refusal
from dovetail.clouds.aws.region import Region
from dovetail.clouds.aws.resolved import PARTITIONED
from dovetail.core.catalog.offerings import Offering, unavailable
from dovetail.core.requirements import Requirements, is_in

Rows = Mapping[str, tuple[Offering, ...]]


@dataclass(slots=True)
class ClassRows:
    """The rows of all classes with the same terms, and the types none of them can launch."""

    terms: ClassTerms
    refused: Mapping[str, str] = field(default_factory=dict)
    _region: Region | None = None
    _closed: frozenset[str] = frozenset()
    _made: dict[str, tuple[tuple[Offering, ...], tuple[Offering, ...]]] = field(default_factory=dict)
    _rows: Rows = field(default_factory=dict)
    _grouped: dict[Requirements, tuple[Requirements, ...]] = field(default_factory=dict)

    def rows(self, shelf: Shelf, closed: frozenset[str]) -> Rows:
        """`closed` are zones in which nothing can be bought just now."""
        region = shelf.region
        if region is self._region and closed == self._closed:
            return self._rows
        if self._region is None or region.types is not self._region.types:
            self.refused = dict(self._refusals(shelf))
            self._made.clear()
        if closed != self._closed:
            self._made.clear()
        self._region, self._closed = region, closed
        self._rows = {name: self._of(name, rows) for name, rows in region.listing.offerings.items()}
        return self._rows

    def finished(self, name: str, rows: Iterable[Offering]) -> Iterator[Offering]:
        """Rows of a type as this class can have them."""
        zones, shut = self.terms.zones, name in self.refused
        for row in rows:
            if row.zone is not None and row.zone not in zones:
                continue
            if shut or row.zone in self._closed:
                row = unavailable(row)
            yield from self._in_group(row)

    def _of(self, name: str, rows: tuple[Offering, ...]) -> tuple[Offering, ...]:
        known = self._made.get(name)
        if known is not None and known[0] is rows:
            return known[1]
        made = tuple(self.finished(name, rows))
        if len(made) == len(rows) and all(a is b for a, b in zip(made, rows, strict=True)):
            made = rows
        self._made[name] = (rows, made)
        return made

    def _refusals(self, shelf: Shelf) -> Iterator[tuple[str, str]]:
        for name, machine in shelf.machines(change_of(self.terms)).items():
            why = refusal(shelf.region.types[name], self.terms, machine.requirements)
            if why:
                yield name, why

    def _in_group(self, row: Offering) -> Iterator[Offering]:
        if self.terms.placement_group is None:
            yield row
            return
        known = self._grouped.get(row.requirements)
        if known is None:
            known = self._grouped[row.requirements] = tuple(self._group_labels(row.requirements))
        for requirements in known:
            yield replace(row, requirements=requirements)

    def _group_labels(self, has: Requirements) -> Iterator[Requirements]:
        group = self.terms.placement_group
        if group is None:
            return
        inside = has & Requirements([is_in(aws_labels.PLACEMENT_GROUP_ID, group.id)])
        if group.strategy != PARTITIONED or group.partitions < 1:
            yield inside
            return
        for number in range(1, group.partitions + 1):
            yield inside & Requirements([is_in(aws_labels.PLACEMENT_GROUP_PARTITION, str(number))])
