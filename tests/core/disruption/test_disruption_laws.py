"""Laws that hold of every pass over every cluster."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.disruption.clusters import NOW
from tests.core.disruption.random_clusters import cluster

from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.passes import Decided, decide
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.scenes import is_closed
from dovetail.core.disruption.stages import ledger
from dovetail.core.disruption.validation import judge_again
from dovetail.core.pods import Pod
from dovetail.core.scheduling.check import Violation, check
from dovetail.core.scheduling.problem import Choice, Claim, Placed, Plan

seeds = st.integers(0, 10**6)
LAWS = settings(max_examples=50, deadline=None)


def names(found: Decided) -> list[str]:
    return [name for one in found.commands for name in one.names]


@given(seeds)
@LAWS
def test_no_budget_is_ever_exceeded(seed: int) -> None:
    made = cluster(seed)
    book = ledger(made)
    for one in decide(made).commands:
        for candidate in one.candidates:
            exempt = one.why == "overdue" or not candidate.machine.is_initialized
            if not exempt:
                assert book.remaining(candidate.pool, one.reason) > 0, f"{one} of {seed}"
            if candidate.machine.is_initialized:
                book.take(candidate.pool)


@given(seeds)
@LAWS
def test_no_two_commands_want_the_same_node_and_none_sends_pods_where_another_goes(seed: int) -> None:
    found = decide(cluster(seed))
    gone = names(found)
    assert len(gone) == len(set(gone))
    receiving = {placed.node.name for one in found.commands for placed in one.group.placed}
    assert receiving.isdisjoint(gone)


@given(seeds)
@LAWS
def test_every_pod_that_is_moved_has_a_place_when_all_commands_are_carried_out(seed: int) -> None:
    """Judged by the checker, which knows nothing of how the commands came about."""
    made = cluster(seed, repair=False)
    found = [one for one in decide(made).commands if one.reason is not Reason.EXPIRED or one.why != "overdue"]
    assert violations(made, found) == ()


def violations(made: World, commands: list[Command]) -> tuple[Violation, ...]:
    gone = [name for one in commands for name in one.names]
    problem = replace(made.problem, snapshot=made.problem.snapshot.without(*gone))
    claims = [_as_listed(claim, made) for one in commands for claim in one.replacements]
    by_node: dict[str, list[Pod]] = {}
    for one in commands:
        assert not one.group.refused
        for placed in one.group.placed:
            by_node.setdefault(placed.node.name, []).extend(placed.pods)
    nodes = {node.name: node for node in problem.snapshot.nodes}
    plan = Plan(
        tuple(replace(claim, name=f"new-{number}") for number, claim in enumerate(claims)),
        tuple(Placed(nodes[name], tuple(some)) for name, some in sorted(by_node.items())),
    )
    return check(problem, plan)


def _as_listed(claim: Claim, made: World) -> Claim:
    """A claim with the types of the catalog: one planned beside others knew that these take some of a reservation."""
    types = made.problem.catalogs[claim.pool.name].types
    chosen = types[claim.choice.instance_type.name]
    place = (claim.choice.offering.zone, claim.choice.offering.capacity_type)
    row = next(row for row in chosen.offerings if (row.zone, row.capacity_type) == place)
    return replace(claim, types=tuple(types[one.name] for one in claim.types), choice=Choice(chosen, row))


@given(seeds)
@LAWS
def test_nobody_is_moved_to_a_node_that_is_not_up_or_to_save_money_to_one_that_settles(seed: int) -> None:
    made = cluster(seed)
    nodes = {node.name: node for node in made.problem.snapshot.nodes}
    for one in decide(made).commands:
        for placed in one.group.placed:
            assert not is_closed(made, nodes[placed.node.name], one.reason is Reason.UNDERUTILIZED)


@given(seeds)
@LAWS
def test_consolidation_always_saves_money_and_pays_back(seed: int) -> None:
    for one in decide(cluster(seed)).of(Reason.UNDERUTILIZED):
        assert one.saved > 0
        assert len(one.replacements) <= len(one.candidates)
        for candidate in one.candidates:
            assert not candidate.held
            allowed = candidate.policy.thresholds.payback
            assert not allowed or one.payback <= allowed


@given(seeds)
@LAWS
def test_every_node_is_answered(seed: int) -> None:
    made = cluster(seed)
    found = decide(made)
    assert set(made.machines) == set(names(found)) | set(found.refusals)
    assert set(names(found)).isdisjoint(found.refusals)


@given(seeds)
@LAWS
def test_the_order_in_which_things_arrive_does_not_matter(seed: int) -> None:
    made = cluster(seed)
    snapshot = made.problem.snapshot
    turned = replace(
        made,
        problem=replace(
            made.problem,
            snapshot=replace(
                snapshot, nodes=snapshot.nodes[::-1], pods=snapshot.pods[::-1], pools=snapshot.pools[::-1]
            ),
        ),
        machines=dict(reversed(made.machines.items())),
    )
    one, other = decide(made), decide(turned)
    assert [str(command) for command in one.commands] == [str(command) for command in other.commands]
    assert {name: refusal.code for name, refusal in one.refusals.items()} == {
        name: refusal.code for name, refusal in other.refusals.items()
    }


@given(seeds)
@LAWS
def test_a_single_command_judged_again_at_once_still_holds(seed: int) -> None:
    made = cluster(seed, repair=False)
    found = decide(made).commands
    for one in found if len(found) == 1 else ():
        again = judge_again(one, replace(made, now=NOW + 1))
        assert {name for each in again.commands for name in each.names} == set(one.names), str(again.refusals)
