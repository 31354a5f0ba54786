"""Fleets bought: equal ones of claims that come together in one call, and none twice.

What keeps it from buying twice, whoever dies when:

    an answer is lost            the same call with the same client token is the same fleet; the client makes it again,
                                 and if that does not help its claims are in doubt: looked for before they are bought
    this process dies            the next one asks for the same claim with the same token and is given the same machine
    … and the order has changed  EC2 refuses the token for another request, and the machine is found by its tags
    … after a fleet for many     the machines' tags name the claims; the next process deals out what is undealt
    describes are behind         the token was used and the machine is not seen yet: asked again, not bought again
    an answer has gaps           a machine was sold, and it is not said where: its claim is in doubt

A token counts how often its claim has had a final answer, since EC2 repeats a failure as faithfully as a success.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws import fleet as fleets
from dovetail.clouds.aws.batching import FLEETS, Batcher, Window
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.dealing import Deals
from dovetail.clouds.aws.described import Machine
from dovetail.clouds.aws.errors import TOKEN_MISMATCH, code_of
from dovetail.clouds.aws.fleet import Bought, Fleet, Miss
from dovetail.clouds.aws.instances import Instances
from dovetail.clouds.aws.intervals import Intervals
from dovetail.clouds.port import CloudError, Unavailable
from dovetail.core.nodeclaims import NodeClaim

#: A used token whose machine nobody sees is given up after so long: EC2's describes are behind by less.
UNSEEN_SECONDS: Final = 120.0
#: The call may take its time, and be made again within it; on top of that a batch is collected.
PATIENCE: Final = calls.FLEET_SECONDS + 10.0


@dataclass(frozen=True, slots=True)
class Habits:
    """How fleets are bought. `batched` is told the size of a batch and how long it was collected; `polled` is how often
    EC2 is asked for the free addresses of subnets."""

    cluster: str
    window: Window = FLEETS
    now: Callable[[], float] = time.time
    batched: Callable[[int, float], None] = lambda size, seconds: None
    polled: float = Intervals().subnets


@dataclass(frozen=True, slots=True)
class Sale:
    """A claim's share of a fleet: a machine, or None, and the pools that had none."""

    bought: Bought | Machine | None
    missed: tuple[Miss, ...] = ()


@dataclass(frozen=True, slots=True)
class _Key:
    """Wishes with the same key are one call; a claim that must not be mixed with others names itself."""

    fleet: Fleet
    alone: str = ""


class Sales:
    """Where fleets are asked for."""

    def __init__(self, aws: Aws, instances: Instances, deals: Deals, habits: Habits) -> None:
        self._aws, self._instances, self._deals, self._habits = aws, instances, deals, habits
        self._answered: dict[str, int] = {}
        self._unseen_since: dict[str, float] = {}
        self._batches: Batcher[_Key, NodeClaim, Sale] = Batcher(self._sold, habits.window, habits.batched)

    async def close(self) -> None:
        await self._batches.close()

    async def buy(self, fleet: Fleet, claim: NodeClaim) -> Sale:
        """One machine of this fleet's pools. A claim that may have been bought for a moment ago goes alone: only then
        is its token the one that was used."""
        young = self._habits.now() - claim.meta.created < UNSEEN_SECONDS
        alone = claim.name if young and self._deals.is_doubtful(claim.name) else ""
        return await self._batches.add(_Key(fleet, alone), claim, PATIENCE)

    def ended(self, name: str) -> None:
        """Nobody will ask for this claim again."""
        self._answered.pop(name, None)
        self._unseen_since.pop(name, None)

    # ---- within

    async def _sold(self, key: _Key, claims: Sequence[NodeClaim]) -> Sequence[Sale | CloudError]:
        room = tags.room_for_claims(dict(key.fleet.tags))
        parts = list(_parts(sorted(claims, key=lambda one: one.name), room))
        answers = await asyncio.gather(*(self._part(key.fleet, part) for part in parts))
        by_name = {claim.name: sale for part, sales in zip(parts, answers, strict=True)
                   for claim, sale in zip(part, sales, strict=True)}  # fmt: skip
        return [by_name[one.name] for one in claims]

    async def _part(self, fleet: Fleet, claims: Sequence[NodeClaim]) -> Sequence[Sale | CloudError]:
        """One call, and what each claim has of it."""
        names = [one.name for one in claims]
        token = fleets.token_of(self._habits.cluster, {_id(one): self._answered.get(one.name, 0) for one in claims})
        try:
            answer = await self._aws.ask(calls.CREATE_FLEET, **fleets.request(fleet, names, token))
        except CloudError as failed:
            if code_of(failed) == TOKEN_MISMATCH:
                return await self._found_again(claims)
            if isinstance(failed, Unavailable):
                for one in claims:
                    self._deals.doubt(one.name)
            return [failed] * len(claims)
        found = fleets.outcome(fleet, answer)
        sales: list[Sale | CloudError] = [Sale(one, found.missed) for one in found.bought[: len(claims)]]
        for one in claims[len(sales) : len(sales) + len(found.unplaced)]:
            self._deals.doubt(one.name)
            sales.append(Unavailable(f"EC2 sold a machine for {one.name} and does not say where; it is looked for"))
        for left in claims[len(sales) :]:
            self._answered[left.name] = self._answered.get(left.name, 0) + 1
            sales.append(Sale(None, found.missed))
        return sales

    async def _found_again(self, claims: Sequence[NodeClaim]) -> Sequence[Sale | CloudError]:
        now = self._habits.now()
        try:
            machines = await self._instances.ours()
        except CloudError as failed:
            return [failed] * len(claims)
        sales: list[Sale | CloudError] = []
        for claim in claims:
            one = self._deals.free_for(claim.name, machines)
            if one is not None:
                self._deals.deal(claim.name, one)
                sales.append(Sale(one))
                continue
            since = self._unseen_since.setdefault(claim.name, now)
            if now - since > UNSEEN_SECONDS:
                self._answered[claim.name] = self._answered.get(claim.name, 0) + 1
                del self._unseen_since[claim.name]
            sales.append(Unavailable(f"EC2 was asked for a machine for {claim.name} before, and does not show it yet"))
        return sales


def _id(claim: NodeClaim) -> str:
    return f"{claim.name}/{claim.meta.uid}"


def _parts(claims: Sequence[NodeClaim], room: int) -> Iterator[Sequence[NodeClaim]]:
    """So few at a time that their names fit into the tags that are left."""
    if len(claims) > 1 and len(tags.of_claims([one.name for one in claims])) > room:
        half = len(claims) // 2
        yield from _parts(claims[:half], room)
        yield from _parts(claims[half:], room)
    else:
        yield claims
