"""What AWS sells in one region, to each node class: the catalog's four questions (S0.1), answered from memory.

    discovery     asks EC2 and Pricing every so often, and hands a new `Region` over
    region        types, zones and prices as they were last heard: bundled files until a call succeeds
    class_specs   hardware and specs with a class's disk, system and interfaces          class_terms   what of a class
    class_rows    offerings in its zones, of types it can launch                                       decides these
    reserved_rows offerings of its reservations, with what `reservation_counts` says is left

What the composition root calls:

    region  = await asyncio.to_thread(region.bundled, name)          # no network
    market  = AwsMarket(region, counts, Defaults(rules, now))        # `rules` with VM overhead, reserved interfaces …
    cache   = CatalogCache(market, region=name)
    finding = Discovery(aws, market, Habits(isolated=…))             # `await finding.once()` to wait for live data,
    task    = asyncio.create_task(finding.run())                     # `run()` for ever; `finding.freshness` for metrics
                                                                     # and conditions

    terms = terms_of(resolved, spec.family, spec.ephemeral_bytes, spec.raid0)
    market.set_class(ref, terms, resolved.reservations.values())
    market.set_class(ref, None)                                      # the class is gone, or not ready
    market.saw_memory(type, image_id, bytes)                         # each time a node registers, and for all at start
    market.mark_subnet(subnet_id)                                    # InsufficientFreeAddressesInSubnet
    market.set_shifted(zones)                                        # what ARC has shifted away from
    market.why_not(ref, type)                                        # for `explain`, "" if the class can launch it

Capacity errors are not told here but to `CatalogCache.mark_all`, as `fleet.shortages` names them: a pool, a
reservation, or a whole capacity type. They touch the rows they name and lapse by themselves (S0.3). `counts.launched`,
`ended` and `exhausted` keep reservations right between two looks; the offerings' generation follows them.

All of it runs on one thread; only `draft` may be called beside the event loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dovetail.clouds.aws.class_rows import ClassRows, Rows
from dovetail.clouds.aws.class_sample import Sample, sampled
from dovetail.clouds.aws.class_specs import NO_CHANGE, Shelf, SpecKey, Specs, change_of, rules_of
from dovetail.clouds.aws.class_terms import ClassTerms
from dovetail.clouds.aws.discovered import Discovered
from dovetail.clouds.aws.parse import RULES
from dovetail.clouds.aws.region import Region
from dovetail.clouds.aws.reservation_counts import Counts
from dovetail.clouds.aws.reserved_rows import ReservedRows
from dovetail.clouds.aws.resolved import HeldReservation
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.generations import ChangeSource, Generations
from dovetail.core.catalog.offerings import Offering, sorted_offerings
from dovetail.core.catalog.shortages import BELIEVED_SECONDS
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import NodeClassRef, NodePool

_NEVER: Final = float("inf")
_NO_ROWS: Final[Rows] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Defaults:
    """How nodes are set up where a class does not say, and where time comes from (seconds since 1970)."""

    rules: NodeRules = RULES
    now: Callable[[], float] = time.time


@dataclass(slots=True)
class _Merged:
    """The rows of one type, reserved ones among them, and what they were made of."""

    base: tuple[Offering, ...]
    reserved: list[Offering]
    rows: tuple[Offering, ...]


@dataclass(slots=True)
class _Class:
    """One node class. Classes with equal terms share their `rows`, but each has reservations of its own."""

    terms: ClassTerms
    rows: ClassRows
    reserved: ReservedRows | None = None
    _merged: dict[str, _Merged] = field(default_factory=dict)

    def with_reserved(self, base: Rows, counts: Counts, region: Region) -> Rows:
        if self.reserved is None:
            return base
        found = dict(base)
        for name, rows in self.reserved.rows(counts, region.listing):
            if name in region.types:
                found[name] = self._joined(name, base.get(name, ()), rows)
        return found

    def _joined(self, name: str, base: tuple[Offering, ...], reserved: list[Offering]) -> tuple[Offering, ...]:
        known = self._merged.get(name)
        if known is not None and known.base is base and _same(known.reserved, reserved):
            return known.rows
        rows = sorted_offerings((*base, *self.rows.finished(name, reserved)))
        self._merged[name] = _Merged(base, reserved, rows)
        return rows


class AwsMarket:
    """`core.catalog.market.Market` of one region."""

    def __init__(self, region: Region, counts: Counts | None = None, defaults: Defaults | None = None) -> None:
        self._counts, self._defaults = counts or Counts(), defaults or Defaults()
        self._shelf = Shelf(region)
        self._generations = Generations()
        self._classes: dict[NodeClassRef, _Class] = {}
        self._discovered = Discovered()
        self._shifted: frozenset[str] = frozenset()
        #: Subnets that ran out of addresses, and until when that is believed.
        self._dry: dict[str, float] = {}
        self._next = _NEVER

    # ---- the four questions

    def spec_rules(self, pool: NodePool) -> SpecRules:
        return self._key(pool).rules

    def specs(self, pool: NodePool) -> Specs:
        return self._shelf.specs(self._key(pool))

    def specs_generation(self, pool: NodePool) -> int:
        return self._generations.specs_of(pool.node_class)

    def offerings(self, pool: NodePool) -> Mapping[str, tuple[Offering, ...]]:
        """A class that nobody has resolved can buy nothing."""
        known = self._classes.get(pool.node_class)
        if known is None:
            return _NO_ROWS
        base = known.rows.rows(self._shelf, self._closed(known.terms))
        return known.with_reserved(base, self._counts, self.region)

    def offerings_generation(self, pool: NodePool) -> int:
        self._pass_time()
        known = self._classes.get(pool.node_class)
        counted = self._counts.generation if known is not None and known.reserved is not None else 0
        return self._generations.offerings_of(pool.node_class) + counted

    # ---- what is known

    @property
    def region(self) -> Region:
        return self._shelf.region

    @property
    def generations(self) -> Generations:
        return self._generations

    def why_not(self, ref: NodeClassRef, instance_type: str) -> str:
        """Why a class cannot launch a type, "" if it can."""
        known = self._classes.get(ref)
        if known is None:
            return "the node class is not ready"
        known.rows.rows(self._shelf, self._closed(known.terms))
        return known.rows.refused.get(instance_type, "")

    def sample(self, terms: ClassTerms) -> Sample | None:
        """A type that a class with these terms can launch, and its image; None if there is none."""
        return sampled(self._shelf, terms)

    def unworkable(self, terms: ClassTerms, kubelet: KubeletSettings) -> str:
        """Which expression of a kubelet block fails for a type, and how; "" if all can be worked out for all types."""
        if not kubelet.worked:
            return ""
        return self._shelf.unworkable(rules_of(terms, kubelet, self._defaults.rules), change_of(terms))

    # ---- what changes: the region

    def warm(self) -> None:
        """Make the specs that classes without wishes of their own will ask for. Takes a tenth of a second, and like
        `draft` may be done beside the event loop, before anybody asks."""
        self._shelf.specs(SpecKey(SpecRules(KubeletSettings(), self._defaults.rules)))

    def draft(self, region: Region) -> Shelf:
        """Everything that must be made for another look at the region; for a thread, as it takes its time."""
        return self._shelf.moved_to(region)

    def adopt(self, shelf: Shelf) -> bool:
        """Take over a draft. Whether anything is different now."""
        old, new = self.region, shelf.region
        self._shelf = shelf
        types = new.listing.hardware is not old.listing.hardware
        rows = new.listing.offerings is not old.listing.offerings or new.types is not old.types
        rows = rows or new.listing.list_prices is not old.listing.list_prices
        zones = new.zones != old.zones
        if types:
            self._moved(ChangeSource.TYPES)
        if rows:
            self._moved(ChangeSource.PRICES)
        if zones:
            self._name_zones()
        return types or rows or zones

    def set_region(self, region: Region) -> bool:
        """`draft` and `adopt` at once, where nobody minds the time."""
        return self.adopt(self.draft(region))

    def set_shifted(self, zones: Iterable[str]) -> bool:
        """Zones that traffic has been shifted away from: nothing is bought there. Whether they are others."""
        shifted = frozenset(zones)
        if shifted == self._shifted:
            return False
        self._shifted = shifted
        self._moved(ChangeSource.ZONES)
        self._moved(ChangeSource.SHORTAGES)
        return True

    # ---- what changes: node classes

    def set_class(self, ref: NodeClassRef, terms: ClassTerms | None, held: Iterable[HeldReservation] = ()) -> bool:
        """A class as it was last resolved, None when it is gone. Whether that changes what it can buy."""
        old = self._classes.get(ref)
        if terms is None:
            if old is not None:
                del self._classes[ref]
                self._class_moved(ref)
            return old is not None
        known = old
        if known is None or known.terms != terms:
            known = self._classes[ref] = _Class(terms, self._rows_of(terms))
            self._class_moved(ref)
        reserved = tuple(sorted(held, key=lambda one: one.id))
        before = old.reserved.held if old is not None and old.reserved is not None else ()
        if reserved != before or known is not old:
            known.reserved = self._reserved(reserved)
            self._moved(ChangeSource.RESERVATIONS, ref)
            self._look_ahead()
        return known is not old or reserved != before

    def saw_memory(self, instance_type: str, image_id: str, memory_bytes: int) -> bool:
        """A node has registered and says how much memory it has. Whether that was news."""
        if not self._discovered.saw(instance_type, image_id, memory_bytes):
            return False
        self._shelf.drop_measured()
        for ref, known in self._classes.items():
            if image_id in known.terms.image_ids:
                self._moved(ChangeSource.TYPES, ref)
        return True

    def mark_subnet(self, subnet_id: str, seconds: float = BELIEVED_SECONDS) -> None:
        """A subnet has no addresses left; a zone with no other subnet of a class is closed to it for a while."""
        until = self._defaults.now() + seconds
        self._dry[subnet_id] = max(until, self._dry.get(subnet_id, until))
        self._look_ahead()
        for ref, known in self._classes.items():
            if any(one == subnet_id for _, one in known.terms.subnets):
                self._moved(ChangeSource.SHORTAGES, ref)

    # ---- within

    def _key(self, pool: NodePool) -> SpecKey:
        known = self._classes.get(pool.node_class)
        if known is None:
            return SpecKey(SpecRules(pool.kubelet, self._defaults.rules), NO_CHANGE)
        terms = known.terms
        seen = tuple(sorted(self._discovered.by_type(terms.image_ids).items()))
        return SpecKey(rules_of(terms, pool.kubelet, self._defaults.rules), change_of(terms), seen)

    def _moved(self, source: ChangeSource, ref: NodeClassRef | None = None) -> None:
        self._generations = self._generations.bumped(source, ref)

    def _class_moved(self, ref: NodeClassRef) -> None:
        self._moved(ChangeSource.NODE_CLASS, ref)
        images = {image for known in self._classes.values() for image in known.terms.image_ids}
        self._discovered.forget_others(images)

    def _rows_of(self, terms: ClassTerms) -> ClassRows:
        shared = (known.rows for known in self._classes.values() if known.terms == terms)
        return next(shared, None) or ClassRows(terms)

    def _name_zones(self) -> None:
        """Reserved rows have their zones' ids, which an account tells only when it is asked."""
        for ref, known in self._classes.items():
            if known.reserved is not None:
                known.reserved = self._reserved(known.reserved.held)
                self._moved(ChangeSource.RESERVATIONS, ref)

    def _reserved(self, held: tuple[HeldReservation, ...]) -> ReservedRows | None:
        ids = {zone.zone_name: zone.zone_id for zone in self.region.zones}
        return ReservedRows(held, ids, self._defaults.now()) if held else None

    def _closed(self, terms: ClassTerms) -> frozenset[str]:
        """Zones in which this class can buy nothing now."""
        if not self._dry:
            return self._shifted & terms.zones
        wet = {zone for zone, subnet in terms.subnets if subnet not in self._dry}
        return (self._shifted & terms.zones) | (terms.zones - wet)

    def _pass_time(self) -> None:
        now = self._defaults.now()
        if now < self._next:
            return
        self._dry = {subnet: until for subnet, until in self._dry.items() if until > now}
        for known in self._classes.values():
            if known.reserved is not None and _or_never(known.reserved.next_change) <= now:
                known.reserved = self._reserved(known.reserved.held)
        self._look_ahead()
        self._moved(ChangeSource.SHORTAGES)

    def _look_ahead(self) -> None:
        """When time alone will next change what is sold."""
        ends = [known.reserved.next_change for known in self._classes.values() if known.reserved is not None]
        self._next = min((*self._dry.values(), *map(_or_never, ends)), default=_NEVER)


def _or_never(moment: float | None) -> float:
    return _NEVER if moment is None else moment


def _same(a: list[Offering], b: list[Offering]) -> bool:
    return len(a) == len(b) and all(one is other for one, other in zip(a, b, strict=True))
