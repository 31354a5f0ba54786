"""What machines stand on: infrastructure clusters that are ready as they are written, and Clusters where ours is the
core (R2, R5, R8)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.machines.machine_world import NOW, cluster, meta

from dovetail.core.machines import grounds, names
from dovetail.core.machines.grounds import Ground, InfraCluster
from dovetail.core.machines.objects import ObjectRef

REF = ObjectRef("infrastructure.cluster.x-k8s.io", "AWSCluster", "c")
WRITTEN = InfraCluster(meta("c"), "AWSCluster")


def types(conditions: tuple) -> set[str]:
    return {one.type for one in conditions}


def test_an_infrastructure_cluster_is_ready_as_it_is_written():
    after = grounds.prepared(WRITTEN, NOW)
    assert after.provisioned
    assert types(after.conditions) == {names.READY}
    assert grounds.prepared(after, NOW + 1) is after


@pytest.mark.parametrize(
    "about",
    [
        {"annotations": {grounds.MANAGED_BY: "terraform"}},
        {"annotations": {names.PAUSED_ANNOTATION: ""}},
        {"deleting": NOW},
    ],
)
def test_one_that_somebody_else_makes_that_is_paused_or_going_is_left_alone(about):
    infra = replace(WRITTEN, meta=meta("c", **about))
    assert grounds.prepared(infra, NOW) is infra


def bare(**changes) -> Ground:
    return Ground(cluster(infrastructure=None, control_plane=None), **changes)


def test_a_cluster_that_names_no_infrastructure_is_up_at_once():
    after = grounds.risen(bare(), None, NOW)
    assert (after.cluster.infrastructure, after.cluster.control_plane) == (NOW, NOW)
    assert types(after.conditions) == {names.INFRASTRUCTURE_READY, names.CONTROL_PLANE_INITIALIZED}
    assert grounds.risen(after, None, NOW + 60) == after


@pytest.mark.parametrize("infra", [None, WRITTEN])
def test_a_cluster_waits_for_the_infrastructure_it_names(infra):
    after = grounds.risen(bare(infrastructure=REF), infra, NOW)
    assert after.cluster.infrastructure is None
    assert names.INFRASTRUCTURE_READY not in types(after.conditions)


def test_and_is_up_once_that_is_ready():
    after = grounds.risen(bare(infrastructure=REF), replace(WRITTEN, provisioned=True), NOW)
    assert after.cluster.infrastructure == NOW


def test_a_cluster_that_is_paused_is_left_alone():
    ground = replace(bare(), cluster=replace(bare().cluster, paused=True))
    assert grounds.risen(ground, None, NOW) is ground


def test_since_when_it_has_been_up_does_not_change():
    before = Ground(cluster())
    after = grounds.risen(before, None, NOW)
    assert after.cluster == before.cluster
