"""Roll-outs: a pool whose nodes have drifted is renewed wave by wave, and stops by itself when that goes wrong.

Nothing is remembered that cannot be seen. Nodes that say Drifted are *old*; nodes that do not and came since the drift
began are *fresh*: they carry the template's present hash while the old ones carry another, or they were made after the
first of the old ones drifted. So a restart finds a roll-out where it was.

    old ── left ──▶ going ──▶ (gone)
    fresh ── coming ──▶ up (counted as done) │ failed: not initialized in time, or not ready any more

It stops when the pool says that its machines do not come up (NodeRegistrationHealthy), or when two of its last four
replacements failed; it goes on when they have recovered, or nobody has heard of a failure for an hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from dovetail.core import conditions, labels
from dovetail.core.disruption import costs, waves
from dovetail.core.disruption.budgets import Standing
from dovetail.core.disruption.facts import Machine, World
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal, listed, money
from dovetail.core.disruption.stages import is_away, standings
from dovetail.core.disruption.timelines import allowed
from dovetail.core.nodeclaims import DRIFTED, INITIALIZED, POOL_HASH, NodeClaim

#: Of so many last replacements, so many that failed stop a roll-out.
LOOKED_AT, FAILURES = 4, 2
#: A fresh node that is not initialized after so long has failed.
LATE_SECONDS: Final = 900.0
#: What a node did is believed for so long.
MEMORY_SECONDS: Final = 3600.0
#: Drift is noticed node by node: a node this much older than the first that drifted may still be its replacement.
_SLACK_SECONDS: Final = 600.0
#: A forecast looks at no more steps than this.
_STEPS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Fleet:
    """The nodes of one pool as its roll-out sees them, each list in the order of names."""

    left: tuple[Machine, ...] = ()
    going: tuple[Machine, ...] = ()
    up: tuple[Machine, ...] = ()
    coming: tuple[Machine, ...] = ()
    failed: tuple[Machine, ...] = ()

    @property
    def total(self) -> int:
        return len(self.left) + len(self.going) + len(self.up)

    @property
    def up_since(self) -> list[float]:
        return sorted(_up_since(one) for one in self.up)


@dataclass(frozen=True, slots=True)
class Gate:
    """How many more nodes a roll-out may start now, and why no more than that."""

    room: int
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Rollout:
    """How far a roll-out is. Money is in nanodollars, for all of it; `eta_seconds` is None where nobody can say.

    `wave` counts from 0 and is `waves` once all of them are over. `stopped_because` is "" while it goes on.
    """

    pool: str
    total: int = 0
    done: int = 0
    going: int = 0
    wave: int = 0
    waves: int = 0
    eta_seconds: float | None = None
    double_running: int = 0
    stopped_because: str = ""
    failed: tuple[str, ...] = ()

    @property
    def left(self) -> int:
        return self.total - self.done - self.going

    def __str__(self) -> str:
        text = f"NodePool {self.pool}: {self.done} of {self.total} nodes renewed, {self.going} under way"
        if self.wave < self.waves:
            text += f", wave {self.wave + 1} of {self.waves}"
        if self.stopped_because:
            return f"{text}; stopped: {self.stopped_because}"
        if self.eta_seconds is not None:
            text += f"; done in about {self.eta_seconds / 60:.0f} min"
        return f"{text}; old and new side by side cost {money(self.double_running)}"


# ---- what can be seen


def fleet(world: World, policy: PoolPolicy) -> Fleet:
    """The pool's nodes, sorted out; empty where nothing has drifted."""
    mine = (one for one in world.machines.values() if one.claim is not None and one.claim.pool == policy.name)
    some = sorted(mine, key=lambda one: one.name)
    old = [one for one in some if one.claim is not None and one.claim.is_true(DRIFTED)]
    if not old:
        return Fleet()
    began = min((_drifted_since(one) for one in old), default=inf) - _SLACK_SECONDS
    hashes = {_hash(one) for one in old}
    fresh = [one for one in some if _is_fresh(one, began, hashes, policy.template_hash) and not is_away(one, world)]
    states = {one.name: _state(one, world.now) for one in fresh}
    return Fleet(
        tuple(one for one in old if not is_away(one, world)),
        tuple(one for one in old if is_away(one, world)),
        tuple(one for one in fresh if states[one.name] is True),
        tuple(one for one in fresh if states[one.name] is None),
        tuple(one for one in fresh if states[one.name] is False),
    )


def _is_fresh(one: Machine, began: float, old_hashes: set[str], template_hash: str) -> bool:
    claim = _claim(one)
    if claim.is_true(DRIFTED):
        return False
    renewed = bool(template_hash) and _hash(one) == template_hash and template_hash not in old_hashes
    return renewed or claim.meta.created >= began


def _state(one: Machine, now: float) -> bool | None:
    """Whether a fresh node is up; None while it is coming."""
    if one.is_initialized:
        return one.node is not None and one.node.is_ready
    return None if now - _claim(one).meta.created <= LATE_SECONDS else False


def _claim(one: Machine) -> NodeClaim:
    assert one.claim is not None
    return one.claim


def _hash(one: Machine) -> str:
    return _claim(one).meta.annotations.get(POOL_HASH, "")


def _since(one: Machine, type_: str) -> float:
    found = conditions.found(_claim(one).conditions, type_)
    return 0.0 if found is None else found.since


def _drifted_since(one: Machine) -> float:
    return _since(one, DRIFTED)


def _up_since(one: Machine) -> float:
    return _since(one, INITIALIZED)


# ---- whether it goes on


def stopped(world: World, policy: PoolPolicy, seen: Fleet) -> Refusal | None:
    """Why nothing more of a pool is replaced: what came in its place does not become ready."""
    if policy.healthy is False:
        text = f"the last machines of NodePool {policy.name} did not come up: replacing more of it waits"
        return Refusal(Code.UNHEALTHY_POOL, text)
    known = [(_claim(one).meta.created, True) for one in seen.up]
    known += [(_claim(one).meta.created, False) for one in seen.failed]
    recent = [one for one in world.attempts.get(policy.name, ()) if world.now - one.at < MEMORY_SECONDS]
    # What came up can be seen, and is not counted twice; what failed is gone by now.
    known += [(one.at, one.ok) for one in recent if not (one.ok and seen.up)]
    last = sorted(known)[-LOOKED_AT:]
    bad = sum(not ok for _, ok in last)
    if bad < FAILURES:
        return None
    names = f" ({listed(one.name for one in seen.failed)})" if seen.failed else ""
    text = f"{bad} of the last {len(last)} replacements in NodePool {policy.name} did not become ready{names}"
    return Refusal(Code.UNHEALTHY_POOL, f"{text}: replacing more of it waits")


def gate(world: World, policy: PoolPolicy) -> Gate:
    """How many more drifted nodes of a pool may be started now, whatever its budgets say."""
    seen = fleet(world, policy)
    refusal = stopped(world, policy, seen)
    if refusal is not None:
        return Gate(0, refusal)
    plan = waves.with_canary(policy.canary, policy.waves)
    stand = plan.stand(seen.total, seen.up_since, world.now)
    # One that is up counts though what it replaces may still be going, and one that is coming though nobody may know
    # any more what for: a wave never holds more than its goal.
    room = max(0, stand.goal - len(seen.up) - max(len(seen.going), len(seen.coming)))
    return Gate(room, _waiting(policy, stand, seen))


def _waiting(policy: PoolPolicy, stand: waves.Stand, seen: Fleet) -> Refusal:
    if stand.soaks_until is not None:
        text = f"NodePool {policy.name} has renewed {len(seen.up)} and looks on until the next wave"
    elif stand.wave == 0 and policy.canary:
        text = f"NodePool {policy.name} replaces {policy.canary} first and waits until they are up"
    else:
        text = f"NodePool {policy.name} replaces up to {stand.goal} of {seen.total} in this wave and waits until they "
        text += "are up"
    return Refusal(Code.CANARY, text)


def wakes(world: World) -> float | None:
    """When a wave has been looked at for long enough, or a failure is forgotten; None where nothing waits for that."""
    found: list[float] = [
        one.at + MEMORY_SECONDS
        for some in world.attempts.values()
        for one in some
        if one.at + MEMORY_SECONDS > world.now
    ]
    for policy in world.pools.values():
        plan = waves.with_canary(policy.canary, policy.waves)
        if any(one.soak for one in plan.waves):
            seen = fleet(world, policy)
            until = plan.stand(seen.total, seen.up_since, world.now).soaks_until
            found += [] if until is None else [until]
    return min(found, default=None)


# ---- how far it is


def progress(world: World, pool: str) -> Rollout:
    """How far a roll-out is, when it will be done, and what it costs to run old and new side by side."""
    policy = world.pools[pool]
    seen = fleet(world, policy)
    plan = waves.with_canary(policy.canary, policy.waves)
    stand = plan.stand(seen.total, seen.up_since, world.now)
    refusal = stopped(world, policy, seen) if seen.left else None
    each = replacing_seconds(world, seen.up)
    paid = (*seen.left, *seen.going, *seen.up)
    standing = standings(world).get(pool, Standing())
    return Rollout(
        pool,
        seen.total,
        len(seen.up),
        len(seen.going),
        stand.wave,
        len(plan.waves),
        None if refusal is not None else _forecast(world, policy, seen, standing, each),
        round(sum(_price(one, world, pool) for one in paid) * each / 3600),
        "" if refusal is None else refusal.text,
        tuple(one.name for one in seen.failed),
    )


def replacing_seconds(world: World, up: Sequence[Machine]) -> float:
    """How long a replacement takes: from its order until it is up as measured, and until the old node is empty."""
    measured = [_up_since(one) - _claim(one).meta.created for one in up]
    known = sorted(one for one in measured if one > 0)
    start = known[len(known) // 2] if known else world.charges.start_seconds + world.charges.daemon_seconds
    return max(1.0, start + world.charges.restart_seconds)


def _price(one: Machine, world: World, pool: str) -> int:
    catalog = world.problem.catalogs.get(pool)
    kind = None if catalog is None else catalog.types.get(one.labels.get(labels.INSTANCE_TYPE, ""))
    row = costs.row_of(kind, one.labels)
    return 0 if row is None or row.price is None else row.price.nanodollars


def _forecast(world: World, policy: PoolPolicy, seen: Fleet, standing: Standing, each: float) -> float | None:
    """Play the rest of it: as many at a time as budgets, windows and waves allow, each taking as long as the last."""
    plan = waves.with_canary(policy.canary, policy.waves)
    now, up, left = world.now, seen.up_since, len(seen.left) + len(seen.going)
    # Who is away for another reason stays away, as far as anybody can tell.
    others = max(0, standing.consumed(Reason.DRIFTED) - len(seen.going))
    for _ in range(_STEPS):
        if not left:
            return now - world.now
        may = allowed(policy, Reason.DRIFTED, standing.nodes, now)
        stand = plan.stand(seen.total, up, now)
        some = min(left, may.count - others, stand.goal - len(up))
        if some > 0:
            now, left = now + each, left - some
            up += [now] * some
            continue
        later = stand.soaks_until if may.count > others else may.changes
        if later is None:
            return None
        now = later
    return None


def of_all(world: World) -> Mapping[str, Rollout]:
    """Every pool of which something has drifted."""
    pools = {one.claim.pool for one in world.machines.values() if one.claim is not None and one.claim.is_true(DRIFTED)}
    return {name: progress(world, name) for name in sorted(world.pools) if name in pools}
