"""The bundled catalogue is what its manifest says, and covers what the rest of the house counts on."""

from __future__ import annotations

import gzip
import hashlib
import json
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[2] / "src" / "dovetail" / "data"
MANIFEST: list[dict[str, Any]] = json.loads((DATA / "manifest.json").read_text())["files"]
FILES = [str(entry["file"]) for entry in MANIFEST]
PRICES = [name for name in FILES if "/prices/" in name]
SOLD_IN = [Path(name).name for name in FILES if name.startswith("aws/zones/")]


@cache
def rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def by_type(name: str) -> dict[str, dict[str, Any]]:
    return {row["instanceType"]: row for row in rows(name)}


def capabilities(sku: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in sku["capabilities"]}


@pytest.mark.parametrize("entry", MANIFEST, ids=FILES)
def test_a_file_is_what_the_manifest_says(entry: dict[str, Any]) -> None:
    packed = (DATA / entry["file"]).read_bytes()
    assert hashlib.sha256(packed).hexdigest() == entry["sha256"]
    assert len(rows(entry["file"])) == entry["rows"] > 0
    assert all(entry[field] for field in ("source", "sourceDate", "license", "note"))


def test_every_data_file_is_listed_once() -> None:
    found = sorted(path.relative_to(DATA).as_posix() for path in DATA.rglob("*.gz"))
    assert found == sorted(FILES) == sorted(set(FILES))


def test_the_whole_catalogue_stays_small() -> None:
    assert sum((DATA / name).stat().st_size for name in FILES) < 6_000_000


@pytest.mark.parametrize("name", PRICES)
def test_a_price_is_positive_dated_and_owns_up_to_being_modelled(name: str) -> None:
    seen = set()
    for row in rows(name):
        assert Decimal(row["price"]) > 0, row
        assert row["currency"] == ("CNY" if "/cn-" in name else "USD")
        assert row["source"] == ("modelled" if "rule" in row else "bundled"), row
        assert len(row["asOf"]) == len("2026-07-06")
        seen.add((row["instanceType"], row["capacityType"]))
    assert len(seen) == len(rows(name))


def test_us_east_1_prices_every_type_and_most_as_published() -> None:
    names = {row["InstanceType"] for row in rows("aws/types.jsonl.gz")}
    prices = by_type("aws/prices/us-east-1.jsonl.gz")
    assert len(names) == 1395
    assert names <= prices.keys()
    assert sum("rule" not in prices[name] for name in names) == 1334
    assert prices["m5.large"]["price"] == "0.096"


@pytest.mark.parametrize("region", SOLD_IN)
def test_every_type_a_zone_sells_has_a_price_and_a_description(region: str) -> None:
    described = {row["InstanceType"] for row in rows("aws/types.jsonl.gz")}
    sold = {name for zone in rows(f"aws/zones/{region}") for name in zone["InstanceTypes"]}
    assert sold <= described
    assert sold <= by_type(f"aws/prices/{region}").keys()


def test_us_east_1_has_six_zones() -> None:
    zones = rows("aws/zones/us-east-1.jsonl.gz")
    assert len(zones) == len({zone["ZoneId"] for zone in zones}) == 6
    assert sum(len(zone["InstanceTypes"]) for zone in zones) == 6436


def test_a_region_keeps_one_ratio_within_a_family() -> None:
    """The source's dedicated-tenancy rates, 6 or 10 % above their family, are gone."""
    east = by_type("aws/prices/us-east-1.jsonl.gz")
    here = by_type("aws/prices/eu-central-1.jsonl.gz")
    ratios = [
        Decimal(here[f"c6a.{size}"]["price"]) / Decimal(east[f"c6a.{size}"]["price"]) for size in ("large", "8xlarge")
    ]
    assert max(ratios) / min(ratios) < Decimal("1.01")


def test_types_keep_the_shape_of_the_live_answer() -> None:
    types = {row["InstanceType"]: row for row in rows("aws/types.jsonl.gz")}
    large = types["m5.large"]
    assert large["VCpuInfo"]["DefaultVCpus"] == 2
    assert large["MemoryInfo"]["SizeInMiB"] == 8192
    assert large["NetworkInfo"]["Ipv4AddressesPerInterface"] == 10
    assert large["EbsInfo"]["MaximumEbsAttachments"] == 27
    assert "BareMetal" not in large
    assert types["p5.48xlarge"]["GpuInfo"]["Gpus"][0]["Count"] == 8
    assert types["m5.metal"]["BareMetal"] is True


def test_azure_sizes_are_recorded_or_say_how_they_were_derived() -> None:
    skus = {row["name"]: row for row in rows("azure/skus.jsonl.gz")}
    assert sum("derived" not in sku for sku in skus.values()) == 20
    assert capabilities(skus["Standard_D64s_v5"]) | {"vCPUs": "64", "MemoryGB": "256"} == capabilities(
        skus["Standard_D64s_v5"]
    )
    assert capabilities(skus["Standard_D4ps_v5"])["CpuArchitectureType"] == "Arm64"
    for sku in skus.values():
        assert {"vCPUs", "MemoryGB"} <= capabilities(sku).keys()
        assert sku["locations"] == [place["location"] for place in sku["locationInfo"]]


def test_gcp_machines_and_rates_make_a_price() -> None:
    types = {row["name"]: row for row in rows("gcp/types.jsonl.gz")}
    assert types["n1-standard-1"]["memoryMb"] == 3840
    assert types["c4-standard-2"]["memoryMb"] == 7168
    assert types["t2a-standard-4"]["architecture"] == "ARM64"
    assert types["a3-highgpu-8g"]["accelerators"][0]["guestAcceleratorCount"] == 8
    rates = {
        (row["family"], row["resource"]): Decimal(row["price"])
        for row in rows("gcp/rates.jsonl.gz")
        if row["region"] == "us-central1" and row["capacityType"] == "on-demand"
    }
    hourly = 4 * rates["n2", "cpu"] + 16 * rates["n2", "ram"]
    assert Decimal("0.19") < hourly < Decimal("0.20")  # n2-standard-4
