"""EC2's types as nodes: the golden numbers, the labels, and the types nobody can launch."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.parse import Answers, listing_of, volume_limit
from dovetail.clouds.aws.wire import TypeAnswer, ZoneRow
from dovetail.clouds.bundled import convert_rows
from dovetail.clouds.load import load
from dovetail.clouds.options import LoadOptions
from dovetail.clouds.pricelist import PriceList
from dovetail.core import labels
from dovetail.core.catalog.allocatable import NodeRules, Stage
from dovetail.core.catalog.density import ByInterface
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.overhead import FlatOverhead
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.kubelet import KubeletSettings, ReserveStrategy
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.resources import MIB

#: The peer's rules, so that the numbers can be compared with its own tests.
PEER = SpecRules(
    KubeletSettings(), NodeRules(ByInterface(), ReserveStrategy.EKS, vm_overhead=FlatOverhead(Fraction(75, 1000)))
)
#: type, vCPU, nominal MiB, capacity MiB, pods, kube-reserved (m, MiB), allocatable (m, MiB), EFA, GPU, neuron, cores
GOLDEN = [
    ("t3.micro", 2, 1024, 947, 4, 70, 299, 1930, 548, 0, 0, 0, 0),
    ("t4g.nano", 2, 512, 414, 4, 70, 299, 1930, 15, 0, 0, 0, 0),
    ("m5.large", 2, 8192, 7577, 29, 70, 574, 1930, 6903, 0, 0, 0, 0),
    ("m5.xlarge", 4, 16384, 15155, 58, 80, 893, 3920, 14162, 0, 0, 0, 0),
    ("c6g.large", 2, 4096, 3729, 29, 70, 574, 1930, 3055, 0, 0, 0, 0),
    ("m8g.large", 2, 8192, 7518, 29, 70, 574, 1930, 6844, 0, 0, 0, 0),
    ("c7i.4xlarge", 16, 32768, 30310, 234, 110, 2829, 15890, 27381, 0, 0, 0, 0),
    ("r7i.16xlarge", 64, 524288, 484966, 737, 230, 8362, 63770, 476504, 0, 0, 0, 0),
    ("g5.xlarge", 4, 16384, 15155, 58, 80, 893, 3920, 14162, 0, 1, 0, 0),
    ("i4i.xlarge", 4, 32768, 30310, 58, 80, 893, 3920, 29317, 0, 0, 0, 0),
    ("p5.48xlarge", 192, 2097152, 1939865, 100, 550, 1355, 191450, 1938410, 32, 8, 0, 0),
    ("trn1.32xlarge", 128, 524288, 484966, 247, 390, 2972, 127610, 481894, 8, 0, 16, 32),
]


def named(listing: Listing, name: str) -> Hardware:
    return next(one for one in listing.hardware if one.name == name)


@pytest.mark.parametrize("row", GOLDEN, ids=[str(row[0]) for row in GOLDEN])
def test_the_golden_table_of_the_peer_comes_out(aws: Listing, row: tuple[str, *tuple[int, ...]]) -> None:
    """S2.8, S2.11: aws.md §2.3."""
    name, cpus, nominal, reported, pods, held_cpu, held_memory, free_cpu, free_memory, efa, gpu, neuron, cores = row
    hardware = named(aws, name)
    found, spec = PEER.ledger_of(hardware), PEER.spec_of(hardware)
    held = {term.resource: term.amount for term in found.terms if term.stage is Stage.KUBE_RESERVED}
    assert hardware.cpu_millis == cpus * 1000
    assert hardware.memory_bytes == nominal * MIB
    assert spec.capacity.memory_bytes == reported * MIB
    assert spec.capacity["pods"] == pods
    assert (held["cpu"], held["memory"]) == (held_cpu, held_memory * MIB)
    assert (spec.allocatable.cpu_millis, spec.allocatable.memory_bytes) == (free_cpu, free_memory * MIB)
    devices = ("vpc.amazonaws.com/efa", "nvidia.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore")
    assert tuple(spec.capacity.of(device) for device in devices) == (efa, gpu, neuron, cores)


def test_all_types_are_listed_and_priced(aws: Listing) -> None:
    names = {one.name for one in aws.hardware}
    assert len(names) == len(aws.hardware) == 1395
    assert names <= aws.list_prices.keys()
    assert names == aws.offerings.keys()


def test_our_own_overhead_leaves_large_machines_more_memory(aws: Listing) -> None:
    ours = SpecRules(KubeletSettings(), aws.rules).spec_of(named(aws, "r7i.16xlarge"))
    assert ours.allocatable.memory_bytes > PEER.spec_of(named(aws, "r7i.16xlarge")).allocatable.memory_bytes


def test_a_mac_is_listed_with_its_price_and_cannot_be_bought(aws: Listing) -> None:
    rows = aws.offerings["mac2.metal"]
    assert rows
    assert not any(row.launchable for row in rows)
    assert all(row.price for row in rows)
    assert "not launched: a Mac" in named(aws, "mac2.metal").source
    assert named(aws, "mac2.metal").requirements.value(labels.OS) == "darwin"


def test_only_macs_cannot_be_launched(aws: Listing) -> None:
    closed = {name for name, rows in aws.offerings.items() if rows and not any(row.launchable for row in rows)}
    assert closed
    assert all(name.startswith("mac") for name in closed)


def test_a_type_with_32_bit_ancestors_is_amd64(aws: Listing) -> None:
    assert named(aws, "t2.micro").requirements.value(labels.ARCH) == "amd64"
    assert any(row.launchable for row in aws.offerings["t2.micro"])


def test_a_type_no_zone_sells_has_a_price_and_no_rows(aws: Listing) -> None:
    unsold = [name for name, rows in aws.offerings.items() if not rows]
    assert unsold
    assert all(name in aws.list_prices for name in unsold)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("m5.large", aws_labels.CATEGORY, "m"),
        ("m5.large", aws_labels.GENERATION, "5"),
        ("m5.large", aws_labels.FAMILY, "m5"),
        ("m5.large", aws_labels.SIZE, "large"),
        ("m5.large", aws_labels.MEMORY, "8192"),
        ("m5.large", aws_labels.CPU_MANUFACTURER, "intel"),
        ("m5.large", aws_labels.CPU_CLOCK_MHZ, "3100"),
        ("m5.large", aws_labels.EBS_BANDWIDTH, "4750"),
        ("m5.large", aws_labels.NETWORK_BANDWIDTH, "750"),
        ("m5.large", aws_labels.HYPERVISOR, "nitro"),
        ("m5.large", aws_labels.FLEX, "false"),
        ("m5.large", labels.REGION, "us-east-1"),
        ("m7i-flex.large", aws_labels.FLEX, "true"),
        ("u7i-12tb.224xlarge", aws_labels.CATEGORY, "u"),
        ("u7i-12tb.224xlarge", aws_labels.GENERATION, "7"),
        ("c6g.large", labels.ARCH, "arm64"),
        ("g7.2xlarge", aws_labels.GPU_NAME, "rtx-pro-4500"),
        ("g5.xlarge", aws_labels.GPU_MANUFACTURER, "nvidia"),
        ("g5.xlarge", aws_labels.GPU_MEMORY, "22888"),
        ("p5.48xlarge", aws_labels.GPU_COUNT, "8"),
        ("i4i.xlarge", aws_labels.LOCAL_NVME, "937"),
        ("inf2.24xlarge", aws_labels.ACCELERATOR_NAME, "inferentia2"),
        ("inf2.24xlarge", aws_labels.ACCELERATOR_MANUFACTURER, "aws"),
        ("dl2q.24xlarge", aws_labels.ACCELERATOR_MANUFACTURER, "qualcomm"),
    ],
)
def test_a_type_carries_the_labels_its_answer_tells(aws: Listing, name: str, key: str, value: str) -> None:
    assert named(aws, name).requirements.value(key) == value


def test_a_label_a_type_does_not_have_is_absent_and_not_left_open(aws: Listing) -> None:
    told = named(aws, "m5.large").requirements
    for key in (aws_labels.GPU_NAME, aws_labels.ACCELERATOR_COUNT, aws_labels.LOCAL_NVME):
        one = told.get(key)
        assert one is not None
        assert one.admits(None)
        assert not one.admits("1")
    assert not told.compatible(Requirements([is_in(aws_labels.GPU_NAME, "t4")]), aws.dialect.well_known)


def test_a_slice_of_a_gpu_counts_as_the_one_device_its_plugin_offers(aws: Listing) -> None:
    """aws.md §2.2 [Q]: EC2 reports 0 GPUs and 1 logical GPU for these; the peer advertises none."""
    slice_of_one = named(aws, "g6f.large")
    assert slice_of_one.devices.of("nvidia.com/gpu") == 1
    assert slice_of_one.requirements.value(aws_labels.GPU_COUNT) == "1"


def test_branch_interfaces_are_offered_where_trunking_is(aws: Listing) -> None:
    assert named(aws, "m5.large").devices.of("vpc.amazonaws.com/pod-eni") == 9
    assert "vpc.amazonaws.com/pod-eni" not in named(aws, "t3.micro").devices


def test_windows_is_offered_only_when_asked_and_only_on_amd64(aws: Listing) -> None:
    types, _ = convert_rows([wire("m5.large"), wire("m6g.large", arch="arm64")], TypeAnswer, "answer")
    asked = listing_of(Answers("r", types, []), LoadOptions(windows=True))
    systems = [one.requirements.get(labels.OS) for one in asked.hardware]
    assert [sorted(one.values) for one in systems if one] == [["linux", "windows"], ["linux"]]
    assert named(aws, "m5.large").requirements.value(labels.OS) == "linux"


def test_every_row_names_its_zone_id(aws: Listing) -> None:
    found = {row.zone: row.requirements.value(aws_labels.ZONE_ID) for row in aws.offerings["m5.large"]}
    assert found["us-east-1a"] == "use1-az2"
    assert all(found.values())


@pytest.mark.parametrize(
    "key", [aws_labels.RESERVATION_ID, aws_labels.RESERVATION_TYPE, aws_labels.RESERVATION_INTERRUPTIBLE]
)
def test_a_pool_that_demands_a_reservation_is_not_sold_anything_else(aws: Listing, key: str) -> None:
    """S3.3: a row that is in no reservation says so."""
    demanded = Requirements([is_in(key, "some")])
    assert not any(demanded.compatible(row.requirements, aws.dialect.well_known) for row in aws.offerings["m5.large"])
    anything = Requirements()
    assert all(anything.compatible(row.requirements, aws.dialect.well_known) for row in aws.offerings["m5.large"])


def test_on_demand_is_as_published_and_spot_is_modelled(aws: Listing) -> None:
    rows = aws.offerings["m5.large"]
    on_demand = [row.price for row in rows if row.capacity_type == "on-demand"]
    assert {str(price) for price in on_demand} == {"0.096"}
    assert {price.source.kind for price in on_demand if price} == {SourceKind.BUNDLED}
    spot = [row.price for row in rows if row.capacity_type == "spot" and row.price]
    assert {price.source.kind for price in spot} == {SourceKind.MODELLED}
    assert len({price.nanodollars for price in spot}) > 1


def test_a_type_that_spot_does_not_sell_has_no_spot_rows(aws: Listing) -> None:
    assert {row.capacity_type for row in aws.offerings["mac2.metal"]} == {"on-demand"}


@pytest.mark.parametrize(
    ("ebs", "limit"),
    [
        ({"MaximumEbsAttachments": 27, "AttachmentLimitType": "shared"}, 27 - 1 - 2),
        ({"MaximumEbsAttachments": 32, "AttachmentLimitType": "dedicated"}, 31),
        ({"MaximumEbsAttachments": 1}, 1),
        ({}, None),
    ],
)
def test_volumes_share_their_slots_with_the_root_disk_and_interfaces(ebs: dict[str, object], limit: int | None) -> None:
    (one,), _ = convert_rows([wire("m5.large", EbsInfo=ebs)], TypeAnswer, "answer")
    assert volume_limit(one) == limit


def test_a_live_answer_goes_through_the_same_door() -> None:
    """Live spot prices stand; where one is missing the model fills in."""
    types, problems = convert_rows([wire("m5.large")], TypeAnswer, "DescribeInstanceTypes")
    live = Source(SourceKind.LIVE, "DescribeSpotPriceHistory", "2026-11-15")
    prices = PriceList({"m5.large": Price(96_000_000, live)}, {("m5.large", "za"): Price(30_000_000, live)})
    zones = [ZoneRow("za", "id-a", ("m5.large",)), ZoneRow("zb", "", ("m5.large",))]
    listing = listing_of(Answers("r", types, zones, prices, problems=problems))
    found = {row.zone: row.price for row in listing.offerings["m5.large"] if row.capacity_type == "spot"}
    assert found["za"] == Price(30_000_000, live)
    assert found["zb"] is not None
    assert found["zb"].source.kind is SourceKind.MODELLED


def wire(name: str, arch: str = "x86_64", **more: object) -> dict[str, object]:
    answer = {
        "InstanceType": name,
        "ProcessorInfo": {"SupportedArchitectures": [arch]},
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 8192},
        "NetworkInfo": {"MaximumNetworkInterfaces": 3, "Ipv4AddressesPerInterface": 10},
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedVirtualizationTypes": ["hvm"],
        **more,
    }
    return {key: value for key, value in answer.items() if value is not None}


def test_a_type_that_only_knows_paravirtualisation_is_not_launched() -> None:
    types, _ = convert_rows([wire("t1.micro", SupportedVirtualizationTypes=["paravirtual"])], TypeAnswer, "answer")
    listing = listing_of(Answers("r", types, [ZoneRow("za", "", ("t1.micro",))]))
    assert listing.offerings["t1.micro"]
    assert not any(row.launchable for row in listing.offerings["t1.micro"])
    assert "paravirtual only" in listing.hardware[0].source


def test_a_region_whose_zones_nobody_lists_sells_on_demand_in_any_zone() -> None:
    """GovCloud and China: the price tables are there, the zones are in no public list."""
    gov, china = load("aws", "us-gov-west-1"), load("aws", "cn-north-1")
    (row,) = gov.offerings["m5.large"]
    assert (row.zone, row.capacity_type, row.price is not None) == (None, labels.ON_DEMAND, True)
    assert {price.source.currency for price in china.list_prices.values()} == {"CNY"}
