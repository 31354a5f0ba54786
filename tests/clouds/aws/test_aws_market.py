"""What each node class can buy: zones, types it can launch, room on the nodes, and what becomes of it over time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.clouds.aws.orders import resolved
from tests.clouds.aws.selling import CLASS, OTHER, OTHERS, POOL, A, B, Clock, market, region, rows, terms

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws import region as regions
from dovetail.clouds.aws.class_terms import ClassTerms, terms_of
from dovetail.clouds.aws.resolved import ConnectionTracking, Image, Interface, Network, PlacementGroup
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.market import Market
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.catalog.shortages import BELIEVED_SECONDS, Shortage
from dovetail.core.kubelet import KubeletSettings, parse_settings
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.resources import EPHEMERAL_STORAGE, GIB, MIB, PODS

AMD = Image("ami-amd", requirements=Requirements([is_in(labels.ARCH, "amd64")]))
ARM = Image("ami-arm", requirements=Requirements([is_in(labels.ARCH, "arm64")]))


def test_it_answers_the_four_questions() -> None:
    """S0.1."""
    assert isinstance(market(), Market)


def test_a_class_buys_only_where_it_has_a_subnet() -> None:
    assert {row.zone for row in market(terms(B)).offerings(POOL)["m5.large"]} == {B}


def test_a_class_that_nobody_has_resolved_buys_nothing_and_its_types_are_known() -> None:
    made = market()
    made.set_class(CLASS, None)
    assert made.offerings(POOL) == {}
    assert "m5.large" in made.specs(POOL)
    assert made.why_not(CLASS, "m5.large") == "the node class is not ready"


def test_a_class_with_subnets_everywhere_shares_the_regions_rows() -> None:
    everywhere = terms(*(zone.zone_name for zone in region().zones))
    assert market(everywhere).offerings(POOL)["m5.large"] is region().listing.offerings["m5.large"]


def test_classes_share_specs_as_long_as_they_change_nothing_about_the_machine() -> None:
    """S0.8."""
    made = market(terms(A))
    made.set_class(OTHER, terms(B, images=(AMD,)))
    assert made.specs(POOL) is made.specs(OTHERS)
    made.set_class(OTHER, terms(B, storage_bytes=100 * GIB))
    assert made.specs(POOL) is not made.specs(OTHERS)


def test_a_class_resolved_again_to_the_same_moves_nothing() -> None:
    made = market()
    before = made.generations
    assert not made.set_class(CLASS, terms())
    assert made.generations == before


def test_a_change_of_one_class_leaves_the_others_alone() -> None:
    """S0.5."""
    made = market()
    made.set_class(OTHER, terms(A))
    before = made.specs_generation(POOL), made.offerings_generation(POOL)
    moved = made.specs_generation(OTHERS), made.offerings_generation(OTHERS)
    assert made.set_class(OTHER, terms(B))
    assert (made.specs_generation(POOL), made.offerings_generation(POOL)) == before
    assert made.specs_generation(OTHERS) > moved[0]
    assert made.offerings_generation(OTHERS) > moved[1]


def test_free_addresses_are_none_of_the_markets_business() -> None:
    one = resolved()
    poorer = replace(one, subnets=tuple(replace(subnet, free_addresses=3) for subnet in one.subnets))
    assert terms_of(one, "AL2023") == terms_of(poorer, "AL2023")


# ---- types a class cannot launch (aws.md §2.4)


@pytest.mark.parametrize(
    ("said", "refused", "launched", "why"),
    [
        ({"family": "AL2023"}, "a1.large", "m6g.large", "first Graviton"),
        ({"images": (AMD,)}, "m6g.large", "m5.large", "no image"),
        ({"images": (ARM,)}, "m5.large", "m6g.large", "no image"),
        ({"interfaces": (Interface(0, 0), Interface(1, 1, True))}, "m5.large", "p5.48xlarge", "no network card 1"),
        ({"interfaces": (Interface(0, 3),)}, "m5.large", "m5.4xlarge", "has no place 3"),
        ({"interfaces": (Interface(0, 0), Interface(0, 1, True))}, "m5.large", "p5.48xlarge", "0 EFA interfaces"),
        ({"interfaces": (Interface(0, 0),)}, "m1.large", "m5.large", "no network cards"),
        ({"enclaves": True}, "m5.large", "m5.xlarge", "Nitro enclaves"),
        ({"placement_group": PlacementGroup("pg-1")}, "t3.micro", "m5.large", "strategy cluster"),
        ({"tracking": True}, "m4.large", "m5.large", "Nitro"),
    ],
)
def test_a_type_the_class_cannot_launch_keeps_its_prices_and_is_not_for_sale(
    said: dict[str, Any], refused: str, launched: str, why: str
) -> None:
    made = market(terms(**said))
    assert why in made.why_not(CLASS, refused)
    assert made.why_not(CLASS, launched) == ""
    assert not any(row.launchable for row in made.offerings(POOL)[refused])
    assert any(row.launchable for row in made.offerings(POOL)[launched])
    assert all(row.price for row in rows(made, refused))


def test_nested_virtualization_needs_a_processor_that_has_it() -> None:
    old = region()
    able = msgspec.structs.replace(old.types["m5.large"].processor_info, supported_features=("nested-virtualization",))
    types = {**old.types, "m5.large": msgspec.structs.replace(old.types["m5.large"], processor_info=able)}
    made = market(terms(nested_virtualization=True))
    assert made.set_region(replace(old, types=types))
    assert {name for name in types if not made.why_not(CLASS, name)} == {"m5.large"}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"images": (AMD,)}, ("m5.large", AMD)),
        ({"images": (ARM, AMD)}, ("m6g.large", ARM)),
        ({"images": (AMD,), "enclaves": True}, ("c5.xlarge", AMD)),
        ({"images": (ARM,), "interfaces": (Interface(1, 0),)}, None),
        ({"images": (AMD,), "interfaces": (Interface(0, 0), Interface(1, 1, True))}, ("trn1.32xlarge", AMD)),
    ],
)
def test_a_type_is_known_that_a_class_can_launch(said: dict[str, Any], found: tuple[str, Image] | None) -> None:
    """The usual one, else the cheapest, and one with accelerators only where nothing plain will do."""
    assert market().sample(terms(**said)) == found


def test_terms_are_taken_from_the_resolved_class() -> None:
    network = Network(interfaces=(Interface(0, 0),), tracking=ConnectionTracking(60))
    one = resolved(network=network, nested_virtualization="enabled", placement_group=PlacementGroup("pg-1"))
    found = terms_of(one, "Windows2022", None, True)
    assert found == ClassTerms(
        subnets=frozenset((subnet.zone, subnet.id) for subnet in one.subnets),
        family="Windows2022",
        storage_bytes=50 * GIB,
        instance_store=True,
        images=one.images,
        interfaces=(Interface(0, 0),),
        placement_group=PlacementGroup("pg-1"),
        tracking=True,
        nested_virtualization=True,
    )


# ---- room on the nodes (aws.md §2.2, §2.3)


def test_disks_are_as_large_as_the_class_says_or_the_types_own() -> None:
    plain = market(terms(storage_bytes=80 * GIB)).specs(POOL)
    assert plain["m5.large"].capacity.of(EPHEMERAL_STORAGE) == 80 * GIB
    own = market(terms(instance_store=True)).specs(POOL)
    assert own["i4i.xlarge"].capacity.of(EPHEMERAL_STORAGE) == 937 * 10**9
    assert own["m5.large"].capacity.of(EPHEMERAL_STORAGE) == 20 * GIB


def test_a_windows_class_has_windows_nodes_of_a_hundred_and_ten_pods() -> None:
    specs = market(terms(family="Windows2022", storage_bytes=50 * GIB)).specs(POOL)
    spec = specs["m5.large"]
    assert spec.requirements.value(labels.OS) == "windows"
    assert spec.requirements.value(labels.WINDOWS_BUILD) == "10.0.20348"
    assert spec.capacity.of(PODS) == 110
    assert spec.capacity.of("vpc.amazonaws.com/PrivateIPv4Address") == 9
    assert specs["m6g.large"].requirements.value(labels.OS) == "linux"


def test_bottlerocket_keeps_memory_for_the_pods_it_may_run_and_knows_no_pods_per_core() -> None:
    pool = replace(POOL, kubelet=KubeletSettings(max_pods=20, pods_per_core=2))
    spec = market(terms(family="Bottlerocket")).specs(pool)["m5.xlarge"]
    assert spec.capacity.of(PODS) == 20
    assert (spec.capacity - spec.allocatable).memory_bytes == (11 * 20 + 255 + 100) * MIB
    other = market().specs(pool)["m5.xlarge"]
    assert other.capacity.of(PODS) == 8
    assert (other.capacity - other.allocatable).memory_bytes == (11 * 58 + 255 + 100) * MIB


def test_expressions_of_a_class_are_worked_out_for_each_type() -> None:
    block = parse_settings({"maxPods": "max_pods - 9", "kubeReserved": {"memory": "max_pods * 16"}}, formulas=True)
    found = market()
    specs = found.specs(replace(POOL, kubelet=block))
    assert (specs["m5.large"].capacity.of(PODS), specs["m5.xlarge"].capacity.of(PODS)) == (20, 49)
    assert found.unworkable(terms(), parse_settings({"maxPods": "max(1, max_pods - 9)"}, formulas=True)) == ""
    assert found.unworkable(terms(), parse_settings({"maxPods": 5})) == ""
    told = found.unworkable(terms(), parse_settings({"maxPods": "instance_type == 'm5.large' ? -1 : 1"}, formulas=True))
    assert told == "maxPods of m5.large is -1; it may not be negative"


def test_interfaces_for_efa_alone_take_pods_away_and_are_what_pods_may_ask_for() -> None:
    wanted = (Interface(0, 0), Interface(0, 1, True), Interface(1, 1, True))
    spec = market(terms(interfaces=wanted)).specs(POOL)["p5.48xlarge"]
    usual = market().specs(POOL)["p5.48xlarge"]
    assert spec.capacity.of("vpc.amazonaws.com/efa") == 2
    assert usual.capacity.of("vpc.amazonaws.com/efa") == 32
    assert usual.capacity.of(PODS) - spec.capacity.of(PODS) == 49


def test_memory_is_what_a_node_reported_once_one_has_joined() -> None:
    made = market(terms(images=(AMD,)))
    made.set_class(OTHER, terms(images=(ARM,)))
    before, other = made.specs_generation(POOL), made.specs_generation(OTHERS)
    guessed = made.specs(POOL)["m5.large"].capacity.memory_bytes
    assert made.saw_memory("m5.large", "ami-amd", guessed + 5 * MIB)
    assert made.specs(POOL)["m5.large"].capacity.memory_bytes == guessed + 5 * MIB
    assert made.specs(OTHERS)["m5.large"].capacity.memory_bytes == guessed
    assert made.specs_generation(POOL) > before
    assert made.specs_generation(OTHERS) == other


def test_the_least_that_any_node_reported_counts() -> None:
    made = market(terms(images=(AMD,)))
    made.saw_memory("m5.large", "ami-amd", 7600 * MIB)
    before = made.generations
    assert not made.saw_memory("m5.large", "ami-amd", 7700 * MIB)
    assert made.generations == before
    assert made.saw_memory("m5.large", "ami-amd", 7500 * MIB)
    assert made.specs(POOL)["m5.large"].capacity.memory_bytes == 7500 * MIB


def test_a_measurement_makes_one_spec_anew_and_keeps_the_others() -> None:
    made = market(terms(images=(AMD,)))
    before = made.specs(POOL)
    made.saw_memory("m5.large", "ami-amd", 7500 * MIB)
    after = made.specs(POOL)
    assert [name for name in after if after[name] is not before[name]] == ["m5.large"]


def test_measurements_of_another_image_do_not_count() -> None:
    made = market(terms(images=(AMD,)))
    before = made.specs(POOL)["m5.large"]
    made.saw_memory("m5.large", "ami-of-last-year", 7500 * MIB)
    assert made.specs(POOL)["m5.large"] is before


# ---- placement groups


def test_in_a_group_of_partitions_every_row_is_there_once_for_each() -> None:
    group = PlacementGroup("pg-1", strategy="partition", partitions=3)
    found = rows(market(terms(A, placement_group=group)), "m5.large")
    assert {row.requirements.value(aws_labels.PLACEMENT_GROUP_PARTITION) for row in found} == {"1", "2", "3"}
    assert {row.requirements.value(aws_labels.PLACEMENT_GROUP_ID) for row in found} == {"pg-1"}
    assert len(found) == 3


# ---- what changes with time


def test_a_zone_whose_subnets_are_all_out_of_addresses_is_closed_for_three_minutes() -> None:
    clock = Clock()
    made = market(clock=clock)
    made.set_class(OTHER, ClassTerms(frozenset({(A, "subnet-us-east-1a"), (A, "subnet-2"), (B, "subnet-us-east-1b")})))
    before = made.offerings_generation(POOL)
    made.mark_subnet("subnet-us-east-1a")
    assert made.offerings_generation(POOL) > before
    assert {row.zone for row in rows(made, "m5.large") if row.launchable} == {B}
    assert {row.zone for row in rows(made, "m5.large", pool=OTHERS) if row.launchable} == {A, B}
    clock.now += BELIEVED_SECONDS
    assert made.offerings_generation(POOL) > before + 1
    assert {row.zone for row in rows(made, "m5.large") if row.launchable} == {A, B}


def test_nothing_is_bought_in_a_zone_that_was_shifted_away_from() -> None:
    made = market()
    assert made.set_shifted([A])
    assert {row.zone for row in rows(made, "m5.large") if row.launchable} == {B}
    assert not made.set_shifted([A])
    assert made.set_shifted([])
    assert {row.zone for row in rows(made, "m5.large") if row.launchable} == {A, B}


def test_a_capacity_error_rebuilds_the_row_it_names_and_asks_the_market_nothing() -> None:
    """S0.3."""
    made = market()
    cache = CatalogCache(made)
    before = cache.catalog(POOL, 0.0)
    assert cache.mark(Shortage("m5.large", A, labels.SPOT), 0.0) == 1
    after = cache.catalog(POOL, 0.0)
    assert [name for name in after.types if after.types[name] is not before.types[name]] == ["m5.large"]
    assert cache.counters().offerings_refreshed == 1


def test_prices_of_one_type_move_its_rows_in_every_class_and_no_others() -> None:
    made = market()
    made.set_class(OTHER, terms(B))
    cache = CatalogCache(made)
    before = cache.catalog(POOL, 0.0), cache.catalog(OTHERS, 0.0)
    built = cache.counters().rows_rebuilt
    old = made.region
    dearer = {**old.prices.on_demand, "m5.large": Price(10**9, Source(SourceKind.LIVE))}
    assert made.set_region(regions.repriced(old, replace(old.prices, on_demand=dearer)))
    for pool, known in zip((POOL, OTHERS), before, strict=True):
        after = cache.catalog(pool, 0.0)
        assert [name for name in after.types if after.types[name] is not known.types[name]] == ["m5.large"]
    assert cache.counters().rows_rebuilt == built + 2
    assert cache.counters().specs_refreshed == 2


def test_a_region_without_files_begins_with_prices_that_say_whose_they_are() -> None:
    found = regions.bundled("mars-north-1")
    assert (found.name, found.types, found.zones) == ("mars-north-1", {}, ())
    source = found.prices.on_demand["m5.large"].source
    assert source.kind is SourceKind.MODELLED
    assert source.detail == "us-east-1's price, as none is known for mars-north-1"
