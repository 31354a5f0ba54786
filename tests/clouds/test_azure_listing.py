"""Azure's sizes as AKS nodes: the check numbers, the names, and the sizes AKS will not have."""

from __future__ import annotations

import pytest

from dovetail.clouds.azure import labels as azure_labels
from dovetail.clouds.azure.names import parse_name
from dovetail.clouds.azure.parse import Answers, listing_of
from dovetail.clouds.azure.wire import Sku
from dovetail.clouds.bundled import convert_rows
from dovetail.core import labels
from dovetail.core.catalog.allocatable import Stage
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.requirements import is_in, requirement
from dovetail.core.resources import GIB, MIB


def named(listing: Listing, name: str) -> Hardware:
    return next(one for one in listing.hardware if one.name == name)


def held(listing: Listing, name: str) -> dict[str, int]:
    found = SpecRules(KubeletSettings(), listing.rules).ledger_of(named(listing, name))
    return {term.resource: term.amount for term in found.terms if term.stage is Stage.KUBE_RESERVED}


@pytest.mark.parametrize(
    ("name", "millis"),
    [("D2s_v5", 100), ("D4s_v5", 140), ("D8s_v5", 180), ("D16s_v5", 260), ("D64s_v5", 740)],
)
def test_aks_holds_back_cpu_by_its_table(azure: Listing, name: str, millis: int) -> None:
    """S2.11: azure-gcp.md A2, checked there by running the peer."""
    assert held(azure, f"Standard_{name}")["cpu"] == millis


@pytest.mark.parametrize(
    ("name", "mib"),
    [("D2s_v5", 1843), ("D4s_v5", 2662), ("D8s_v5", 3645), ("D16s_v5", 5611), ("D64s_v5", 12165)],
)
def test_aks_holds_back_memory_by_its_table(azure: Listing, name: str, mib: int) -> None:
    """S2.11: for 8, 16, 32, 64 and 256 GiB."""
    assert held(azure, f"Standard_{name}")["memory"] == mib * MIB


def test_aks_evicts_at_750_mebibytes_and_runs_250_pods_on_128_gigabytes(azure: Listing) -> None:
    hardware = named(azure, "Standard_D2s_v5")
    found = SpecRules(KubeletSettings(), azure.rules).ledger_of(hardware)
    eviction = {term.resource: term.amount for term in found.terms if term.stage is Stage.EVICTION}
    assert eviction == {"memory": 750 * MIB}
    assert found.capacity["pods"] == 250
    assert found.capacity["ephemeral-storage"] == 128 * 10**9
    assert hardware.memory_bytes == 8 * GIB


@pytest.mark.parametrize(
    ("name", "family", "series", "version"),
    [
        ("Standard_D2s_v3", "D", "Ds_v3", "3"),
        ("Standard_D16ads_v5", "D", "Dads_v5", "5"),
        ("Standard_NC24ads_A100_v4", "N", "NCads_v4", "4"),
        ("Standard_ND96isr_H100_v5", "N", "NDisr_v5", "5"),
        ("Standard_F16", "F", "F", "1"),
        ("Standard_DC16ads_cc_v5", "D", "DCads_v5", "5"),
        ("Standard_M8-2ms", "M", "Mms", "1"),
    ],
)
def test_a_name_tells_family_series_and_version(name: str, family: str, series: str, version: str) -> None:
    found = parse_name(name)
    assert found is not None
    assert (found.family, found.series, found.version or "1") == (family, series, version)


def test_every_bundled_name_is_understood(azure: Listing) -> None:
    assert [one.name for one in azure.hardware if parse_name(one.name) is None] == []


def test_a_size_carries_the_labels_its_answer_tells(azure: Listing) -> None:
    told = named(azure, "Standard_NC24ads_A100_v4").requirements
    assert told.value(azure_labels.GPU_NAME) == "A100"
    assert told.value(azure_labels.GPU_MANUFACTURER) == "nvidia"
    assert told.value(azure_labels.GPU_COUNT) == "1"
    assert told.value(azure_labels.SKU_MEMORY) == told.value(azure_labels.AKS_MEMORY) == str(220 * 1024)
    assert told.value(azure_labels.EPHEMERAL_DISK_GB) == "274"
    assert told.value(azure_labels.HYPERV_GENERATION) == "2"
    assert named(azure, "Standard_NC24ads_A100_v4").devices.of("nvidia.com/gpu") == 1
    plain = named(azure, "Standard_D2s_v5").requirements
    gpu = plain.get(azure_labels.GPU_NAME)
    assert gpu is not None
    assert gpu.admits(None)


def test_arm_sizes_are_arm64(azure: Listing) -> None:
    assert named(azure, "Standard_D2ps_v6").requirements.value(labels.ARCH) == "arm64"


def test_a_size_is_sold_in_each_zone_and_once_for_the_region(azure: Listing) -> None:
    rows = azure.offerings["Standard_D2s_v5"]
    assert {row.zone for row in rows} == {"eastus-1", "eastus-2", "eastus-3", "0"}
    scopes = {row.zone: row.requirements.value(azure_labels.PLACEMENT_SCOPE) for row in rows}
    assert scopes["0"] == "regional"
    assert scopes["eastus-1"] == "zonal"
    assert {row.requirements.value(azure_labels.PRIORITY) for row in rows} == {"regular", "spot"}
    assert len({row.price for row in rows}) == 2


def test_the_disk_drivers_empty_zone_is_the_regions(azure: Listing) -> None:
    asked = requirement("topology.disk.csi.azure.com/zone", "In", [""], dialect=azure.dialect)
    assert asked == is_in(labels.ZONE, "0")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Standard_B1ms", "AKS refuses this size"),
        ("Standard_F1as_v6", "smaller than AKS takes"),
        ("Standard_B2ats_v2", "smaller than AKS takes"),
        ("Standard_M8-2ms", "constrained vCPUs"),
        ("Standard_DC8s_v3", "confidential"),
    ],
)
def test_a_size_aks_refuses_is_listed_and_cannot_be_bought(azure: Listing, name: str, why: str) -> None:
    assert not any(row.launchable for row in azure.offerings[name])
    assert why in named(azure, name).source


def test_a_size_that_was_derived_says_how(azure: Listing) -> None:
    assert "GiB a vCPU in this series" in named(azure, "Standard_D2s_v5").source


def test_a_size_that_is_not_low_priority_capable_has_no_spot_rows(azure: Listing) -> None:
    assert {row.capacity_type for row in azure.offerings["Standard_B2ms"]} == {"on-demand"}


def sku(**more: object) -> dict[str, object]:
    found: dict[str, object] = {
        "name": "Standard_D2s_v5",
        "locations": ["EastUS"],
        "locationInfo": [{"location": "EastUS", "zones": ["1", "2"]}],
        "capabilities": [{"name": "vCPUs", "value": "2"}, {"name": "MemoryGB", "value": "8"}],
    }
    return found | more


def read(*skus: dict[str, object]) -> Listing:
    rows, problems = convert_rows(skus, Sku, "skus")
    return listing_of(Answers("eastus", rows, problems=problems))


def test_a_restricted_zone_is_not_sold_and_a_restricted_region_not_at_all() -> None:
    zone = {"type": "Zone", "values": ["EastUS"], "restrictionInfo": {"locations": ["EastUS"], "zones": ["2"]}}
    assert {row.zone for row in read(sku(restrictions=[zone])).offerings["Standard_D2s_v5"]} == {"eastus-1", "0"}
    region = {"type": "Location", "values": ["EastUS"]}
    assert not any(row.launchable for row in read(sku(restrictions=[region])).offerings["Standard_D2s_v5"])


def test_ultra_disks_are_a_zones_matter() -> None:
    detail = {"name": ["2"], "capabilities": [{"name": "UltraSSDAvailable", "value": "True"}]}
    info = [{"location": "eastus", "zones": ["1", "2"], "zoneDetails": [detail]}]
    rows = read(sku(locationInfo=info)).offerings["Standard_D2s_v5"]
    found = {row.zone: row.requirements.value(azure_labels.ULTRA_SSD) for row in rows}
    assert found == {"eastus-1": "false", "eastus-2": "true", "0": "false"}


def test_a_size_without_a_price_is_listed_without_one() -> None:
    rows = read(sku()).offerings["Standard_D2s_v5"]
    assert rows
    assert all(row.price is None and row.launchable for row in rows)


def test_a_gpu_nobody_has_a_driver_for_is_not_launched() -> None:
    caps = [{"name": "vCPUs", "value": "6"}, {"name": "MemoryGB", "value": "56"}, {"name": "GPUs", "value": "1"}]
    listing = read(sku(name="Standard_NX6s_v9", capabilities=caps))
    assert not any(row.launchable for row in listing.offerings["Standard_NX6s_v9"])


@pytest.mark.parametrize(
    ("name", "value"), [("vCPUs", "two"), ("MemoryGB", "1,5"), ("MemoryGB", "nan"), ("vCPUs", "0"), ("GPUs", "-1")]
)
def test_a_capability_that_is_no_number_names_its_size(name: str, value: str) -> None:
    caps = {"vCPUs": "2", "MemoryGB": "8"} | {name: value}
    bad = sku(name="Standard_D4s_v5", capabilities=[{"name": key, "value": text} for key, text in caps.items()])
    listing = read(bad, sku())
    assert [one.name for one in listing.hardware] == ["Standard_D2s_v5"]
    (problem,) = listing.problems
    assert f"Standard_D4s_v5: capabilities: {name}" in str(problem)


def test_dedicated_hosts_and_other_resources_are_passed_over() -> None:
    assert read(sku(resourceType="hostGroups/hosts")).hardware == ()


def test_a_size_nobody_recorded_says_so_before_anything_else(azure: Listing) -> None:
    """The prices' rule holds for sizes too: a source is never credited with what it does not say."""
    sources = {one.name: one.source for one in azure.hardware}
    assert sources["Standard_D8s_v5"].startswith("derived by rule, not recorded")
    assert "Microsoft.Compute" not in sources["Standard_D8s_v5"]
