"""Back to spot: nodes that were bought on demand because spot was short are returned when the market has recovered.

Such a node is known by what it is: on demand, though its pool and its claim would have taken spot and its type is sold
as spot; or by an annotation written when it was bought. Returning it is a consolidation like any other: it has to save
money and pay back. Two things are asked besides, so that a market that flickers is not followed at every turn: what is
bought has been there for a while (`spot_market`), and of each pool only a tenth goes in one go, with a pause after it
(`dovetail.dev/return-to-spot`, 5m; `Never` leaves such nodes where they are).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, OfferingKey
from dovetail.core.disruption import pricing
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import Machine, World
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.spot_market import Batch, Market
from dovetail.core.requirements import Requirements
from dovetail.core.scheduling.problem import Claim

#: Written on a claim when it is bought on demand because spot could not be had.
FELL_BACK: Final = "dovetail.dev/fell-back-from"
#: The share of a pool's fallback nodes, in hundredths, that is returned in one go; at least one.
RETURN_PERCENT: Final = 10


def is_fallback(machine: Machine, world: World) -> bool:
    """Whether a node was bought on demand though spot would have done."""
    claim = machine.claim
    if claim is None or machine.labels.get(labels.CAPACITY_TYPE) != labels.ON_DEMAND:
        return False
    policy = world.pools.get(claim.pool or "")
    if policy is None or not _admits_spot(policy.pool.requirements):
        return False
    if claim.meta.annotations.get(FELL_BACK) == labels.SPOT:
        return True
    catalog = world.problem.catalogs.get(policy.name)
    kind = None if catalog is None else catalog.types.get(machine.labels.get(labels.INSTANCE_TYPE, ""))
    return kind is not None and _admits_spot(claim.requirements) and _is_sold_as_spot(kind)


def _admits_spot(wanted: Requirements) -> bool:
    asked = wanted.get(labels.CAPACITY_TYPE)
    return asked is None or asked.admits(labels.SPOT)


def _is_sold_as_spot(kind: InstanceType) -> bool:
    return any(row.capacity_type == labels.SPOT for row in kind.offerings)


def steadied(
    candidates: Sequence[Candidate], replacements: tuple[Claim, ...], world: World
) -> tuple[Claim, ...] | Refusal:
    """What may be bought in place of these nodes. Claims of spot for fallback nodes keep only types to be trusted."""
    falling = [one for one in candidates if one.capacity_type == labels.ON_DEMAND and is_fallback(one.machine, world)]
    if not falling or not any(pricing.allows(claim, labels.SPOT) for claim in replacements):
        return replacements
    early = _too_early(falling, world)
    if early is not None:
        return early
    found = [_steady(claim, world) for claim in replacements]
    refusal = next((one for one in found if isinstance(one, Refusal)), None)
    return refusal or tuple(one for one in found if isinstance(one, Claim))


def _too_early(falling: Iterable[Candidate], world: World) -> Refusal | None:
    for policy in {one.pool: one.policy for one in falling}.values():
        if policy.return_seconds is None:
            return Refusal(Code.SPOT_RETURN, f"NodePool {policy.name} never returns fallback nodes to spot")
        batch = _batch(policy, world)
        if batch is not None and batch.count >= _ration(policy.name, world):
            left = policy.return_seconds - (world.now - batch.since)
            text = f"nodes of NodePool {policy.name} were returned to spot lately; the next follow in {left:.0f} s"
            return Refusal(Code.SPOT_RETURN, text)
    return None


def _batch(policy: PoolPolicy, world: World) -> Batch | None:
    """What was returned in the pause that is not over yet."""
    found = world.market.returned.get(policy.name)
    return found if found is not None and world.now - found.since < (policy.return_seconds or 0.0) else None


def _steady(claim: Claim, world: World) -> Claim | Refusal:
    if not world.market.back or not pricing.allows(claim, labels.SPOT):
        return claim
    kept = [kind for kind in claim.types if _is_steady(kind, claim, world)]
    if len(kept) == len(claim.types):
        return claim
    found = pricing.narrowed(claim, kept, labels.SPOT) if kept else None
    if found is None:
        return Refusal(Code.SPOT_RETURN, "spot of these types was short lately; it is not trusted yet")
    return pricing.short_of(found, found.types) or found


def _is_steady(kind: InstanceType, claim: Claim, world: World) -> bool:
    rows = [row for row in kind.rows_for(claim.requirements) if row.capacity_type == labels.SPOT]
    keys = [OfferingKey(kind.name, row.zone, labels.SPOT) for row in rows]
    return not keys or any(world.market.is_steady(key, world.now) for key in keys)


# ---- a part at a time


def returned_of(command: Command, world: World) -> tuple[Candidate, ...]:
    """The fallback nodes a command replaces by spot."""
    if not any(pricing.allows(claim, labels.SPOT) for claim in command.replacements):
        return ()
    return tuple(one for one in command.candidates if is_fallback(one.machine, world))


def rationed(commands: Sequence[Command], world: World) -> tuple[tuple[Command, ...], dict[str, Refusal]]:
    """Those of a pass's commands that may be started, and why the others wait: a part of each pool at a time."""
    left: dict[str, int] = {}
    kept: list[Command] = []
    refusals: dict[str, Refusal] = {}
    for command in commands:
        policies = [one.policy for one in returned_of(command, world) if one.policy.return_seconds]
        for policy in policies:
            if policy.name not in left:
                batch = _batch(policy, world)
                left[policy.name] = _ration(policy.name, world) - (0 if batch is None else batch.count)
        if any(left[one.name] <= 0 for one in policies):
            refusal = Refusal(Code.SPOT_RETURN, "others of its pool are returned to spot now", (), command.saved)
            refusals.update(dict.fromkeys(command.names, refusal))
            continue
        for policy in policies:
            left[policy.name] -= 1
        kept.append(command)
    return tuple(kept), refusals


def _ration(pool: str, world: World) -> int:
    mine = (one for one in world.machines.values() if one.claim is not None and one.claim.pool == pool)
    count = sum(is_fallback(one, world) for one in mine)
    return max(1, -(-count * RETURN_PERCENT // 100))


def noted(market: Market, command: Command, world: World) -> Market:
    """The memory after a command was started."""
    returned = dict(market.returned)
    for one in returned_of(command, world):
        known = returned.get(one.pool)
        current = known is not None and world.now - known.since < (one.policy.return_seconds or 0.0)
        returned[one.pool] = replace(known, count=known.count + 1) if known and current else Batch(world.now, 1)
    return replace(market, returned=MappingProxyType(returned)) if returned != market.returned else market


def outlook(world: World) -> object:
    """All of the market's memory that a judgement rests on: while it is equal, judgements stay as they are."""
    unsteady = frozenset(key for key in world.market.back if not world.market.is_steady(key, world.now))
    return unsteady, {name: batch for name, one in world.pools.items() if (batch := _batch(one, world)) is not None}


def wakes(world: World) -> float | None:
    """When more may be returned, by the pauses and by what has come back; None where nothing waits for that."""
    found = [world.market.next_steady(world.now)]
    for policy in world.pools.values():
        batch = _batch(policy, world)
        found.append(None if batch is None else batch.since + (policy.return_seconds or 0.0))
    return min((one for one in found if one is not None), default=None)
