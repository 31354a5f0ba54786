"""A roll-out in virtual time: two hundred nodes have drifted at once, a fifth may be away.

Both sides have the cluster and the laws of the simulated day, with load that stands still. Ours decides as many moves
as budgets allow in a pass. By the book a pass of drift starts one move, for the first candidate whose pods all find a
place, and the next pass follows at once; a candidate whose pods would land on a node that is still coming up waits, and
so does, for twenty seconds, a node that pods were just sent to. Its passes take as long as the peer's own simulation
took for one node of a cluster of that size, measured in the same run; ours take as long as ours did.
"""

from dataclasses import dataclass, field
from typing import Final

from bench import disruption_load
from bench.disruption_agents import POLL, Ours
from bench.disruption_day import SETTLING, Agent, Cluster, Totals, Turns
from bench.disruption_load import HOUR
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.stages import ledger
from dovetail.core.scheduling.problem import Plan
from dovetail.core.scheduling.solve import solve

NODES: Final = 200
BUDGET: Final = "20%"
NOMINATED: Final = 20.0
_STEP: Final = 10.0
_PATIENCE: Final = 48 * HOUR


@dataclass(frozen=True, slots=True)
class Rolled:
    """What a roll-out came to. `seconds` until the last drifted node was gone."""

    seconds: float
    nodes: int
    evicted: int
    pods: int
    #: Above what the cluster would have cost anyway.
    dollars: float


def rolled(agent: Agent, nodes: int = NODES, seed: int = 1) -> Rolled:
    """Settle a cluster of so many nodes, let all of them drift, and see how long the last of them stays."""
    policy = PoolPolicy(disruption_load.pool(), consolidate_after=None, budgets=(Budget(BUDGET),))
    cluster = Cluster(policy, seed=seed, wobble=False)
    cluster.deployments = _steady(seed, nodes)
    Turns(cluster, _Nobody()).until(SETTLING)
    old = frozenset(cluster.machines)
    for one in cluster.machines.values():
        one.drifted = True
    pods = sum(len(one.pods) for one in cluster.machines.values())
    cluster.totals, rate = Totals(), cluster.rate
    turns, end = Turns(cluster, agent), SETTLING
    while not old.isdisjoint(cluster.machines):
        end += _STEP
        assert end < SETTLING + _PATIENCE, f"{len(old & cluster.machines.keys())} drifted nodes stay for ever"
        turns.until(end)
    seconds = end - SETTLING
    extra = cluster.totals.dollars - rate * seconds / HOUR
    return Rolled(seconds, len(old), cluster.totals.evicted, pods, extra)


class _Nobody:
    def act(self, cluster: Cluster) -> float | None:
        return None


def _steady(seed: int, nodes: int) -> list[disruption_load.Deployment]:
    """Load that stands still, and fills about so many nodes of eight cores."""
    found = disruption_load.deployments(seed, nodes * 7)
    for one in found:
        one.depth = one.noise = 0.0
    return found


def ours() -> Agent:
    return Ours()


@dataclass(slots=True)
class BookDrift:
    """The peer's drift. `seconds` is what one simulation takes it."""

    seconds: float = 0.0
    started: int = 0
    _under_way: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    _nominated: dict[str, float] = field(default_factory=dict)
    _again: float = 0.0
    _seen: int = -1

    def act(self, cluster: Cluster) -> float | None:
        for name, claims in list(self._under_way):
            if all(one in cluster.machines and cluster.machines[one].up <= cluster.now for one in claims):
                self._under_way.remove((name, claims))
                cluster.drain([name])
        while cluster.now >= self._again:
            found, asked = self._first(cluster)
            self._again = cluster.now + asked * self.seconds + (0.0 if found else POLL)
            if not self.seconds and found:
                continue
        return self._again

    def _first(self, cluster: Cluster) -> tuple[bool, int]:
        """Start the first that can go; how many were asked about."""
        taken = {name for name, _ in self._under_way}
        world = cluster.world()
        left = ledger(world).remaining(cluster.policy.name, Reason.DRIFTED) - len(taken)
        if left <= 0:
            return False, 0
        drifted = [one for one in cluster.machines.values() if one.drifted and not one.going and one.name not in taken]
        drifted.sort(key=lambda one: (bool(one.pods), one.name))
        asked = 0
        for one in drifted:
            if self._nominated.get(one.name, 0.0) > cluster.now:
                continue
            asked += 1
            problem = world.problem
            snapshot = problem.snapshot.without(one.name, *taken)
            plan = solve(type(problem)(snapshot, problem.catalogs, problem.options), cluster.shelf)
            if self._fits(plan, one.name, cluster):
                self._start(plan, one.name, cluster)
                return True, asked
        return False, asked

    def _fits(self, plan: Plan, name: str, cluster: Cluster) -> bool:
        """Whether all its pods find a place that is up already, or one that is bought for them."""
        if any(pod.node == name for one in plan.refused for pod in one.pods):
            return False
        coming = (one for one in plan.placed if cluster.machines[one.node.name].up > cluster.now)
        return not any(pod.node == name for one in coming for pod in one.pods)

    def _start(self, plan: Plan, name: str, cluster: Cluster) -> None:
        cluster.close([name])
        bought = tuple(cluster.buy(claim).name for claim in plan.claims)
        for one in plan.placed:
            self._nominated[one.node.name] = cluster.now + NOMINATED
        self._under_way.append((name, bought))
        self.started += 1
