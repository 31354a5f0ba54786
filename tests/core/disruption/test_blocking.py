"""What it would take: the pods that keep a node and what they cost."""

from math import inf

from tests.core.disruption.clusters import decided, member, pods, said

from dovetail.core.disruption.blocking import summed
from dovetail.core.disruption.facts import PodBudget, PodFacts
from dovetail.core.disruption.refusals import Code, Refusal, counted, listed
from dovetail.core.requirements import Requirements, is_in


def test_held_pods_are_named_with_what_the_node_is_worth_without_them() -> None:
    facts = {
        "default/db-0": PodFacts(budgets=(PodBudget("db", 0),)),
        "default/batch-0": PodFacts(held_until=inf),
    }
    held = member("a", pods=[*pods("db"), *pods("batch"), *pods("web")], facts=facts)
    found = decided(held, member("b", pods=pods("other", 5)))
    refusal = found.refusals["a"]
    assert set(refusal.pods) == {"default/db-0", "default/batch-0"}
    assert refusal.text == (
        "2 pods: pod default/batch-0 has do-not-disrupt, pod default/db-0 is held by PodDisruptionBudget db, "
        "0 disruptions left; without them this node is worth $0.2/h"
    )
    assert refusal.nanodollars == 200_000_000
    free = decided(member("a", pods=held.pods), member("b", pods=pods("other", 5)))
    assert "delete a" in said(free), "and it is true"


def test_held_pods_cost_nothing_where_the_node_would_stay_anyway() -> None:
    one = member("a", pods=pods("db", 8, gib=2), facts=PodFacts(budgets=(PodBudget("db", 0),)))
    refusal = decided(one).refusals["a"]
    assert refusal.code is Code.POD_BUDGET
    assert refusal.nanodollars == 0
    assert "besides, can't replace with a cheaper node" in refusal.text


def test_a_pod_that_fits_nowhere_else_is_named() -> None:
    picky = pods("gpu", selector=Requirements([is_in("example.com/gpu", "yes")]))
    one = member("a", pods=[*picky, *pods("web")], labels={"example.com/gpu": "yes"})
    refusal = decided(one, member("b", pods=pods("other", 5))).refusals["a"]
    assert refusal.code is Code.NO_PLACE
    assert refusal.pods == ("default/gpu-0",)
    assert refusal.nanodollars == 200_000_000
    assert "without 1 pod (default/gpu-0) this node is worth $0.2/h" in refusal.text


def test_only_the_pods_that_need_a_new_machine_are_in_the_way() -> None:
    one = member("a", pods=[*pods("big", 1, cpu=3000, gib=8), *pods("web")])
    refusal = decided(one, member("b", pods=pods("other", 5))).refusals["a"]
    assert refusal.code is Code.NOT_CHEAPER
    assert refusal.pods == ("default/big-0",)


def test_dollars_are_summed_by_cause_the_dearest_first() -> None:
    cheap, dear = Refusal(Code.NEVER, "x", nanodollars=5), Refusal(Code.POD_HELD, "x", nanodollars=9)
    some = [cheap, dear, Refusal(Code.NEVER, "y")]
    assert [str(one) for one in summed(some)] == [
        "PodDoNotDisrupt: 1 node, $0.000000009/h",
        "ConsolidateAfterNever: 2 nodes, $0.000000005/h",
    ]


def test_every_node_is_either_chosen_or_answered() -> None:
    fleet = [member(f"n{number}", pods=pods(f"on-{number}", number % 9)) for number in range(12)]
    found = decided(*fleet)
    chosen = {name for one in found.commands for name in one.names}
    assert chosen.isdisjoint(found.refusals)
    assert {one.node.name for one in fleet} == chosen | set(found.refusals)


def test_names_are_listed_short() -> None:
    assert listed("abc") == "a, b, c"
    assert listed("abcde") == "a, b, c and 2 more"
    assert counted(1, "node") == "1 node"
