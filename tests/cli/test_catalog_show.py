"""`catalog show`."""

from __future__ import annotations

import json

from dovetail.cli.exits import Exit


def test_a_page_tells_room_offerings_labels_and_where_it_is_all_from(dovetail):
    ran = dovetail("catalog", "show", "m6i.4xlarge")
    assert ran.code == Exit.OK
    for word in (
        "EC2 DescribeInstanceTypes, bundled",
        "$0.7680 an hour, $560.64 a month",
        "8 with 30 addresses each",
        "59.22 GiB",
        "us-east-1a",
        "modelled",
        "EC2 price list, us-east-1",
        "kubernetes.io/arch",
        "old",
    ):
        assert word in ran.out


def test_the_json_is_that_of_list_and_more(dovetail):
    (listed,) = json.loads(
        dovetail("catalog", "list", "-l", "node.kubernetes.io/instance-type=m6i.4xlarge", "-o", "json").out
    )
    shown = json.loads(dovetail("catalog", "show", "m6i.4xlarge", "-o", "json").out)
    for key in ("name", "architecture", "capacity", "allocatable", "listPrice"):
        assert shown[key] == listed[key]
    assert [{**row, "labels": None} for row in listed["offerings"]] == [
        {**row, "labels": None} for row in shown["offerings"]
    ]
    assert shown["labels"]["karpenter.k8s.aws/instance-cpu"] == ["16"]
    assert shown["volumeLimits"] == {"ebs.csi.aws.com": 19}


def test_a_type_no_zone_sells_says_so_and_keeps_its_list_price(dovetail):
    everything = json.loads(dovetail("catalog", "list", "-o", "json").out)
    name = next(one["name"] for one in everything if not one["offerings"])
    ran = dovetail("catalog", "show", name)
    assert "no zone here sells it" in ran.out
    assert "an hour" in ran.out
    assert "not for sale" in dovetail("catalog", "list", "-l", f"node.kubernetes.io/instance-type={name}").out


def test_csv_has_a_row_for_each_offering(dovetail):
    lines = dovetail("catalog", "show", "c-4x-amd64-linux", "--cloud", "kwok", "-o", "csv").out.splitlines()
    assert len(lines) == 1 + 8
