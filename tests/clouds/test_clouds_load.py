"""The one door to every cloud's listing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dovetail.clouds.load import CLOUDS, load, regions
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import instance_type
from dovetail.core.catalog.prices import SourceKind
from dovetail.core.catalog.specs import SpecMaker, SpecRules
from dovetail.core.errors import BadInput
from dovetail.core.kubelet import KubeletSettings

EVERY_CLOUD = pytest.mark.parametrize("cloud", CLOUDS)


@EVERY_CLOUD
def test_the_bundled_files_have_no_problems(cloud: str, request: pytest.FixtureRequest) -> None:
    listing: Listing = request.getfixturevalue(cloud)
    assert listing.problems == ()
    assert listing.cloud == cloud
    assert listing.region in regions(cloud)


@EVERY_CLOUD
def test_every_type_of_every_cloud_makes_a_spec_pods_can_use(cloud: str, request: pytest.FixtureRequest) -> None:
    """S0.1: name, requirements, capacity and overhead, for each of them."""
    listing: Listing = request.getfixturevalue(cloud)
    rules = SpecRules(KubeletSettings(), listing.rules)
    maker = SpecMaker(rules)
    assert len(listing.hardware) > 100
    for one in listing.hardware:
        spec = maker.spec_of(one)
        assert spec == rules.spec_of(one)
        assert spec.allocatable.cpu_millis > 0, spec.name
        assert spec.capacity.cpu_millis >= spec.allocatable.cpu_millis
        assert spec.requirements.value("node.kubernetes.io/instance-type") == spec.name


@EVERY_CLOUD
def test_every_price_says_where_it_comes_from(cloud: str, request: pytest.FixtureRequest) -> None:
    listing: Listing = request.getfixturevalue(cloud)
    priced = [row.price for rows in listing.offerings.values() for row in rows if row.price]
    assert len(priced) > 500
    for price in priced:
        assert price.source.detail
        assert price.nanodollars > 0
        if price.source.kind is SourceKind.BUNDLED:
            assert price.source.as_of


@EVERY_CLOUD
def test_a_row_asks_only_for_labels_its_dialect_knows(cloud: str, request: pytest.FixtureRequest) -> None:
    """A label a pool does not define must be well known, or the row could never be bought."""
    listing: Listing = request.getfixturevalue(cloud)
    used = {one.key for rows in listing.offerings.values() for row in rows for one in row.requirements}
    used |= {one.key for hardware in listing.hardware for one in hardware.requirements}
    assert used <= listing.dialect.well_known


@EVERY_CLOUD
def test_rows_come_cheapest_first(cloud: str, request: pytest.FixtureRequest) -> None:
    listing: Listing = request.getfixturevalue(cloud)
    for rows in listing.offerings.values():
        assert list(rows) == sorted(rows, key=lambda row: row.order)


@EVERY_CLOUD
def test_spot_is_cheaper_than_on_demand(cloud: str, request: pytest.FixtureRequest) -> None:
    listing: Listing = request.getfixturevalue(cloud)
    for name, rows in listing.offerings.items():
        dear = listing.list_prices.get(name)
        for row in rows:
            if row.capacity_type == "spot" and row.price and dear:
                assert row.price.nanodollars < dear.nanodollars, name


@EVERY_CLOUD
def test_rows_of_one_zone_and_capacity_type_share_their_requirements(
    cloud: str, request: pytest.FixtureRequest
) -> None:
    listing: Listing = request.getfixturevalue(cloud)
    rows = [row for rows in listing.offerings.values() for row in rows]
    assert len({id(row.requirements) for row in rows}) <= 24


@EVERY_CLOUD
def test_types_share_the_requirements_they_have_in_common(cloud: str, request: pytest.FixtureRequest) -> None:
    listing: Listing = request.getfixturevalue(cloud)
    found = [one for hardware in listing.hardware for one in hardware.requirements]
    assert len({id(one) for one in found}) == len(set(found))


def test_halves_join(aws: Listing) -> None:
    spec = SpecRules(KubeletSettings(), aws.rules).spec_of(next(one for one in aws.hardware if one.name == "m5.large"))
    joined = instance_type(spec, aws.offerings["m5.large"])
    assert joined.cheapest is not None
    assert joined.cheapest.capacity_type == "spot"
    zones = joined.requirements.get("topology.kubernetes.io/zone")
    assert zones is not None
    assert "us-east-1a" in zones.values


def test_a_region_of_the_same_cloud_differs_in_price_and_zones() -> None:
    irish = load("aws", "eu-west-1")
    assert {row.zone for row in irish.offerings["m5.large"]} == {"eu-west-1a", "eu-west-1b", "eu-west-1c"}
    assert str(irish.list_prices["m5.large"]).startswith("0.107")
    modelled = [price for price in irish.list_prices.values() if price.source.kind is SourceKind.MODELLED]
    assert modelled
    assert all(price.source.detail for price in modelled)


def test_an_unknown_cloud_is_named_with_its_neighbours() -> None:
    with pytest.raises(BadInput, match=r"there is no cloud 'asw'; did you mean aws\?"):
        load("asw")


def test_an_unknown_region_is_named_with_its_neighbours() -> None:
    with pytest.raises(BadInput, match=r"region 'us-esat-1' of aws; did you mean .*us-east-1 or "):
        load("aws", "us-esat-1")
    with pytest.raises(BadInput, match=r"use one of af-south-1, .* and 29 others"):
        load("aws", "?")


def test_looking_at_one_cloud_imports_no_other() -> None:
    script = (
        "import sys; from dovetail.clouds.load import load; load('kwok');"
        "print([name for name in sys.modules if name.split('.')[-2:-1] in (['aws'], ['azure'], ['gcp'])])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
