"""Who may be disrupted at all: every rule, in its order, and the pods that hold a node."""

from dataclasses import replace
from math import inf

import pytest
from tests.core.disruption.clusters import NOW, Member, member, pods, world

from dovetail.core import labels
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption import candidates
from dovetail.core.disruption.candidates import REPAIR_RULES, Looked, look
from dovetail.core.disruption.facts import PodBudget, PodFacts
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.scenes import settle
from dovetail.core.disruption.stages import is_away
from dovetail.core.nodeclaims import LAUNCHED, REBOOTING, REGISTERED
from dovetail.core.pods import PodState


def looked(one: Member, repair: bool = False, **more: object) -> Looked:
    made = world(one, **more)
    return look(made, settle(made), REPAIR_RULES if repair else candidates.RULES)


def refusal(one: Member, repair: bool = False) -> Code | None:
    found = looked(one, repair).refusals
    return found[one.machine.name].code if found else None


def deleting(one: Member) -> Member:
    claim = one.machine.claim
    assert claim is not None
    return one.but(claim=replace(claim, meta=replace(claim.meta, deleting=NOW)))


REBOOTS = (Condition(REBOOTING, Status.TRUE, "RebootIssued"),)

CASES = [
    (member("a").but(claim=None), Code.UNMANAGED),
    (member("a").but(node=None), Code.NO_NODE),
    (member("a", conditions=REBOOTS), Code.REBOOTING),
    (deleting(member("a")), Code.DELETING),
    (member("a", marked=True), Code.DELETING),
    (member("a", true=(LAUNCHED,)), Code.NOT_REGISTERED),
    (member("a", true=(LAUNCHED, REGISTERED)), Code.NOT_INITIALIZED),
    (member("a", nominated=True), Code.NOMINATED),
    (member("a", annotations={"karpenter.sh/do-not-disrupt": "true"}), Code.NODE_HELD),
    (member("a", labels={labels.NODEPOOL: ""}), Code.NO_POOL),
    (member("a", labels={labels.NODEPOOL: "gone"}), Code.POOL_NOT_FOUND),
    (member("a"), None),
    (member("a", annotations={"karpenter.sh/do-not-disrupt": "1h"}), None),
]


@pytest.mark.parametrize(("one", "code"), CASES, ids=[f"{number}-{code}" for number, (_, code) in enumerate(CASES)])
def test_each_rule_refuses_what_it_is_about(one: Member, code: Code | None) -> None:
    assert refusal(one) == code


def test_rebooting_is_said_before_deleting_and_that_before_not_initialized() -> None:
    both = deleting(member("a", conditions=REBOOTS, true=(LAUNCHED, REGISTERED)))
    assert refusal(both) is Code.REBOOTING
    assert refusal(deleting(member("a", true=(LAUNCHED, REGISTERED)))) is Code.DELETING


def test_repair_looks_at_nodes_that_never_came_up_and_passes_do_not_disrupt() -> None:
    assert refusal(member("a", true=(LAUNCHED, REGISTERED), nominated=True), repair=True) is None
    assert refusal(member("a", annotations={"karpenter.sh/do-not-disrupt": "true"}), repair=True) is None
    assert refusal(member("a", nominated=True), repair=True) is Code.NOMINATED
    assert refusal(member("a", labels={labels.NODEPOOL: ""}), repair=True) is Code.STANDALONE


# ---- pods


def held(facts: PodFacts, owner: str = "ReplicaSet", state: PodState = PodState.BOUND) -> list[tuple[Code, str]]:
    one = member("a", pods=pods("db", owner=owner), facts=facts)
    one.pods = tuple(replace(pod, state=state) for pod in one.pods)
    return [(found.code, found.text) for found in looked(one).candidates["a"].held]


def test_do_not_disrupt_holds_until_its_time_is_over() -> None:
    assert held(PodFacts(held_until=inf)) == [(Code.POD_HELD, "pod default/db-0 has do-not-disrupt")]
    assert held(PodFacts(held_until=NOW + 60))[0][1].endswith("until 2027-01-15T08:01:00Z")
    assert held(PodFacts(held_until=NOW - 1)) == []


@pytest.mark.parametrize("owner", ["DaemonSet", "Node"])
def test_daemons_and_mirrors_can_hold_a_node_by_do_not_disrupt(owner: str) -> None:
    assert [code for code, _ in held(PodFacts(held_until=inf), owner)] == [Code.POD_HELD]


def test_a_pod_that_is_going_holds_nothing() -> None:
    assert held(PodFacts(held_until=inf), state=PodState.GOING) == []


def test_a_budget_without_disruptions_left_holds_and_is_named() -> None:
    assert held(PodFacts(budgets=(PodBudget("db", 0),))) == [
        (Code.POD_BUDGET, "pod default/db-0 is held by PodDisruptionBudget db, 0 disruptions left")
    ]
    assert held(PodFacts(budgets=(PodBudget("db", 1),))) == []


def test_a_budget_that_can_never_be_met_holds_even_if_some_are_left_today() -> None:
    assert held(PodFacts(budgets=(PodBudget("db", 1, never=True),)))[0][1].endswith("which never lets one go")


def test_two_budgets_on_one_pod_hold_outright() -> None:
    two = PodFacts(budgets=(PodBudget("db", 5), PodBudget("all", 5)))
    assert held(two)[0][0] is Code.POD_BUDGETS


def test_a_pod_that_is_not_ready_is_free_where_its_budget_says_so() -> None:
    assert held(PodFacts(budgets=(PodBudget("db", 0, frees_unready=True),), ready=False)) == []
    assert held(PodFacts(budgets=(PodBudget("db", 0, frees_unready=True),), ready=True)) != []


def test_a_pod_nobody_evicts_is_not_held_by_a_budget() -> None:
    assert held(PodFacts(budgets=(PodBudget("db", 0),), tolerates=True)) == []
    assert held(PodFacts(budgets=(PodBudget("db", 0),)), owner="Node") == []


def test_a_grace_period_passes_holding_pods_for_drift_but_never_for_saving() -> None:
    one = member("a", pods=pods("db"), facts=PodFacts(held_until=inf), grace=60.0)
    found = looked(one).candidates["a"]
    assert found.holds(Reason.DRIFTED) == ()
    assert found.holds(Reason.UNDERUTILIZED) == found.held != ()
    assert found.holds(Reason.EMPTY) != ()


def test_a_machine_that_a_snapshot_does_not_show_is_no_candidate() -> None:
    one = member("a")
    made = world(one)
    unseen = replace(made, problem=replace(made.problem, snapshot=replace(made.problem.snapshot, nodes=())))
    assert look(unseen, settle(unseen)).refusals["a"].code is Code.NO_NODE


def test_before_there_is_a_node_its_claim_speaks_for_a_machine() -> None:
    one = member("a", annotations={"of": "node"}, claim_annotations={"of": "claim"}).machine
    before = replace(one, node=None)
    assert (one.annotations["of"], before.annotations["of"]) == ("node", "claim")
    assert before.labels[labels.HOSTNAME] == "a"
    assert (replace(before, claim=None).annotations, replace(before, claim=None).labels) == ({}, {})


def test_a_node_that_goes_in_any_way_is_away() -> None:
    one = member("a")
    assert not is_away(one.machine, world(one))
    node = one.machine.node
    assert node is not None
    leaving = one.but(node=replace(node, meta=replace(node.meta, deleting=NOW)))
    for away in (deleting(one), leaving, one.but(marked=True), member("a", conditions=REBOOTS)):
        assert is_away(away.machine, world(away))
