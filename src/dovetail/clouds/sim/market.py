"""The simulated cloud's market (S0.7): what is for sale, how many of it are left, and what happens when none are.

It is a `ListedMarket` with a stockroom. Stock is the market's secret, as in life: the listing says a row is for sale,
and only who tries to buy learns that it is sold out. A reservation is the exception: its count is public and goes down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from dovetail.clouds.kwok import generic
from dovetail.clouds.listed import ListedMarket
from dovetail.core import labels
from dovetail.core.catalog.generations import ChangeSource
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, OfferingKey
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.shortages import Shortage


@dataclass(frozen=True, slots=True)
class Sale:
    """What was bought, and from which reservation if from one."""

    key: OfferingKey
    price: Price | None
    reservation_id: str | None = None


class SoldOut(Exception):
    """There is none left. `shortage` is what the catalog may believe for a while."""

    def __init__(self, shortage: Shortage) -> None:
        parts = (shortage.capacity_type, shortage.instance_type, shortage.zone, shortage.reservation_id)
        super().__init__(f"sold out: {' '.join(part for part in parts if part)}; try another offering")
        self.shortage = shortage


class SimMarket(ListedMarket):
    """A market to practise in."""

    def __init__(
        self,
        listing: Listing | None = None,
        stock: Mapping[OfferingKey, int] | None = None,
        reservations: Iterable[Reservation] = (),
    ) -> None:
        """`stock` is how many there are of an offering; of one that is not named there are enough."""
        held = tuple(reservations)
        super().__init__(generic.listing() if listing is None else listing, reservations=held)
        self._stock = dict(stock or {})
        self._reservations = {one.id: one for one in held}

    @property
    def stock(self) -> Mapping[OfferingKey, int]:
        return dict(self._stock)

    def discover(self, listing: Listing) -> bool:
        """Another look at what is sold: types and zones may have come or gone (specs move)."""
        return self.set_listing(listing)

    def reprice(self, change: Callable[[OfferingKey, int], int], now: str | None = None) -> bool:
        """Move the prices: `change` gets an offering and its nanodollars an hour (offerings move)."""
        source = Source(SourceKind.LIVE, "simulated market", now)
        prices: dict[OfferingKey, Price] = {}
        for name, rows in self.listing.offerings.items():
            for row in rows:
                if row.price is None:
                    continue
                key = OfferingKey(name, row.zone, row.capacity_type)
                amount = max(0, change(key, row.price.nanodollars))
                if amount != row.price.nanodollars:
                    prices[key] = Price(amount, source)
        return self.set_prices(prices)

    def restock(self, key: OfferingKey, count: int | None) -> None:
        """So many are there now; None for as many as anybody wants. The buyers find out by buying."""
        if count is None:
            self._stock.pop(key, None)
        else:
            self._stock[key] = count

    def reserve(self, reservations: Iterable[Reservation]) -> bool:
        """All reservations there are now (offerings move)."""
        self._reservations = {one.id: one for one in reservations}
        return self.set_reservations(self._reservations.values())

    def buy(self, key: OfferingKey, reservation_id: str | None = None) -> Sale:
        """Buy one, from a reservation if the key says so; `SoldOut` if there is none."""
        rows = [
            row
            for row in self._rows_for(None).get(key.instance_type, ())
            if (row.zone, row.capacity_type) == (key.zone, key.capacity_type) and row.available
        ]
        if key.capacity_type == labels.RESERVED:
            return self._buy_reserved(key, rows, reservation_id)
        left = self._stock.get(key)
        if not rows or (left is not None and left < 1):
            raise self._sold_out(key)
        if left is not None:
            self._stock[key] = left - 1
        return Sale(key, rows[0].price)

    def _buy_reserved(self, key: OfferingKey, rows: list[Offering], reservation_id: str | None) -> Sale:
        """Which reservation is decided now: the one asked for, or the roomiest of its type and zone."""
        fitting = [
            (one, row) for row in rows for one in row.reservations if one.available and reservation_id in (None, one.id)
        ]
        if not fitting:
            raise self._sold_out(key, reservation_id)
        held, row = min(fitting, key=lambda pair: (-pair[0].available, pair[0].id))
        less = replace(held, available=held.available - 1)
        if held.id in self._reservations:
            self.reserve({**self._reservations, held.id: less}.values())
        else:
            self._take_from_listing(key.instance_type, row, less)
        return Sale(key, row.price, held.id)

    def _take_from_listing(self, name: str, row: Offering, less: Reservation) -> None:
        """A reservation that came with the listing, from a user's types file: its row goes down there."""
        held = tuple(less if one.id == less.id else one for one in row.reservations)
        taken = replace(row, reservations=held, count=sum(one.available for one in held))
        rows = tuple(taken if one is row else one for one in self.listing.offerings[name])
        self.set_listing(replace(self.listing, offerings={**self.listing.offerings, name: rows}))

    def _sold_out(self, key: OfferingKey, reservation_id: str | None = None) -> SoldOut:
        self._moved(ChangeSource.SHORTAGES)
        return SoldOut(Shortage(key.instance_type, key.zone, key.capacity_type, reservation_id))
