"""The laws of the simulated day: whatever an agent does, pods stay, money adds up, and the same dice fall the same."""

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from bench.disruption_agents import Book, Ours
from bench.disruption_day import GRACE, SETTLING, START, Agent, Cluster, Nobody, Turns, lived
from bench.disruption_load import HOUR, Market, deployments, listed, pool, prices
from bench.disruption_rollout import BookDrift, rolled
from bench.report import Row, lower

from bench import bench_disruption_day, disruption_rollout
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.stages import ledger

PODS = 40


def _cluster(wobble: bool = True) -> Cluster:
    return Cluster(PoolPolicy(pool()), seed=3, wobble=wobble)


@dataclass
class Watching:
    """Lets another agent act and looks at the cluster after each of its turns."""

    agent: Agent
    rates: list[tuple[float, float]] = field(default_factory=list)

    def act(self, cluster: Cluster) -> float | None:
        wish = self.agent.act(cluster)
        held = [pod.key for one in cluster.machines.values() for pod in one.pods.values()]
        everybody = [*held, *cluster.waiting]
        assert len(everybody) == len(set(everybody)) == sum(one.replicas for one in cluster.deployments)
        assert all(min(one.cpu, one.memory, one.slots) >= 0 for one in cluster.machines.values())
        assert not any(one.pods for one in cluster.machines.values() if one.going or one.up > cluster.now)
        self.rates.append((cluster.now, cluster.rate))
        return wish


@pytest.mark.parametrize("agent", [Nobody(), Book(), Book(only_empty=True), Ours()], ids=lambda one: type(one).__name__)
def test_no_pod_is_lost_and_no_node_overfull_whoever_decides(agent: Agent):
    totals = lived(_cluster(), Watching(agent), deployments(3, PODS), hours=1.0)
    assert totals.dollars > 0


def test_the_same_dice_fall_the_same():
    first, second = (lived(_cluster(), Book(), deployments(3, PODS), hours=1.0) for _ in range(2))
    assert first == second
    assert first.removed > 0, "a life without moves shows nothing"


def test_a_bill_is_the_sum_of_what_ran():
    watching = Watching(Book())
    cluster = _cluster(wobble=False)
    totals = lived(cluster, watching, deployments(3, PODS), hours=1.0)
    seen = [(at, rate) for at, rate in watching.rates if at >= SETTLING]
    before = [rate for at, rate in watching.rates if at < SETTLING][-1]
    moments = [SETTLING, *(at for at, _ in seen), SETTLING + HOUR]
    rates = [before, *(rate for _, rate in seen)]
    spans = [late - early for early, late in pairwise(moments)]
    bill = sum(span / HOUR * rate for span, rate in zip(spans, rates, strict=True))
    assert totals.dollars == pytest.approx(bill)


def test_whoever_is_drained_waits_anew_and_the_node_is_paid_for_until_its_pods_are_gone():
    cluster = _cluster(wobble=False)
    cluster.deployments = deployments(3, PODS)
    Turns(cluster, Nobody()).until(SETTLING)
    name, one = next((name, one) for name, one in cluster.machines.items() if one.pods)
    held = len(one.pods)
    cluster.drain([name])
    assert cluster.totals.evicted == held
    assert name in cluster.machines
    cluster.pass_until(cluster.now + GRACE)
    cluster.arrive()
    assert name not in cluster.machines


def test_a_machine_takes_pods_only_when_it_is_up():
    cluster = _cluster()
    cluster.deployments = deployments(3, PODS)
    turns = Turns(cluster, Nobody())
    turns.until(START)
    assert cluster.waiting
    assert not any(one.pods for one in cluster.machines.values())
    turns.until(3 * START)
    assert not cluster.waiting, "whoever the scheduler found no place for is planned for anew"


def test_spot_prices_wander_and_on_demand_prices_stand():
    market = Market(1)
    before = prices(market.catalog)
    for _ in range(48):
        market.step()
    after = prices(market.catalog)
    moved = {key for key in before if after[key] != before[key]}
    assert {kind for _, _, kind in moved} == {"spot"}
    assert all(0.6 < after[key] / before[key] < 1.6 for key in moved)


def test_only_what_the_pool_may_buy_is_in_the_market():
    assert all(one.requirements.intersects(pool().requirements) for one in listed().types.values())
    assert len(listed()) == 12


# ---- roll-outs


@dataclass
class Counting:
    """Looks how many drifted nodes are away at once."""

    agent: Agent
    most: int = 0

    def act(self, cluster: Cluster) -> float | None:
        wish = self.agent.act(cluster)
        away = sum(one.closed or one.going for one in cluster.machines.values())
        allowed = ledger(cluster.world()).allowance(cluster.policy.name, Reason.DRIFTED)
        assert allowed
        self.most = max(self.most, away)
        return wish


@pytest.mark.parametrize("agent", [disruption_rollout.ours(), BookDrift(0.2)], ids=["ours", "book"])
def test_a_roll_out_ends_within_its_budget_and_loses_nobody(agent: Agent):
    counting = Counting(agent)
    found = rolled(counting, nodes=10)
    assert 0 < counting.most <= -(-found.nodes // 5) + 1
    assert found.evicted >= found.pods
    assert found.dollars > 0


def test_one_kind_of_day_lived_anew_keeps_the_rows_of_the_other():
    def rows(number: float) -> list[Row]:
        heads = (
            f"24 h, {number:.0f} nodes, {case.words}: evictions per dollar saved" for case in bench_disruption_day.CASES
        )
        return [
            row for head in heads for row in (lower(head, "count", number), lower("– pods evicted", "count", number))
        ]

    before, now = rows(190.0), rows(200.0)
    assert bench_disruption_day.with_others(now, before) == now
    assert bench_disruption_day.with_others(now[:2], before) == [*now[:2], *before[2:]]
    assert bench_disruption_day.with_others(now[2:], before) == [*before[:2], *now[2:]]
