"""Empty nodes are given up, the dearest first, unless somebody wants them."""

from dataclasses import replace
from math import inf

from tests.core.disruption.clusters import NOW, UP, decided, member, pods, policy, said

from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import PodFacts
from dovetail.core.disruption.reasons import ConsolidationPolicy, Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.nodeclaims import CONSOLIDATABLE


def test_every_empty_node_goes_at_once() -> None:
    found = decided(member("a"), member("b", "m8"), member("c", pods=pods("web", 8)))
    assert [line for line in said(found) if line.startswith("delete")] == ["delete a", "delete b"]
    assert {one.reason for one in found.commands} == {Reason.EMPTY}
    assert [one.saved for one in found.commands] == [400_000_000, 200_000_000], "the dearest first"


def test_a_node_with_daemons_only_is_empty() -> None:
    assert said(decided(member("a", pods=pods("agent", owner="DaemonSet")))) == ["delete a"]


def test_all_policies_give_empty_nodes_up() -> None:
    for one in ConsolidationPolicy:
        assert said(decided(member("a"), pools=[policy(policy=one)])) == ["delete a"]


def test_budgets_bound_how_many_go() -> None:
    found = decided(*(member(name) for name in "abcd"), pools=[policy(budgets=(Budget("2"),))])
    assert said(found) == ["delete a", "delete b"]
    assert found.refusals["c"].code is Code.BUDGET
    assert "budgets[0] (nodes 2) allows 2, 2 are away" in found.refusals["c"].text


def test_consolidate_after_never_keeps_it_and_says_what_that_costs() -> None:
    found = decided(member("a"), pools=[policy(consolidate_after=None)])
    assert said(found) == []
    assert found.refusals["a"].code is Code.NEVER
    assert found.refusals["a"].nanodollars == 200_000_000


def test_a_node_inside_its_window_is_left_alone_silently() -> None:
    true = tuple(one for one in UP if one != CONSOLIDATABLE)
    found = decided(member("a", true=true), pools=[policy(consolidate_after=60.0)])
    assert found.refusals["a"].code is Code.TOO_SOON
    assert found.refusals["a"].event is None


def test_a_static_pool_keeps_its_nodes() -> None:
    assert decided(member("a"), pools=[policy(pool={"replicas": 1})]).refusals["a"].code is Code.STATIC


def test_a_daemon_with_do_not_disrupt_holds_an_empty_node() -> None:
    held = decided(member("a", pods=pods("agent", owner="DaemonSet"), facts=PodFacts(held_until=inf)))
    assert held.refusals["a"].code is Code.POD_HELD
    assert held.refusals["a"].nanodollars == 200_000_000


def test_a_node_somebody_waits_for_stays() -> None:
    found = decided(member("a"), waiting=pods("web"))
    assert said(found) == []
    assert found.refusals["a"].code is Code.EXPECTED


def test_a_node_kept_free_for_a_buffer_stays_and_says_so() -> None:
    buffer = pods("buffer", 2)
    facts = {pod.key: PodFacts(virtual=True) for pod in buffer}
    found = decided(member("a"), waiting=buffer, facts=facts)
    assert found.refusals["a"].code is Code.BUFFER
    assert "2 pods of a CapacityBuffer" in found.refusals["a"].text


def test_a_pod_that_is_done_does_not_keep_a_node() -> None:
    one = member("a", pods=pods("job"))
    one.pods = tuple(replace(pod, state=type(pod.state).DONE) for pod in one.pods)
    assert said(decided(one)) == ["delete a"]


def test_commands_carry_their_time() -> None:
    assert [one.at for one in decided(member("a")).commands] == [NOW]


def test_a_pass_tells_how_many_nodes_there_are_for_each_reason() -> None:
    drifted = Condition("Drifted", Status.TRUE, "NodePoolDrifted", "NodePoolDrifted", NOW)
    both = member("d", conditions=(drifted,), pods=pods("job"))
    found = decided(member("a"), member("b"), member("c", pods=pods("web")), both)
    assert found.eligible == {Reason.EMPTY: 2, Reason.DRIFTED: 1, Reason.UNDERUTILIZED: 2}
