"""Overlays in the cache: told apart by pool, refused everywhere at once, rebuilt where they touch (S2.6, S0.2)."""

from __future__ import annotations

import pytest
from tests.builders import FakeMarket, named, nanos, overlay, pool, requirements, rows

from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.shortages import Shortage

MANY = tuple(f"t{n:03d}.large" for n in range(200))


def many() -> FakeMarket:
    return FakeMarket({name: rows() for name in MANY})


def cost(catalog: Catalog, name: str = "m5.large") -> int | None:
    found = next(one for one in catalog.types[name].offerings if (one.zone, one.capacity_type) == ("a", "on-demand"))
    return None if found.price is None else found.price.nanodollars


def test_a_change_that_touches_fifty_types_builds_fifty_rows_and_leaves_the_rest_S0_2() -> None:
    cache = CatalogCache(many())
    before = cache.catalog(pool(), 0)
    counted = cache.counters().rows_rebuilt
    assert cache.set_overlays([overlay(wanted=named(*MANY[:50]), adjust="-10%")]) == 50
    assert cache.counters().rows_rebuilt - counted == 50
    after = cache.catalog(pool(), 0)
    assert [name for name in MANY if after.types[name] is not before.types[name]] == [*MANY[:50]]
    assert all(after.types[name].spec is before.types[name].spec for name in MANY)


def test_moving_an_overlay_builds_what_it_left_and_what_it_came_to_S0_2() -> None:
    cache = CatalogCache(many())
    cache.catalog(pool(), 0)
    cache.set_overlays([overlay(wanted=named(*MANY[:50]), adjust="-10%")])
    before = cache.catalog(pool(), 0)
    assert cache.set_overlays([overlay(wanted=named(*MANY[40:60]), adjust="-10%")]) == 60
    after = cache.catalog(pool(), 0)
    assert all(after.types[name] is before.types[name] for name in MANY[60:])
    assert cost(after, MANY[0]) == nanos("0.1")
    assert cost(after, MANY[59]) == nanos("0.09")


def test_the_same_overlays_in_another_order_change_nothing() -> None:
    cache = CatalogCache(many())
    some = [overlay("a", named(MANY[0]), price="1"), overlay("b", named(MANY[1]), price="2")]
    cache.set_overlays(some)
    before = cache.catalog(pool(), 0)
    assert cache.set_overlays(reversed(some)) == 0
    assert cache.catalog(pool(), 0) is before


def test_an_overlay_taken_away_gives_back_the_rows_there_were_S0_2() -> None:
    cache = CatalogCache(FakeMarket())
    before = cache.catalog(pool(), 0)
    cache.set_overlays([overlay(price="9", capacity={"dongle": 1})])
    assert cache.catalog(pool(), 0).types["m5.large"].capacity.of("dongle") == 1
    cache.set_overlays([])
    assert cache.catalog(pool(), 0).types["m5.large"] is before.types["m5.large"]


def test_an_overlay_for_one_pool_is_seen_by_that_pool_only() -> None:
    cache = CatalogCache(FakeMarket())
    mine, other = pool("mine"), pool("other")
    for one in (mine, other):
        cache.catalog(one, 0)
    cache.set_overlays([overlay(wanted=requirements((labels.NODEPOOL, "In", "mine")), price="9")])
    assert cost(cache.catalog(mine, 0)) == nanos("9")
    assert cost(cache.catalog(other, 0)) == nanos("0.1")


def test_an_overlay_for_a_template_label_is_seen_by_the_pools_that_carry_it() -> None:
    cache = CatalogCache(FakeMarket())
    cache.set_overlays([overlay(wanted=requirements(("team", "In", "blue")), price="9")])
    blue, red, none = pool("a", labelled={"team": "blue"}), pool("b", labelled={"team": "red"}), pool("c")
    assert [cost(cache.catalog(one, 0)) for one in (blue, red, none)] == [nanos("9"), nanos("0.1"), nanos("0.1")]


def test_pools_that_no_overlay_tells_apart_share_one_catalog_S0_2() -> None:
    cache = CatalogCache(FakeMarket())
    cache.set_overlays([overlay(wanted=requirements(("team", "In", "blue")), price="9")])
    labelled = [{"team": "blue", "cost": str(n)} for n in range(10)]
    found = [cache.catalog(pool(f"p{n}", labelled=pairs), 0) for n, pairs in enumerate(labelled)]
    assert all(one is found[0] for one in found)


def test_a_pool_that_changes_its_label_is_answered_by_its_new_one() -> None:
    cache = CatalogCache(FakeMarket())
    cache.set_overlays([overlay(wanted=requirements(("team", "In", "blue")), price="9")])
    assert cost(cache.catalog(pool(labelled={"team": "blue"}), 0)) == nanos("9")
    assert cost(cache.catalog(pool(labelled={"team": "red"}), 0)) == nanos("0.1")
    assert cache.counters().types == 1


def test_a_refused_overlay_is_out_in_every_pool_and_names_both() -> None:
    cache = CatalogCache(FakeMarket())
    only_a = requirements((labels.NODEPOOL, "In", "a"))
    everywhere = overlay("early", price="5", capacity={"dongle": 1})
    cache.set_overlays([overlay("later", only_a, price="2"), everywhere])
    a, b = pool("a"), pool("b")
    assert cost(cache.catalog(b, 0)) == nanos("5")
    assert cost(cache.catalog(a, 0)) == nanos("2")
    assert cost(cache.catalog(b, 0)) == nanos("0.1")
    assert not cache.catalog(b, 0).types["m5.large"].capacity.of("dongle")
    (found,) = cache.refused_overlays.values()
    assert (found.overlay, found.other) == ("early", "later")
    assert "early" in str(found)
    assert "later" in str(found)


def test_a_conflict_is_known_as_soon_as_the_overlays_are_written_though_no_pool_has_asked_since() -> None:
    cache = CatalogCache(FakeMarket())
    cache.catalog(pool("a"), 0)
    cache.set_overlays(
        [overlay("later", requirements((labels.NODEPOOL, "In", "a")), price="2"), overlay("early", price="5")]
    )
    assert set(cache.refused_overlays) == {"early"}


def test_a_conflict_is_over_when_the_pool_it_was_in_is_gone() -> None:
    cache = CatalogCache(FakeMarket())
    only_a = requirements((labels.NODEPOOL, "In", "a"))
    cache.set_overlays([overlay("later", only_a, price="2"), overlay("early", price="5")])
    a, b = pool("a"), pool("b")
    for one in (a, b):
        cache.catalog(one, 0)
    assert cache.refused_overlays
    cache.forget("a")
    assert not cache.refused_overlays
    assert cost(cache.catalog(b, 0)) == nanos("5")


def test_a_conflict_is_over_when_the_pool_it_was_in_changes() -> None:
    cache = CatalogCache(FakeMarket())
    cache.set_overlays([overlay("later", requirements(("team", "Exists")), price="2"), overlay("early", price="5")])
    cache.catalog(pool("b"), 0)
    cache.catalog(pool("a", labelled={"team": "x"}), 0)
    assert set(cache.refused_overlays) == {"early"}
    cache.catalog(pool("a"), 0)
    assert not cache.refused_overlays
    assert cost(cache.catalog(pool("b"), 0)) == nanos("5")


@pytest.mark.parametrize("weights", [(0, 0), (7, 7)])
def test_a_conflict_is_over_when_one_takes_another_weight(weights: tuple[int, int]) -> None:
    cache = CatalogCache(FakeMarket())
    cache.catalog(pool(), 0)
    first, second = weights
    cache.set_overlays([overlay("a", price="1", weight=first), overlay("b", price="2", weight=second)])
    assert set(cache.refused_overlays) == {"a"}
    cache.set_overlays([overlay("a", price="1", weight=first + 1), overlay("b", price="2", weight=second)])
    assert not cache.refused_overlays
    assert cost(cache.catalog(pool(), 0)) == nanos("1")


def test_three_overlays_of_one_weight_conflict_across_the_one_between() -> None:
    cache = CatalogCache(FakeMarket())
    cache.set_overlays(
        [overlay("a", capacity={"x": 1}), overlay("b", capacity={"y": 2}), overlay("c", capacity={"x": 3})]
    )
    found = cache.catalog(pool(), 0).types["m5.large"].capacity
    assert (found.of("x"), found.of("y")) == (3, 2)
    assert cache.refused_overlays["a"].other == "c"


def test_an_overlay_meets_types_that_are_discovered_later() -> None:
    cloud = FakeMarket()
    cache = CatalogCache(cloud)
    cache.set_overlays([overlay(wanted=named("m5.large", "m6.large"), price="9")])
    cache.catalog(pool(), 0)
    cloud.listed("m6.large", rows())
    cloud.discovered(FakeMarket({"m6.large": rows()}).machines["m6.large"])
    assert cost(cache.catalog(pool(), 0), "m6.large") == nanos("9")


def test_a_shortage_lies_on_top_of_an_overlay_and_leaves_its_price_S0_3() -> None:
    cache = CatalogCache(FakeMarket())
    cache.set_overlays([overlay(price="9")])
    cache.mark(Shortage("m5.large", "a"), 0)
    found = cache.catalog(pool(), 0)
    assert cost(found) == nanos("9")
    assert {one.zone for one in found.types["m5.large"].offerings if one.launchable} == {"b"}


def test_a_pool_forgotten_takes_along_what_only_it_needed() -> None:
    cache = CatalogCache(FakeMarket())
    kept = cache.catalog(pool("kept", "one"), 0)
    cache.catalog(pool("lost", "two"), 0)
    assert cache.counters().types == 2
    cache.forget("lost")
    cache.forget("never known")
    assert cache.counters().types == 1
    assert cache.catalog(pool("kept", "one"), 0) is kept


def test_a_class_shared_with_a_forgotten_pool_stays() -> None:
    cloud = FakeMarket()
    cache = CatalogCache(cloud)
    found = [cache.catalog(pool(name), 0) for name in "ab"]
    cache.forget("a")
    assert cache.catalog(pool("b"), 0) is found[0]
    assert cloud.asked["specs"] == 1
