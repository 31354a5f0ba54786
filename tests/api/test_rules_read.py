"""The rules of spec/scheduling.md that are decided where objects are read: §1.8, §2.2, §4.9, §6, and S4.1."""

from __future__ import annotations

import json

import pytest
from tests.api.objects import (
    Json,
    bound_claim,
    claim,
    container,
    expression,
    mounting,
    node_affinity,
    only_pod,
    pod,
    pool,
    problem_of,
    shape_of,
    storage_class,
    thing,
    volume,
    workload,
    world_of,
)

from dovetail.api import scheduler_config
from dovetail.api.world import read_world
from dovetail.core.pods import PodState

CAPACITY, ZONE = "karpenter.sh/capacity-type", "topology.kubernetes.io/zone"


# ---- §1.8, S4.1: requirements of a pool


@pytest.mark.parametrize("least", [1, 50])
def test_min_values_from_one_to_fifty_are_taken(least: int) -> None:
    """S4.1."""
    found = world_of(pool(requirements=[{**expression("a", "Exists"), "minValues": least}]))
    (one,) = found.snapshot.pools
    said = one.requirements.get("a")
    assert (found.problems, said.min_values if said else None) == ((), least)


def test_a_pool_may_exclude_nothing() -> None:
    """§1.8: its schema lets NotIn stand without values, which rules nothing out."""
    found = world_of(pool(requirements=[expression("a", "NotIn")]))
    (one,) = found.snapshot.pools
    said = one.requirements.get("a")
    assert (found.problems, one.problem) == ((), None)
    assert said is not None
    assert said.admits(None)
    assert said.admits("b")


@pytest.mark.parametrize(
    ("wire", "told"),
    [
        ({**expression("a", "Exists"), "minValues": 0}, "minValues: 0 is not a whole number from 1 to 50"),
        ({**expression("a", "Exists"), "minValues": 51}, "minValues: 51 is not a whole number from 1 to 50"),
        ({**expression("a", "Exists"), "minValues": "2"}, "minValues: '2' is not a whole number"),
        ({**expression("a", "In", "b", "b"), "minValues": 2}, "asks for 2 values, but only 1 are listed"),
        (expression("a", "In"), "In needs at least one value"),
        (expression("a", "Gt", "1", "2"), "exactly one whole number"),
        (expression("a", "Lte", "-1"), "is negative"),
        (expression("a", "Near", "b"), "'Near' is not an operator"),
        (expression("not a key", "Exists"), "key"),
        (expression("kubernetes.io/hostname", "Exists"), "is not for users to set"),
        (expression("karpenter.sh/nodepool", "Exists"), "is not for users to set"),
        (expression("karpenter.sh/anything", "Exists"), "is not for users to set"),
        (expression("a", "In", "not ok"), "is not a label value"),
        (expression(CAPACITY, "In", "cheap", "dear"), "none of them is"),
    ],
)
def test_a_requirement_no_node_could_meet_or_the_server_would_refuse_breaks_its_pool(wire: Json, told: str) -> None:
    """§1.8, S4.1."""
    found = world_of(pool("bad", requirements=[wire]), pool("good"))
    assert [told in str(one) for one in found.problems] == [True]
    assert {one.name: one.problem is None for one in found.snapshot.pools} == {"good": True, "bad": False}


@pytest.mark.parametrize("key", ["kubernetes.io/arch", "k8s.io/custom", "node.kubernetes.io/windows-build", CAPACITY])
def test_keys_of_kubernetes_and_well_known_ones_may_be_required(key: str) -> None:
    """§1.3: kubernetes.io is not restricted any more."""
    value = "spot" if key == CAPACITY else "1"
    assert not world_of(pool(requirements=[expression(key, "In", value)])).problems


def test_one_good_capacity_type_among_bad_ones_is_enough() -> None:
    """§1.8."""
    assert not world_of(pool(requirements=[expression(CAPACITY, "In", "spot", "cheap")])).problems


def test_a_pool_has_at_most_a_hundred_requirements() -> None:
    """§1.8."""
    many = [expression(f"example.com/k{number}", "Exists") for number in range(101)]
    assert "at most 100" in str(world_of(pool(requirements=many)).problems[0])
    assert not world_of(pool(requirements=many[:100])).problems


# ---- §2.2: pods that are refused before anybody looks for a node

LOST = claim(status={"phase": "Lost"})
GOING = claim(about={"deletionTimestamp": "2026-01-01T00:00:00Z"})
FAST = claim(storageClassName="fast")


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        ([], "does not exist"),
        ([LOST], "has lost its volume"),
        ([GOING], "is being deleted"),
        ([bound_claim()], "its volume vol does not exist"),
        ([claim(volumeName="vol"), volume()], "is not bound to its volume vol yet"),
        ([claim(storageClassName="")], "has neither a volume nor a storage class"),
        ([FAST], "its storage class fast does not exist"),
        ([FAST, storage_class(mode="Immediate")], "binds it at once, not on first use"),
        ([FAST, storage_class(mode=None)], "binds it at once, not on first use"),
    ],
)
def test_a_volume_claim_that_cannot_be_used_refuses_its_pod(objects: list[Json], told: str) -> None:
    """§2.2; newest §7: a lookup that fails fails the pod."""
    assert told in problem_of(pod(volumes=mounting("data")), *objects)


def test_a_pod_that_wants_no_pool_is_not_planned() -> None:
    """§2.2."""
    affinity = node_affinity([expression("karpenter.sh/nodepool", "DoesNotExist")])
    assert "asks not to run on a node of ours" in problem_of(pod(affinity=affinity))


def test_all_that_is_wrong_with_a_pod_is_one_refusal() -> None:
    """§2.2: failures are combined."""
    wrong = problem_of(pod(nodeSelector={"kubernetes.io/hostname": "a"}, volumes=mounting("x", "y")))
    assert wrong.count(";") == 2
    for part in ("nodeSelector", "volume claim x", "volume claim y"):
        assert part in wrong


def test_fields_of_preferred_terms_are_not_looked_at() -> None:
    """§1.5."""
    preference = {"weight": 1, "preference": {"matchFields": [expression("metadata.name", "In", "a")]}}
    preferred = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}
    assert shape_of(pod(affinity=preferred)).problem is None


# ---- §4.9: default constraints

CONFIG = """
podTopologySpread:
  defaultConstraints:
  - {maxSkew: 2, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 2}
  - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}
"""


def spreads(*objects: Json) -> list[tuple[str, int, bool, str]]:
    found = read_world([("w", json.dumps(list(objects)))], scheduler_config.read(CONFIG, "c.yaml"))
    (one,) = (each for each in found.snapshot.pods if each.name == "web")
    return [(each.key, each.max_skew, each.hard, str(each.selector.wanted)) for each in one.shape.spread]


def service(name: str, selector: Json | None, namespace: str = "default") -> Json:
    spec = {} if selector is None else {"selector": selector}
    return thing("Service", "v1", {"name": name, "namespace": namespace}, spec=spec)


def owned(kind: str, controller: bool = True) -> Json:
    version = {"ReplicationController": "v1"}.get(kind, "apps/v1")
    ref = {"apiVersion": version, "kind": kind, "name": "web", "controller": controller}
    return pod("web", about={"labels": {"app": "web", "tier": "1"}, "ownerReferences": [ref]})


WEB = pod("web", about={"labels": {"app": "web", "tier": "1"}})


def test_a_default_constraint_counts_the_pods_of_the_services_a_pod_belongs_to() -> None:
    """§4.9: the union of their labels."""
    both = spreads(WEB, service("a", {"app": "web"}), service("b", {"tier": "1"}), service("c", {"app": "db"}))
    assert both == [
        (ZONE, 2, False, "app In [web], tier In [1]"),
        ("kubernetes.io/hostname", 1, True, "app In [web], tier In [1]"),
    ]


def test_services_without_a_selector_or_elsewhere_contribute_nothing() -> None:
    """§4.9: and a pod nothing is deduced for is left alone."""
    assert spreads(WEB, service("a", None), service("b", {}), service("c", {"app": "web"}, "other")) == []


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "ReplicationController"])
def test_a_default_constraint_counts_the_pods_of_the_controller(kind: str) -> None:
    """§4.9."""
    assert {told for *_, told in spreads(owned(kind), workload(kind, "web", replicas=1))} == {"app In [web]"}


def test_a_pod_with_a_constraint_of_its_own_gets_no_default() -> None:
    """§4.9: applied only to pods with none at all."""
    own = [{"maxSkew": 5, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}]
    one = pod("web", about={"labels": {"app": "web"}}, topologySpreadConstraints=own)
    assert [key for key, *_ in spreads(one, service("a", {"app": "web"}))] == ["a"]


# ---- §6


def test_a_static_pool_limits_its_nodes_and_nothing_else() -> None:
    """§6.3."""
    assert not world_of(pool(spec={"replicas": 2, "limits": {"nodes": 3}})).problems
    for spec in ({"replicas": 2, "weight": 5}, {"replicas": 2, "limits": {"cpu": 3}}):
        assert world_of(pool(spec=spec)).problems


def test_a_pod_that_claims_devices_is_refused_and_its_neighbours_are_not() -> None:
    """§6.4, with requests for devices ignored."""
    found = world_of(pod("gpu", resourceClaims=[{"name": "gpu"}]), pod("web"))
    problems = {one.name: one.shape.problem for one in found.snapshot.pods}
    assert problems["web"] is None
    assert "Dynamic Resource Allocation" in (problems["gpu"] or "")


def test_a_pod_being_resized_takes_the_larger_of_what_it_asks_for_and_has() -> None:
    """§6.5."""
    for asked, has, taken in (("1", "2", 2000), ("3", "2", 3000)):
        status = {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": has}}]}
        assert only_pod(pod("a", container({"cpu": asked}), status=status)).shape.requests.of("cpu") == taken


# ---- §2.1


def test_what_waits_is_decided_by_the_reason_of_its_condition_and_not_by_its_status() -> None:
    """§2.1."""
    said = {"type": "PodScheduled", "status": "True", "reason": "Unschedulable"}
    assert only_pod(pod(status={"conditions": [said]})).state is PodState.PENDING
