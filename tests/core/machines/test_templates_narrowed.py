"""R3, R4, R7, R38: a machine template as a catalogue."""

from __future__ import annotations

import pytest
from tests.builders import hardware, nanos, price, row
from tests.core.machines.machine_world import spot

from dovetail.core import labels
from dovetail.core.catalog.hardware import Disk
from dovetail.core.catalog.listing import Listing
from dovetail.core.errors import BadValue
from dovetail.core.machines.infra_objects import Wanted
from dovetail.core.machines.templates import Template, narrowed
from dovetail.core.resources import GIB

REGION = Listing(
    "aws",
    "us-east-1",
    (hardware("m5.large"), hardware("c5.large")),
    {
        "m5.large": (
            row("a", labels.ON_DEMAND, "0.1"),
            row("a", labels.SPOT, "0.03"),
            row("b", labels.SPOT, "0.05"),
            row(None, labels.SPOT, "0.04"),
        ),
        "c5.large": (row("a", labels.SPOT, "0.01"),),
    },
    {"m5.large": price("0.1"), "c5.large": price("0.08")},
)
LARGE = Wanted("aws", "m5.large")


def sold(template: Template) -> list[tuple[str | None, int | None, bool]]:
    """Zone, price and whether it can be had, of every row there is."""
    rows = narrowed(REGION, template).offerings["m5.large"]
    return [(one.zone, one.price.nanodollars if one.price else None, one.available) for one in rows]


def test_R3_a_template_sells_its_one_type_and_nothing_else():
    found = narrowed(REGION, Template(LARGE))
    assert [one.name for one in found.hardware] == ["m5.large"]
    assert list(found.offerings) == list(found.list_prices) == ["m5.large"]


def test_R4_what_is_not_bought_as_spot_is_bought_on_demand():
    assert sold(Template(LARGE)) == [("a", nanos("0.1"), True)]
    assert [zone for zone, _, _ in sold(Template(spot()))] == ["a", "b", None]


def test_R7_machines_stand_in_the_zones_named_and_a_row_of_no_zone_is_of_every_one():
    assert [zone for zone, _, _ in sold(Template(spot(), zones=("b",)))] == ["b", None]


def test_R38_what_costs_more_than_the_most_anybody_pays_is_there_and_cannot_be_had():
    at_most = Template(spot(max_price="0.04"))
    assert sold(at_most) == [("a", nanos("0.03"), True), ("b", nanos("0.05"), False), (None, nanos("0.04"), True)]


def test_the_disk_is_the_templates_where_it_names_one():
    assert narrowed(REGION, Template(LARGE, disk=100 * GIB)).hardware[0].disk == Disk(100 * GIB)
    assert narrowed(REGION, Template(LARGE)).hardware[0].disk == REGION.hardware[0].disk


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        (Template(Wanted("aws", "m9.huge")), "aws us-east-1 sells no type 'm9.huge'"),
        (Template(LARGE, zones=("b", "c")), "m5.large is not sold on-demand in b, c"),
        (Template(Wanted("aws", "c5.large")), "c5.large is not sold on-demand in us-east-1"),
    ],
)
def test_a_template_that_buys_nothing_says_so(template: Template, sentence: str):
    with pytest.raises(BadValue, match=sentence) as told:
        narrowed(REGION, template)
    assert sentence in str(told.value)


def test_a_row_without_a_price_is_not_too_dear():
    open_priced = Listing("aws", "r", (hardware("m5.large"),), {"m5.large": (row("a", labels.SPOT, None),)}, {})
    (found,) = narrowed(open_priced, Template(spot(max_price="0.01"))).offerings["m5.large"]
    assert found.available
