"""A market over a listing: the four questions of the cloud port (S0.1), answered from memory.

Background loops put what they learn in, part by part; each part moves the generation it feeds (S0.5), and only if it
says something new. Specs are made once for each set of rules, so pools that share a node class hold the same mapping
(S0.8), and whatever a refresh leaves as it was stays the same object.

Reservations join here: one row for each type and zone that has any, priced at a thousandth of on-demand (S3.4, S3.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.generations import ChangeSource, Generations
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, OfferingKey, sorted_offerings
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.catalog.reservations import Pool, Reservation, pooled, reserved_price
from dovetail.core.catalog.specs import Spec, SpecMaker, SpecRules
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.requirements import Requirements, is_in

Rows = Mapping[str, tuple[Offering, ...]]
Pools = Mapping[tuple[str, str], Pool]

#: Under which label a node says which reservation it runs in; each cloud has its own key.
RESERVATION_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "aws": "karpenter.k8s.aws/capacity-reservation-id",
        "azure": "karpenter.azure.com/capacity-reservation-id",
        "gcp": "karpenter.k8s.gcp/capacity-reservation-id",
        "kwok": "karpenter.kwok.sh/reservation-id",
    }
)
RESERVED_RULE: Final = "reserved: on-demand ÷ 1000"


@dataclass(slots=True)
class _Specs:
    """The specs made with one set of rules, and of which hardware and measurements."""

    by_name: Mapping[str, Spec]
    hardware: tuple[Hardware, ...]
    seen: Mapping[str, int]


class ListedMarket:
    """`core.catalog.market.Market` over a listing that is swapped part by part."""

    def __init__(
        self,
        listing: Listing,
        generations: Generations = Generations(),  # noqa: B008  (frozen, so sharing one is the point)
        reservations: Iterable[Reservation] = (),
    ) -> None:
        self._listing = listing
        self._generations = generations
        self._seen: Mapping[str, int] = {}
        self._specs: dict[SpecRules, _Specs] = {}
        #: By node class, as each selects its own; None is what those without a selection get.
        self._pools: dict[NodeClassRef | None, Pools] = {None: pooled(reservations)}
        self._rows: dict[NodeClassRef | None, Rows] = {}

    # ---- the four questions

    def spec_rules(self, pool: NodePool) -> SpecRules:
        return SpecRules(pool.kubelet, self._listing.rules)

    def specs(self, pool: NodePool) -> Mapping[str, Spec]:
        rules = self.spec_rules(pool)
        known = self._specs.get(rules)
        if known is None or known.hardware is not self._listing.hardware or known.seen is not self._seen:
            known = self._specs[rules] = self._made(rules, known)
        return known.by_name

    def specs_generation(self, pool: NodePool) -> int:
        return self._generations.specs_of(pool.node_class)

    def offerings(self, pool: NodePool) -> Rows:
        return self._rows_for(pool.node_class if pool.node_class in self._pools else None)

    def offerings_generation(self, pool: NodePool) -> int:
        return self._generations.offerings_of(pool.node_class)

    # ---- what is known

    @property
    def listing(self) -> Listing:
        return self._listing

    @property
    def generations(self) -> Generations:
        return self._generations

    @property
    def reservation_key(self) -> str:
        return RESERVATION_KEYS[self._listing.cloud]

    @property
    def memory_seen(self) -> Mapping[str, int]:
        """What nodes of a type reported, the least of it: a plan must fit the smallest of them."""
        return self._seen

    # ---- what changes

    def saw_memory(self, instance_type: str, memory_bytes: int) -> bool:
        """A node has joined and said how much memory it has. Whether that was news."""
        known = self._seen.get(instance_type)
        if memory_bytes <= 0 or (known is not None and known <= memory_bytes):
            return False
        self._seen = {**self._seen, instance_type: memory_bytes}
        self._moved(ChangeSource.TYPES)
        return True

    def set_listing(self, listing: Listing) -> bool:
        """A discovery is done: another listing takes the place of this one. Whether it differs."""
        old = self._listing
        hardware = kept_hardware(old.hardware, listing.hardware)
        offerings = kept_rows(old.offerings, listing.offerings)
        types_changed = hardware is not old.hardware or listing.rules != old.rules
        rows_changed = offerings is not old.offerings or listing.list_prices != old.list_prices
        self._listing = replace(listing, hardware=hardware, offerings=offerings)
        if listing.rules != old.rules:
            self._specs.clear()
        if types_changed:
            self._moved(ChangeSource.TYPES)
        if rows_changed:
            self._rows.clear()
            self._moved(ChangeSource.PRICES)
        return types_changed or rows_changed

    def set_prices(self, prices: Mapping[OfferingKey, Price]) -> bool:
        """New prices, laid over the old: what is not named keeps its price. A key without a zone is for all zones."""
        old = self._listing
        offerings = dict(old.offerings)
        list_prices = dict(old.list_prices)
        for key, price in prices.items():
            if key.capacity_type == labels.ON_DEMAND and key.zone is None:
                list_prices[key.instance_type] = price
        for name in {key.instance_type for key in prices} & offerings.keys():
            found = tuple(_repriced(name, row, prices) for row in offerings[name])
            if any(a is not b for a, b in zip(found, offerings[name], strict=True)):
                offerings[name] = sorted_offerings(found)
        kept = kept_rows(old.offerings, offerings)
        if kept is old.offerings and list_prices == old.list_prices:
            return False
        self._listing = replace(old, offerings=kept, list_prices=list_prices)
        self._rows.clear()
        self._moved(ChangeSource.PRICES)
        return True

    def set_reservations(
        self, reservations: Iterable[Reservation], node_class: NodeClassRef | None = None, now: float = 0.0
    ) -> bool:
        """All reservations there are, for every node class or for one that selects its own. Whether they differ.

        One that has ended by `now` is not sold any more.
        """
        pools = pooled(one for one in reservations if one.open_at(now))
        if pools == self._pools.get(node_class):
            return False
        self._pools[node_class] = pools
        self._rows.pop(node_class, None)
        self._moved(ChangeSource.RESERVATIONS, node_class)
        return True

    # ---- within

    def _moved(self, source: ChangeSource, node_class: NodeClassRef | None = None) -> None:
        self._generations = self._generations.bumped(source, node_class)

    def _made(self, rules: SpecRules, old: _Specs | None) -> _Specs:
        found: dict[str, Spec] = {}
        maker = SpecMaker(rules)
        for one in self._listing.hardware:
            seen = self._seen.get(one.name)
            known = old.by_name.get(one.name) if old else None
            if old is None or known is None or known.hardware is not one or old.seen.get(one.name) != seen:
                known = maker.spec_of(one, seen)
            found[one.name] = known
        return _Specs(MappingProxyType(found), self._listing.hardware, self._seen)

    def _rows_for(self, who: NodeClassRef | None) -> Rows:
        rows = self._rows.get(who)
        if rows is None:
            rows = self._rows[who] = MappingProxyType(self._with_reserved(self._pools[who]))
        return rows

    def _with_reserved(self, pools: Pools) -> dict[str, tuple[Offering, ...]]:
        rows = dict(self._listing.offerings)
        names = {one.name for one in self._listing.hardware}
        reserved: dict[str, list[Offering]] = {}
        for (name, zone), pool in pools.items():
            if name in names:
                reserved.setdefault(name, []).append(self._reserved_row(pool, rows.get(name, ()), zone))
        for name, more in reserved.items():
            rows[name] = sorted_offerings((*rows.get(name, ()), *more))
        return rows

    def _reserved_row(self, pool: Pool, rows: tuple[Offering, ...], zone: str) -> Offering:
        """A row like the on-demand one beside it, but for what makes it reserved."""
        beside = next((row for row in rows if row.zone == zone and row.capacity_type == labels.ON_DEMAND), None)
        price = beside.price if beside and beside.price else self._listing.list_prices.get(pool.instance_type)
        key = self.reservation_key
        required = [is_in(labels.CAPACITY_TYPE, labels.RESERVED), is_in(labels.ZONE, zone)]
        required.append(is_in(key, *(one.id for one in pool.reservations)))
        if beside:
            # What an on-demand row denies, such as a reservation's labels, a reserved one may have.
            shared = beside.requirements.without(labels.CAPACITY_TYPE, labels.ZONE, key)
            required += (one for one in shared if not one.absent)
        return Offering(
            requirements=Requirements(required),
            zone=zone,
            capacity_type=labels.RESERVED,
            price=reserved_at(price),
            available=beside.available if beside else True,
            count=pool.available,
            reservations=pool.reservations,
        )


def reserved_at(on_demand: Price | None) -> Price | None:
    if on_demand is None:
        return None
    about = on_demand.source
    source = Source(SourceKind.MODELLED, f"{RESERVED_RULE}, which is {about}", about.as_of, about.currency)
    return Price(reserved_price(on_demand.nanodollars), source)


def _repriced(name: str, row: Offering, prices: Mapping[OfferingKey, Price]) -> Offering:
    for zone in (row.zone, None):
        price = prices.get(OfferingKey(name, zone, row.capacity_type))
        if price is not None:
            return row if price == row.price else replace(row, price=price)
    return row


def kept_hardware(old: tuple[Hardware, ...], new: tuple[Hardware, ...]) -> tuple[Hardware, ...]:
    """The new hardware with the old objects wherever they are equal; the very same tuple if all are."""
    known = {one.name: one for one in old}
    found = tuple(known[one.name] if known.get(one.name) == one else one for one in new)
    same = len(found) == len(old) and all(a is b for a, b in zip(found, old, strict=True))
    return old if same else found


def kept_rows(old: Rows, new: Rows) -> Rows:
    """The same for rows, type by type and then row by row."""
    found: dict[str, tuple[Offering, ...]] = {}
    for name, rows in new.items():
        before = old.get(name)
        if before is None or before is rows:
            found[name] = rows
        elif before == rows:
            found[name] = before
        else:
            known = {row: row for row in before}
            found[name] = tuple(known.get(row, row) for row in rows)
    same = found.keys() == old.keys() and all(found[name] is old[name] for name in found)
    return old if same else found
