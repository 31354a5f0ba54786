"""What machines of Cluster API cost as they are written, what they would cost on spot, and which may never be there.

Machines come in groups: all machines of a set are alike (R3, R4), so a group has one type and one market. Nobody
chooses a zone by price here (R7): where a group may stand in several, the dearest of them counts, so that what spot
saves is never less than what is said. A group that cannot be had as it is written, be it forbidden (R36) or bid too
low (R38), costs nothing now, and that is told apart from what it would cost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.prices import NANO, Price, dollars
from dovetail.core.errors import BadInput
from dovetail.core.machines import prices
from dovetail.core.machines.infra_objects import Wanted

QUORUM: Final = "a control plane on spot is forbidden: etcd loses its quorum when several machines go at once"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom the machines of a group belong to."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.namespace, self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Group:
    """So many machines of one kind. `zones` are those they may stand in, none where that is any of the region's;
    `problem` is why nobody can say what they cost."""

    owner: Owner
    cluster: str
    replicas: int
    template: Owner
    wanted: Wanted | None = None
    region: str = ""
    zones: tuple[str, ...] = ()
    control_plane: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Rates:
    """What one machine costs an hour, by how it is bought; None where nobody sells it so."""

    on_demand: Price | None = None
    spot: Price | None = None


UNKNOWN: Final = Rates()


class Standing(StrEnum):
    """How a group stands."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    #: A control plane on demand, where it belongs.
    KEPT = "kept"
    #: A control plane on spot: no machine of it is ever made.
    FORBIDDEN = "forbidden"
    #: On spot at a price at which there is none.
    WAITING = "waiting"
    UNPRICED = "unpriced"


@dataclass(frozen=True, slots=True)
class Bill:
    """A group, what one of its machines costs, how it stands and why. Amounts are nanodollars an hour of the whole
    group, None where a price is not known."""

    group: Group
    rates: Rates
    standing: Standing
    reason: str = ""

    @property
    def each(self) -> Price | None:
        """What one machine costs as it is written."""
        wanted = self.group.wanted
        return self.rates.spot if wanted is not None and wanted.market.is_interruptible else self.rates.on_demand

    @property
    def now(self) -> int | None:
        """What is paid for it: nothing, where nothing can be bought."""
        if self.standing in (Standing.FORBIDDEN, Standing.WAITING):
            return 0
        return self._all(self.each)

    @property
    def on_demand(self) -> int | None:
        return self._all(self.rates.on_demand)

    @property
    def on_spot(self) -> int | None:
        """On spot if that is allowed and sold, else on demand: what the cluster costs at its cheapest as it is."""
        if self.group.control_plane or self.rates.spot is None:
            return self.on_demand
        return self._all(self.rates.spot)

    @property
    def saved(self) -> int:
        """What spot saves already."""
        return self._less if self.standing is Standing.SPOT else 0

    @property
    def could_save(self) -> int:
        """What spot would save; nothing where it is forbidden, or dearer."""
        return max(0, self._less) if self.standing is Standing.ON_DEMAND else 0

    @property
    def _less(self) -> int:
        demand, spot = self._all(self.rates.on_demand), self._all(self.rates.spot)
        return 0 if demand is None or spot is None else demand - spot

    def _all(self, price: Price | None) -> int | None:
        return None if price is None else price.nanodollars * self.group.replicas


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all groups, in machines and in nanodollars an hour; groups without a price are in `unpriced` alone."""

    machines: int
    now: int
    on_demand: int
    on_spot: int
    saved: int
    could_save: int
    unpriced: int
    forbidden: int
    waiting: int


def rates(rows: Iterable[Offering], zones: Collection[str], list_price: Price | None = None) -> Rates:
    """What a type costs in these zones, or in any where none is named: the dearest counts. The list price stands in
    where no zone here has an on-demand row."""
    found: dict[str, Price] = {}
    for row in rows:
        known = row.capacity_type or ""
        if row.price is None or (zones and row.zone is not None and row.zone not in zones):
            continue
        if known not in found or found[known] < row.price:
            found[known] = row.price
    return Rates(found.get(labels.ON_DEMAND, list_price), found.get(labels.SPOT))


def bill(group: Group, known: Rates) -> Bill:
    """How a group stands."""
    if group.wanted is None or group.problem:
        return unpriced(group, group.problem)
    standing, reason = _standing(group, group.wanted, known)
    return Bill(group, known, standing, reason)


def unpriced(group: Group, why: str) -> Bill:
    """A group nobody can say the price of; a control plane on spot is forbidden at any price."""
    wanted = group.wanted
    if wanted is not None and wanted.market.is_interruptible and group.control_plane:
        return Bill(group, UNKNOWN, Standing.FORBIDDEN, QUORUM)
    return Bill(group, UNKNOWN, Standing.UNPRICED, why)


def _standing(group: Group, wanted: Wanted, known: Rates) -> tuple[Standing, str]:
    if wanted.market.is_interruptible:
        return _on_spot(group, wanted, known)
    if known.on_demand is None:
        return Standing.UNPRICED, f"no on-demand price of {wanted.instance_type} is known in {group.region}"
    if group.control_plane:
        return Standing.KEPT, QUORUM
    if known.spot is None:
        return Standing.ON_DEMAND, "is not sold on spot here"
    if known.spot.nanodollars >= known.on_demand.nanodollars:
        return Standing.ON_DEMAND, "spot costs no less"
    return Standing.ON_DEMAND, ""


def _on_spot(group: Group, wanted: Wanted, known: Rates) -> tuple[Standing, str]:
    if group.control_plane:
        return Standing.FORBIDDEN, QUORUM
    try:
        most = prices.max_price(wanted)
    except BadInput as bad:
        return Standing.WAITING, str(bad)
    if known.spot is None:
        return Standing.UNPRICED, f"no spot price of {wanted.instance_type} is known in {group.region}"
    if most is not None and most < amount(known.spot):
        return Standing.WAITING, f"maxPrice {wanted.max_price} is below the spot price {known.spot}"
    return Standing.SPOT, ""


def amount(price: Price) -> Decimal:
    """A price as exact dollars, to be held against a bid."""
    return Decimal(price.nanodollars) / NANO


def above_on_demand(wanted: Wanted, known: Rates) -> str:
    """Why a bid is higher than anybody pays, "" if it is not. One that cannot be read is told of elsewhere."""
    try:
        most = prices.max_price(wanted)
    except BadInput:
        return ""
    if not wanted.market.is_interruptible or most is None or known.on_demand is None:
        return ""
    if most <= amount(known.on_demand):
        return ""
    return f"maxPrice {wanted.max_price} is above the on-demand price, {dollars(known.on_demand.nanodollars)}"


def totals(bills: Iterable[Bill]) -> Totals:
    every = tuple(bills)

    def machines(standing: Standing) -> int:
        return sum(one.group.replicas for one in every if one.standing is standing)

    return Totals(
        machines=sum(one.group.replicas for one in every),
        now=sum(one.now or 0 for one in every),
        on_demand=sum(one.on_demand or 0 for one in every),
        on_spot=sum(one.on_spot or 0 for one in every),
        saved=sum(one.saved for one in every),
        could_save=sum(one.could_save for one in every),
        unpriced=machines(Standing.UNPRICED),
        forbidden=machines(Standing.FORBIDDEN),
        waiting=machines(Standing.WAITING),
    )
