"""What was given up and had to be bought again, and how far the next saving is believed.

A payback is a promise: so much an hour, for as long as it takes. Where load comes and goes the promise is often broken.
A node is given up, a few minutes later pods wait, and one like it is bought; pods were evicted, and what was saved is
less than it cost. Nobody can tell from the cluster as it is whether it will grow in a moment, but whether it did after
the last time is known. So it is asked of the past:

- A machine that is bought for pods that wait, while what was given up in its pool has not paid back yet, is a *regret*.
- A saving in that pool is then counted on for a sixteenth of the time since, not for its whole payback. What pays
  back within seconds, as giving up a node with a pod or two does, goes on soon; what takes minutes waits for hours.
- Large pools buy all the time. So many regrets as one percent of its nodes make one.

A pool without regrets, as every pool is at first, is believed. They are remembered by the loop and not written down:
after a restart the first is learnt anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dovetail.core.disruption.policies import PoolPolicy

if TYPE_CHECKING:
    from dovetail.core.disruption.facts import World

#: Seconds without a regret, for each that a saving is counted on.
DOUBT: Final = 16
#: The least that a saving is counted on. Beliefs grow by doubling, so that conclusions do not change all the time.
LEAST_SECONDS: Final = 15.0
#: A regret for so many nodes of a pool.
NODES: Final = 100
#: So many are remembered: those of a pool of ten thousand nodes.
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Regrets:
    """By pool: when nodes were last given up to save money, and when machines were bought back, the newest last."""

    moved: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    bought: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def after_move(self, pools: Iterable[str], now: float) -> Regrets:
        return Regrets({**self.moved, **dict.fromkeys(pools, now)}, self.bought)

    def after_purchase(self, policy: PoolPolicy, now: float) -> Regrets:
        """A machine was bought for pods that wait: a regret if its pool gave up another within its payback."""
        moved = self.moved.get(policy.name)
        if moved is None or now - moved >= policy.thresholds.payback:
            return self
        times = (*self.bought.get(policy.name, ()), now)[-_MOST:]
        return Regrets(self.moved, {**self.bought, policy.name: times})

    def last(self, pool: str, nodes: int) -> float | None:
        """Since when a pool of so many nodes has been without; None where it had none, or too few to count."""
        times = self.bought.get(pool, ())
        enough = min(max(1, nodes // NODES), _MOST)
        return times[-enough] if len(times) >= enough else None


NO_REGRETS: Final = Regrets()


def horizons(world: World) -> Mapping[str, float]:
    """For how many seconds a saving is counted on, of the pools where that is less than their payback."""
    return {one.pool: min(one.step, one.payback) for one in _doubts(world)}


def wakes(world: World) -> float | None:
    """When a pool is believed more than now, though nothing happens."""
    times = (one.since + DOUBT * min(one.step * 2, one.payback) for one in _doubts(world))
    return min((one for one in times if one > world.now), default=None)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A pool that is not believed for its whole payback: since when it has been without a regret, and how far it is."""

    pool: str
    payback: float
    since: float
    step: float


def _doubts(world: World) -> Iterator[_Doubt]:
    recent = {
        name: policy.thresholds.payback
        for name, times in world.regrets.bought.items()
        if (policy := world.pools.get(name)) is not None and _believed(times[-1], world) < policy.thresholds.payback
    }
    counts = Counter(one.claim.pool for one in world.machines.values() if one.claim is not None) if recent else {}
    for name, payback in recent.items():
        since = world.regrets.last(name, counts.get(name, 0))
        if since is not None and (believed := _believed(since, world)) < payback:
            yield _Doubt(name, payback, since, _step(believed))


def _believed(since: float, world: World) -> float:
    return max(0.0, world.now - since) / DOUBT


def _step(seconds: float) -> float:
    """The largest of 15 s, 30 s, 1 min, … that is not more than this, and 15 s at the least."""
    step = LEAST_SECONDS
    while step * 2 <= seconds:
        step *= 2
    return step
