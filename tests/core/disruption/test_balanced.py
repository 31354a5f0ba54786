"""The Balanced policy scores what a move saves against what it disturbs."""

from math import inf

from tests.core.disruption.clusters import decided, kind, member, pods, policy, said, world

from dovetail.core.disruption.balanced import Totals, score
from dovetail.core.disruption.consolidation import totals
from dovetail.core.disruption.policies import Thresholds
from dovetail.core.disruption.reasons import ConsolidationPolicy
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.scenes import settle

BALANCED = policy(policy=ConsolidationPolicy.BALANCED, thresholds=Thresholds(payback=0.0))


def test_a_score_is_the_share_saved_for_the_share_disturbed() -> None:
    found = score("pool", 25.0, 5.0, Totals(100, 10.0))
    assert found.value == 0.5
    assert found.passes


def test_saving_nothing_scores_nothing_and_disturbing_nothing_everything() -> None:
    assert score("pool", 0.0, 5.0, Totals(100, 10.0)).value == 0.0
    assert score("pool", -3.0, 5.0, Totals(100, 10.0)).value == 0.0
    assert score("pool", 3.0, 0.0, Totals(100, 10.0)).value == inf
    assert not score("pool", 3.0, 1.0, Totals(0, 10.0)).passes
    assert not score("pool", 3.0, 1.0, Totals(100, 0.0)).passes


TYPES = (kind("old", 8, 0.40), kind("new", 8, 0.33))


def test_a_small_saving_for_much_disturbance_is_rejected() -> None:
    node = member("a", "old", pods=pods("web", 15), types=TYPES)
    found = decided(node, types=TYPES, pools=[BALANCED])
    assert said(found) == []
    assert found.refusals["a"].code is Code.BALANCED
    assert "score 0.17 vs threshold 0.50" in found.refusals["a"].text
    assert said(decided(node, types=TYPES, pools=[policy(thresholds=Thresholds(payback=0.0))])) == ["replace a -> new"]


def test_a_large_saving_is_approved_with_its_score() -> None:
    found = decided(member("a", "m8", pods=pods("web", 3)), pools=[BALANCED])
    assert said(found) == ["replace a -> m2"]
    assert found.commands[0].score is not None
    assert found.commands[0].score >= 0.5


def test_a_node_that_is_only_planned_is_no_part_of_what_a_pool_costs() -> None:
    made = world(member("a", pods=pods("web", 4)), pools=[BALANCED], waiting=pods("late", cpu=3000))
    settled = settle(made)
    assert len(settled.nodes) == 2
    assert totals(made, settled, {})["pool"].nanodollars == 200_000_000


def test_empty_nodes_are_never_scored() -> None:
    assert said(decided(member("a"), member("b", pods=pods("web", 8, gib=2)), pools=[BALANCED])) == ["delete a"]
