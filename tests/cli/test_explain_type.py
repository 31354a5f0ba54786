"""`explain type`: each term of allocatable with its rule and source (S2.14), for all four catalogues."""

from __future__ import annotations

import json
from itertools import groupby

import pytest

from dovetail.cli.exits import Exit
from dovetail.core import quantity

ONE_OF_EACH = [
    ("aws", "m6i.4xlarge", "eks strategy"),
    ("azure", "Standard_D4s_v5", "aks strategy"),
    ("gcp", "n2-standard-4", "gke strategy"),
    ("kwok", "c-4x-amd64-linux", "default"),
]


def explained(ran) -> dict:
    assert ran.code == Exit.OK, ran.err
    return json.loads(ran.out)


@pytest.mark.parametrize(("cloud", "name", "source"), ONE_OF_EACH)
def test_the_terms_add_up_to_allocatable_S2_8(dovetail, cloud, name, source):
    found = explained(dovetail("explain", "type", name, "--cloud", cloud, "-o", "json"))
    assert source in {term["source"] for term in found["terms"]}
    for resource, terms in groupby(found["terms"], key=lambda term: term["resource"]):
        total = 0
        for term in terms:
            assert term["rule"]
            assert term["source"]
            total += term["sign"] * quantity.parse(term["amount"]).nanos
            assert quantity.parse(term["leaves"]).nanos == total
        assert quantity.parse(found["allocatable"][resource]).nanos == total


@pytest.mark.parametrize(("cloud", "name", "source"), ONE_OF_EACH)
def test_the_table_shows_rules_sources_and_prices_S2_14(dovetail, cloud, name, source):
    ran = dovetail("explain", "type", name, "--cloud", cloud)
    assert ran.code == Exit.OK
    for word in ("RULE", "SET BY", source, "allocatable", "prices, an hour", "on-demand", "spot"):
        assert word in ran.out


def memory_terms(found: dict) -> dict[str, dict]:
    return {term["stage"]: term for term in found["terms"] if term["resource"] == "memory"}


@pytest.mark.parametrize(
    ("strategy", "amount"), [("eks", "2829Mi"), ("gke", "5611Mi"), ("aks", "5611Mi"), ("aks-1.29", "4730Mi")]
)
def test_the_strategy_can_be_chosen_S2_11(dovetail, strategy, amount):
    words = ("explain", "type", "m6i.4xlarge", "--reserve-strategy", strategy, "-o", "json")
    assert memory_terms(explained(dovetail(*words)))["kube-reserved"]["amount"] == amount


def test_no_strategy_reserves_nothing(dovetail):
    found = explained(dovetail("explain", "type", "m6i.4xlarge", "--reserve-strategy", "none", "-o", "json"))
    assert "kube-reserved" not in memory_terms(found)


@pytest.mark.parametrize(
    ("words", "pods"),
    [
        ((), "234"),
        (("--max-pods", "50"), "50"),
        (("--pods-per-core", "4"), "64"),
        (("--prefix-delegation",), "110"),
        (("--max-pods", "50", "--pods-per-core", "2"), "32"),
    ],
)
def test_pod_density_follows_the_flags_S2_9(dovetail, words, pods):
    found = explained(dovetail("explain", "type", "m6i.4xlarge", *words, "-o", "json"))
    assert found["allocatable"]["pods"] == pods


def test_the_haircut_is_a_setting(dovetail, monkeypatch):
    words = ("explain", "type", "m6i.4xlarge", "-o", "json")
    assert memory_terms(explained(dovetail(*words)))["VM overhead"]["amount"] == "1967Mi"
    by_flag = memory_terms(explained(dovetail(*words, "--vm-memory-overhead-percent", "0.075")))["VM overhead"]
    monkeypatch.setenv("VM_MEMORY_OVERHEAD_PERCENT", "7.5%")
    assert by_flag == memory_terms(explained(dovetail(*words)))["VM overhead"]
    assert by_flag["amount"] == "4916Mi"


WORLD = (
    {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "InstanceType",
        "metadata": {"name": "m6i.4xlarge"},
        "spec": {
            "resources": {"hardware-vendor.example/foo": "2", "pods": 100},
            "overhead": {"memory": "900Mi"},
            "offerings": [{"karpenter.sh/capacity-type": "on-demand", "karpenter.sh/price": "0.60"}],
        },
    },
    {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "ten-off"},
        "spec": {
            "requirements": [{"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m6i"]}],
            "priceAdjustment": "-10%",
            "capacity": {"smarter-devices/fuse": 4},
        },
    },
)


def test_what_the_user_knows_better_is_in_the_sum_and_named_S2_2_S2_3_S2_4_S2_6(dovetail, world):
    found = explained(dovetail("explain", "type", "m6i.4xlarge", "-f", world(*WORLD), "-o", "json"))
    by_place = {(term["resource"], term["stage"]): term for term in found["terms"]}
    assert by_place["memory", "VM overhead"]["amount"] == "900Mi"
    assert by_place["memory", "VM overhead"]["source"] == "InstanceType m6i.4xlarge"
    assert by_place["pods", "capacity"]["rule"] == "spec.resources.pods"
    assert by_place["smarter-devices/fuse", "capacity"]["source"] == "NodeOverlay ten-off"
    assert found["allocatable"]["hardware-vendor.example/foo"] == "2"
    (row,) = found["offerings"]
    assert (row["zone"], row["price"], row["source"]) == (None, 0.54, "overlay")
    assert found["touchedBy"] == [
        "InstanceType m6i.4xlarge: resources, overhead, offerings",
        "NodeOverlay ten-off: price -10%, smarter-devices/fuse",
    ]


def test_huge_pages_of_an_overlay_are_a_line_of_the_memory_S2_8(dovetail, world):
    spec = {"requirements": [], "capacity": {"hugepages-2Mi": "1Gi"}}
    wire = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": "pages"}, "spec": spec}
    found = explained(dovetail("explain", "type", "m6i.4xlarge", "-f", world(wire), "-o", "json"))
    last = memory_terms(found)["huge pages"]
    assert (last["amount"], last["source"]) == ("1Gi", "NodeOverlay pages")
    assert last["leaves"] == found["allocatable"]["memory"]


def test_overlays_can_be_gated_off(dovetail, world):
    words = (
        "explain",
        "type",
        "m6i.4xlarge",
        "-f",
        world(*WORLD),
        "-o",
        "json",
        "--feature-gates",
        "NodeOverlay=false",
    )
    (row,) = explained(dovetail(*words))["offerings"]
    assert (row["price"], row["source"]) == (0.6, "override")


def test_a_pools_kubelet_block_is_in_the_sum_S2_7(dovetail, world):
    node_class = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {"kubelet": {"systemReserved": {"memory": "1Gi"}, "evictionHard": {"memory.available": "10%"}}},
    }
    terms = memory_terms(explained(dovetail("explain", "type", "m6i.4xlarge", "-f", world(node_class), "-o", "json")))
    assert (terms["system-reserved"]["amount"], terms["system-reserved"]["source"]) == ("1Gi", "kubelet settings")
    assert terms["eviction threshold"]["rule"] == "evictionHard memory.available 10%"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("m6i.4xlage", "did you mean m6i.4xlarge?"),
        ("Standard_D4s_v5", "azure has one: add --cloud azure"),
        ("qqqqqqqqqq", "`dovetail catalog list` shows those it has"),
    ],
)
def test_a_name_nobody_sells_gets_a_hint(dovetail, name, told):
    ran = dovetail("explain", "type", name)
    assert ran.code == Exit.BAD_INPUT
    assert told in ran.err
    assert ran.out == ""


def test_case_does_not_matter_in_a_name(dovetail):
    assert (
        explained(dovetail("explain", "type", "STANDARD_d4s_V5", "--cloud", "azure", "-o", "json"))["name"]
        == "Standard_D4s_v5"
    )


def test_terms_can_be_had_as_csv(dovetail):
    lines = dovetail("explain", "type", "m6i.4xlarge", "-o", "csv").out.splitlines()
    assert lines[0] == "resource,stage,sign,amount,leaves,rule,source"
    assert len(lines) > 8


def test_an_instance_type_of_another_cloud_is_noted_and_no_error(dovetail, world):
    ran = dovetail("explain", "type", "c-4x-amd64-linux", "--cloud", "kwok", "-f", world(WORLD[0]))
    assert ran.code == Exit.OK
    assert "InstanceType m6i.4xlarge: kwok test-region has no such type" in ran.err
