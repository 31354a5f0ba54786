"""Damaged data files: what can be read is, and the rest is named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.clouds import bundled
from dovetail.clouds.aws import parse as aws_parse
from dovetail.clouds.aws.wire import NetworkRow, TypeAnswer, ZoneRow
from dovetail.clouds.azure import parse as azure_parse
from dovetail.clouds.azure.wire import Sku
from dovetail.clouds.bundled import convert_rows, decode_rows, manifest, read_rows, unpack_rows
from dovetail.clouds.gcp import parse as gcp_parse
from dovetail.clouds.gcp.wire import MachineType, RateRow
from dovetail.clouds.load import load
from dovetail.clouds.options import BUNDLED, LoadOptions
from dovetail.clouds.pricelist import PriceRow, price_list
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.specs import SpecMaker, SpecRules
from dovetail.core.errors import BadField
from dovetail.core.kubelet import KubeletSettings

FILES: dict[str, type[msgspec.Struct]] = {
    "aws/types.jsonl.gz": TypeAnswer,
    "aws/zones/us-east-1.jsonl.gz": ZoneRow,
    "aws/network.jsonl.gz": NetworkRow,
    "aws/prices/us-east-1.jsonl.gz": PriceRow,
    "azure/skus.jsonl.gz": Sku,
    "gcp/types.jsonl.gz": MachineType,
    "gcp/rates.jsonl.gz": RateRow,
}
PACKED = {name: (BUNDLED / name).read_bytes() for name in FILES}
GOOD = {name: gzip.decompress(packed).splitlines() for name, packed in PACKED.items()}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def listed(name: str, rows: list[Any]) -> Listing | None:
    match name:
        case "aws/types.jsonl.gz":
            zones = [ZoneRow("za", "id", tuple(row.instance_type for row in rows))]
            return aws_parse.listing_of(aws_parse.Answers("r", rows, zones))
        case "azure/skus.jsonl.gz":
            return azure_parse.listing_of(azure_parse.Answers("eastus", rows))
        case "gcp/types.jsonl.gz":
            return gcp_parse.listing_of(gcp_parse.Answers("r", rows, ["r-a"]))
    return None


@pytest.mark.parametrize("name", FILES)
def test_every_bundled_line_is_read(name: str) -> None:
    rows, problems = read_rows(name, FILES[name])
    assert problems == ()
    assert len(rows) == len(GOOD[name]) == manifest()[name].rows


@pytest.mark.parametrize("name", FILES)
@given(cut=st.floats(0.05, 0.999))
@settings(max_examples=15, deadline=None)
def test_a_file_cut_short_gives_the_lines_before_the_cut(name: str, cut: float) -> None:
    packed = PACKED[name][: int(len(PACKED[name]) * cut)]
    rows, problems = unpack_rows(packed, FILES[name], name)
    assert len(rows) < len(GOOD[name]) or cut > 0.9
    assert rows == decode_rows(b"\n".join(GOOD[name][: len(rows)]), FILES[name], name)[0]
    assert "ends too early" in str(problems[-1])
    assert str(problems[-1]).startswith(f"{name}: line {len(rows) + 1} on")


@pytest.mark.parametrize("name", FILES)
@given(at=st.floats(0, 1), flip=st.integers(1, 255))
@settings(max_examples=25, deadline=None)
def test_a_damaged_byte_never_raises(name: str, at: float, flip: int) -> None:
    spoilt = bytearray(PACKED[name])
    spoilt[int((len(spoilt) - 1) * at)] ^= flip
    rows, problems = unpack_rows(bytes(spoilt), FILES[name], name)
    assert all(isinstance(one, BadField) for one in problems)
    listed(name, rows)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_problem_and_not_an_exception(packed: bytes) -> None:
    rows, problems = unpack_rows(packed, TypeAnswer, "aws/types.jsonl.gz")
    assert rows == []
    assert problems


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    rows, (problem,) = read_rows("aws/types.jsonl.gz", TypeAnswer, tmp_path)
    assert rows == []
    assert str(problem) == "aws/types.jsonl.gz: cannot be read: No such file or directory"


def test_two_files_in_a_row_are_one() -> None:
    """gzip files may be joined end to end; a writer that appends makes such."""
    name = "gcp/types.jsonl.gz"
    rows, problems = unpack_rows(PACKED[name] * 2, MachineType, name)
    assert problems == ()
    assert len(rows) == 2 * len(GOOD[name])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"InstanceType":"m5.large"', "types: line 2: is not JSON: input data was truncated"),
        (
            '{"InstanceType":"x.y","ProcessorInfo":{},"VCpuInfo":{"DefaultVCpus":"2"}}',
            "types: x.y: VCpuInfo.DefaultVCpus",
        ),
        (
            '{"InstanceType":"x.y","ProcessorInfo":{},"VCpuInfo":{"DefaultVCpus":0}}',
            "types: x.y: VCpuInfo.DefaultVCpus",
        ),
        ('{"InstanceType":"x.y","ProcessorInfo":{}}', "types: x.y: VCpuInfo: is missing"),
        ('{"InstanceType":"x.y","ProcessorInfo":{},"VCpuInfo":{}}', "types: x.y: VCpuInfo.DefaultVCpus: is missing"),
        ("[]", "types: line 2: expected object, got array"),
        ('{"InstanceType":7}', "types: line 2: InstanceType: expected str, got int"),
        ('{"InstanceType":' + "[" * 5000, "types: line 2"),
        ('{"InstanceType":"\\ud800"}', "types: line 2"),
    ],
)
def test_a_bad_line_names_file_object_and_field_and_the_others_load(line: str, expected: str) -> None:
    good = GOOD["aws/types.jsonl.gz"][:2]
    rows, (problem,) = decode_rows(b"\n".join([good[0], line.encode(), good[1]]), TypeAnswer, "types")
    assert len(rows) == 2
    assert str(problem).startswith(expected)


@pytest.mark.parametrize("name", FILES)
@given(data=st.data(), value=json_values)
@settings(max_examples=60, deadline=None)
def test_a_row_with_one_field_spoilt_costs_at_most_itself(name: str, data: st.DataObject, value: Any) -> None:
    lines = GOOD[name]
    number = data.draw(st.integers(0, len(lines) - 1))
    row = json.loads(lines[number])
    target: Any = row
    while True:
        step = data.draw(st.sampled_from(list(target) if isinstance(target, dict) else range(len(target))))
        if not isinstance(target[step], dict | list) or not target[step] or data.draw(st.booleans()):
            target[step] = value
            break
        target = target[step]
    spoilt = [*lines[:3], json.dumps(row).encode(), *lines[3:6]]
    rows, problems = decode_rows(b"\n".join(spoilt), FILES[name], name)
    assert len(rows) + len(problems) == len(spoilt)
    assert len(rows) >= len(spoilt) - 1
    found = listed(name, rows)
    if found is not None:
        maker = SpecMaker(SpecRules(KubeletSettings(), found.rules))
        for one in found.hardware:
            maker.spec_of(one)
        assert len(found.problems) <= 1
    if name.startswith("aws/prices"):
        _, wrong = price_list(rows, name, "test")
        assert len(wrong) <= 1


@pytest.mark.parametrize("name", FILES)
@given(rows=st.lists(json_values, max_size=5))
@settings(max_examples=40, deadline=None)
def test_any_json_is_read_or_named(name: str, rows: list[Any]) -> None:
    lines = b"\n".join(json.dumps(row).encode() for row in rows)
    found, problems = decode_rows(lines, FILES[name], name)
    assert len(found) + len(problems) == len(rows)
    converted, wrong = convert_rows(rows, FILES[name], name)
    assert len(converted) + len(wrong) == len(rows)
    listed(name, found)


def test_a_number_that_is_none_is_refused_in_a_live_answer_too() -> None:
    """JSON has no NaN, but a client library may hand one over."""
    answer = json.loads(GOOD["aws/types.jsonl.gz"][0])
    answer["ProcessorInfo"]["SustainedClockSpeedInGhz"] = float("nan")
    rows, _ = convert_rows([answer], TypeAnswer, "answer")
    aws_parse.listing_of(aws_parse.Answers("r", rows, []))


@pytest.mark.parametrize("price", ["", "-1", "NaN", "1,5", "0x1", "1e999"])
def test_a_bad_price_names_its_type_and_unprices_only_it(price: str) -> None:
    found, (problem,) = price_list([PriceRow("a", price), PriceRow("b", "0.1")], "prices", "test")
    assert list(found.on_demand) == ["b"]
    assert str(problem).startswith("prices: a: price: ")


def test_a_listing_from_a_damaged_folder_still_stands(tmp_path: Path) -> None:
    for name in ("aws/types.jsonl.gz", "aws/zones/us-east-1.jsonl.gz", "aws/prices/us-east-1.jsonl.gz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(PACKED[name])
    (tmp_path / "aws/types.jsonl.gz").write_bytes(PACKED["aws/types.jsonl.gz"][:9000])
    listing = load("aws", options=LoadOptions(root=tmp_path))
    assert 100 < len(listing.hardware) < 1395
    assert {problem.place.parts[0] for problem in listing.problems} == {"aws/types.jsonl.gz", "aws/network.jsonl.gz"}
    assert listing.hardware[0].source == "EC2 DescribeInstanceTypes, bundled"


def test_a_folder_without_a_manifest_has_an_empty_one(tmp_path: Path) -> None:
    assert bundled.manifest(tmp_path) == {}
    (tmp_path / "manifest.json").write_text("{")
    assert bundled.manifest(tmp_path) == {}


def test_the_manifest_says_where_each_file_came_from() -> None:
    entry = manifest()["aws/types.jsonl.gz"]
    assert entry.source
    assert entry.source_date.startswith("20")
    assert entry.license
