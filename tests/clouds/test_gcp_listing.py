"""Google's machine types as GKE nodes: the check numbers, prices from rates, and GPUs counted right."""

from __future__ import annotations

import pytest

from dovetail.clouds.bundled import convert_rows
from dovetail.clouds.gcp import labels as gcp_labels
from dovetail.clouds.gcp.parse import Answers, listing_of
from dovetail.clouds.gcp.rates import rates_of
from dovetail.clouds.gcp.wire import MachineType, RateRow
from dovetail.core import labels
from dovetail.core.catalog.allocatable import Stage
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.prices import SourceKind
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.resources import GIB, MIB


def named(listing: Listing, name: str) -> Hardware:
    return next(one for one in listing.hardware if one.name == name)


def terms(listing: Listing, name: str, stage: Stage) -> dict[str, int]:
    found = SpecRules(KubeletSettings(), listing.rules).ledger_of(named(listing, name))
    return {term.resource: term.amount for term in found.terms if term.stage is stage}


@pytest.mark.parametrize(
    ("name", "millis"),
    [
        ("n1-standard-1", 60),
        ("n2-standard-2", 70),
        ("n2-standard-4", 80),
        ("n2-standard-8", 90),
        ("n2-standard-16", 110),
        ("n2-standard-32", 150),
        ("n2-standard-64", 230),
        ("e2-micro", 1060),
        ("e2-medium", 1060),
    ],
)
def test_gke_holds_back_cpu_by_its_table(gcp: Listing, name: str, millis: int) -> None:
    """S2.11: azure-gcp.md B2, checked there by running the peer."""
    assert terms(gcp, name, Stage.KUBE_RESERVED)["cpu"] == millis


def test_gke_holds_back_memory_by_its_tiers(gcp: Listing) -> None:
    assert terms(gcp, "e2-micro", Stage.KUBE_RESERVED)["memory"] == 255 * MIB
    assert terms(gcp, "n2-standard-2", Stage.KUBE_RESERVED)["memory"] == 1843 * MIB
    assert terms(gcp, "n2-standard-8", Stage.KUBE_RESERVED)["memory"] == 3645 * MIB


def test_gke_keeps_disk_space_by_what_backs_it(gcp: Listing) -> None:
    boot = terms(gcp, "n2-standard-2", Stage.SYSTEM_RESERVED)
    assert boot == {"cpu": 100, "ephemeral-storage": 41 * GIB}
    assert terms(gcp, "c3-standard-4-lssd", Stage.SYSTEM_RESERVED)["ephemeral-storage"] == 50 * GIB
    assert terms(gcp, "c3-standard-22-lssd", Stage.SYSTEM_RESERVED)["ephemeral-storage"] == 100 * GIB
    assert terms(gcp, "n2-standard-2", Stage.EVICTION)["memory"] == 100 * MIB


def test_a_node_runs_110_pods_on_100_gibibytes(gcp: Listing) -> None:
    spec = SpecRules(KubeletSettings(), gcp.rules).spec_of(named(gcp, "n2-standard-2"))
    assert spec.capacity["pods"] == 110
    assert spec.capacity["ephemeral-storage"] == 100 * GIB


def test_local_disks_replace_the_boot_disk(gcp: Listing) -> None:
    disk = named(gcp, "c3-standard-22-lssd").disk
    assert (disk.size_bytes, disk.local_disks) == (4 * 375 * GIB, 4)


def test_every_gpu_counts_not_every_kind(gcp: Listing) -> None:
    """azure-gcp.md B2: the peer counts entries, and finds one GPU in a machine of eight."""
    assert named(gcp, "a2-highgpu-8g").devices.of("nvidia.com/gpu") == 8
    assert named(gcp, "a2-highgpu-8g").requirements.value(gcp_labels.GPU_COUNT) == "8"
    assert named(gcp, "a2-highgpu-8g").requirements.value(gcp_labels.GKE_ACCELERATOR) == "nvidia-tesla-a100"


@pytest.mark.parametrize(
    ("name", "family", "shape", "size", "generation"),
    [
        ("n2d-standard-8", "n2d", "standard", "8", "2"),
        ("c3-standard-22-lssd", "c3", "standard", "22", "3"),
        ("e2-medium", "e2", "medium", "medium", "2"),
        ("a2-highgpu-1g", "a2", "highgpu", "1g", "2"),
    ],
)
def test_a_name_tells_family_shape_size_and_generation(
    gcp: Listing, name: str, family: str, shape: str, size: str, generation: str
) -> None:
    told = named(gcp, name).requirements
    keys = (gcp_labels.FAMILY, gcp_labels.SHAPE, gcp_labels.SIZE, gcp_labels.GENERATION)
    assert tuple(told.value(key) for key in keys) == (family, shape, size, generation)


def test_arm_types_are_arm64(gcp: Listing) -> None:
    assert named(gcp, "t2a-standard-1").requirements.value(labels.ARCH) == "arm64"


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("n2-standard-2", 2 * 31_611_000 + 8 * 4_237_000),
        ("e2-medium", 1 * 21_811_590 + 4 * 2_923_530),
        ("e2-micro", round(0.25 * 21_811_590) + 1 * 2_923_530),
        ("f1-micro", 7_600_000),
        ("g1-small", 25_700_000),
    ],
)
def test_a_price_is_its_cpus_and_its_memory(gcp: Listing, name: str, price: int) -> None:
    assert abs(gcp.list_prices[name].nanodollars - price) <= 1


def test_spot_is_priced_by_the_preemptible_rates(gcp: Listing) -> None:
    spot = [row.price for row in gcp.offerings["n2-standard-2"] if row.capacity_type == "spot" and row.price]
    assert {price.nanodollars for price in spot} == {2 * 7_649_000 + 8 * 1_025_000}
    assert {price.source.kind for price in spot} == {SourceKind.BUNDLED}


def test_a_family_without_rates_is_listed_without_a_price(gcp: Listing) -> None:
    rows = gcp.offerings["c4-standard-8"]
    assert len(rows) == 2 * 4
    assert all(row.price is None for row in rows)
    assert "c4-standard-8" not in gcp.list_prices


def test_half_a_spot_rate_is_no_price_but_a_model_is() -> None:
    """Some regions publish a spot rate for m1's cores and none for its memory."""
    rows, _ = convert_rows(
        [
            {"family": "m1", "region": "r", "resource": resource, "capacityType": kind, "price": price}
            for resource, kind, price in (
                ("cpu", "on-demand", "0.03"),
                ("ram", "on-demand", "0.005"),
                ("cpu", "spot", "0.007"),
            )
        ],
        RateRow,
        "rates",
    )
    types, _ = convert_rows([{"name": "m1-megamem-96", "guestCpus": 96, "memoryMb": 1024 * 1024}], MachineType, "types")
    rates, problems = rates_of(rows, "r", "rates")
    listing = listing_of(Answers("r", types, ["r-a"], rates.price_list(types), problems=problems))
    (spot,) = [row for row in listing.offerings["m1-megamem-96"] if row.capacity_type == "spot"]
    assert spot.price is not None
    assert spot.price.source.kind is SourceKind.MODELLED


def test_a_bad_rate_names_its_family_and_unprices_only_it() -> None:
    rates, problems = rates_of([RateRow("n2", "r", "cpu", "on-demand", "-1")], "r", "rates.jsonl.gz")
    assert not rates.by_part
    (problem,) = problems
    assert str(problem).startswith("rates.jsonl.gz: n2 cpu on-demand r: price: ")
    assert "is negative" in str(problem)


def test_a_live_answer_says_which_zones_sell_a_type() -> None:
    types, _ = convert_rows([{"name": "n2-standard-2", "guestCpus": 2, "memoryMb": 8192}], MachineType, "types")
    listing = listing_of(Answers("r", types, ["r-a", "r-b"], sold_in={"n2-standard-2": ["r-b"]}))
    assert {row.zone for row in listing.offerings["n2-standard-2"]} == {"r-b"}


def test_types_written_by_rule_are_not_credited_to_the_api(gcp: Listing) -> None:
    assert all(one.source.startswith("written by naming rule, not recorded") for one in gcp.hardware)
