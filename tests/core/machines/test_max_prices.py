"""What may be bid, cloud by cloud (R16, R23, R28)."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.errors import BadInput
from dovetail.core.machines.infra_objects import Market, Wanted
from dovetail.core.machines.prices import max_price


def price(cloud: str, written: str) -> Decimal | None:
    return max_price(Wanted(cloud, "a", Market.SPOT, max_price=written))


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_no_price_is_no_bound(cloud: str):
    assert price(cloud, "") is None


def test_R16_a_decimal_is_read_as_it_is_written():
    assert price("aws", "0.05") == Decimal("0.05")


@pytest.mark.parametrize("bad", ["0", "0.000", "-1", "1e3", ".5", "1.", "٣", "1" * 33, "NaN", "0x1", " 1"])
def test_R16_what_is_no_price_on_aws_says_what_to_write(bad: str):
    with pytest.raises(BadInput, match="maxPrice"):
        price("aws", bad)


def test_R28_minus_one_is_the_on_demand_price():
    assert price("azure", "-1") is None
    assert price("azure", "-1.0") is None


@pytest.mark.parametrize("bad", ["0", "-0.5", "-2", "cheap", "-", "1e3"])
def test_R28_nothing_else_below_nothing(bad: str):
    with pytest.raises(BadInput, match="-1"):
        price("azure", bad)


def test_R23_gcp_has_one_price():
    with pytest.raises(BadInput, match="GCP has one price"):
        price("gcp", "0.05")


@given(cloud=st.sampled_from(["aws", "gcp", "azure"]), written=st.text(max_size=50))
def test_whatever_is_written_is_a_price_or_a_sentence(cloud: str, written: str):
    found, told = None, ""
    try:
        found = price(cloud, written)
    except BadInput as bad:
        told = str(bad)
    assert "maxPrice" in told or found is None or found > 0
    assert found is not None or told or not written or Decimal(written) == -1
