"""The older repair: one Node at a time, at once, behind the breaker."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from tests.core.disruption.clusters import HOUR, NOW, member

from dovetail.core import timestamps
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.legacy_repair import Neighbours, neighbours, repaired
from dovetail.core.disruption.repair_policies import Action, RepairPolicies, RepairPolicy
from dovetail.core.effects import Count, Delete, SaveClaim, Say, Step
from dovetail.core.nodeclaims import TERMINATION_TIME, NodeClaim, NodeObject

POLICIES = RepairPolicies(
    (
        RepairPolicy("Ready", Status.FALSE, 600.0),
        RepairPolicy("KernelDeadlock", Status.TRUE, 60.0, reason="^Hung"),
        RepairPolicy("DiskSlow", Status.TRUE, 0.0, reason=".*", action=Action.REBOOT),
    )
)
FEW = Neighbours(10, 1)


def node(*held: Condition, pool: str | None = "pool") -> tuple[NodeClaim, NodeObject]:
    found = member("a", node_conditions=held).machine
    assert found.claim is not None
    assert found.node is not None
    if pool is None:
        bare = replace(found.claim.meta, labels=MappingProxyType({}))
        return replace(found.claim, meta=bare), found.node
    return found.claim, found.node


def hung(since: float = NOW - HOUR, reason: str = "HungTask") -> Condition:
    return Condition("KernelDeadlock", Status.TRUE, reason, since=since)


def done(*held: Condition, around: Neighbours = FEW) -> Step:
    return repaired(POLICIES, *node(*held), around, NOW)


def test_a_well_node_is_left_alone() -> None:
    assert done() == Step()


def test_a_broken_one_goes_at_once_whatever_its_pods_say() -> None:
    save, delete, *counts = done(hung()).effects
    assert isinstance(save, SaveClaim)
    assert save.after.meta.annotations[TERMINATION_TIME] == timestamps.text(NOW)
    assert isinstance(delete, Delete)
    told = [one for one in counts if isinstance(one, Count)]
    assert [one.metric for one in told] == ["nodeclaims_disrupted_total", "nodeclaims_unhealthy_disrupted_total"]
    assert (told[0].labels["reason"], told[1].labels["condition"]) == ("unhealthy", "kernel_deadlock")


def test_an_end_that_is_over_already_is_not_moved() -> None:
    claim, broken = node(hung())
    notes = MappingProxyType({TERMINATION_TIME: timestamps.text(NOW - 60)})
    ended = replace(claim, meta=replace(claim.meta, annotations=notes))
    assert not any(isinstance(one, SaveClaim) for one in repaired(POLICIES, ended, broken, FEW, NOW).effects)


def test_it_is_looked_at_again_when_the_first_toleration_ends() -> None:
    assert done(hung(NOW - 10)) == Step((), 50.0)


def test_reasons_have_to_match_and_reboots_are_not_its_business() -> None:
    assert done(hung(reason="Busy")) == Step()
    assert done(Condition("DiskSlow", Status.TRUE, "Any", since=NOW - HOUR)) == Step()


def test_too_many_ill_ones_stop_it_and_it_says_so() -> None:
    step = done(hung(), around=Neighbours(10, 3))
    (say,) = step.effects
    assert isinstance(say, Say)
    assert say.reason == "NodeRepairBlocked"
    assert say.message.startswith("3 nodes of 10 in NodePool pool are unhealthy, more than 2")
    assert step.again == 300.0
    assert len(done(hung(), around=Neighbours(3, 2)).effects) == 4, "small pools are mended as well"


def test_neighbours_are_those_of_the_pool_or_everybody() -> None:
    claim, broken = node(hung())
    other = replace(broken, meta=replace(broken.meta, labels=MappingProxyType({})))
    assert neighbours(POLICIES, claim, (broken, other)) == Neighbours(1, 1)
    standalone, _ = node(hung(), pool=None)
    assert neighbours(POLICIES, standalone, (broken, other)) == Neighbours(2, 2)


def test_a_claim_that_leaves_is_left_to_it() -> None:
    claim, broken = node(hung())
    leaving = replace(claim, meta=replace(claim.meta, deleting=NOW))
    assert repaired(POLICIES, leaving, broken, FEW, NOW) == Step()
