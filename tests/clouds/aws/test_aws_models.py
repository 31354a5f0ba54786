"""AWS's descriptions of its services, cut to what is asked and read: nothing that a call needs may be missing."""

import gzip
import json
from pathlib import Path

import pytest
from botocore.loaders import Loader

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.models import Files, cut

CUT = Loader(file_loader=Files())
WHOLE = Loader()
SERVICES = sorted({one.service for one in calls.EVERY})


def both(service):
    return CUT.load_service_model(service, "service-2"), WHOLE.load_service_model(service, "service-2")


def reached(model, start):
    """Names of all shapes from an operation's part on."""
    found, names = set(), [start] if start else []
    while names:
        name = names.pop()
        if name in found:
            continue
        found.add(name)
        shape = model["shapes"][name]
        parts = [
            *shape.get("members", {}).values(),
            *(shape[key] for key in ("member", "key", "value") if key in shape),
        ]
        names += [one["shape"] for one in parts]
    return found


def test_every_call_is_described_and_no_other():
    for service in SERVICES:
        ours, theirs = both(service)
        made = {one.name for one in calls.EVERY if one.service == service}
        assert ours["operations"].keys() == (theirs["operations"].keys() if service == "sts" else made)


def test_what_is_asked_is_described_as_AWS_describes_it():
    for one in calls.EVERY:
        ours, theirs = both(one.service)
        operation = theirs["operations"][one.name]
        assert ours["operations"][one.name] == operation
        for name in reached(theirs, operation.get("input", {}).get("shape")):
            assert ours["shapes"][name] == theirs["shapes"][name], (one.name, name)


def test_what_is_answered_is_described_down_to_its_last_shape():
    for one in calls.EVERY:
        ours, _ = both(one.service)
        assert reached(ours, ours["operations"][one.name].get("output", {}).get("shape")) <= ours["shapes"].keys()


def test_only_the_three_longest_answers_are_shortened():
    ours, theirs = both("ec2")
    shorter = {name for name, shape in ours["shapes"].items() if shape != theirs["shapes"][name]}
    of_types = reached(theirs, "InstanceTypeInfo")
    assert {"InstanceTypeInfo", "SpotPrice", "InstanceTypeOffering"} <= shorter
    assert shorter - of_types == {"SpotPrice", "InstanceTypeOffering"}
    others = {one.name for one in calls.EVERY if one.service == "ec2"} - {"DescribeInstanceTypes"}
    outputs = (theirs["operations"][name].get("output", {}).get("shape") for name in others)
    assert not shorter & of_types & {name for start in outputs for name in reached(theirs, start)}


def test_what_a_type_is_read_by_is_still_answered():
    ours, _ = both("ec2")
    shapes = ours["shapes"]
    assert {"InstanceType", "VCpuInfo", "MemoryInfo", "GpuInfo"} <= shapes["InstanceTypeInfo"]["members"].keys()
    assert "DefaultVCpus" in shapes["VCpuInfo"]["members"]
    assert "SupportedBootModes" not in shapes["InstanceTypeInfo"]["members"]


def test_other_files_are_read_as_they_are():
    assert CUT.load_data("partitions") == WHOLE.load_data("partitions")
    assert CUT.load_service_model("ec2", "paginators-1") == WHOLE.load_service_model("ec2", "paginators-1")


def test_a_file_that_is_not_there_is_none_and_one_that_is_damaged_says_which(tmp_path: Path):
    assert Files().load_file(str(tmp_path / "nothing")) is None
    (tmp_path / "bad.json.gz").write_bytes(gzip.compress(b"{"))
    with pytest.raises(ValueError, match=r"bad\.json\.gz cannot be read"):
        Files().load_file(str(tmp_path / "bad"))


def test_a_description_without_shapes_has_none():
    text = json.dumps({"version": "2.0", "operations": {"A": {"name": "A"}, "B": {"name": "B"}}}).encode()
    assert cut(text, frozenset({"A"})) == {"version": "2.0", "operations": {"A": {"name": "A"}}, "shapes": {}}
