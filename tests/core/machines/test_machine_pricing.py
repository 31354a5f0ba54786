"""What groups of machines cost, what spot saves, and what is forbidden (R4, R16, R23, R28, R36, R38)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core import labels
from dovetail.core.catalog.offerings import offering
from dovetail.core.catalog.prices import NANO, Price, Source, SourceKind
from dovetail.core.machines import pricing
from dovetail.core.machines.infra_objects import Market, Wanted
from dovetail.core.machines.pricing import Group, Owner, Rates, Standing

SOURCE = Source(SourceKind.BUNDLED, "list", "2026-01-01")


def price(dollars: float) -> Price:
    return Price(round(dollars * NANO), SOURCE)


RATES = Rates(price(0.10), price(0.03))


def group(market: Market = Market.ON_DEMAND, replicas: int = 3, bid: str = "", cloud: str = "aws", **more) -> Group:
    wanted = Wanted(cloud, "m5.large", market, bid)
    return Group(Owner("MachineSet", "default", "a"), "c", replicas, Owner("T", "default", "t"), wanted, "r", **more)


def test_workers_on_demand_could_save_what_spot_is_cheaper_by():
    one = pricing.bill(group(), RATES)
    assert (one.standing, one.now, one.could_save, one.saved) == (Standing.ON_DEMAND, 3 * 10**8, 21 * 10**7, 0)


def test_R4_workers_on_spot_are_on_spot_all_of_them():
    one = pricing.bill(group(Market.PREEMPTIBLE), RATES)
    assert (one.standing, one.now, one.could_save, one.saved) == (Standing.SPOT, 9 * 10**7, 0, 21 * 10**7)


def test_R36_a_control_plane_on_spot_is_forbidden_and_costs_nothing_since_nothing_is_made():
    one = pricing.bill(group(Market.SPOT, control_plane=True), RATES)
    assert (one.standing, one.now, one.on_demand, one.on_spot) == (Standing.FORBIDDEN, 0, 3 * 10**8, 3 * 10**8)
    assert "etcd" in one.reason


def test_R36_a_control_plane_on_spot_is_forbidden_at_any_price():
    assert pricing.bill(group(Market.SPOT, control_plane=True, problem="odd"), RATES).standing is Standing.FORBIDDEN
    assert pricing.unpriced(group(Market.SPOT, control_plane=True), "unknown").standing is Standing.FORBIDDEN


def test_R36_a_control_plane_on_demand_stays_there_and_nothing_is_to_be_saved():
    one = pricing.bill(group(control_plane=True), RATES)
    assert (one.standing, one.could_save, one.on_spot) == (Standing.KEPT, 0, one.on_demand)


@pytest.mark.parametrize(
    ("cloud", "bid"), [("aws", "0.02"), ("aws", "0"), ("aws", "x"), ("gcp", "0.05"), ("azure", "0"), ("azure", "-2")]
)
def test_R38_a_bid_nobody_takes_waits_and_costs_nothing(cloud: str, bid: str):
    one = pricing.bill(group(Market.SPOT, bid=bid, cloud=cloud), RATES)
    assert (one.standing, one.now) == (Standing.WAITING, 0)
    assert "maxPrice" in one.reason


@pytest.mark.parametrize(("cloud", "bid"), [("aws", "0.03"), ("aws", ""), ("azure", "-1"), ("azure", "0.5")])
def test_R16_R28_a_bid_of_the_price_or_of_no_bound_buys(cloud: str, bid: str):
    assert pricing.bill(group(Market.SPOT, bid=bid, cloud=cloud), RATES).standing is Standing.SPOT


@pytest.mark.parametrize(
    ("cloud", "bid", "told"),
    [
        ("aws", "0.11", True),
        ("aws", "0.1", False),
        ("aws", "", False),
        ("azure", "-1", False),
        ("azure", "9", True),
        ("gcp", "9", False),
        ("aws", "x", False),
    ],
)
def test_R16_a_bid_above_on_demand_is_told_of(cloud: str, bid: str, told: bool):
    wanted = Wanted(cloud, "a", Market.SPOT, bid)
    assert bool(pricing.above_on_demand(wanted, RATES)) is told


def test_a_bid_of_a_machine_on_demand_or_of_no_known_price_is_not_judged():
    assert pricing.above_on_demand(Wanted("aws", "a", Market.ON_DEMAND, "9"), RATES) == ""
    assert pricing.above_on_demand(Wanted("aws", "a", Market.SPOT, "9"), pricing.UNKNOWN) == ""


def test_what_is_not_sold_on_spot_saves_nothing():
    one = pricing.bill(group(), Rates(price(0.1)))
    assert (one.standing, one.could_save, one.on_spot) == (Standing.ON_DEMAND, 0, one.on_demand)
    assert pricing.bill(group(Market.SPOT), Rates(price(0.1))).standing is Standing.UNPRICED
    assert pricing.bill(group(), pricing.UNKNOWN).standing is Standing.UNPRICED


def test_dearer_spot_saves_nothing_and_says_so():
    one = pricing.bill(group(), Rates(price(0.1), price(0.2)))
    assert (one.could_save, one.reason) == (0, "spot costs no less")


def row(zone: str, capacity_type: str, dollars: float):
    return offering({labels.ZONE: zone, labels.CAPACITY_TYPE: capacity_type}, price(dollars))


ROWS = (row("a", "spot", 0.02), row("b", "spot", 0.04), row("a", "on-demand", 0.1), row("b", "on-demand", 0.1))


def test_R7_nobody_chooses_a_zone_so_the_dearest_counts():
    assert pricing.rates(ROWS, ()).spot == price(0.04)
    assert pricing.rates(ROWS, ("a",)).spot == price(0.02)
    assert pricing.rates(ROWS, ("c",)) == Rates(None, None)
    assert pricing.rates((), (), price(0.3)).on_demand == price(0.3)


groups = st.builds(
    group, market=st.sampled_from(Market), replicas=st.integers(0, 50), control_plane=st.booleans(), bid=st.just("")
)
known = st.builds(Rates, st.floats(0.01, 9).map(price), st.floats(0.01, 9).map(price))


@given(st.lists(st.tuples(groups, known), max_size=6))
def test_what_is_paid_and_saved_is_what_on_demand_costs(several):
    """Of everything that is not forbidden: now + saved = on-demand, to the nanodollar."""
    bills = [pricing.bill(one, rates) for one, rates in several]
    had = [one for one in bills if one.standing is not Standing.FORBIDDEN]
    sums = pricing.totals(had)
    assert sums.now + sums.saved == sums.on_demand
    assert sums.could_save >= 0
    assert pricing.totals(bills).machines == sum(one.group.replicas for one in bills)


def test_a_group_nobody_can_price_says_why_and_who_it_is():
    one = pricing.unpriced(group(Market.SPOT), "no such type")
    assert (one.standing, one.reason) == (Standing.UNPRICED, "no such type")
    assert str(one.group.owner) == "MachineSet default/a"
    assert str(Owner("Cluster", "", "c")) == "Cluster c"
