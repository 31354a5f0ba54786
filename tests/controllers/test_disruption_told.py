"""§3.10, §5.3, §5.4: what is told and counted of disruption, in the words dashboards and people look for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf

from tests.core.disruption.clusters import decided, member, pods, policy, world

from dovetail.controllers.disruption.telling import Teller
from dovetail.core.disruption import passes
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import PodBudget, PodFacts
from dovetail.core.disruption.policies import Thresholds
from dovetail.core.disruption.reasons import ConsolidationPolicy
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.validation import Again
from dovetail.core.effects import Count, Observe, Say

BALANCED = policy(policy=ConsolidationPolicy.BALANCED, thresholds=Thresholds(payback=0.0))


class Heard:
    def __init__(self) -> None:
        self.said, self.counted, self.observed = list[Say](), list[Count](), list[Observe]()

    def say(self, event: Say) -> None:
        self.said.append(event)

    def count(self, one: Count) -> None:
        self.counted.append(one)

    def observe(self, one: Observe) -> None:
        self.observed.append(one)

    def of(self, reason: str) -> Counter[tuple[str, str]]:
        return Counter((one.about.kind, one.message) for one in self.said if one.reason == reason)


def test_a_move_that_is_made_counts_as_approved_and_tells_its_score():
    heard = Heard()
    (command,) = decided(member("a", "m8", pods=pods("web", 3)), pools=[BALANCED]).commands
    Teller(heard).started(command)
    moved = {"decision": "approved", "nodepool": "pool", "policy": "Balanced"}
    assert [one.labels for one in heard.counted if one.metric == "consolidation_moves_total"] == [moved]
    assert [one.labels for one in heard.observed if one.metric == "consolidation_score"] == [moved]
    (text,) = {text for _, text in heard.of("ConsolidationApproved")}
    assert ">= threshold 0.50 (k: 2, savings" in text
    saved = f"Consolidation candidate: replace: [a] -> [1 replacement] (savings: ${command.saved / 1e9:.2f})"
    assert set(heard.of("ConsolidationCandidate")) == {("Node", saved), ("NodeClaim", saved)}


def test_a_move_that_balanced_rejects_is_counted():
    heard = Heard()
    now = world(member("a"), pools=[BALANCED])
    refused = Refusal(Code.BALANCED, "Balanced: score 0.17")
    Teller(heard).passed(now, replace(passes.decide(now), refusals={"a": refused}, method_refusals={}), 0.1)
    labels = {"decision": "rejected", "nodepool": "pool", "policy": "Balanced"}
    assert [one.labels for one in heard.counted if one.metric == "consolidation_moves_total"] == [labels]


def test_a_command_given_up_at_the_second_look_says_which_and_why():
    heard = Heard()
    (command,) = decided(member("a", "m8", pods=pods("web", 3))).commands
    refused = Refusal(Code.BUDGET, "NodePool pool lets no more nodes go now")
    Teller(heard).judged_again(command, Again((), ((("a",), refused),)))
    (text,) = {text for _, text in heard.of("ConsolidationRejected")}
    assert text.startswith("Consolidation rejected: replace: [a] -> [1 replacement], reason: budget (savings: $")


def test_node_and_claim_are_each_told_that_they_go():
    heard = Heard()
    (command,) = decided(member("a")).commands
    Teller(heard).drained(command, "a", command.candidates[0].claim)
    told = {kind: text.partition(";")[0] for kind, text in heard.of("DisruptionTerminating")}
    assert told == {"Node": "Disrupting Node: Empty", "NodeClaim": "Disrupting NodeClaim: Empty"}


def test_events_about_replacements_are_found_by_their_uid():
    heard = Heard()
    (command,) = decided(member("a", "m8", pods=pods("web", 3))).commands
    Teller(heard, claim_uid=lambda name: f"{name}-uid").waiting(command, "pool-x")
    assert [one.about.uid for one in heard.said] == ["pool-x-uid"]


def test_what_each_method_took_is_told_by_its_reason_and_all_of_it_is_the_pass():
    heard, ticks = Heard(), iter(range(100))
    now = world(member("a", pods=pods("web")))
    Teller(heard).passed(now, passes.decide(now, clock=lambda: float(next(ticks))), 12.0)
    name = "voluntary_disruption_decision_evaluation_duration_seconds"
    told = {(one.labels["reason"], one.labels["consolidation_type"]): one.value for one in heard.observed}
    assert {one.metric for one in heard.observed} == {name}
    once = {("empty", "empty"): 1.0, ("expired", ""): 1.0, ("underutilized", ""): 1.0}
    assert told == {("drifted", ""): 2.0, ("all", ""): 7.0, **once}, "drift is two methods"


def test_a_pool_whose_budget_lets_nobody_go_says_so_for_each_reason():
    heard = Heard()
    now = world(member("a"), pools=[policy(budgets=(Budget("0"),))])
    teller = Teller(heard)
    teller.passed(now, passes.decide(now), 0.1)
    told = {text.partition(":")[0] for kind, text in heard.of("DisruptionBlocked") if kind == "NodePool"}
    assert "No allowed disruptions for disruption reason Drifted due to blocking budget" in told
    before = len(heard.said)
    teller.passed(now, passes.decide(now), 0.1)
    assert len(heard.said) == before


def blocked(facts: PodFacts) -> set[str]:
    heard, now = Heard(), world(member("a", pods=pods("web"), facts=facts))
    Teller(heard).passed(now, passes.decide(now), 0.1)
    return {text.partition(";")[0] for kind, text in heard.of("DisruptionBlocked") if kind == "Node"}


def test_what_pods_have_against_it_is_told_in_the_peers_words():
    one, two = PodBudget("one", 0), PodBudget("two", 1)
    assert blocked(PodFacts(held_until=inf)) == {'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/web-0)'}
    assert blocked(PodFacts(budgets=(one,))) == {"Pdb prevents pod evictions (PodDisruptionBudget=[default/one])"}
    assert blocked(PodFacts(budgets=(one, two))) == {
        "Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[default/one default/two])"
    }


def test_a_node_that_asks_to_be_left_alone_is_told_in_the_peers_words():
    heard, now = Heard(), world(member("a", annotations={"karpenter.sh/do-not-disrupt": "true"}))
    Teller(heard).passed(now, passes.decide(now), 0.1)
    text = 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation'
    assert set(heard.of("DisruptionBlocked")) == {("Node", text), ("NodeClaim", text)}
