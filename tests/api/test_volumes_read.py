"""Volumes through claim, volume and storage class (scheduling §§2.2, 3.9)."""

from __future__ import annotations

import pytest
from tests.api.objects import (
    bound_claim,
    claim,
    expression,
    mounting,
    pod,
    problem_of,
    shape_of,
    storage_class,
    volume,
    workload,
    world_of,
)

ZONE = "topology.kubernetes.io/zone"


def in_zone(*zones: str) -> list[dict]:
    return [expression("topology.ebs.csi.aws.com/zone", "In", *zones)]


def places(*objects: dict) -> list[str]:
    return [str(one) for one in shape_of(*objects).volumes.places]


def test_a_bound_claim_goes_where_its_volume_is():
    shape = shape_of(pod(volumes=mounting("data")), bound_claim(), volume("vol", in_zone("a"), in_zone("b")))
    assert [str(one) for one in shape.volumes.places] == [f"{ZONE} In [a]", f"{ZONE} In [b]"]
    assert shape.volumes.attached == (("ebs.csi.aws.com", "default/data"),)


def test_an_unbound_claim_goes_where_its_class_can_make_one():
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}]
    fast = storage_class(allowedTopologies=topologies)
    assert places(pod(volumes=mounting("data")), claim(storageClassName="fast"), fast) == [f"{ZONE} In [a b]"]


def test_the_default_class_is_taken_where_none_is_named():
    notes = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    shape = shape_of(pod(volumes=mounting("data")), claim(), storage_class(about=notes))
    assert shape.volumes.attached == (("ebs.csi.aws.com", "default/data"),)


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        ([], "volume claim data: does not exist"),
        ([claim(about={"deletionTimestamp": "x"})], "is being deleted"),
        ([claim(status={"phase": "Lost"})], "has lost its volume"),
        ([bound_claim()], "its volume vol does not exist"),
        ([claim(volumeName="vol"), volume()], "is not bound to its volume vol yet"),
        ([claim(storageClassName="")], "has neither a volume nor a storage class"),
        ([claim()], "has neither a volume nor a storage class"),
        ([claim(storageClassName="x")], "its storage class x does not exist"),
        ([claim(storageClassName="fast"), storage_class(mode="Immediate")], "binds it at once"),
        ([claim(storageClassName="fast"), storage_class(mode=None)], "binds it at once"),
    ],
)
def test_a_claim_that_cannot_be_used_is_the_pods_problem(objects, told):
    assert told in problem_of(pod(volumes=mounting("data")), *objects)


def test_all_that_is_wrong_with_claims_is_told():
    found = problem_of(pod(volumes=mounting("a", "b")))
    assert "claim a:" in found
    assert "claim b:" in found


def test_several_volumes_must_be_usable_together():
    objects = [bound_claim("a", "va"), bound_claim("b", "vb")]
    both = [volume("va", in_zone("a"), in_zone("b")), volume("vb", in_zone("b"), in_zone("c"))]
    assert places(pod(volumes=mounting("a", "b")), *objects, *both) == [f"{ZONE} In [b]"]


def test_volumes_that_are_never_together_leave_their_contradiction_to_be_told():
    objects = [bound_claim("a", "va"), bound_claim("b", "vb"), volume("va", in_zone("a")), volume("vb", in_zone("b"))]
    shape = shape_of(pod(volumes=mounting("a", "b")), *objects)
    assert shape.problem is None
    assert all(one.is_contradictory for one in shape.volumes.places)


def test_a_disk_inside_a_machine_ties_to_no_name():
    here = [expression("kubernetes.io/hostname", "In", "node-1"), expression("disk", "In", "ssd")]
    local = volume("vol", here, local={"path": "/x"}, csi=None)
    shape = shape_of(pod(volumes=mounting("data")), bound_claim(), local)
    assert [str(one) for one in shape.volumes.places] == ["disk In [ssd]"]
    assert shape.volumes.attached == ()


@pytest.mark.parametrize(
    ("spec", "driver"),
    [
        ({"csi": None, "awsElasticBlockStore": {"volumeID": "v"}}, "ebs.csi.aws.com"),
        ({"csi": None, "gcePersistentDisk": {"pdName": "v"}}, "pd.csi.storage.gke.io"),
        ({"csi": {"driver": "x"}}, "x"),
    ],
)
def test_old_volumes_are_attached_by_the_drivers_that_took_over(spec, driver):
    shape = shape_of(pod(volumes=mounting("data")), bound_claim(), volume("vol", **spec))
    assert shape.volumes.attached == ((driver, "default/data"),)


def test_an_old_provisioner_is_the_driver_that_took_over():
    old = storage_class(provisioner="kubernetes.io/aws-ebs")
    shape = shape_of(pod(volumes=mounting("data")), claim(storageClassName="fast"), old)
    assert shape.volumes.attached == (("ebs.csi.aws.com", "default/data"),)


def test_an_ephemeral_volume_has_a_claim_of_its_own():
    made = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
    found = world_of(pod("a", volumes=[made]), pod("b", volumes=[made]), storage_class())
    attached = [one.shape.volumes.attached for one in found.snapshot.pods]
    assert attached == [(("ebs.csi.aws.com", "default/a-tmp"),), (("ebs.csi.aws.com", "default/b-tmp"),)]


def test_each_pod_of_a_stateful_set_has_its_claims():
    template = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}
    made = workload("StatefulSet", "db", replicas=2, volumeClaimTemplates=[template])
    there = [bound_claim("data-db-1"), volume("vol", in_zone("b"))]
    first, second = world_of(made, storage_class(), *there).snapshot.pods
    assert first.shape.volumes.places == ()
    assert [str(one) for one in second.shape.volumes.places] == [f"{ZONE} In [b]"]
    assert second.shape.volumes.attached == (("ebs.csi.aws.com", "default/data-db-1"),)
