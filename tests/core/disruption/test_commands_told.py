"""What a command says of itself, and how one large what-if falls apart."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from tests.core.disruption.clusters import decided, member, pods, world

from dovetail.core.disruption.commands import Command, split
from dovetail.core.disruption.reasons import ConsolidationPolicy, Reason
from dovetail.core.disruption.refusals import Code, Refusal, lasting
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.scheduling.problem import Plan
from dovetail.core.scheduling.solve import solve


def saving() -> Command:
    (command,) = decided(member("a", pods=pods("web", 2)), member("b", pods=pods("db", 5))).commands
    return command


def test_only_what_saves_money_is_of_a_kind_of_consolidation_and_of_a_policy() -> None:
    one = saving()
    both = replace(one, candidates=one.candidates * 2)
    assert (one.consolidation_type, both.consolidation_type) == ("single", "multi")
    assert one.policy is ConsolidationPolicy.WHEN_UNDERUTILIZED
    empty, drifted = replace(one, reason=Reason.EMPTY), replace(one, reason=Reason.DRIFTED)
    assert (empty.consolidation_type, drifted.consolidation_type) == ("empty", "")
    assert (empty.policy, drifted.policy) == (None, None)


def test_a_command_says_what_it_saves_and_how_soon_if_it_costs_anything_and_pays() -> None:
    one = replace(saving(), saved=200_000_000, payback=120.0)
    plain = "saves $0.2 an hour and evicts 2 pods"
    assert one.sentence == f"{plain}; pays back in 2 min"
    assert replace(one, payback=0.0).sentence == plain
    assert replace(one, payback=inf).sentence == plain


def test_what_happens_to_a_node_names_how_many_replace_it() -> None:
    one = saving()
    bought = decided(member("a", "m8", pods=pods("web", 3))).commands[0]
    assert one.of_node("a") == "delete: [a]"
    assert bought.of_node("a") == "replace: [a] -> [1 replacement]"
    assert replace(one, templates=2).of_node("a") == "delete: [a] -> [2 replacements]"
    assert replace(one, candidates=one.candidates * 2).of_node("a") == "delete: [a] (part of 2-node consolidation)"


@pytest.mark.parametrize(
    ("seconds", "told"), [(59.0, "59 s"), (60.0, "1 min"), (35_999_999.0, "600000 min"), (inf, "never")]
)
def test_a_time_is_told_as_one_says_it(seconds: float, told: str) -> None:
    assert lasting(seconds) == told


def test_a_refusal_reads_as_its_sentence_and_one_of_the_cluster_is_repeated_sooner() -> None:
    blocked, unpaid = Refusal(Code.BUDGET, "no budget"), Refusal(Code.NOT_CHEAPER, "too dear")
    assert f"{blocked}" == "no budget"
    assert blocked.quiet_seconds < unpaid.quiet_seconds


def test_the_event_of_a_refusal_has_the_words_people_look_for_and_which_pods_it_is_about() -> None:
    plain = Refusal(Code.BUDGET, "no budget")
    assert plain.message == "No budget"
    assert replace(plain, said="No b").message == "No budget"
    assert replace(plain, said="Budget blocks").message == "Budget blocks"
    assert replace(plain, said="Budget blocks", pods=("default/a",)).message == "Budget blocks; no budget"


def test_pods_without_a_place_belong_to_the_part_of_their_own_node() -> None:
    picky = pods("gpu", selector=Requirements([is_in("example.com/gpu", "yes")]))
    nodes = (member("a", pods=picky), member("b", pods=pods("db", 2)))
    problem = world(*nodes).problem
    moved = replace(problem, snapshot=problem.snapshot.without("a", "b"))
    parts = split(solve(moved), ("b", "a"))
    assert [(one.names, [pod.key for pod in one.refused]) for one in parts] == [
        (("a",), ["default/gpu-0"]),
        (("b",), []),
    ]


def test_pods_that_are_somebody_elses_belong_to_no_part() -> None:
    nodes = (member("a", pods=pods("web", 3)), member("b", pods=pods("db", 3)))
    problem = world(*nodes, waiting=pods("new", 2, cpu=16_000)).problem
    plan: Plan = solve(replace(problem, snapshot=problem.snapshot.without("a", "b")))
    theirs = {pod.key for one in nodes for pod in one.pods}
    parts = split(plan, ("a", "b"))
    assert {pod.key for part in parts for one in part.placed for pod in one.pods} <= theirs
    assert all(any(pod.key in theirs for pod in claim.pods) for part in parts for claim in part.claims)
    assert len(plan.claims) > sum(len(part.claims) for part in parts)
