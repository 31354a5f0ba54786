"""Objects of Kubernetes as values of the core, and what bad ones get."""

from __future__ import annotations

import pytest
import yaml

from dovetail.api import manifests
from dovetail.core.catalog.prices import Adjustment
from dovetail.core.kubelet import ReserveStrategy
from dovetail.core.nodepools import NodeClassRef

NODE_CLASS = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


def instance_type(name: str = "m5.large", **spec: object) -> dict:
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "InstanceType",
        "metadata": {"name": name},
        "spec": spec,
    }


def overlay(name: str = "cheap", **spec: object) -> dict:
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": {"requirements": [], **spec},
    }


def pool(name: str = "general", metadata: dict | None = None, spec: dict | None = None, **node: object) -> dict:
    template = {"metadata": metadata or {}, "spec": {"nodeClassRef": NODE_CLASS, "requirements": [], **node}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, **(spec or {})},
    }


def node_class(name: str = "default", **kubelet: object) -> dict:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": name},
        "spec": {"role": "node", "kubelet": kubelet},
    }


def read(*objects: dict) -> manifests.Manifests:
    return manifests.read([("w.yaml", yaml.safe_dump_all(objects))])


def problem(*objects: dict) -> str:
    (one,) = read(*objects).problems
    return str(one)


def test_an_instance_type_says_what_it_knows_better_S2_1_to_S2_5():
    wire = instance_type(
        resources={"hardware-vendor.example/foo": "2", "pods": 10, "cpu": 0.5},
        overhead={"memory": "200Mi"},
        offerings=[
            {
                "karpenter.sh/capacity-type": "spot",
                "failure-domain.beta.kubernetes.io/zone": "b",
                "karpenter.sh/price": 0.4,
            },
            {"karpenter.sh/capacity-type": "on-demand", "license": "byol"},
        ],
    )
    (one,) = read(wire).overrides
    assert one.name == "m5.large"
    assert dict(one.resources) == {"hardware-vendor.example/foo": 2, "pods": 10, "cpu": 500}
    assert dict(one.overhead) == {"memory": 200 * 2**20}
    spot, on_demand = one.rows
    assert spot.labels == (("karpenter.sh/capacity-type", "spot"), ("topology.kubernetes.io/zone", "b"))
    assert (spot.nanodollars, on_demand.nanodollars) == (400_000_000, None)
    assert ("license", "byol") in on_demand.labels


def test_offerings_left_out_keep_the_clouds_and_an_empty_list_sells_nothing_S2_4():
    assert read(instance_type()).overrides[0].rows is None
    assert read(instance_type(offerings=[])).overrides[0].rows == ()


def test_an_overlay_prices_or_adds_S2_6():
    cut, flat, more = read(
        overlay("cut", priceAdjustment="-10%", weight=5),
        overlay("flat", price="0.2"),
        overlay("more", capacity={"example.com/gpu": "2"}),
    ).overlays
    assert (cut.adjustment, cut.weight) == (Adjustment(percent=-10), 5)
    assert flat.adjustment == Adjustment(replace_nanodollars=200_000_000)
    assert (more.adjustment, dict(more.capacity)) == (None, {"example.com/gpu": 2})


def test_a_pool_says_who_it_is_and_how_its_kubelets_are_set_S2_7():
    (one,) = read(
        pool(
            metadata={"labels": {"team": "a"}},
            spec={"weight": 7, "disruption": {}, "limits": {"cpu": 4}},
            requirements=[
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64", "amd64"], "minValues": 2}
            ],
            kubelet={"maxPods": 40, "kubeReservedStrategy": "gke", "evictionHard": {"memory.available": "5%"}},
        )
    ).pools
    assert (one.name, one.weight, one.labels) == ("general", 7, (("team", "a"),))
    assert one.node_class == NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
    assert one.requirements.get("kubernetes.io/arch").min_values == 2
    assert (one.kubelet.max_pods, one.kubelet.reserve) == (40, ReserveStrategy.GKE)


def test_a_node_class_may_have_expressions_where_they_are_enabled():
    one = yaml.safe_dump_all([pool("a"), node_class(maxPods="min(20, max_pods)")])
    (found,) = manifests.read([("m.yaml", one)], formulas=True).pools
    assert [worked.name for worked in found.kubelet.worked] == ["maxPods"]
    (problem,) = manifests.read([("m.yaml", one)]).problems
    assert "maxPods: 'min(20, max_pods)' is not a count" in str(problem)


def test_the_kubelet_block_of_a_node_class_is_its_pools_unless_they_have_their_own():
    found = read(pool("a"), pool("b", kubelet={"maxPods": 9}), node_class(maxPods=50))
    assert [one.kubelet.max_pods for one in found.pools] == [50, 9]


TENANCY = "karpenter.k8s.aws/instance-tenancy"


@pytest.mark.parametrize("key", ["karpenter.sh/capacity-type", TENANCY])
def test_values_nobody_knows_are_let_pass_beside_one_that_is_known(key: str):
    one = {"karpenter.sh/capacity-type": "spot", TENANCY: "dedicated"}[key]
    entry = {"key": key, "operator": "In", "values": [one, "other"]}
    assert read(pool(requirements=[entry])).problems == ()
    assert "none of them is a" in problem(pool(requirements=[{**entry, "values": ["other"]}]))
    assert "asks for 2 values, but only 1" in problem(pool(requirements=[{**entry, "minValues": 2}]))


def test_the_block_karpenter_keeps_in_an_annotation_counts():
    wire = pool()
    wire["metadata"]["annotations"] = {"compatibility.karpenter.sh/v1beta1-kubelet-conversion": '{"maxPods": 12}'}
    assert read(wire).pools[0].kubelet.max_pods == 12


def test_kinds_the_catalogue_has_no_use_for_are_counted():
    found = read({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, instance_type())
    assert found.skipped == ("Pod",)
    assert len(found.overrides) == 1


def test_a_bad_object_costs_only_itself():
    found = read(instance_type("a", resource={}), instance_type("b"), overlay(priceAdjustment="-110%"))
    assert [one.name for one in found.overrides] == ["b"]
    assert len(found.problems) == 2


@pytest.mark.parametrize(
    ("wire", "told"),
    [
        (instance_type(resource={}), "spec.resource: unknown key; did you mean resources?"),
        (instance_type(resources={"memory": "1,5Gi"}), "spec.resources.memory: '1,5Gi' is not a quantity"),
        (instance_type(resources={"memory": "-1Gi"}), "spec.resources.memory: '-1Gi' is negative"),
        (instance_type(overhead={"memory": []}), "spec.overhead.memory:"),
        (instance_type(offerings=[{"a": ["x", "y"]}]), "spec.offerings[0].a: has several values"),
        (
            instance_type(offerings=[{"karpenter.sh/price": "-0.1"}]),
            "karpenter.sh/price: '-0.1' is negative",
        ),
        (
            instance_type(offerings=[{"karpenter.sh/price": float("nan")}]),
            "spec.offerings[0].karpenter.sh/price: 'nan' is not a price",
        ),
        (instance_type(offerings=[{"karpenter.sh/prize": "1"}]), "spec.offerings[0].karpenter.sh/prize: unknown key"),
        (instance_type(offerings=[{"karpenter.sh/capacity-type": "sport"}]), "'sport' is no capacity type"),
        (instance_type(offerings=[{"a": True}]), "spec.offerings[0].a: expected text, got a boolean; put it in quotes"),
        (instance_type(offerings=[{"beta.kubernetes.io/arch": "a", "kubernetes.io/arch": "b"}]), "is another name of"),
        (instance_type(offerings={}), "spec.offerings: expected a list, got a map"),
        (instance_type("bad/name"), "metadata.name:"),
        (overlay(price="1", priceAdjustment="-1%"), "spec.priceAdjustment: price is set as well"),
        (overlay(price="NaN"), "spec.price: 'NaN' is not a price"),
        (overlay(priceAdjustment="-101%"), "takes off more than everything"),
        (overlay(capacity={"cpu": 1}), "spec.capacity.cpu: an overlay adds other resources"),
        (overlay(weight=0), "spec.weight: 0 is not a whole number from 1 to 10000"),
        (
            overlay(requirements=[{"key": "a", "operator": "In"}]),
            "spec.requirements[0].values: In needs at least one value",
        ),
        (
            overlay(requirements=[{"key": "a", "operator": "Is"}]),
            "spec.requirements[0].operator: 'Is' is not an operator",
        ),
        (overlay(requirements=[{"key": "a", "operator": "Gt", "values": ["-1"]}]), "values: '-1' is negative"),
        (
            overlay(requirements=[{"key": "a", "operator": "In", "values": ["b"], "minValues": 1}]),
            "minValues: unknown key",
        ),
        (pool(requirements=[{"key": "karpenter.sh/nodepool", "operator": "Exists"}]), "is not for users to set"),
        (pool(requirements=[{"key": "a", "operator": "In", "values": ["b"], "minValues": 2}]), "asks for 2 values"),
        (pool(kubelet={"maxPod": 1}), "spec.template.spec.kubelet.maxPod: unknown key; did you mean maxPods?"),
        (pool(kubelet={"kubeReserved": {"gpu": 1}}), "kubeReserved.gpu: cannot be reserved"),
        (pool(kubelet={"evictionHard": {"memory.available": "110%"}}), "is out of range"),
        (pool(metadata={"labels": {"kubernetes.io/hostname": "a"}}), "is not for users to set"),
        (pool(nodeClassRef={"group": "a"}), "spec.template.spec.nodeClassRef.kind: is missing"),
        (pool(spec={"weight": 101}), "spec.weight: 101 is not"),
        ({"kind": "InstanceType"}, "apiVersion: is missing"),
        (
            {"apiVersion": "karpenter.sh/v9", "kind": "InstanceType", "metadata": {"name": "a"}},
            "use karpenter.sh/v1alpha1",
        ),
    ],
)
def test_an_error_names_file_object_and_field(wire, told):
    text = problem(wire)
    assert text.startswith("w.yaml: ")
    assert told in text
    name = wire.get("metadata", {}).get("name")
    assert name is None or f"{wire['kind']} {name}" in text


def test_two_objects_of_one_name_are_one_too_many():
    assert "another object of this kind and name" in problem(instance_type(), instance_type())


def test_a_kubelet_setting_we_do_not_read_is_passed_over():
    assert read(node_class(topologyManagerPolicy="restricted")).problems == ()
