"""What happened before, as far as anybody remembers: from notes on claims at first, and by itself from then on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from dovetail.controllers.disruption import ordering
from dovetail.core.catalog.layers import Catalog
from dovetail.core.disruption import consolidation, recalling, returning, spot_market
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import Machine, World
from dovetail.core.disruption.history import NO_HISTORY, Attempt, Attempts, History, attempted
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.recalling import Note
from dovetail.core.disruption.regrets import NO_REGRETS, Regrets
from dovetail.core.disruption.spot_market import NO_MARKET, Market
from dovetail.core.nodeclaims import NodeClaim


@dataclass(slots=True)
class Memory:
    history: History = NO_HISTORY
    market: Market = NO_MARKET
    attempts: Attempts = field(default_factory=dict)
    regrets: Regrets = NO_REGRETS
    #: The claims there were at the last look; None before the first.
    _claims: frozenset[str] | None = None
    _recalled: bool = False

    def recall(self, world: World) -> World:
        """What processes before this one wrote down; the world with it. Only the first world has anything to tell."""
        if self._recalled:
            return world
        self._recalled = True
        claims = tuple(one.claim for one in world.machines.values() if one.claim is not None)
        self._read(claims, world)
        return replace(world, history=self.history, market=self.market, attempts=self.attempts)

    def _read(self, claims: Iterable[NodeClaim], world: World) -> None:
        every = tuple(claims)
        notes = recalling.notes(every)
        pauses = {name: one.return_seconds or 0.0 for name, one in world.pools.items()}
        back = {key: since for key, since in recalling.back_of(world).items() if key not in self.market.short}
        returned = recalling.returned_of(notes, pauses, world.now)
        self.history = recalling.history_of(notes, world.now)
        self.attempts = recalling.attempts_of(every)
        self.market = replace(self.market, back=MappingProxyType(back), returned=MappingProxyType(returned))

    def looked(self, catalogs: Mapping[str, Catalog], now: float) -> Market:
        """The spot market as it is remembered after a look at what can be bought."""
        self.market = spot_market.watched(self.market, catalogs, now)
        return self.market

    def counted(self, machines: Iterable[Machine], pools: Mapping[str, PoolPolicy], now: float) -> Regrets:
        """What had to be bought again, after a look at what there is: claims that replace nothing are for pods that
        waited. What was there at the first look says nothing."""
        claims = {one.claim.name: one.claim for one in machines if one.claim is not None}
        before, self._claims = self._claims, frozenset(claims)
        for name in () if before is None else claims.keys() - before:
            policy = pools.get(claims[name].pool or "")
            if policy is not None and not ordering.replaced_by(claims[name]):
                self.regrets = self.regrets.after_purchase(policy, now)
        return self.regrets

    def started(self, command: Command, world: World) -> str:
        """A command was started: what is to be written on the machines it buys, "" for nothing."""
        if command.reason is Reason.UNDERUTILIZED:
            self.regrets = self.regrets.after_move(command.pools, world.now)
        move = consolidation.memory(command, world)
        if move is not None:
            self.history = self.history.after(move)
        self.market = returning.noted(self.market, command, world)
        if move is None:
            return ""
        return recalling.written(Note(move, Counter(one.pool for one in returning.returned_of(command, world))))

    def came_up(self, pool: str, ok: bool, now: float) -> None:
        """A replacement of a pool did, or did not."""
        self.attempts = attempted(self.attempts, pool, Attempt(now, ok))
