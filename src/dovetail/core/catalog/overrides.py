"""InstanceType resources: what a user knows about a type better than its cloud (S2.1–S2.5).

`resources` is merged over the known capacity, `overhead` replaces the default VM overhead, and `offerings`, where
given, replace the cloud's rows entirely: the user then owns what is for sale and at what price.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.core.catalog.allocatable import Settings
from dovetail.core.catalog.offerings import Offering, offering, sorted_offerings
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.catalog.specs import Spec, SpecRules
from dovetail.core.resources import NOTHING, Resources


@dataclass(frozen=True, slots=True)
class OverrideRow:
    """One entry of `spec.offerings`: a value per label; a label that is missing may have any value (S2.4)."""

    labels: tuple[tuple[str, str], ...]
    nanodollars: int | None = None


@dataclass(frozen=True, slots=True)
class Override:
    """One InstanceType resource; its name is the type's (S2.1). `rows` is None where the cloud's offerings stay."""

    name: str
    resources: Resources = NOTHING
    overhead: Resources | None = None
    rows: tuple[OverrideRow, ...] | None = None

    @property
    def changes_spec(self) -> bool:
        return bool(self.resources) or self.overhead is not None

    @property
    def settings(self) -> Settings:
        return Settings(self.resources, self.overhead, f"InstanceType {self.name}")

    def spec(self, known: Spec, rules: SpecRules, memory_seen: int | None = None) -> Spec:
        """The spec with the user's numbers in place; the very same one where nothing about it was said."""
        return rules.spec_of(known.hardware, self.settings, memory_seen) if self.changes_spec else known

    def offerings(self, known: tuple[Offering, ...]) -> tuple[Offering, ...]:
        """The rows for sale. An entry without a price keeps what the cloud charges for such a row, if that is known."""
        if self.rows is None:
            return known
        source = Source(SourceKind.OVERRIDE, f"InstanceType {self.name}")
        return sorted_offerings(_row(entry, known, source) for entry in self.rows)


def _row(entry: OverrideRow, known: tuple[Offering, ...], source: Source) -> Offering:
    bare = offering(dict(entry.labels), None)
    if entry.nanodollars is not None:
        return offering(dict(entry.labels), Price(entry.nanodollars, source))
    return offering(dict(entry.labels), _known_price(bare, known))


def _known_price(bare: Offering, known: tuple[Offering, ...]) -> Price | None:
    """The price of the known rows such an entry could mean: the highest, so that nobody is promised too little."""
    matching = [row.price for row in known if row.price is not None and row.requirements.intersects(bare.requirements)]
    return max(matching, key=lambda price: price.nanodollars, default=None)


Overrides = Mapping[str, Override]
