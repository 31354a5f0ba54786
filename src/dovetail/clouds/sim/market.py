"""The simulated cloud's market (S0.7): what is for sale, how many of it are left, and what happens when none are.

It is a `ListedMarket` with a stockroom. Stock is the market's secret, as in life: the listing says a row is for sale,
and only who tries to buy learns that it is sold out. A reservation is the exception: its count is public and goes down.
A whole zone, family or capacity type may run out at once (`run_out`), which is one shortage however many rows it names.

Who holds what is written in a ledger, by the machine's name, so that a sale is counted once whoever tells of it, comes
back when the machine is returned, and can be made good after a restart from the machines that are there (`settle`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from dovetail.clouds.kwok import generic
from dovetail.clouds.listed import ListedMarket
from dovetail.core import labels
from dovetail.core.catalog.generations import ChangeSource
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, OfferingKey
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.shortages import Shortage

_TAKE: Final = -1
_RETURN: Final = 1


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
        self._empty: dict[Shortage, None] = {}
        self._ledger: dict[str, Sale] = {}
        self._by_name: tuple[tuple[Hardware, ...], dict[str, Hardware]] = ((), {})

    @property
    def stock(self) -> Mapping[OfferingKey, int]:
        return {key: max(0, count) for key, count in self._stock.items()}

    @property
    def ledger(self) -> Mapping[str, Sale]:
        """Who holds what, by the machine's name."""
        return MappingProxyType(self._ledger)

    # ---- what moves

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

    def run_out(self, what: Shortage) -> None:
        """Everything this names is sold out from now on, until `recover`."""
        self._empty[what] = None

    def recover(self, what: Shortage) -> None:
        self._empty.pop(what, None)

    def reserve(self, reservations: Iterable[Reservation]) -> bool:
        """All reservations there are now (offerings move)."""
        self._reservations = {one.id: one for one in reservations}
        return self.set_reservations(self._reservations.values())

    # ---- buying

    def buy(self, key: OfferingKey, reservation_id: str | None = None) -> Sale:
        """Buy one, from a reservation if the key says so; `SoldOut` if there is none."""
        got = self.sell(key, reservation_id)
        if isinstance(got, Shortage):
            self.missed()
            raise SoldOut(got)
        return got

    def sell(self, key: OfferingKey, reservation_id: str | None = None, holder: str = "") -> Sale | Shortage:
        """One of these to `holder`, or what there is none of. A walk along hundreds of offerings costs a look each."""
        left = self._stock.get(key)
        if left is not None and left < 1:
            return Shortage(key.instance_type, key.zone, key.capacity_type, reservation_id)
        rows = self._rows_of(key)
        if self._empty and (broad := self._run_out(key, rows)) is not None:
            return broad
        sale = self._reserved(key, rows, reservation_id) if key.capacity_type == labels.RESERVED else None
        if sale is None:
            if not rows or key.capacity_type == labels.RESERVED:
                return Shortage(key.instance_type, key.zone, key.capacity_type, reservation_id)
            sale = Sale(key, rows[0].price)
        self._count(sale, _TAKE)
        if holder:
            self._ledger[holder] = sale
        return sale

    def missed(self) -> None:
        """A buyer went away empty-handed (offerings move)."""
        self._moved(ChangeSource.SHORTAGES)

    def _rows_of(self, key: OfferingKey) -> list[Offering]:
        return [
            row
            for row in self._rows_for(None).get(key.instance_type, ())
            if (row.zone, row.capacity_type) == (key.zone, key.capacity_type) and row.available
        ]

    def _run_out(self, key: OfferingKey, rows: list[Offering]) -> Shortage | None:
        if self._by_name[0] is not self.listing.hardware:
            self._by_name = (self.listing.hardware, {one.name: one for one in self.listing.hardware})
        hardware = self._by_name[1].get(key.instance_type)
        for what in self._empty:
            if hardware is not None and what.names_type(hardware) and any(what.names_row(row) for row in rows):
                return what
        return None

    def _reserved(self, key: OfferingKey, rows: list[Offering], reservation_id: str | None) -> Sale | None:
        """Which reservation is decided now: the one asked for, or the roomiest of its type and zone."""
        fitting = [
            (one, row) for row in rows for one in row.reservations if one.available and reservation_id in (None, one.id)
        ]
        if not fitting:
            return None
        held, row = min(fitting, key=lambda pair: (-pair[0].available, pair[0].id))
        return Sale(key, row.price, held.id)

    # ---- the ledger

    def hold(self, holder: str, sale: Sale) -> None:
        """A machine is there and holds this, whoever sold it; telling twice changes nothing."""
        if holder not in self._ledger:
            self._ledger[holder] = sale
            self._count(sale, _TAKE)

    def give_back(self, holder: str) -> None:
        """The machine is gone: what it held is there for others."""
        sale = self._ledger.pop(holder, None)
        if sale is not None:
            self._count(sale, _RETURN)

    def settle(self, holders: Mapping[str, Sale]) -> None:
        """These machines are there, and no others."""
        for holder in [one for one in self._ledger if one not in holders]:
            self.give_back(holder)
        for holder, sale in holders.items():
            self.hold(holder, sale)

    def _count(self, sale: Sale, change: int) -> None:
        """Stock may go below nothing: more machines than are sold may be there already."""
        if sale.key in self._stock:
            self._stock[sale.key] += change
        if sale.reservation_id is None:
            return
        held = self._reservations.get(sale.reservation_id)
        if held is not None:
            self.reserve({**self._reservations, held.id: _counted(held, change)}.values())
        else:
            self._count_in_listing(sale.key.instance_type, sale.reservation_id, change)

    def _count_in_listing(self, name: str, reservation_id: str, change: int) -> None:
        """A reservation that came with the listing, from a user's types file: its row is counted there."""
        known = self.listing.offerings.get(name)
        if known is None:
            return
        rows = tuple(_row_counted(row, reservation_id, change) if row.reservations else row for row in known)
        self.set_listing(replace(self.listing, offerings={**self.listing.offerings, name: rows}))


def _counted(one: Reservation, change: int) -> Reservation:
    return replace(one, available=min(one.total, max(0, one.available + change)))


def _row_counted(row: Offering, reservation_id: str, change: int) -> Offering:
    held = tuple(_counted(one, change) if one.id == reservation_id else one for one in row.reservations)
    return replace(row, reservations=held, count=sum(one.available for one in held))
