"""Single instances in memory, for controllers to be tried on: they boot, are taken away, and fail as the script says.

A fault befalls one call, before or after what the call does: after, the work is done and the answer lost, which is
where a second instance comes from in a cloud without tokens. An instance cannot be found by name for a while after it
was made, as tags of real clouds cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from decimal import Decimal

from dovetail.clouds.machines import Lost, Ordering, Sought, UserData, unrecorded
from dovetail.clouds.port import NoCapacity, NotFound
from dovetail.core.errors import BadInput
from dovetail.core.machines import prices
from dovetail.core.machines.infra_objects import Found, Purchase, Sent, State
from dovetail.core.machines.objects import Address

CREATE, FIND, DELETE, LIST, ROLL_CALL = "create", "find", "delete", "list", "roll_call"
_GONE = (State.GONE,)


@dataclass(frozen=True, slots=True)
class Fault:
    """What befalls the next call of this name. `after` does the work first and loses the answer."""

    call: str
    error: Exception
    after: bool = False


@dataclass(slots=True)
class _Instance:
    found: Found
    purchase: Purchase
    #: From when it runs, and from when it can be found by its name.
    runs: float
    visible: float
    forgotten: bool = False


@dataclass(slots=True)
class SimMachines:
    """A cloud of single instances. `now` is asked for the time; `prices` are what spot costs today."""

    cloud: str
    now: Callable[[], float]
    boot_seconds: float = 10.0
    lag_seconds: float = 0.0
    spot_prices: dict[str, str] = field(default_factory=dict)
    #: Types of which there are none.
    sold_out: set[str] = field(default_factory=set)
    #: Provider ids that lists leave out, as lists do that are behind.
    unlisted: set[str] = field(default_factory=set)
    #: With everything that was made for an instance in it: what is left after its end costs money.
    parts: dict[str, set[str]] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    _script: list[Fault] = field(default_factory=list)
    _made: dict[str, _Instance] = field(default_factory=dict)
    _count: int = 0

    def fail(self, *faults: Fault) -> None:
        self._script += faults

    # -------------------------------------------------------------------------------------------- the port

    async def create(self, purchase: Purchase, boot: UserData, ordering: Ordering = unrecorded) -> Found:
        self._befall(CREATE, purchase.name, after=False)
        known = next((one for one in self._made.values() if one.purchase.token == purchase.token), None)
        if purchase.sent is Sent.TAKEN if known is None else known.forgotten:
            raise Lost(f"the instance of {purchase.name} is gone; it is not made again")
        if known is None:
            await ordering()
            known = self._new(purchase)
        self._befall(CREATE, purchase.name, after=True)
        return self._shown(known)

    async def find(self, sought: Sought) -> Found:
        self._befall(FIND, sought.name, after=False)
        return self._shown(self._held(sought))

    async def delete(self, sought: Sought) -> None:
        self._befall(DELETE, sought.name, after=False)
        one = self._removable(sought)
        gone = one.found.state in _GONE and not self.parts.get(one.found.provider_id)
        if not gone:
            one.found = replace(one.found, state=State.GONE, said="terminated")
            self.parts.pop(one.found.provider_id, None)
        self._befall(DELETE, sought.name, after=True)
        if gone:
            raise NotFound(f"{sought.name} is gone")

    async def instances(self, cluster: str) -> tuple[Found, ...]:
        self._befall(LIST, cluster, after=False)
        mine = [one for one in self._made.values() if one.purchase.cluster == cluster and not one.forgotten]
        return tuple(found for one in mine if (found := self._shown(one)).state not in _GONE)

    async def roll_call(self, fleet: Collection[Sought]) -> frozenset[str]:
        self._befall(ROLL_CALL, str(len(fleet)), after=False)
        asked = {one.provider_id for one in fleet} - self.unlisted
        return frozenset(one.provider_id for one in self.running if one.state is State.RUNNING) & asked

    # -------------------------------------------------------------------------------------------- what befalls it

    def take_away(self, name: str, state: State = State.GONE, said: str = "terminated") -> None:
        """The cloud wants it back: gone, or stopped with its disks and its address still there."""
        for one in self._named(name):
            one.found = replace(one.found, state=state, said=said)
            if state is State.GONE:
                self.parts.pop(one.found.provider_id, None)

    def forget(self, name: str) -> None:
        """Somebody deleted it in the console, and nothing remembers it."""
        for one in self._named(name):
            one.forgotten = True
            self.parts.pop(one.found.provider_id, None)

    @property
    def running(self) -> tuple[Found, ...]:
        """What is there now, booting included."""
        shown = (self._shown(one) for one in self._made.values() if not one.forgotten)
        return tuple(one for one in shown if one.state in (State.PENDING, State.RUNNING))

    @property
    def made(self) -> int:
        """How many were ever made."""
        return self._count

    @property
    def bought(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(one.purchase.name for one in self._made.values())

    def _named(self, name: str) -> list[_Instance]:
        return [one for one in self._made.values() if one.found.name == name]

    def _befall(self, call: str, name: str, *, after: bool) -> None:
        if not after:
            self.calls.append((call, name))
        for at, fault in enumerate(self._script):
            if (fault.call, fault.after) == (call, after):
                del self._script[at]
                raise fault.error

    def _new(self, purchase: Purchase) -> _Instance:
        self._sell(purchase)
        self._count += 1
        name, zone, now = purchase.name, purchase.zone or "zone-a", self.now()
        found = Found(
            provider_id=f"{self.cloud}:///{zone}/i-{self._count:08d}",
            name=name,
            state=State.PENDING,
            said="pending",
            addresses=(Address("InternalIP", f"10.0.{self._count // 250}.{self._count % 250 + 1}"),),
            zone=zone,
            interruptible=purchase.wanted.market.is_interruptible,
            created=now,
        )
        self.parts[found.provider_id] = {"disk", "interface"}
        made = _Instance(found, purchase, now + self.boot_seconds, now + self.lag_seconds)
        self._made[found.provider_id] = made
        return made

    def _sell(self, purchase: Purchase) -> None:
        wanted = purchase.wanted
        if wanted.instance_type in self.sold_out:
            raise NoCapacity(f"there is no {wanted.instance_type} left")
        asked = self.spot_prices.get(wanted.instance_type)
        if asked is None or not wanted.market.is_interruptible:
            return
        try:
            most = prices.max_price(wanted)
        except BadInput as bad:
            raise NoCapacity(str(bad)) from None
        if most is not None and most < Decimal(asked):
            raise NoCapacity(f"maxPrice {wanted.max_price} is below the spot price {asked}")

    def _held(self, sought: Sought) -> _Instance:
        for one in self._made.values():
            moved = (one.purchase.name, one.purchase.namespace) == (sought.name, sought.namespace)
            mine = one.purchase.token == sought.token or moved
            by_id = sought.provider_id and one.found.provider_id == sought.provider_id and mine
            by_name = not sought.provider_id and one.purchase.token == sought.token and one.visible <= self.now()
            if (by_id or by_name) and not one.forgotten:
                return one
        raise NotFound(f"there is no instance {sought.provider_id or sought.name}")

    def _removable(self, sought: Sought) -> _Instance:
        """An id that somebody got wrong does not hide what was made."""
        try:
            return self._held(sought)
        except NotFound:
            return self._held(replace(sought, provider_id=""))

    def _shown(self, one: _Instance) -> Found:
        if one.found.state is State.PENDING and one.runs <= self.now():
            one.found = replace(one.found, state=State.RUNNING, said="running")
        return one.found
