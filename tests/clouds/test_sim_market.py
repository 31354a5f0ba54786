"""A market to practise in (S0.7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dovetail.clouds.kwok.types_file import parse_types_file
from dovetail.clouds.sim.market import Sale, SimMarket, SoldOut
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.market import Market
from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.nodepools import NodePool

Pool = Callable[..., NodePool]
SPOT = OfferingKey("m-4x-amd64-linux", "test-zone-a", "spot")
HELD = OfferingKey("m-4x-amd64-linux", "test-zone-a", "reserved")


def generations(market: SimMarket, pool: NodePool) -> tuple[int, int]:
    return market.specs_generation(pool), market.offerings_generation(pool)


def test_it_answers_the_four_questions(pool: Pool) -> None:
    """S0.1, S0.7."""
    market = SimMarket()
    assert isinstance(market, Market)
    assert len(market.specs(pool())) == len(market.offerings(pool())) == 144


def test_stock_runs_out_and_says_what_ran_out(pool: Pool) -> None:
    """S0.3: the error names the row; what the catalog makes of it is its own affair."""
    market = SimMarket(stock={SPOT: 2})
    before = generations(market, pool())
    assert market.buy(SPOT).price is not None
    market.buy(SPOT)
    assert generations(market, pool()) == before
    with pytest.raises(SoldOut, match="sold out: spot m-4x-amd64-linux test-zone-a; try another offering") as caught:
        market.buy(SPOT)
    assert generations(market, pool()) == (before[0], before[1] + 1)
    cache = CatalogCache(market)
    cache.catalog(pool(), 0.0)
    assert cache.mark(caught.value.shortage, 0.0) == 1
    rows = cache.catalog(pool(), 0.0).types[SPOT.instance_type].offerings
    assert [row.zone for row in rows if not row.launchable] == ["test-zone-a"]
    market.restock(SPOT, None)
    market.buy(SPOT)


def test_what_is_not_sold_cannot_be_bought() -> None:
    with pytest.raises(SoldOut):
        SimMarket().buy(OfferingKey("x9.huge", "test-zone-a", "spot"))


def test_a_discovery_moves_specs(pool: Pool) -> None:
    market = SimMarket()
    before = generations(market, pool())
    assert not market.discover(market.listing)
    assert market.discover(replace(market.listing, hardware=market.listing.hardware[:-1]))
    assert generations(market, pool()) == (before[0] + 1, before[1])


def test_new_prices_move_offerings(pool: Pool) -> None:
    market = SimMarket()
    before = generations(market, pool())
    assert market.reprice(lambda key, amount: amount * 2 if key == SPOT else amount, now="12:00")
    assert generations(market, pool()) == (before[0], before[1] + 1)
    (row,) = [row for row in market.offerings(pool())[SPOT.instance_type] if row.price and row.price.source.as_of]
    assert row.zone == "test-zone-a"
    assert not market.reprice(lambda _, amount: amount)


def test_a_reservation_goes_down_and_never_below_nothing(pool: Pool) -> None:
    """S3.5, S3.12."""
    market = SimMarket(reservations=[Reservation(f"r-{n}", HELD.instance_type, "test-zone-a", n, n) for n in (1, 2)])
    before = generations(market, pool())
    assert [market.buy(HELD).reservation_id for _ in range(3)] == ["r-2", "r-1", "r-2"]
    assert generations(market, pool()) == (before[0], before[1] + 3)
    (row,) = [row for row in market.offerings(pool())[HELD.instance_type] if row.reservations]
    assert row.count == 0
    with pytest.raises(SoldOut) as caught:
        market.buy(HELD, "r-1")
    assert caught.value.shortage.reservation_id == "r-1"


def test_a_reservation_can_be_asked_for_by_name() -> None:
    """S3.8."""
    market = SimMarket(reservations=[Reservation(f"r-{n}", HELD.instance_type, "test-zone-a", n, n) for n in (1, 9)])
    assert market.buy(HELD, "r-1").reservation_id == "r-1"


def test_reservations_of_a_users_file_go_down_as_well(pool: Pool) -> None:
    text = """[{"name": "a", "architecture": "amd64", "operatingSystems": ["linux"],
      "resources": {"cpu": "1", "memory": "1Gi"},
      "offerings": [{"Price": 0.1, "ReservationCapacity": 1, "Requirements": [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]},
        {"key": "example.com/reservation-id", "operator": "In", "values": ["r-1"]}]}]}]"""
    market = SimMarket(parse_types_file(text, "types.json"))
    key = OfferingKey("a", "z", labels.RESERVED)
    assert market.buy(key).reservation_id == "r-1"
    (row,) = market.offerings(pool())["a"]
    assert row.count == 0
    with pytest.raises(SoldOut):
        market.buy(key)


def test_what_runs_out_together_is_one_shortage_and_comes_back_together() -> None:
    market = SimMarket()
    spot = Shortage(capacity_type="spot")
    market.run_out(spot)
    assert market.sell(SPOT) is spot
    assert market.sell(replace(SPOT, zone="test-zone-b")) is spot
    assert isinstance(market.sell(replace(SPOT, capacity_type="on-demand")), Sale)
    market.recover(spot)
    assert isinstance(market.sell(SPOT), Sale)


def test_a_family_may_run_out_from_a_size_on() -> None:
    market = SimMarket()
    market.run_out(Shortage(family="m", min_cpu_millis=8000))
    assert isinstance(market.sell(SPOT), Sale)
    assert isinstance(market.sell(replace(SPOT, instance_type="m-8x-amd64-linux")), Shortage)
    assert isinstance(market.sell(replace(SPOT, instance_type="c-8x-amd64-linux")), Sale)


def test_a_machine_is_counted_once_whoever_tells_of_it() -> None:
    market = SimMarket(stock={SPOT: 5})
    sale = market.sell(SPOT, holder="a")
    assert isinstance(sale, Sale)
    market.hold("a", sale)
    market.hold("b", sale)
    assert market.stock[SPOT] == 3
    market.settle({"b": sale, "c": sale})
    assert (market.stock[SPOT], set(market.ledger)) == (3, {"b", "c"})
    for _ in range(2):
        market.give_back("b")
    market.give_back("nobody")
    assert market.stock[SPOT] == 4


def test_more_machines_than_there_is_stock_leave_none_until_enough_are_returned() -> None:
    market = SimMarket(stock={SPOT: 1})
    sale = Sale(SPOT, None)
    market.settle({"a": sale, "b": sale, "c": sale})
    assert market.stock[SPOT] == 0
    market.give_back("a")
    market.give_back("b")
    assert isinstance(market.sell(SPOT), Shortage)
    market.give_back("c")
    assert isinstance(market.sell(SPOT), Sale)


def test_a_reservation_never_has_more_left_than_it_has_in_all(pool: Pool) -> None:
    market = SimMarket(reservations=[Reservation("r-1", HELD.instance_type, "test-zone-a", 2, 2)])
    market.settle({name: Sale(HELD, None, "r-1") for name in "abc"})
    for name in "abc":
        market.give_back(name)
    (row,) = [row for row in market.offerings(pool())[HELD.instance_type] if row.reservations]
    assert row.count == 2


def test_a_sale_of_something_that_is_sold_no_more_can_be_returned() -> None:
    market = SimMarket()
    gone = OfferingKey("x9.huge", "test-zone-a", "reserved")
    market.hold("a", Sale(gone, None, "r-9"))
    market.give_back("a")
    assert "x9.huge" not in market.listing.offerings


def test_all_that_one_answer_names_is_marked_at_once(pool: Pool) -> None:
    """S0.3: a type is built again once, however many of its rows ran out."""
    cache = CatalogCache(SimMarket())
    types = cache.catalog(pool(), 0.0).types
    every = [Shortage(one.name, row.zone, row.capacity_type) for one in types.values() for row in one.offerings]
    assert cache.mark_all(every, 0.0) == len(types)
    assert not any(row.launchable for one in cache.catalog(pool(), 0.0).types.values() for row in one.offerings)
    assert cache.mark_all(every, 0.0) == 0
    assert cache.mark_all((), 0.0) == 0
