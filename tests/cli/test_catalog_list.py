"""`catalog list`."""

from __future__ import annotations

import csv
import io
import json

import pytest
import yaml

from dovetail.cli.exits import Exit
from dovetail.clouds.load import CLOUDS

KWOK = ("catalog", "list", "--cloud", "kwok")


def listed(ran) -> list[dict]:
    assert ran.code == Exit.OK, ran.err
    return json.loads(ran.out)


def test_aws_lists_at_least_1390_types_with_prices_and_their_source(dovetail):
    found = listed(dovetail("catalog", "list", "--cloud", "aws", "--region", "us-east-1", "--output", "json"))
    priced = [one for one in found if one["listPrice"]]
    assert len(priced) >= 1390
    assert all(one["listPrice"]["price"] > 0 and one["listPrice"]["source"] for one in priced)
    assert {one["listPrice"]["source"] for one in priced} <= {"bundled", "modelled"}


def test_the_json_of_a_type_has_the_documented_fields(dovetail):
    (one,) = listed(dovetail(*KWOK, "--limit", "1", "-o", "json"))
    assert list(one) == ["name", "architecture", "capacity", "allocatable", "listPrice", "offerings"]
    assert list(one["listPrice"]) == ["price", "currency", "source", "asOf", "detail"]
    row = ["zone", "capacityType", "price", "currency", "source", "asOf", "detail", "available", "count"]
    assert list(one["offerings"][0]) == row


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_cloud_has_a_table(dovetail, cloud):
    ran = dovetail("catalog", "list", "--cloud", cloud, "--limit", "5")
    assert ran.code == Exit.OK
    assert len(ran.out.splitlines()) == 6
    assert "ON-DEMAND" in ran.out


def test_a_type_without_a_price_is_unpriced_and_never_zero(dovetail):
    ran = dovetail("catalog", "list", "--cloud", "gcp", "-l", "karpenter.k8s.gcp/instance-family=a2", "--limit", "1")
    assert "unpriced" in ran.out
    assert "$0.0000" not in ran.out
    (one,) = listed(
        dovetail(
            "catalog",
            "list",
            "--cloud",
            "gcp",
            "-l",
            "karpenter.k8s.gcp/instance-family=a2",
            "--limit",
            "1",
            "-o",
            "json",
        )
    )
    assert one["listPrice"] is None
    assert {row["price"] for row in one["offerings"] if row["capacityType"] == "on-demand"} == {None}


def test_yaml_csv_and_names_hold_the_same_types(dovetail):
    names = dovetail(*KWOK, "-o", "name").out.split()
    assert len(names) == 144
    assert [one["name"] for one in yaml.safe_load(dovetail(*KWOK, "-o", "yaml").out)] == names
    rows = list(csv.DictReader(io.StringIO(dovetail(*KWOK, "-o", "csv").out)))
    assert list(dict.fromkeys(row["name"] for row in rows)) == names
    assert len(rows) == 144 * 8


def test_a_selector_a_zone_and_a_capacity_type_narrow_types_and_rows(dovetail):
    found = listed(
        dovetail(
            *KWOK,
            *("-l", "kubernetes.io/arch in (arm64), karpenter.kwok.sh/instance-cpu>=4", "-l", "kubernetes.io/os=linux"),
            *("--zone", "test-zone-b", "--capacity-type", "spot", "-o", "json"),
        )
    )
    assert {one["architecture"] for one in found} == {"arm64"}
    assert {int(one["capacity"]["cpu"]) >= 4 for one in found} == {True}
    assert {(row["zone"], row["capacityType"]) for one in found for row in one["offerings"]} == {
        ("test-zone-b", "spot")
    }


def test_a_price_limit_keeps_what_costs_at_most_that(dovetail):
    found = listed(dovetail(*KWOK, "--max-price", "0.05", "-o", "json"))
    assert found
    assert max(row["price"] for one in found for row in one["offerings"]) <= 0.05


@pytest.mark.parametrize(
    ("order", "key"),
    [
        ("name", lambda one: one["name"]),
        ("price", lambda one: min(row["price"] for row in one["offerings"])),
        ("cpu", lambda one: int(one["capacity"]["cpu"])),
    ],
)
def test_types_come_in_the_order_asked_for(dovetail, order, key):
    found = listed(dovetail(*KWOK, "--sort", order, "-o", "json"))
    assert [key(one) for one in found] == sorted(key(one) for one in found)


def test_nothing_that_fits_is_said_and_is_no_error(dovetail):
    ran = dovetail(*KWOK, "-l", "nobody=here")
    assert (ran.code, ran.out) == (Exit.OK, "")
    assert "none of the 144 types fits" in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--selector", "a=b=c"), "--selector: "),
        (("--max-price", "cheap"), "--max-price: 'cheap' is not a price"),
        (("--region", "mars"), "there is no listing for region 'mars'"),
        (("--nodepool", "x"), "--nodepool: there is no NodePool 'x'"),
        (("-f", "nowhere.yaml"), "nowhere.yaml: cannot be read: no such file or directory"),
        (("--catalog", "nowhere.json"), "--catalog: a file says itself"),
    ],
)
def test_a_bad_flag_is_named(dovetail, words, told):
    ran = dovetail(*KWOK, *words)
    assert ran.code == Exit.BAD_INPUT
    assert told in ran.err


def test_a_narrow_terminal_gets_the_columns_that_matter(dovetail, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    ran = dovetail(*KWOK, "--limit", "1")
    assert "ON-DEMAND" in ran.out
    assert "not shown, for want of width" in ran.out


def pool(name: str, **node: object) -> dict:
    ref = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"nodeClassRef": ref, "requirements": [], **node}}},
    }


def test_a_pool_shows_what_it_may_buy_and_how_much_room_it_leaves(dovetail, world):
    arm = [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]
    name = world(pool("a", requirements=arm, kubelet={"maxPods": 7}), pool("b"))
    found = listed(dovetail(*KWOK, "-f", name, "--nodepool", "a", "-o", "json"))
    assert {(one["architecture"], one["capacity"]["pods"]) for one in found} == {("arm64", "7")}
    ran = dovetail(*KWOK, "-f", name, "--limit", "1")
    assert "looking through NodePool a" in ran.err


def test_manifests_come_from_stdin_and_directories_too(dovetail, world, tmp_path):
    text = (tmp_path / world(pool("a", kubelet={"maxPods": 3}), name="a.yml")).read_text()
    for words in (("-f", "-"), ("-f", str(tmp_path))):
        found = listed(dovetail(*KWOK, *words, "--limit", "1", "-o", "json", stdin=text))
        assert found[0]["capacity"]["pods"] == "3"


def test_kinds_of_no_use_are_counted_on_stderr(dovetail, world):
    ran = dovetail(*KWOK, "--limit", "1", "-f", world({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}))
    assert ran.code == Exit.OK
    assert "skipped 1 objects" in ran.err


def test_bad_input_costs_itself_the_rest_is_printed_and_the_code_says_so(dovetail, world):
    def instance_type(name: str, **spec: object) -> dict:
        return {"apiVersion": "karpenter.sh/v1alpha1", "kind": "InstanceType", "metadata": {"name": name}, "spec": spec}

    name = world(
        instance_type("c-1x-amd64-linux", resources={"memory": "1,5Gi"}),
        instance_type("c-2x-amd64-linux", resources={"pods": 5}),
        instance_type("c-4x-amd64-linux", offerings=[{"karpenter.sh/price": -1}]),
    )
    ran = dovetail(*KWOK, "-f", name, "-o", "json")
    assert ran.code == Exit.BAD_INPUT
    found = {one["name"]: one for one in json.loads(ran.out)}
    assert len(found) == 144
    assert found["c-2x-amd64-linux"]["capacity"]["pods"] == "5"
    assert len(ran.err.splitlines()) == 2
    assert "InstanceType c-1x-amd64-linux: spec.resources.memory: '1,5Gi' is not a quantity" in ran.err


def test_overlays_that_conflict_are_named_both_S2_6(dovetail, world):
    def overlay(name: str) -> dict:
        spec = {"requirements": [], "price": "0.1"}
        return {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": name}, "spec": spec}

    ran = dovetail(*KWOK, "-f", world(overlay("a"), overlay("b")), "--limit", "1")
    assert ran.code == Exit.BAD_INPUT
    assert "NodeOverlay a: conflicts with overlay b" in ran.err


def test_the_answer_is_the_same_without_the_cache_S0_4(dovetail):
    with_cache = dovetail(*KWOK, "-o", "json").out
    assert dovetail(*KWOK, "-o", "json", "--feature-gates", "InstanceTypeCaching=false").out == with_cache
