"""The four questions (S0.1), their generations (S0.5), and what stays the same object when nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.azure import labels as azure_labels
from dovetail.clouds.gcp import labels as gcp_labels
from dovetail.clouds.kwok import labels as kwok_labels
from dovetail.clouds.listed import RESERVATION_KEYS, ListedMarket
from dovetail.clouds.load import load
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.market import Market
from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import NodePool
from dovetail.core.resources import GIB, MIB

Pool = Callable[..., NodePool]
LIVE = Source(SourceKind.LIVE, "test", "2026-11-15")


def held(name: str, left: int = 2, zone: str = "us-east-1a", instance_type: str = "m5.large") -> Reservation:
    return Reservation(name, instance_type, zone, left, left)


def generations(market: ListedMarket, pool: NodePool) -> tuple[int, int]:
    return market.specs_generation(pool), market.offerings_generation(pool)


def test_a_listed_market_is_a_market(kwok: Listing) -> None:
    """S0.1."""
    assert isinstance(ListedMarket(kwok), Market)


def test_pools_of_one_node_class_hold_the_same_specs(kwok: Listing, pool: Pool) -> None:
    """S0.8."""
    market = ListedMarket(kwok)
    assert market.specs(pool("a")) is market.specs(pool("b"))
    other = market.specs(pool("c", kubelet=KubeletSettings(max_pods=10)))
    assert other is not market.specs(pool("a"))
    assert other["c-1x-amd64-linux"].capacity["pods"] == 10


def test_offerings_are_the_same_mapping_until_something_moves(kwok: Listing, pool: Pool) -> None:
    market = ListedMarket(kwok)
    assert market.offerings(pool("a")) is market.offerings(pool("b"))
    assert market.offerings(pool())["c-1x-amd64-linux"] is kwok.offerings["c-1x-amd64-linux"]


def test_the_same_listing_again_moves_nothing(aws: Listing, pool: Pool) -> None:
    """S0.5: a generation moves when an answer would differ; a second reading makes equal objects, which are dropped."""
    market = ListedMarket(aws)
    specs, rows, before = market.specs(pool()), market.offerings(pool()), generations(market, pool())
    assert not market.set_listing(load("aws"))
    assert generations(market, pool()) == before
    assert market.specs(pool()) is specs
    assert market.offerings(pool()) is rows


def test_a_discovery_moves_specs_and_keeps_what_it_found_again(kwok: Listing, pool: Pool) -> None:
    """S0.5: types."""
    market = ListedMarket(kwok)
    old, before = market.specs(pool()), generations(market, pool())
    larger = replace(kwok.hardware[0], memory_bytes=kwok.hardware[0].memory_bytes + GIB)
    assert market.set_listing(replace(kwok, hardware=(larger, *kwok.hardware[1:])))
    new = market.specs(pool())
    assert generations(market, pool()) == (before[0] + 1, before[1])
    assert new[larger.name].capacity.memory_bytes == larger.memory_bytes
    assert all(new[name] is old[name] for name in old if name != larger.name)


def test_a_type_that_is_gone_moves_both_halves(kwok: Listing, pool: Pool) -> None:
    market = ListedMarket(kwok)
    gone = kwok.hardware[0].name
    rows = {name: rows for name, rows in kwok.offerings.items() if name != gone}
    before = generations(market, pool())
    assert market.set_listing(replace(kwok, hardware=kwok.hardware[1:], offerings=rows))
    assert generations(market, pool()) == (before[0] + 1, before[1] + 1)
    assert gone not in market.specs(pool())
    assert gone not in market.offerings(pool())


def test_a_price_moves_offerings_only_and_only_its_rows(kwok: Listing, pool: Pool) -> None:
    """S0.5: prices."""
    market, name = ListedMarket(kwok), "m-4x-amd64-linux"
    specs, old, before = market.specs(pool()), market.offerings(pool()), generations(market, pool())
    assert market.set_prices({OfferingKey(name, "test-zone-b", "spot"): Price(1, LIVE)})
    new = market.offerings(pool())
    assert generations(market, pool()) == (before[0], before[1] + 1)
    assert market.specs(pool()) is specs
    assert new[name][0].price == Price(1, LIVE)
    assert len(set(map(id, new[name])) - set(map(id, old[name]))) == 1
    assert all(new[other] is old[other] for other in old if other != name)


def test_a_price_without_a_zone_is_for_all_and_for_the_list(kwok: Listing, pool: Pool) -> None:
    market, name = ListedMarket(kwok), "m-4x-amd64-linux"
    assert market.set_prices({OfferingKey(name, None, "on-demand"): Price(7, LIVE)})
    rows = [row for row in market.offerings(pool())[name] if row.capacity_type == "on-demand"]
    assert {row.price for row in rows} == {Price(7, LIVE)}
    assert market.listing.list_prices[name] == Price(7, LIVE)
    assert not market.set_prices({OfferingKey(name, None, "on-demand"): Price(7, LIVE)})
    assert not market.set_prices({OfferingKey("unheard-of", "z", "spot"): Price(7, LIVE)})


def test_the_least_memory_seen_on_a_node_stands(aws: Listing, pool: Pool) -> None:
    market = ListedMarket(aws)
    planned, before = market.specs(pool()), generations(market, pool())
    assert market.saw_memory("m5.large", 7800 * MIB)
    assert not market.saw_memory("m5.large", 7900 * MIB)
    assert not market.saw_memory("m5.large", 0)
    assert generations(market, pool()) == (before[0] + 1, before[1])
    assert market.specs(pool())["m5.large"].capacity.memory_bytes == 7800 * MIB
    assert market.specs(pool())["m5.xlarge"] is planned["m5.xlarge"]
    assert market.saw_memory("m5.large", 7700 * MIB)
    assert market.specs(pool())["m5.large"].capacity.memory_bytes == 7700 * MIB
    assert market.memory_seen == {"m5.large": 7700 * MIB}


def test_reservations_of_a_type_and_zone_are_one_row_beside_the_others(aws: Listing, pool: Pool) -> None:
    """S3.4, S3.5, S3.6."""
    market = ListedMarket(aws, reservations=[held("cr-1", 2), held("cr-2", 5), held("cr-3", 1, "us-east-1b")])
    rows = [row for row in market.offerings(pool())["m5.large"] if row.capacity_type == labels.RESERVED]
    by_zone = {row.zone: row for row in rows}
    assert by_zone.keys() == {"us-east-1a", "us-east-1b"}
    one = by_zone["us-east-1a"]
    assert one.count == 7
    assert [each.id for each in one.reservations] == ["cr-2", "cr-1"]
    assert one.price is not None
    assert one.price.nanodollars == 96_000
    assert "reserved: on-demand ÷ 1000" in one.price.source.detail
    ids = one.requirements.get(aws_labels.RESERVATION_ID)
    assert ids is not None
    assert ids.values == {"cr-1", "cr-2"}
    assert one.requirements.value(aws_labels.ZONE_ID) == "use1-az2"
    assert not one.requirements.mentions(aws_labels.RESERVATION_TYPE)
    assert len(market.offerings(pool())["m5.large"]) == len(aws.offerings["m5.large"]) + 2
    assert market.offerings(pool())["m5.xlarge"] is aws.offerings["m5.xlarge"]


def test_reserved_rows_keep_the_order_of_their_on_demand_prices(aws: Listing, pool: Pool) -> None:
    """S3.6."""
    names = ("m5.large", "m5.xlarge", "m5.2xlarge", "t3.micro")
    market = ListedMarket(aws, reservations=[held(f"cr-{name}", instance_type=name) for name in names])
    found = {name: market.offerings(pool())[name][0] for name in names}
    assert all(row.capacity_type == labels.RESERVED for row in found.values())

    def cost(name: str) -> int:
        price = found[name].price
        assert price is not None
        return price.nanodollars

    assert sorted(names, key=cost) == ["t3.micro", "m5.large", "m5.xlarge", "m5.2xlarge"]


def test_reservations_move_offerings_only_and_only_when_they_differ(aws: Listing, pool: Pool) -> None:
    """S0.5: reservations."""
    market = ListedMarket(aws)
    before = generations(market, pool())
    assert market.set_reservations([held("cr-1")])
    assert not market.set_reservations([held("cr-1")])
    assert generations(market, pool()) == (before[0], before[1] + 1)
    assert market.set_reservations([])
    assert market.offerings(pool())["m5.large"] == aws.offerings["m5.large"]


def test_a_node_class_sees_the_reservations_it_selects(aws: Listing, pool: Pool) -> None:
    """S3.1: terms are a node class's, so what they find is not another's."""
    mine, theirs = pool(node_class="mine"), pool(node_class="theirs")
    market = ListedMarket(aws)
    before = generations(market, theirs)
    market.set_reservations([held("cr-1")], mine.node_class)
    assert any(row.reservations for row in market.offerings(mine)["m5.large"])
    assert not any(row.reservations for row in market.offerings(theirs)["m5.large"])
    assert generations(market, theirs) == before


def test_an_empty_reservation_is_healthy_and_cannot_be_bought(aws: Listing, pool: Pool) -> None:
    """S3.5."""
    market = ListedMarket(aws, reservations=[held("cr-1", 0)])
    (row,) = [row for row in market.offerings(pool())["m5.large"] if row.reservations]
    assert row.available
    assert not row.launchable


def test_a_reservation_of_a_type_nobody_lists_has_no_row(aws: Listing, pool: Pool) -> None:
    market = ListedMarket(aws, reservations=[held("cr-1", instance_type="x9.huge")])
    assert "x9.huge" not in market.offerings(pool())


def test_a_reservation_where_a_type_has_no_price_has_none_either(gcp: Listing, pool: Pool) -> None:
    market = ListedMarket(gcp, reservations=[held("r", zone="us-central1-a", instance_type="c4-standard-8")])
    (row,) = [row for row in market.offerings(pool())["c4-standard-8"] if row.reservations]
    assert row.price is None
    assert row.launchable


def test_ten_thousand_reservations_are_grouped_once(aws: Listing, pool: Pool) -> None:
    """S3.14: looking at the offerings costs the same with ten thousand reservations as with none."""
    names = [name for name, rows in aws.offerings.items() if rows][:100]
    many = [held(f"cr-{n}", 1, instance_type=names[n % 100]) for n in range(10_000)]
    market = ListedMarket(aws, reservations=many)
    rows = market.offerings(pool())
    assert all(sum(bool(row.reservations) for row in rows[name]) == 1 for name in names)
    assert [row.count for row in rows[names[0]] if row.reservations] == [100]
    assert market.offerings(pool()) is rows


def test_a_reservation_that_has_ended_is_not_sold(aws: Listing, pool: Pool) -> None:
    market = ListedMarket(aws)
    ending = replace(held("cr-1", 1), ends_at=100.0)
    assert market.set_reservations([ending], now=99.0)
    assert any(row.reservations for row in market.offerings(pool())[ending.instance_type])
    assert market.set_reservations([ending], now=100.0)
    assert not any(row.reservations for row in market.offerings(pool())[ending.instance_type])


@pytest.mark.parametrize(
    ("cloud", "key"),
    [
        ("aws", aws_labels.RESERVATION_ID),
        ("azure", azure_labels.RESERVATION_ID),
        ("gcp", gcp_labels.RESERVATION_ID),
        ("kwok", kwok_labels.RESERVATION_ID),
    ],
)
def test_each_cloud_names_reservations_by_its_own_key(cloud: str, key: str, request: pytest.FixtureRequest) -> None:
    listing: Listing = request.getfixturevalue(cloud)
    assert RESERVATION_KEYS[cloud] == key
    assert ListedMarket(listing).reservation_key in listing.dialect.well_known


def test_the_cache_of_the_core_reads_it(aws: Listing, pool: Pool) -> None:
    """S0.2: one price, one row built again."""
    market = ListedMarket(aws)
    cache = CatalogCache(market, region="us-east-1")
    before = cache.catalog(pool(), 0.0)
    market.set_prices({OfferingKey("m5.large", "us-east-1a", "spot"): Price(1, LIVE)})
    after = cache.catalog(pool(), 0.0)
    changed = [name for name in after.types if after.types[name] is not before.types[name]]
    assert changed == ["m5.large"]
