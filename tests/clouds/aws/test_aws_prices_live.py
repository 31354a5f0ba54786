"""Prices as the services say them, good and bad."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from dovetail.clouds.aws import prices_live, spot_history
from dovetail.clouds.aws.freshness import Fresh, Freshness, Subject
from dovetail.core.catalog.prices import NANO, SourceKind

DATE = "2026-11-15"


def product(name: str, price: str = "0.0960000000", currency: str = "USD", **more: Any) -> str:
    dimension = {"unit": "Hrs", "pricePerUnit": {currency: price}, "description": "per hour"}
    terms = {"OnDemand": {"a.b": {"priceDimensions": {"a.b.c": dimension}, "sku": "a"}}, "Reserved": {"x": {}}}
    return json.dumps({"product": {"attributes": {"instanceType": name, "vcpu": "2"}}, "terms": terms, **more})


def test_a_product_is_a_price_with_a_source() -> None:
    found, problems = prices_live.prices_of([product("m5.large")], "us-east-1", DATE)
    assert not problems
    price = found["m5.large"]
    assert price.nanodollars == 96 * NANO // 1000
    assert str(price.source) == "live (EC2 price list, us-east-1, 2026-11-15)"


def test_china_pays_in_its_own_currency() -> None:
    texts = [product("m5.large", "0.9", "CNY"), product("c5.large", "0.1", "USD")]
    found, _ = prices_live.prices_of(texts, "cn-north-1", DATE)
    assert {name: one.source.currency for name, one in found.items()} == {"m5.large": "CNY"}


@pytest.mark.parametrize(
    "bad",
    ["", "{", "[]", '{"product": {}}', json.dumps({"product": {"attributes": {"instanceType": 5}}, "terms": {}})],
)
def test_a_product_that_cannot_be_read_costs_only_itself(bad: str) -> None:
    found, problems = prices_live.prices_of([bad, product("m5.large")], "us-east-1", DATE)
    assert list(found) == ["m5.large"]
    assert str(problems[0]).startswith("GetProducts")


def test_a_price_that_is_no_number_costs_only_itself() -> None:
    found, problems = prices_live.prices_of([product("m5.large", "free"), product("c5.large")], "us-east-1", DATE)
    assert list(found) == ["c5.large"]
    assert "free" in str(problems[0])


def test_a_machine_that_costs_nothing_has_no_price() -> None:
    assert prices_live.prices_of([product("m5.large", "0.0000000000")], "us-east-1", DATE) == ({}, ())


@pytest.mark.parametrize(
    ("region", "isolated", "asked"),
    [("us-east-1", False, True), ("us-gov-west-1", False, False), ("eu-west-1", True, False)],
)
def test_where_there_is_no_price_list_nobody_asks_for_it(region: str, isolated: bool, asked: bool) -> None:
    assert (prices_live.why_not_asked(region, isolated) == "") is asked


def record(price: str, hour: int = 0, **more: Any) -> dict[str, Any]:
    since = dt.datetime(2026, 11, 15, hour, tzinfo=dt.UTC)
    told = {"InstanceType": "m5.large", "AvailabilityZone": "us-east-1a", "SpotPrice": price, "Timestamp": since}
    return {**told, **more}


def test_the_newest_record_of_a_pool_counts_in_whatever_order_they_come() -> None:
    for records in ([record("0.03", 1), record("0.05", 3)], [record("0.05", 3), record("0.03", 1)]):
        found, _ = spot_history.prices_of(records, DATE)
        price = found["m5.large", "us-east-1a"]
        assert (price.nanodollars, price.source.kind) == (5 * NANO // 100, SourceKind.LIVE)


@pytest.mark.parametrize("bad", [record("cheap"), record("-1"), record("0.1", InstanceType=""), {}])
def test_a_record_that_cannot_be_read_costs_only_itself(bad: dict[str, Any]) -> None:
    found, problems = spot_history.prices_of([bad, record("0.03", AvailabilityZone="us-east-1b")], DATE)
    assert list(found) == [("m5.large", "us-east-1b")]
    assert len(problems) == 1


def test_an_age_is_told_in_words() -> None:
    said = {age: Fresh(True, 0.0).told(Subject.SPOT, age) for age in (60.0, 10_800.0, 864_000.0)}
    assert list(said.values()) == [
        "spot prices: heard from AWS, 1 minutes old",
        "spot prices: heard from AWS, 3 hours old",
        "spot prices: heard from AWS, 10 days old",
    ]


def test_a_hiccup_is_no_complaint() -> None:
    known = Freshness()
    known.heard(Subject.SPOT, 0.0)
    known.failed(Subject.SPOT, "was not answered", 900.0)
    intervals = dict.fromkeys(Subject, 900.0)
    assert known.complaints(intervals, 1000.0) == ()
    assert known.complaints(intervals, 900.0 + 1800.0) == (
        "spot prices: heard from AWS, 45 minutes old; was not answered",
    )
