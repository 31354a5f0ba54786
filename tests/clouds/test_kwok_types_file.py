"""A user's own types file: read as the kwok provider reads it, but for what that provider forgets."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail.clouds.kwok import labels as kwok_labels
from dovetail.clouds.kwok.export import export_types
from dovetail.clouds.kwok.types_file import parse_types_file
from dovetail.core import labels
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import instance_type
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.errors import BadInput
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.resources import MIB

RESERVATION = "example.com/reservation-id"


def required(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def row(capacity_type: str = "on-demand", zone: str = "za", price: Any = 0.1, **more: Any) -> dict[str, Any]:
    told = [required(labels.CAPACITY_TYPE, capacity_type), required(labels.ZONE, zone)]
    return {"Price": price, "Available": True, "Requirements": [*told, *more.pop("also", ())], **more}


def reserved(reservation: str, left: int, **more: Any) -> dict[str, Any]:
    also = [required(RESERVATION, reservation)]
    return row("reserved", price=0.001, also=also, ReservationCapacity=left, **more)


def kind(name: str = "m5.large", *rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "offerings": list(rows) or [row()],
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "2", "memory": "8Gi", "ephemeral-storage": "20Gi"},
        **more,
    }


def read(*types: Any) -> Listing:
    return parse_types_file(json.dumps(types), "types.json")


def test_a_type_is_read_with_its_labels_and_sizes() -> None:
    listing = read(kind(resources={"cpu": "1500m", "memory": "4G", "pods": "20", "example.com/fpga": 2}))
    (one,) = listing.hardware
    assert listing.problems == ()
    assert (one.cpu_millis, one.memory_bytes, one.pods) == (1500, 4 * 10**9, 20)
    assert one.devices.of("example.com/fpga") == 2
    told = one.requirements
    keys = (kwok_labels.SIZE, kwok_labels.FAMILY, kwok_labels.CPU, kwok_labels.MEMORY)
    assert [told.value(key) for key in keys] == ["large", "m5", "1500m", "4G"]
    assert str(listing.list_prices["m5.large"]) == "0.1"


def test_pods_are_110_where_none_are_given_and_overhead_is_the_providers() -> None:
    listing = read(kind())
    spec = SpecRules(KubeletSettings(), listing.rules).spec_of(listing.hardware[0])
    assert spec.capacity["pods"] == 110
    assert spec.allocatable.cpu_millis == 1900
    assert spec.capacity.memory_bytes - spec.allocatable.memory_bytes == 10 * MIB


def test_field_names_are_read_in_any_case() -> None:
    entry = {key.upper(): value for key, value in kind().items()}
    entry["OFFERINGS"] = [{key.lower(): value for key, value in row().items()}]
    listing = read(entry)
    assert listing.problems == ()
    assert listing.offerings["m5.large"][0].zone == "za"


def test_unavailable_is_believed() -> None:
    """The provider sets every offering available; a file that says otherwise means it."""
    listing = read(kind("m5.large", row(Available=False), row(zone="zb")))
    assert {one.zone: one.launchable for one in listing.offerings["m5.large"]} == {"za": False, "zb": True}


def test_a_reserved_offering_names_its_reservation_and_how_many_are_left() -> None:
    """S3.5: the count is of the reservation, and an empty one is healthy but cannot be bought."""
    listing = read(kind("m5.large", reserved("r-1", 3), row()))
    held = listing.offerings["m5.large"][0]
    assert held.count == 3
    assert held.reservations == (Reservation("r-1", "m5.large", "za", 3, 3),)
    (empty,) = read(kind("m5.large", reserved("r-1", 0))).offerings["m5.large"]
    assert empty.available
    assert not empty.launchable


def test_several_reservations_of_one_zone_are_one_offering() -> None:
    """S3.4."""
    listing = read(kind("m5.large", reserved("r-1", 3), reserved("r-2", 4), reserved("r-3", 5, zone="zb")))
    found = {one.zone: one for one in listing.offerings["m5.large"]}
    assert found["za"].count == 7
    assert [one.id for one in found["za"].reservations] == ["r-2", "r-1"]
    ids = found["za"].requirements.get(RESERVATION)
    assert ids is not None
    assert ids.values == {"r-1", "r-2"}
    assert found["zb"].count == 5


def test_a_label_the_file_prices_by_is_well_known() -> None:
    """S2.5: any label may tell prices apart."""
    listing = read(kind("m5.large", row(also=[required("example.com/license", "rhel")])))
    assert "example.com/license" in listing.dialect.well_known


def test_a_zone_that_is_left_out_may_be_any() -> None:
    listing = read(kind("m5.large", {"Price": 1, "Requirements": [required(labels.CAPACITY_TYPE, "spot")]}))
    (one,) = listing.offerings["m5.large"]
    assert one.zone is None
    assert one.available


BAD = {
    "several values": (kind("bad", row(also=[required("k", "a", "b")])), "offerings[0]: Requirements[2]: k: values"),
    "no value": (kind("bad", row(also=[required("k")])), "offerings[0]: Requirements[2]: k: values"),
    "unknown operator": (kind("bad", row(also=[required("k", "a", operator="Like")])), "Requirements[2]: k: operator"),
    "key twice": (kind("bad", row(also=[required(labels.ZONE, "zb")])), "Requirements[2]: key"),
    "NaN price": (kind("bad", row(price=float("nan"))), "offerings[0]: Price: "),
    "infinite price": (kind("bad", row(price=float("inf"))), "offerings[0]: Price"),
    "negative price": (kind("bad", row(price=-0.1)), "offerings[0]: Price: "),
    "no price": (kind("bad", {"Requirements": []}), "offerings[0]: Price"),
    "price is a list": (kind("bad", row(price=[1])), "offerings[0]: Price"),
    "comma": (kind("bad", resources={"cpu": 1, "memory": "1,5Gi"}), "resources: memory: '1,5Gi' is not a quantity"),
    "no cpu": (kind("bad", resources={"memory": "1Gi"}), "resources: cpu"),
    "no resources": (kind("bad", resources=None), "resources: cpu"),
    "negative memory": (kind("bad", resources={"cpu": 1, "memory": "-1Gi"}), "resources: memory"),
    "unknown field": (kind("bad", color="blue"), "color: unknown field; use name, "),
    "unknown offering field": (kind("bad", row(Cost=1)), "offerings[0]: Cost: unknown field"),
    "unknown requirement field": (kind("bad", row(also=[{"key": "k", "value": "a"}])), "value: unknown field"),
    "bad key": (kind("bad", row(also=[required("a b", "c")])), "offerings[0]: Requirements[2]: 'a b'"),
    "bad value": (kind("bad", row(also=[required("k", "a b")])), "values: 'a b' is not a label value"),
    "capacity type": (kind("bad", row("preemptible")), "'preemptible' is not a capacity type"),
    "no system": (kind("bad", operatingSystems=[]), "operatingSystems"),
    "no architecture": (kind("bad", architecture=None), "architecture"),
    "available": (kind("bad", row(Available="yes")), "offerings[0]: Available: 'yes' is neither true nor false"),
    "reservation without id": (kind("bad", row("reserved", ReservationCapacity=1)), "ends in reservation-id; got none"),
    "half an instance": (kind("bad", reserved("r", 1) | {"ReservationCapacity": 0.5}), "ReservationCapacity: '0.5'"),
    "offerings is text": (kind("bad", offerings="many"), "offerings: expected a list, got text"),
    "offering is a number": (kind("bad", offerings=[1]), "offerings[0]: expected an object, got a number"),
}


@pytest.mark.parametrize(("entry", "expected"), BAD.values(), ids=BAD.keys())
def test_a_bad_type_names_file_type_and_field_and_the_others_load(entry: dict[str, Any], expected: str) -> None:
    listing = read(entry, kind("good"))
    assert [one.name for one in listing.hardware] == ["good"]
    (problem,) = listing.problems
    assert str(problem).startswith("types.json: bad: ")
    assert expected in str(problem)


@pytest.mark.parametrize("entry", [7, None, "m5.large", [], {}, {"name": ""}, {"name": 3}])
def test_a_type_without_a_usable_name_is_known_by_its_place(entry: Any) -> None:
    listing = read(kind("good"), entry)
    assert [one.name for one in listing.hardware] == ["good"]
    assert str(listing.problems[0]).startswith("types.json: entry 2: ")


def test_a_type_listed_twice_stands_once() -> None:
    listing = read(kind("a"), kind("a", row(price=9)))
    assert str(listing.list_prices["a"]) == "0.1"
    assert "listed twice" in str(listing.problems[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[\n {"name": "a",}\n]', "types.json: line 2: column 15: is not JSON"),
        ("", "types.json: line 1: column 1: is not JSON"),
        ("{}", "types.json: expected a list of types, got an object"),
        ("3", "types.json: expected a list of types, got a number"),
        (b"\xff\xfe\xfa", "types.json"),
        ("[" * 100_000, "types.json: is nested too deeply"),
        ("[" + "9" * 5000 + "]", "types.json: is not JSON"),
    ],
    ids=["comma", "empty", "object", "number", "bytes", "deep", "digits"],
)
def test_a_file_that_is_no_list_of_types_is_refused_with_its_place(text: str | bytes, expected: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_types_file(text, "types.json")
    assert str(caught.value).startswith(expected)


def test_what_is_exported_reads_back_the_same(kwok: Listing) -> None:
    exported = export_types(kwok)
    back = parse_types_file(json.dumps(exported), "again.json")
    assert back.problems == ()
    assert export_types(back) == exported
    assert parse_types_file(json.dumps(export_types(back)), "again.json") == back
    assert [one.requirements for one in back.hardware] == [one.requirements for one in kwok.hardware]


def test_reservations_and_sold_out_rows_survive_the_round_trip() -> None:
    first = read(
        kind(
            "m5.large",
            reserved("r-1", 3),
            reserved("r-2", 4),
            row(Available=False),
            row(zone="zb", also=[required("k", "5", operator="Gt")]),
        ),
        kind("odd", resources={"cpu": "1500m", "memory": "4G"}),
    )
    assert parse_types_file(json.dumps(export_types(first)), "types.json") == first


def test_joined_types_are_exported_like_a_listing(kwok: Listing) -> None:
    rules = SpecRules(KubeletSettings(), kwok.rules)
    joined = [instance_type(rules.spec_of(one), kwok.offerings[one.name]) for one in kwok.hardware]
    assert export_types(joined) == export_types(kwok)


def test_another_clouds_listing_can_be_given_to_kwok(gcp: Listing) -> None:
    """Rows without a price are left out: the format would call them free."""
    back = parse_types_file(json.dumps(export_types(gcp)), "gcp.json")
    assert back.problems == ()
    assert len(back.hardware) == len(gcp.hardware)
    assert back.offerings["c4-standard-8"] == ()
    assert back.list_prices["n2-standard-2"].nanodollars == gcp.list_prices["n2-standard-2"].nanodollars


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=4))
def test_any_list_of_json_is_read_or_refused_in_our_own_words(entries: list[Any]) -> None:
    listing = parse_types_file(json.dumps(entries), "types.json")
    assert len(listing.hardware) + len(listing.problems) == len(entries)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), value=json_values)
def test_a_type_with_one_field_spoilt_costs_at_most_itself(data: st.DataObject, value: Any) -> None:
    entry = kind("spoilt", reserved("r-1", 2), row())
    target: Any = entry
    while True:
        step = data.draw(st.sampled_from(list(target) if isinstance(target, dict) else range(len(target))))
        if not isinstance(target[step], dict | list) or not target[step] or data.draw(st.booleans()):
            target[step] = value
            break
        target = target[step]
    listing = read(entry, kind("good"))
    assert "good" in {one.name for one in listing.hardware}
    assert len(listing.hardware) + len(listing.problems) == 2


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused_in_our_own_words(text: bytes) -> None:
    with contextlib.suppress(BadInput):
        parse_types_file(text, "types.json")
