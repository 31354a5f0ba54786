"""The catalogue kwok comes with."""

from __future__ import annotations

import pytest

from dovetail.clouds.kwok import labels as kwok_labels
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.prices import dollars
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.resources import GIB, MIB


def named(listing: Listing, name: str) -> Hardware:
    return next(one for one in listing.hardware if one.name == name)


def test_there_are_144_types_in_four_zones(kwok: Listing) -> None:
    assert len(kwok.hardware) == 144
    assert {row.zone for rows in kwok.offerings.values() for row in rows} == {f"test-zone-{one}" for one in "abcd"}
    assert all(len(rows) == 8 for rows in kwok.offerings.values())


@pytest.mark.parametrize(
    ("name", "cpus", "gib"),
    [("c-1x-amd64-linux", 1, 2), ("s-48x-arm64-windows", 48, 192), ("m-256x-amd64-linux", 256, 2048)],
)
def test_the_price_formula_is_exact(kwok: Listing, name: str, cpus: int, gib: int) -> None:
    expected = 0.025 * cpus + 0.001 * gib * 2**30 / 1e9
    assert kwok.list_prices[name].nanodollars == round(expected * 1e9)
    spot = {row.price.nanodollars for row in kwok.offerings[name] if row.capacity_type == "spot" and row.price}
    assert spot == {round(expected * 0.7 * 1e9)}


def test_the_smallest_type_costs_what_the_peer_says(kwok: Listing) -> None:
    assert dollars(kwok.list_prices["c-1x-amd64-linux"].nanodollars) == "0.027147484"


def test_pods_grow_with_cores_up_to_1024(kwok: Listing) -> None:
    assert named(kwok, "c-1x-amd64-linux").pods == 16
    assert named(kwok, "c-256x-amd64-linux").pods == 1024


def test_every_node_holds_the_same_little_back(kwok: Listing) -> None:
    spec = SpecRules(KubeletSettings(), kwok.rules).spec_of(named(kwok, "m-4x-amd64-linux"))
    assert spec.capacity.memory_bytes == 32 * GIB
    assert spec.allocatable.cpu_millis == 3900
    assert spec.allocatable.memory_bytes == 32 * GIB - 10 * MIB
    assert spec.capacity["pods"] == 64


def test_labels_follow_the_name_and_the_size(kwok: Listing) -> None:
    told = named(kwok, "m-4x-amd64-linux").requirements
    keys = (kwok_labels.SIZE, kwok_labels.FAMILY, kwok_labels.CPU, kwok_labels.MEMORY)
    assert [told.value(key) for key in keys] == ["4", "m", "4", "32Gi"]
