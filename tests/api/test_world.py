"""A world of files: pools, what is skipped, what is broken, and every form a dump comes in."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.api.objects import NODE_CLASS, Json, expression, node, pod, pool, thing, workload, world_of

from dovetail.api import scheduler_config, what_if
from dovetail.api.world import World, read_world
from dovetail.core.errors import BadInput
from dovetail.core.nodepools import MinValuesPolicy, NodePool


def only_pool(*objects: dict) -> NodePool:
    found = world_of(*objects)
    assert not found.problems
    (one,) = found.snapshot.pools
    return one


# ---- pools


def test_a_pool_has_taints_limits_weight_and_labels():
    wire = pool(
        spec={"limits": {"cpu": "10", "nodes": 3}, "weight": 7},
        taints=[{"key": "gpu", "effect": "NoSchedule"}],
        startupTaints=[{"key": "cni", "value": "x", "effect": "NoExecute"}],
        expireAfter="Never",
    )
    one = only_pool(wire)
    assert dict(one.limits or {}) == {"cpu": 10000, "nodes": 3}
    assert ([str(t) for t in one.taints], [str(t) for t in one.startup_taints]) == (
        ["gpu:NoSchedule"],
        ["cni=x:NoExecute"],
    )
    assert (one.weight, one.ready, one.replicas, one.problem) == (7, True, None, None)


def test_a_pool_without_a_ready_condition_is_ready():
    assert only_pool(pool()).ready
    assert only_pool(pool(status={"conditions": [{"type": "Ready", "status": "True"}]})).ready
    assert not only_pool(pool(status={"conditions": [{"type": "Ready", "status": "False"}]})).ready


def test_a_static_pool_has_replicas():
    assert only_pool(pool(spec={"replicas": 3, "limits": {"nodes": "5"}})).replicas == 3


def test_a_pool_may_have_its_own_policy_for_min_values():
    """S4.8."""
    wire = pool()
    wire["metadata"]["annotations"] = {"karpenter.sh/min-values-policy": "BestEffort"}
    assert only_pool(wire).min_values_policy is MinValuesPolicy.BEST_EFFORT


@pytest.mark.parametrize(
    ("wire", "told"),
    [
        (pool("bad", taints=[{"key": "a"}]), "spec.template.spec.taints[0].effect: is missing"),
        (pool("bad", spec={"limits": {"cpu": "many"}}), "spec.limits.cpu: 'many' is not a quantity"),
        (pool("bad", spec={"weight": 101}), "spec.weight: 101 is not a whole number from 1 to 100"),
        (pool("bad", spec={"replicas": 1, "weight": 1}), "spec.weight: a pool with replicas has no weight"),
        (pool("bad", spec={"replicas": 1, "limits": {"cpu": 1}}), "spec.limits: a pool with replicas can limit"),
        (pool("bad", requirements=[expression("a", "Is", "b")]), "requirements[0].operator: 'Is' is not an operator"),
        (pool("bad", requirements=[{**expression("a", "In", "b"), "minValues": 2}]), "asks for 2 values, but only 1"),
    ],
)
def test_a_broken_pool_has_a_problem_and_the_others_go_on(wire, told):
    """S4.1: among them minValues beyond what is listed."""
    found = world_of(wire, pool("good"))
    assert told in str(found.problems[0])
    assert {one.name: one.problem is None for one in found.snapshot.pools} == {"good": True, "bad": False}


# ---- forms


FORMS = {
    "many documents": lambda objects: yaml.safe_dump_all(objects),
    "a YAML List": lambda objects: yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": objects}),
    "a JSON List": lambda objects: json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
    "a JSON array": lambda objects: json.dumps(objects),
    "JSON one after another": lambda objects: "\n".join(json.dumps(one, indent=1) for one in objects),
    "bytes of a List": lambda objects: json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode(),
    "bytes of an array": lambda objects: json.dumps(objects).encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input_is_the_same_world(form):
    objects = [pod("a"), pod("b", nodeName="node-1"), node(), pool(), workload("Deployment", "c", replicas=2)]
    found = read_world([("w", FORMS[form](objects))])
    assert not found.problems
    assert found.snapshot == world_of(*objects).snapshot


@pytest.mark.parametrize("encode", [str, str.encode])
def test_items_of_a_pod_list_have_its_kind(encode):
    bare = {key: value for key, value in pod("a").items() if key not in ("kind", "apiVersion")}
    listed = {"kind": "PodList", "apiVersion": "v1", "items": [bare]}
    assert [one.name for one in read_world([("w", encode(json.dumps(listed)))]).snapshot.pods] == ["a"]


def test_a_dump_that_ends_too_early_is_told():
    whole = json.dumps({"kind": "List", "apiVersion": "v1", "items": [pod("a")]}).encode()
    (problem,) = read_world([("w.json", whole[:-20])]).problems
    assert str(problem).startswith("w.json: not JSON")


def test_a_bad_item_of_a_dump_costs_itself():
    listed = json.dumps({"kind": "List", "apiVersion": "v1", "items": [pod("a"), 7, {"kind": "Pod"}, pod("b")]})
    for held in (listed, listed.encode()):
        found = read_world([("w", held)])
        assert [one.name for one in found.snapshot.pods] == ["a", "b"]
        assert len(found.problems) == 2


@pytest.mark.parametrize("wire", [pod("a\x1b[2J"), node("a\nb"), pool("a\x07"), workload("Deployment", "a\x1b")])
def test_a_name_that_would_move_the_cursor_is_none(wire):
    (problem,) = world_of(wire).problems
    assert "is not a name" in str(problem)


def test_other_kinds_are_counted():
    found = world_of(thing("Secret", "v1", {"name": "a"}), thing("Secret", "v1", {"name": "b"}), pod())
    assert dict(found.skipped) == {"Secret": 2}


def test_a_later_file_may_say_an_object_anew():
    files = [("a.yaml", yaml.safe_dump(pool(spec={"weight": 1}))), ("b.yaml", yaml.safe_dump(pool(spec={"weight": 2})))]
    found = read_world(files)
    assert not found.problems
    assert [one.weight for one in found.snapshot.pools] == [2]


def test_one_file_may_not_say_it_twice():
    found = read_world([("a.yaml", yaml.safe_dump_all([pool(), pool()]))])
    assert "was read before" in str(found.problems[0])


def test_node_classes_are_known_by_name():
    found = world_of(thing("KWOKNodeClass", "karpenter.kwok.sh/v1alpha1", {"name": "default"}))
    assert {(one.kind, one.name) for one in found.node_classes} == {("KWOKNodeClass", "default")}
    assert not found.skipped


# ---- changes


def changed(text: str, *objects: dict) -> World:
    return read_world([("w", json.dumps(list(objects)))], changes=[what_if.parse(text)])


@pytest.mark.parametrize(
    ("text", "read", "value"),
    [
        ("nodepool/general.spec.weight=10", lambda one: one.weight, 10),
        ("nodepools/general.weight=10", lambda one: one.weight, 10),
        ("NodePool/general.limits.cpu=5", lambda one: dict(one.limits), {"cpu": 5000}),
        ("nodepool/general.requirements[a]=[x, y]", lambda one: str(one.requirements), "a In [x y]"),
        ("nodepool/general.requirements[a].values=[z]", lambda one: str(one.requirements), "a In [z]"),
        (
            "nodepool/general.spec.template.spec.requirements[0].operator=NotIn",
            lambda one: str(one.requirements),
            "a NotIn [b]",
        ),
        ("nodepool/general.requirements[a]=", lambda one: str(one.requirements), ""),
        ("nodepool/general.requirements[new.io/k]=v", lambda one: str(one.requirements), "a In [b], new.io/k In [v]"),
        ("nodepool/general.spec.template.metadata.labels['x.io/y']=z", lambda one: one.labels, (("x.io/y", "z"),)),
    ],
)
def test_a_change_is_made_before_the_object_is_read(text, read, value):
    found = changed(text, pool(requirements=[expression("a", "In", "b")]))
    assert not found.problems
    assert read(found.snapshot.pools[0]) == value


def test_names_with_dots_are_found():
    wire = thing("InstanceType", "karpenter.sh/v1alpha1", {"name": "m5.large"}, spec={})
    found = changed("instancetype/m5.large.spec.resources.memory=1Gi", wire)
    assert found.manifests.overrides[0].resources.of("memory") == 2**30


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nodepool/other.spec.weight=1", "there is no such object in the files"),
        ("nodepool/general.requirements[9].operator=In", "there is no 9 on the way"),
        ("nodepool/general.spec.weight=[", "not YAML"),
        ("weight=3", "is no change; write kind/name.path=value"),
    ],
)
def test_a_change_that_cannot_be_made_is_told(text, told):
    try:
        problem: BadInput = changed(text, pool()).problems[0]
    except BadInput as refused:
        problem = refused
    assert told in str(problem)


# ---- default constraints (scheduling §4.9)


CONFIG = """
podTopologySpread:
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
"""


def spreads(*objects: Json) -> dict[str, list[str]]:
    defaults = scheduler_config.read(CONFIG, "c.yaml")
    found = read_world([("w", json.dumps(list(objects)))], defaults)
    return {one.name: [str(s.selector.wanted) for s in one.shape.spread] for one in found.snapshot.pods}


def test_pods_without_constraints_spread_with_their_own():
    service = thing("Service", "v1", {"name": "s"}, spec={"selector": {"app": "lone"}})
    own = [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]
    found = spreads(
        service,
        workload("StatefulSet", "db"),
        workload("Deployment", "web"),
        workload("Job", "job"),
        pod("lone", about={"labels": {"app": "lone", "x": "y"}}),
        pod("alone"),
        pod("has", topologySpreadConstraints=own),
    )
    assert found == {
        "db-0": ["app In [db]"],
        "web-0": ["app In [web]"],
        "job-0": [],
        "lone": ["app In [lone]"],
        "alone": [],
        "has": [""],
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("podTopologySpred: {}", "podTopologySpred: unknown key"),
        (
            "podTopologySpread: {defaultConstraints: [{maxSkew: 0}]}",
            "defaultConstraints[0].whenUnsatisfiable: is missing",
        ),
        (CONFIG + "    labelSelector: {}", "not YAML"),
        (CONFIG.replace("maxSkew: 1", "maxSkew: 1, labelSelector: {}"), "labelSelector: a default constraint has none"),
        (CONFIG.replace("maxSkew: 1", "maxSkew: 0"), "maxSkew: 0 is not a whole number"),
        (CONFIG + CONFIG[CONFIG.index("  - ") :], "another constraint has this key"),
    ],
)
def test_a_bad_configuration_is_told_with_its_field(text, told):
    with pytest.raises(BadInput) as caught:
        scheduler_config.read(text, "c.yaml")
    assert str(caught.value).startswith("c.yaml")
    assert told in str(caught.value)


def test_the_node_class_of_a_pool_is_its_reference():
    assert only_pool(pool()).node_class.kind == NODE_CLASS["kind"]
