"""Pods as shapes: where they want to be, whom they avoid, what makes one unplannable (scheduling §§1.5–2.2)."""

from __future__ import annotations

import pytest
from tests.api.objects import (
    Json,
    container,
    expression,
    node_affinity,
    only_pod,
    pod,
    problem_of,
    shape_of,
    thing,
    workload,
    world_of,
)

from dovetail.core.pods import HostPort, PodState, Policy
from dovetail.core.taints import Effect, TolerationOperator

ZONE = "topology.kubernetes.io/zone"
WEB = {"labels": {"app": "web", "version": "2"}}


# ---- node labels


def test_selectors_are_canonical():
    shape = shape_of(pod(nodeSelector={"beta.kubernetes.io/arch": "arm64"}))
    assert shape.selector.value("kubernetes.io/arch") == "arm64"


def test_required_terms_are_alternatives():
    shape = shape_of(pod(affinity=node_affinity([expression("a", "In", "1")], [expression("b", "Gt", "3")])))
    assert [str(term) for term in shape.terms] == ["a In [1]", "b Exists >=4"]


def test_an_empty_term_is_no_alternative():
    assert len(shape_of(pod(affinity=node_affinity([], [expression("a", "Exists")]))).terms) == 1
    assert "an empty term matches no node" in problem_of(pod(affinity=node_affinity([])))


def test_preferred_terms_have_weights():
    term = {"weight": 7, "preference": {"matchExpressions": [expression("a", "Exists")]}}
    empty = {"weight": 1, "preference": {"matchFields": [expression("metadata.name", "In", "x")]}}
    wishes = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term, empty]}}
    assert [(one.weight, str(one.term)) for one in shape_of(pod(affinity=wishes)).preferred] == [(7, "a Exists")]


def fields_term() -> Json:
    term = {"matchFields": [expression("metadata.name", "In", "node-1")]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"nodeSelector": {"kubernetes.io/hostname": "a"}}, "spec.nodeSelector.kubernetes.io/hostname: "),
        ({"nodeSelector": {"karpenter.sh/unknown": "a"}}, "is not for users to set"),
        ({"nodeSelector": {"a": "not ok"}}, "is not a label value"),
        ({"nodeSelector": {"a": 1}}, "expected text, got a number; put it in quotes"),
        ({"nodeSelector": {"karpenter.sh/capacity-type": "cheap"}}, "is no capacity type"),
        ({"affinity": node_affinity([expression("a", "In")])}, "In needs at least one value"),
        ({"affinity": node_affinity([expression("a", "Gte", "1")])}, "is not an operator here"),
        ({"affinity": node_affinity([expression("a", "Gt", "x")])}, "takes exactly one whole number"),
        ({"affinity": node_affinity([expression("a", "Gt", "-1")])}, "is negative"),
        ({"affinity": node_affinity([expression("a", "Lt", "1", "2")])}, "takes exactly one whole number"),
        ({"affinity": node_affinity([expression("karpenter.sh/capacity-type", "In", "x")])}, "none of them is"),
        (
            {"nodeSelector": {"karpenter.k8s.aws/instance-tenancy": "host"}},
            "'host' is no tenancy; use one of default, ded",
        ),
        ({"affinity": node_affinity([expression("karpenter.k8s.aws/instance-tenancy", "In", "x")])}, "a tenancy"),
        ({"affinity": fields_term()}, "matchFields: a pod that names its node by a field is not planned"),
        ({"affinity": "near"}, "spec.affinity: expected a map, got text"),
        ({"resourceClaims": [{"name": "gpu"}]}, "Dynamic Resource Allocation"),
        ({"affinity": node_affinity([expression("karpenter.sh/nodepool", "DoesNotExist")])}, "asks not to run"),
        ({"tolerations": [{"operator": "Equal"}]}, "spec.tolerations[0].operator: must be Exists"),
        ({"tolerations": [{"key": "a", "effect": "Never"}]}, "spec.tolerations[0].effect: 'Never' is no effect"),
        ({"topologySpreadConstraints": [{"topologyKey": "a"}]}, "[0].maxSkew: is missing"),
        ({"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "a"}]}, "[0].maxSkew: 0 is not a whole number"),
        ({"topologySpreadConstraints": [{"maxSkew": 1}]}, "[0].topologyKey: is missing"),
    ],
)
def test_what_cannot_be_planned_is_told_with_its_field(spec, told):
    assert told in problem_of(pod(**spec))


def test_labels_that_are_not_text_are_the_pods_problem():
    found = problem_of(pod(about={"labels": {"version": 1}}))
    assert found == "metadata.labels.version: expected text, got a number; put it in quotes"


def test_a_spec_that_is_no_map_is_the_pods_problem():
    assert problem_of(thing("Pod", "v1", {"name": "a"}, spec=[])) == "spec: expected a map, got a list"


def test_every_problem_of_a_pod_is_told():
    found = problem_of(pod("a", container({"cpu": "x"}), nodeSelector={"kubernetes.io/hostname": "b"}))
    assert "spec.containers[0]" in found
    assert "spec.nodeSelector" in found


def test_a_running_pod_takes_its_room_whatever_its_affinity_says():
    one = only_pod(pod("a", container({"cpu": "2"}), nodeName="n", affinity="bad"))
    assert (one.state, one.shape.requests.of("cpu")) == (PodState.BOUND, 2000)


# ---- topology


def spread(**more: object) -> Json:
    return {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **more}


def test_match_label_keys_become_part_of_the_selector():
    selector = {"matchLabels": {"app": "web"}}
    one = spread(labelSelector=selector, matchLabelKeys=["version", "absent"])
    (found,) = shape_of(pod(about=WEB, topologySpreadConstraints=[one])).spread
    assert str(found.selector.wanted) == "app In [web], version In [2]"


def test_a_missing_selector_selects_nothing_and_an_empty_one_everything():
    shape = shape_of(pod(topologySpreadConstraints=[spread(), spread(labelSelector={})]))
    assert [one.selector.matches({"a": "b"}) for one in shape.spread] == [False, True]


def test_spread_policies_and_domains():
    one = spread(
        minDomains=3, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor", whenUnsatisfiable="ScheduleAnyway"
    )
    (found,) = shape_of(pod(topologySpreadConstraints=[one])).spread
    assert (found.min_domains, found.hard) == (3, False)
    assert (found.node_affinity, found.node_taints) == (Policy.IGNORE, Policy.HONOR)
    (default,) = shape_of(pod(topologySpreadConstraints=[spread()])).spread
    assert (default.node_affinity, default.node_taints) == (Policy.HONOR, Policy.IGNORE)


def test_pod_affinity_with_namespaces_and_label_keys():
    term = {
        "topologyKey": ZONE,
        "labelSelector": {"matchExpressions": [expression("app", "NotIn", "db")]},
        "namespaces": ["x"],
        "namespaceSelector": {},
        "matchLabelKeys": ["app"],
        "mismatchLabelKeys": ["version"],
    }
    wanted = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    (found,) = shape_of(pod(about=WEB, affinity=wanted)).near.required
    assert found.selector.matches({"app": "web", "version": "3"})
    assert not found.selector.matches({"app": "web", "version": "2"})
    assert not found.selector.matches({"app": "other"})
    assert (found.namespaces, found.namespace_selector) == (frozenset({"x"}), found.namespace_selector)
    assert found.namespace_selector is not None
    assert found.namespace_selector.matches({"anything": "at all"})


def test_no_namespace_selector_is_not_an_empty_one():
    term = {"topologyKey": ZONE, "labelSelector": {}}
    wished = {"weight": 5, "podAffinityTerm": term}
    wanted = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wished]}}
    (found,) = shape_of(pod(affinity=wanted)).apart.preferred
    assert (found.weight, found.term.namespace_selector) == (5, None)


# ---- the rest of a pod


def test_tolerations():
    one, two = shape_of(
        pod(tolerations=[{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoSchedule"}])
    ).tolerations
    assert one.operator is TolerationOperator.EXISTS
    assert (two.key, two.value, two.effect) == ("a", "b", Effect.NO_SCHEDULE)


def test_host_ports():
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81, "protocol": "UDP", "hostIP": "10.0.0.1"}]
    one = container({"cpu": "1"}, ports=ports)
    assert shape_of(pod("a", one)).ports == (HostPort(81, "UDP", "10.0.0.1"),)
    assert [port.port for port in shape_of(pod("a", one, hostNetwork=True)).ports] == [80, 81]


def test_ports_of_init_containers_are_free_again():
    first = container({}, name="i", ports=[{"containerPort": 1, "hostPort": 1}])
    assert shape_of(pod("a", initContainers=[first])).ports == ()


def test_priority_by_number_class_and_default():
    low = thing("PriorityClass", "scheduling.k8s.io/v1", {"name": "low"}, value=-5, globalDefault=True)
    high = thing("PriorityClass", "scheduling.k8s.io/v1", {"name": "high"}, value=1000)
    assert shape_of(low, high, pod()).priority == -5
    assert shape_of(low, high, pod(priorityClassName="high")).priority == 1000
    assert shape_of(low, high, pod(priorityClassName="high", priority=7)).priority == 7
    assert shape_of(pod(priorityClassName="system-node-critical")).priority == 2_000_001_000


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, PodState.PENDING),
        ({"status": {"phase": "Pending"}}, PodState.PENDING),
        ({"status": {"conditions": [{"type": "PodScheduled", "reason": "Unschedulable"}]}}, PodState.PENDING),
        ({"status": {"conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}}, PodState.WAITING),
        ({"status": {"nominatedNodeName": "n"}}, PodState.WAITING),
        ({"schedulingGates": [{"name": "g"}]}, PodState.WAITING),
        ({"nodeName": "n"}, PodState.BOUND),
        ({"nodeName": "n", "status": {"phase": "Running"}}, PodState.BOUND),
        ({"nodeName": "n", "status": {"phase": "Succeeded"}}, PodState.DONE),
        ({"status": {"phase": "Failed"}}, PodState.DONE),
        ({"about": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, PodState.DONE),
        (
            {"about": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d"}]}},
            PodState.WAITING,
        ),
        ({"about": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n"}]}}, PodState.WAITING),
    ],
)
def test_where_a_pod_of_a_file_stands(more, state):
    assert only_pod(pod(**more)).state is state


def test_a_pod_on_its_way_out_takes_room_and_counts_for_nothing_else():
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"app": "web"}}
    one = only_pod(pod("a", container({"cpu": "2"}), about=gone, nodeName="n"))
    assert (one.state, one.shape.requests.of("cpu"), one.key) == (PodState.GOING, 2000, "default/a")


def test_equal_pods_share_one_shape():
    found = world_of(*(pod(f"p{at}", about={"uid": str(at), "annotations": {"a": str(at)}}) for at in range(50)))
    assert len({id(one.shape) for one in found.snapshot.pods}) == found.shapes == 1


def test_a_shape_written_in_other_words_is_the_same_shape():
    found = world_of(pod("a", container({"cpu": "1"})), pod("b", container({"cpu": "1000m"}, name="other")))
    assert found.shapes == 1


def test_generated_names_are_told_apart():
    made = thing("Pod", "v1", {"generateName": "job-"}, spec={"containers": []})
    assert [one.name for one in world_of(made, made).snapshot.pods] == ["job-1", "job-2"]


def test_a_daemon_may_select_what_planned_pods_may_not():
    found = world_of(workload("DaemonSet", template={"nodeSelector": {"kubernetes.io/hostname": "a"}}))
    (daemon,) = found.snapshot.daemons
    assert daemon.shape.selector.value("kubernetes.io/hostname") == "a"
    assert not found.problems
