"""One cache for all a cloud sells: it fetches what is stale, shares what is equal, rebuilds what changed (S0).

Its counters are S0.6.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.builders import (
    CombinedFake,
    FakeMarket,
    grown,
    hardware,
    named,
    nanos,
    node_class,
    overlay,
    override,
    pool,
    requirements,
    reservation,
    reserved_row,
    row,
    rows,
)

from dovetail.core import labels
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.generations import ChangeSource
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.market import CombinedMarket, Market
from dovetail.core.catalog.overhead import FlatOverhead
from dovetail.core.catalog.pricebook import Discount, Extra, ListedPrice, PriceBook, Scope
from dovetail.core.catalog.prices import Source, SourceKind
from dovetail.core.catalog.reservations import pooled
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import NodePool
from dovetail.core.resources import GIB, Resources

NAMES = ("c5.large", "m5.large", "m5.xlarge")
Place = tuple[str, str | None, str | None]


def market(*names: str) -> FakeMarket:
    return FakeMarket({name: rows() for name in names or NAMES})


def gone(catalog: Catalog) -> set[Place]:
    """The rows that cannot be bought."""
    return {
        (one.name, found.zone, found.capacity_type)
        for one in catalog.types.values()
        for found in one.offerings
        if not found.launchable
    }


def cost(catalog: Catalog, name: str = "m5.large", zone: str = "a", kind: str = "on-demand") -> int | None:
    (found,) = (one for one in catalog.types[name].offerings if (one.zone, one.capacity_type) == (zone, kind))
    return None if found.price is None else found.price.nanodollars


def same(before: Catalog, after: Catalog) -> set[str]:
    """The types whose row is the very same object in both."""
    return {name for name, one in after.types.items() if before.types.get(name) is one}


# ---- two halves, asked for apart


def test_a_cloud_is_asked_four_questions_and_the_answers_are_joined_S0_1() -> None:
    cloud = market()
    found = CatalogCache(cloud).catalog(pool(), 0)
    assert isinstance(cloud, Market)
    assert cloud.asked == {"specs": 1, "specs generation": 1, "offerings": 1, "offerings generation": 1}
    assert tuple(found.types) == NAMES
    assert found.types["m5.large"].offerings == rows()
    assert found.types["m5.large"].capacity.cpu_millis == 2000


def test_while_no_generation_moves_nothing_is_fetched_and_the_same_catalog_is_handed_out_S0_2() -> None:
    cloud = market()
    cache = CatalogCache(cloud)
    first = cache.catalog(pool(), 0)
    assert all(cache.catalog(pool(), now) is first for now in range(10))
    assert (cloud.asked["specs"], cloud.asked["offerings"]) == (1, 1)


@pytest.mark.parametrize(
    ("source", "specs", "offerings"),
    [
        (ChangeSource.TYPES, 2, 1),
        (ChangeSource.ZONES, 2, 1),
        (ChangeSource.PRICES, 1, 2),
        (ChangeSource.RESERVATIONS, 1, 2),
        (ChangeSource.SHORTAGES, 1, 2),
        (ChangeSource.NODE_CLASS, 2, 2),
    ],
)
def test_only_the_stale_half_is_fetched_S0_2_S0_5(source: ChangeSource, specs: int, offerings: int) -> None:
    cloud = market()
    cache = CatalogCache(cloud)
    cache.catalog(pool(), 0)
    cloud.moved(source)
    cache.catalog(pool(), 0)
    cache.catalog(pool(), 0)
    assert (cloud.asked["specs"], cloud.asked["offerings"]) == (specs, offerings)


def test_a_refresh_that_changes_one_type_leaves_the_others_the_same_objects_S0_2() -> None:
    cloud = market()
    cache = CatalogCache(cloud)
    before = cache.catalog(pool(), 0)
    cloud.listed("m5.large", rows(on_demand="0.2"))
    after = cache.catalog(pool(), 0)
    assert same(before, after) == {"c5.large", "m5.xlarge"}
    assert after.types["m5.large"].spec is before.types["m5.large"].spec
    assert cost(after) == nanos("0.2")
    assert cost(before) == nanos("0.1")


def test_a_refresh_that_brings_nothing_new_hands_out_the_same_catalog_S0_2() -> None:
    cloud = market()
    cache = CatalogCache(cloud)
    before = cache.catalog(pool(), 0)
    cloud.moved(ChangeSource.NODE_CLASS)
    assert cache.catalog(pool(), 0) is before


def test_types_come_and_go_and_stay_in_the_order_of_their_names() -> None:
    cloud = market("m5.large", "z1.large")
    cache = CatalogCache(cloud)
    cache.catalog(pool(), 0)
    cloud.discovered(hardware("a1.large"), hardware("n1.large"))
    cloud.withdrew("m5.large")
    found = cache.catalog(pool(), 0)
    assert list(found.types) == ["a1.large", "n1.large", "z1.large"]
    assert found.types["n1.large"].offerings == ()


def test_a_change_of_one_node_class_is_fetched_for_that_class_only_S0_5() -> None:
    cloud = market()
    cache = CatalogCache(cloud)
    mine, other = pool("mine", "mine"), pool("other", "other")
    before = [cache.catalog(one, 0) for one in (mine, other)]
    cloud.withheld[node_class("mine")] = frozenset({"c5.large"})
    cloud.moved(ChangeSource.NODE_CLASS, node_class("mine"))
    assert len(cache.catalog(mine, 0)) == 2
    assert cache.catalog(other, 0) is before[1]
    assert cloud.asked["specs"] == 3


# ---- shared


def test_twenty_pools_of_two_classes_hold_two_catalogs_between_them_S0_8() -> None:
    cloud = market()
    cache = CatalogCache(cloud)
    pools = [pool(f"pool-{n}", of=f"class-{n % 2}") for n in range(20)]
    found = [cache.catalog(one, 0) for one in pools]
    assert len({id(one) for one in found}) == 2
    assert all(found[n] is found[n % 2] for n in range(20))
    assert (cloud.asked["specs"], cloud.asked["offerings"]) == (2, 2)


def test_pools_that_an_overlay_tells_apart_still_share_their_specs_S0_8() -> None:
    cache = CatalogCache(market())
    cache.set_overlays([overlay(wanted=requirements((labels.NODEPOOL, "In", "a")), adjust="-10%")])
    mine, other, third = (cache.catalog(pool(name), 0) for name in "abc")
    assert mine is not other
    assert other is not third
    for name in NAMES:
        assert mine.types[name].spec is other.types[name].spec
        assert other.types[name] is third.types[name]


def test_pools_with_other_kubelets_have_specs_of_their_own() -> None:
    cache = CatalogCache(market())
    few, many = (cache.catalog(pool(str(n), kubelet=KubeletSettings(max_pods=n)), 0) for n in (5, 50))
    assert few.types["m5.large"].capacity.of("pods") == 5
    assert many.types["m5.large"].capacity.of("pods") == 50
    assert few.types["m5.large"].offerings == many.types["m5.large"].offerings


# ---- shortages


def test_a_capacity_error_flips_exactly_the_row_it_names_and_fetches_nothing_S0_3() -> None:
    cloud = market()
    cache = CatalogCache(cloud)
    before = cache.catalog(pool(), 0)
    assert cache.mark(Shortage("m5.large", "a", "spot"), now=10) == 1
    after = cache.catalog(pool(), 10)
    assert gone(after) == {("m5.large", "a", "spot")}
    assert same(before, after) == {"c5.large", "m5.xlarge"}
    assert after.types["m5.large"].spec is before.types["m5.large"].spec
    kept = [one for one in after.types["m5.large"].offerings if one.available]
    assert all(any(one is old for old in before.types["m5.large"].offerings) for one in kept)
    assert not gone(before)
    assert (cloud.asked["specs"], cloud.asked["offerings"]) == (1, 1)


def test_a_capacity_error_lapses_after_three_minutes_by_itself_S0_3() -> None:
    cache = CatalogCache(market())
    before = cache.catalog(pool(), 0)
    cache.mark(Shortage("m5.large", "a", "spot"), now=10)
    assert gone(cache.catalog(pool(), 189.9))
    after = cache.catalog(pool(), 190)
    assert after == before
    assert same(before, after) >= {"c5.large", "m5.xlarge"}
    assert not cache.shortages.until


def test_hearing_of_a_shortage_again_extends_it_and_rebuilds_nothing_S0_3() -> None:
    cache = CatalogCache(market())
    cache.mark(Shortage("m5.large"), now=0)
    before = cache.catalog(pool(), 0)
    assert cache.mark(Shortage("m5.large"), now=100) == 0
    assert cache.catalog(pool(), 279) is before
    assert not gone(cache.catalog(pool(), 280))


def test_a_shortage_is_known_to_pools_that_come_later_and_survives_a_refresh_S0_3() -> None:
    cloud = market()
    cache = CatalogCache(cloud)
    cache.mark(Shortage("m5.large", "a", "spot"), now=0)
    cloud.listed("m5.large", rows(spot="0.01"))
    assert gone(cache.catalog(pool("late"), 1)) == {("m5.large", "a", "spot")}
    cloud.listed("m5.large", rows(spot="0.02"))
    assert gone(cache.catalog(pool("late"), 2)) == {("m5.large", "a", "spot")}


@pytest.mark.parametrize(
    ("shortage", "expected", "rebuilt"),
    [
        (Shortage(family="m5", zone="a"), {(n, "a", k) for n in NAMES[1:] for k in ("spot", "on-demand")}, 2),
        (Shortage(capacity_type="spot"), {(n, z, "spot") for n in NAMES for z in "ab"}, 3),
        (Shortage(family="m5", zone="a", capacity_type="spot", min_cpu_millis=4000), {("m5.xlarge", "a", "spot")}, 1),
        (Shortage("c5.large"), {("c5.large", z, k) for z in "ab" for k in ("spot", "on-demand")}, 1),
    ],
)
def test_a_shortage_may_be_of_a_family_a_size_a_zone_or_a_capacity_type_S0_3(
    shortage: Shortage, expected: set[Place], rebuilt: int
) -> None:
    cloud = market()
    cloud.discovered(hardware("m5.xlarge", cpu=4))
    cache = CatalogCache(cloud)
    cache.catalog(pool(), 0)
    assert cache.mark(shortage, 0) == rebuilt
    assert gone(cache.catalog(pool(), 0)) == expected


def test_a_reservation_found_full_takes_its_count_out_of_the_row_S0_3_S3_5() -> None:
    (both,) = pooled([reservation("cr-1", available=2), reservation("cr-2", available=1)]).values()
    cloud = FakeMarket({"m5.large": (reserved_row(both), *rows())})
    cache = CatalogCache(cloud)
    cache.catalog(pool(), 0)
    counts = []
    for name in ("cr-1", "cr-2"):
        cache.mark(Shortage(reservation_id=name), 0)
        counts.append(cache.catalog(pool(), 0).types["m5.large"].offerings[0].count)
    assert counts == [1, 0]
    assert gone(cache.catalog(pool(), 0)) == {("m5.large", "a", "reserved")}


def test_a_shortage_of_what_nobody_sells_changes_nothing() -> None:
    cache = CatalogCache(market())
    before = cache.catalog(pool(), 0)
    assert cache.mark(Shortage("p5.48xlarge"), 0) == 0
    assert cache.catalog(pool(), 0) is before
    assert cache.catalog(pool(), 500) is before


# ---- the gate


def test_with_the_gate_off_both_halves_are_asked_for_at_every_call_S0_4() -> None:
    cloud = market()
    cache = CatalogCache(cloud, caching=False)
    first, second = cache.catalog(pool(), 0), cache.catalog(pool(), 0)
    assert first == second
    assert first is not second
    assert (cloud.asked["specs"], cloud.asked["offerings"]) == (2, 2)
    assert not cloud.asked["specs generation"]


def test_a_cloud_that_only_answers_the_combined_call_is_asked_that_S0_4() -> None:
    cloud = CombinedFake(market())
    assert isinstance(cloud, CombinedMarket)
    assert not isinstance(cloud, Market)
    cache = CatalogCache(cloud)
    assert cache.catalog(pool(), 0) == CatalogCache(market()).catalog(pool(), 0)
    cache.catalog(pool(), 0)
    assert cloud.asked == {"instance types": 2}


class BothWays(FakeMarket):
    """A cloud that answers the old question too."""

    def instance_types(self, pool: NodePool) -> object:
        self.asked["instance types"] += 1
        return CombinedFake(self).instance_types(pool)


def test_with_the_gate_off_a_cloud_that_has_the_combined_call_is_asked_that_S0_4() -> None:
    cloud = BothWays({name: rows() for name in NAMES})
    CatalogCache(cloud, caching=False).catalog(pool(), 0)
    assert cloud.asked["instance types"] == 1
    on = BothWays({name: rows() for name in NAMES})
    CatalogCache(on).catalog(pool(), 0)
    assert on.asked["instance types"] == 0


def test_the_gate_changes_how_the_answer_is_found_and_not_the_answer_S0_4() -> None:
    answers = []
    for cloud, caching in ((market(), True), (market(), False), (CombinedFake(market()), True)):
        cache = CatalogCache(cloud, caching=caching)  # type: ignore[arg-type]
        cache.set_overrides([override("c5.large", cpu=1500)])
        cache.set_book(PriceBook(discounts=(Discount(Scope("m5.*"), Fraction(10)),)))
        cache.set_overlays([overlay(wanted=named("m5.large"), price="7")])
        cache.mark(Shortage("m5.xlarge", "a"), 0)
        answers.append(cache.catalog(pool(), 1))
    assert answers[0] == answers[1] == answers[2]


def test_with_the_gate_off_a_conflict_in_one_pool_is_still_a_conflict_in_all_S0_4() -> None:
    cache = CatalogCache(market(), caching=False)
    only_a = requirements((labels.NODEPOOL, "In", "a"))
    cache.set_overlays([overlay("x", price="1"), overlay("w", only_a, price="2", capacity={"dongle": 1})])
    assert cost(cache.catalog(pool("a"), 0)) == nanos("1")
    assert set(cache.refused_overlays) == {"w"}
    assert cost(cache.catalog(pool("b"), 0)) == nanos("1")
    assert set(cache.refused_overlays) == {"w"}
    cache.forget("a")
    assert not cache.refused_overlays


# ---- how well it does


def test_hits_misses_refreshes_and_sizes_are_counted_S0_6() -> None:
    cloud = market()
    clock = iter(range(100))
    cache = CatalogCache(cloud, stopwatch=lambda: float(next(clock)))
    for _ in range(3):
        cache.catalog(pool(), 0)
    cloud.moved(ChangeSource.PRICES)
    cache.catalog(pool(), 0)
    counted = cache.counters()
    assert (counted.hits, counted.misses) == (2, 2)
    assert (counted.specs_refreshed, counted.offerings_refreshed) == (1, 2)
    assert counted.refresh_seconds == 2.0
    assert (counted.types, counted.offerings) == (3, 12)
    assert counted.rows_rebuilt == 3


def test_the_combined_call_is_counted_as_a_miss_S0_6() -> None:
    clock = iter(range(100))
    cache = CatalogCache(market(), caching=False, stopwatch=lambda: float(next(clock)))
    cache.catalog(pool(), 0)
    cache.catalog(pool(), 0)
    counted = cache.counters()
    assert (counted.hits, counted.misses, counted.types, counted.refresh_seconds) == (0, 2, 3, 2.0)


def test_a_cache_nobody_asked_has_counted_nothing_S0_6() -> None:
    counted = CatalogCache(market()).counters()
    assert not any((counted.hits, counted.misses, counted.types, counted.offerings, counted.rows_rebuilt))


# ---- InstanceType resources


def test_an_instance_type_s_resources_are_merged_and_only_its_row_is_built_again_S2_1_S2_2() -> None:
    cache = CatalogCache(market())
    before = cache.catalog(pool(), 0)
    assert cache.set_overrides([override("m5.large", **{"example.com/dongle": 2})]) == 1
    after = cache.catalog(pool(), 0)
    assert after.types["m5.large"].allocatable.of("example.com/dongle") == 2
    assert after.types["m5.large"].offerings is before.types["m5.large"].offerings
    assert same(before, after) == {"c5.large", "m5.xlarge"}


def test_an_instance_type_s_overhead_replaces_the_cloud_s_S2_3() -> None:
    cloud = FakeMarket({"m5.large": rows()}, NodeRules())
    cache = CatalogCache(cloud)
    cache.set_overrides([override(overhead=Resources({"memory": GIB}))])
    assert cache.catalog(pool(), 0).types["m5.large"].capacity.memory_bytes == 7 * GIB


def test_memory_a_node_was_seen_to_report_stays_known_under_an_override_S2_2() -> None:
    cloud = FakeMarket({"m5.large": rows()}, NodeRules())
    cloud.memory_seen["m5.large"] = 7 * GIB + 123
    cache = CatalogCache(cloud)
    cache.set_overrides([override(**{"example.com/dongle": 2})])
    assert cache.catalog(pool(), 0).types["m5.large"].capacity.memory_bytes == 7 * GIB + 123


def test_offerings_of_an_instance_type_replace_the_cloud_s_entirely_S2_4() -> None:
    cache = CatalogCache(market())
    cache.set_overrides([override(offers=[({labels.CAPACITY_TYPE: "spot"}, "0.02")])])
    (found,) = cache.catalog(pool(), 0).types["m5.large"].offerings
    assert (found.zone, found.capacity_type) == (None, "spot")
    assert found.price is not None
    assert found.price.nanodollars == nanos("0.02")


def test_an_override_taken_away_gives_back_what_the_cloud_says() -> None:
    cache = CatalogCache(market())
    before = cache.catalog(pool(), 0)
    cache.set_overrides([override(cpu=1, offers=[])])
    assert cache.set_overrides([]) == 1
    after = cache.catalog(pool(), 0)
    assert after == before
    assert after.types["m5.large"].spec is before.types["m5.large"].spec


def test_the_same_overrides_again_rebuild_nothing() -> None:
    cache = CatalogCache(market())
    cache.set_overrides([override(cpu=1)])
    before = cache.catalog(pool(), 0)
    assert cache.set_overrides([override(cpu=1)]) == 0
    assert cache.catalog(pool(), 0) is before


def test_an_override_is_worked_out_again_when_the_cloud_s_rules_change() -> None:
    cloud = FakeMarket({"m5.large": rows()}, NodeRules())
    cache = CatalogCache(cloud)
    cache.set_overrides([override(overhead=Resources({"memory": GIB}))])
    cache.catalog(pool(), 0)
    cloud.rules = NodeRules(vm_overhead=FlatOverhead(Fraction(1, 2)), flat_overhead=Resources({"cpu": 500}))
    cloud.moved(ChangeSource.NODE_CLASS)
    found = cache.catalog(pool(), 0).types["m5.large"]
    assert found.capacity.memory_bytes == 7 * GIB
    assert found.allocatable.cpu_millis == 1500


def test_an_override_follows_the_hardware() -> None:
    cloud = market()
    cache = CatalogCache(cloud)
    cache.set_overrides([override("m5.large", pods=5)])
    cache.catalog(pool(), 0)
    cloud.discovered(grown(cloud.machines["m5.large"], 16))
    found = cache.catalog(pool(), 0).types["m5.large"].capacity
    assert (found.memory_bytes, found.of("pods")) == (16 * GIB, 5)


# ---- the price book, and what lies on top of what


def test_the_book_s_prices_discounts_and_extras_reach_every_pool_S2_6() -> None:
    cache = CatalogCache(market(), region="us-east-1")
    cache.catalog(pool(), 0)
    contract = Source(SourceKind.IMPORTED, "contract")
    book = PriceBook(
        (ListedPrice(Scope("m5.large", region="us-east-1"), nanos("1"), contract),),
        (Discount(Scope(capacity_type="on-demand"), Fraction(50)),),
        (Extra(Scope(zone="a"), nanos("0.25")),),
    )
    assert cache.set_book(book) == 3
    found = cache.catalog(pool(), 0)
    assert cost(found) == nanos("0.75")
    assert cost(found, zone="b", kind="spot") == nanos("1")
    assert cost(found, "c5.large", "b") == nanos("0.05")
    assert cache.set_book(book) == 0


def test_layers_stack_cloud_then_book_then_instance_type_then_overlay_S2_6() -> None:
    here = {labels.ZONE: "a", labels.CAPACITY_TYPE: "on-demand"}
    cloud = FakeMarket({"m5.large": (row("a", "on-demand", "1"),)})
    cache = CatalogCache(cloud)
    told = [cost(cache.catalog(pool(), 0))]
    cache.set_book(PriceBook(discounts=(Discount(Scope(), Fraction(50)),)))
    told.append(cost(cache.catalog(pool(), 0)))
    cache.set_overrides([override(offers=[(here, None)])])
    told.append(cost(cache.catalog(pool(), 0)))
    cache.set_overlays([overlay(adjust="+10%")])
    told.append(cost(cache.catalog(pool(), 0)))
    cache.set_overrides([override(offers=[(here, "3")])])
    told.append(cost(cache.catalog(pool(), 0)))
    cache.set_overlays([])
    told.append(cost(cache.catalog(pool(), 0)))
    assert told == [nanos(each) for each in ("1", "0.5", "0.5", "0.55", "3.3", "3")]


def test_a_market_that_runs_out_of_nothing_changes_nothing() -> None:
    cache = CatalogCache(market())
    before = cache.catalog(pool(), 0)
    assert cache.mark_all((), 1) == 0
    assert cache.catalog(pool(), 1) is before
