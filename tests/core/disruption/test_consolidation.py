"""Consolidation: nodes that can go, nodes that can be had cheaper, and the rules a move has to pass (S4.5)."""

from dataclasses import replace

import pytest
from tests.core.disruption.clusters import (
    NOW,
    UP,
    Member,
    decided,
    kind,
    member,
    pods,
    policy,
    said,
)

from dovetail.core import labels
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.policies import Thresholds
from dovetail.core.disruption.reasons import ConsolidationPolicy, Decision, Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.nodeclaims import CONSOLIDATABLE
from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.requirements import Requirement, is_in


def full(name: str, of: str = "m4", **more: object) -> Member:
    """A node with no room left."""
    cpus = {"m2": 2, "m4": 4, "m8": 8}[of]
    return member(name, of, pods=pods(f"on-{name}", cpus * 2, gib=2), **more)


def test_a_node_whose_pods_fit_elsewhere_goes() -> None:
    found = decided(member("a", pods=pods("web", 2)), member("b", pods=pods("db", 5)))
    assert said(found) == ["delete a"]
    (command,) = found.commands
    assert command.reason is Reason.UNDERUTILIZED
    assert command.saved == 200_000_000
    assert {placed.node.name for placed in command.group.placed} == {"b"}


def test_a_node_that_could_be_smaller_is_replaced() -> None:
    found = decided(member("a", "m8", pods=pods("web", 3)))
    assert said(found) == ["replace a -> m2"]
    (command,) = found.commands
    assert [one.name for one in command.replacements[0].types] == ["m2", "m4"], "only what is surely cheaper"


def test_a_dear_node_goes_rather_than_cheap_ones_that_would_need_its_room() -> None:
    cheap = [member(name, "m2", pods=pods(f"on-{name}", cpu=300)) for name in "ab"]
    assert said(decided(*cheap, member("c", "m8", pods=pods("db", cpu=1500)))) == ["delete c"]


def test_several_nodes_become_one() -> None:
    found = decided(member("a", pods=pods("web", 4)), member("b", pods=pods("db", 3)), member("c", pods=pods("job", 3)))
    assert sum(one.saved for one in found.commands) >= 200_000_000
    gone = {name for one in found.commands for name in one.names}
    assert gone
    bought = [claim for one in found.commands for claim in one.replacements]
    assert len(bought) < len(gone)


def test_several_nodes_may_become_fewer_others() -> None:
    """Two and a half nodes' worth of pods on four dear ones: no single machine of the catalog takes all of them."""
    types = (kind("dear", 4, 0.5), kind("cheap", 4, 0.2))
    found = decided(*(member(name, "dear", pods=pods(f"on-{name}", 5), types=types) for name in "abcd"), types=types)
    bought = [claim for one in found.commands for claim in one.replacements]
    gone = [name for one in found.commands for name in one.names]
    assert sorted(gone) == ["a", "b", "c", "d"]
    assert 1 < len(bought) < 4
    assert {claim.choice.instance_type.name for claim in bought} == {"cheap"}


def test_nodes_that_are_full_and_well_priced_stay_and_say_why() -> None:
    found = decided(full("a"), full("b"))
    assert said(found) == []
    assert {one.code for one in found.refusals.values()} == {Code.NOT_CHEAPER}
    assert found.refusals["a"].event == "Unconsolidatable"


def test_policies_and_windows_keep_nodes_out() -> None:
    one = member("a", "m8", pods=pods("web", 2))
    assert decided(one, pools=[policy(consolidate_after=None)]).refusals["a"].code is Code.NEVER
    only_empty = policy(policy=ConsolidationPolicy.WHEN_EMPTY)
    assert decided(one, pools=[only_empty]).refusals["a"].code is Code.ONLY_EMPTY
    assert decided(one, pools=[policy(pool={"replicas": 1})]).refusals["a"].code is Code.STATIC
    soon = member("a", "m8", pods=pods("web", 2), true=tuple(each for each in UP if each != CONSOLIDATABLE))
    assert decided(soon).refusals["a"].code is Code.TOO_SOON


def test_labels_that_are_missing_prevent_consolidation_only() -> None:
    for key, code in ((labels.CAPACITY_TYPE, Code.NO_CAPACITY_TYPE), (labels.ZONE, Code.NO_ZONE)):
        one = member("a", "m8", pods=pods("web", 2), labels={key: ""})
        assert decided(one).refusals["a"].code is code
    assert decided(member("a", "odd", pods=pods("web", 2))).refusals["a"].code is Code.UNKNOWN_TYPE


def test_nobody_is_moved_to_a_node_inside_its_own_window() -> None:
    window = policy(consolidate_after=600.0)
    settling = member("b", pods=pods("db", 5), last_pod_event=NOW - 60, true=UP[:-1])
    assert said(decided(full("a", "m2"), settling, pools=[window])) == []
    settled = member("b", pods=pods("db", 4), last_pod_event=NOW - 700)
    assert said(decided(full("a", "m2"), settled, pools=[window])) == ["delete a"]


def test_nobody_is_moved_to_a_node_that_has_not_come_up() -> None:
    coming = member("b", true=UP[:2])
    assert said(decided(full("a", "m2"), coming)) == []


def test_room_that_waiting_pods_will_take_is_not_given_away() -> None:
    found = decided(full("a", "m2"), member("b", pods=pods("db", 4)), waiting=pods("new", 3))
    assert said(found) == []
    assert said(decided(full("a", "m2"), member("b", pods=pods("db", 4)))) == ["delete a"]


def test_budgets_bound_consolidation_and_are_named() -> None:
    fleet = [member(name, "m8", pods=pods(f"on-{name}", 15)) for name in "ab"]
    spare = [member(f"x{name}", pods=pods(f"small-{name}", 1)) for name in "abcd"]
    found = decided(*fleet, *spare, pools=[policy(budgets=(Budget("1"),))])
    assert len([name for one in found.commands for name in one.names]) == 1
    assert Code.BUDGET in {one.code for one in found.refusals.values()}


def test_a_pool_without_allowance_stands_still() -> None:
    found = decided(member("a", "m8", pods=pods("web", 2)), pools=[policy(budgets=(Budget("0"),))])
    assert found.commands == ()
    assert found.refusals["a"].code is Code.BUDGET
    assert found.refusals["a"].nanodollars == 300_000_000


def test_a_broken_budget_stops_its_own_pool_only() -> None:
    broken = policy("bad", budgets=(Budget("10%", schedule="nonsense", duration=60.0),))
    found = decided(
        member("a", "m8", pods=pods("web", 2), pool="bad"),
        member("b", "m8", pods=pods("db", 14)),
        member("c", pool="pool"),
        pools=[broken, policy()],
    )
    assert "delete c" in said(found)
    assert "budgets[0] allows nothing as it cannot be read" in found.refusals["a"].text


def test_the_same_type_is_not_bought_again_for_several_nodes_one_of_which_has_it() -> None:
    """Giving up the other one is the better move."""
    found = decided(member("a", pods=pods("web", 3)), member("b", "m2", pods=pods("db", 3)))
    for one in found.commands:
        held = {candidate.kind.instance_type for candidate in one.candidates}
        for claim in one.replacements:
            same = held & {each.name for each in claim.types}
            assert len(one.candidates) == 1 or not same


def test_a_claim_open_to_spot_and_on_demand_is_pinned_to_spot() -> None:
    types = (kind("m2", 2, 0.1, spot=0.03), kind("m8", 8, 0.4, spot=0.12))
    found = decided(member("a", "m8", pods=pods("web", 2), types=types), types=types)
    (claim,) = found.commands[0].replacements
    assert claim.requirements.value(labels.CAPACITY_TYPE) == labels.SPOT


def test_min_values_that_the_price_filter_breaks_forbid_the_move_S4_5() -> None:
    strict = policy("pool", is_in(labels.INSTANCE_TYPE, "m2", "m4", "m8", "m16", min_values=3))
    found = decided(member("a", "m8", pods=pods("web", 3)), pools=[strict])
    assert said(found) == []
    assert found.refusals["a"].code is Code.MIN_VALUES
    assert "minValues of node.kubernetes.io/instance-type is 3, and only 2 are left" in found.refusals["a"].text


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (is_in(labels.ZONE, "z1", "z2", min_values=2), f"minValues of {labels.ZONE} is 2, and only 1 are left"),
        (is_in(labels.ARCH, "amd64", "arm64", min_values=2), f"minValues of {labels.ARCH} is 2, and only 1 are left"),
    ],
    ids=["zones", "architectures"],
)
def test_a_node_is_not_given_up_for_one_of_fewer_zones_or_labels_than_its_pool_asks_for_S4_5(
    wanted: Requirement, told: str
) -> None:
    """Even where claims are planned with less."""
    types = (kind("m2", 2, 0.1, zones="z1"), kind("m8", 8, 0.4))
    lenient = policy("pool", wanted, pool={"min_values_policy": MinValuesPolicy.BEST_EFFORT})
    found = decided(member("a", "m8", pods=pods("web", 3), types=types), types=types, pools=[lenient])
    assert found.refusals["a"].code is Code.MIN_VALUES
    assert told in found.refusals["a"].text


# ---- thresholds


def test_a_move_that_does_not_pay_back_in_time_is_not_made_and_says_so() -> None:
    types = (kind("old", 4, 0.2), kind("new", 4, 0.19))
    node = member("a", "old", pods=pods("web", 7), types=types)
    found = decided(node, types=types)
    assert said(found) == []
    refusal = found.refusals["a"]
    assert refusal.code is Code.PAYBACK
    assert "allows 30 min" in refusal.text
    assert refusal.nanodollars == 10_000_000
    off = policy(thresholds=Thresholds(payback=0.0))
    assert said(decided(node, types=types, pools=[off])) == ["replace a -> new"]


def test_a_pool_may_ask_for_a_least_saving() -> None:
    node = member("a", "m4", pods=pods("web", 2))
    dear = policy(thresholds=Thresholds(least_nanodollars=150_000_000))
    assert decided(node, pools=[dear]).refusals["a"].code is Code.LITTLE
    assert said(decided(node)) == ["replace a -> m2"]


# ---- commands as text


def test_a_command_reads_as_the_peers_does() -> None:
    (command,) = decided(member("a", "m8", pods=pods("web", 3))).commands
    assert str(command) == "Underutilized/replace: nodepools=[pool]: [a] -> [1 replacement] (savings: $0.30/h)"
    assert command.sentence == "saves $0.3 an hour and evicts 3 pods; pays back in 55 s"
    assert command.consolidation_type == "single"
    two: Command = replace(command, candidates=command.candidates * 2, decision=Decision.DELETE)
    assert two.consolidation_type == "multi"


def test_the_same_world_is_decided_the_same_way_whatever_order_it_arrives_in() -> None:
    fleet = [member(f"n{number}", pods=pods(f"on-{number}", 1 + number % 5)) for number in range(8)]
    assert said(decided(*fleet)) == said(decided(*reversed(fleet)))
