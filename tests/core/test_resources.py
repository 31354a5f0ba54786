"""Resources add up exactly, and fit as Kubernetes says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import HOSTILE

from dovetail.core import resources
from dovetail.core.errors import BadField, BadInput
from dovetail.core.resources import NOTHING, Resources, amount_of, parse, quantity_of

names = st.sampled_from(["cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi"])
amounts = st.dictionaries(names, st.integers(-(10**15), 10**15)).map(Resources)
positive = st.dictionaries(names, st.integers(0, 10**15)).map(Resources)


def nonzero(some: Resources) -> dict[str, int]:
    return {name: amount for name, amount in some.items() if amount}


@given(amounts, amounts, amounts)
def test_sums_commute_and_associate_and_nothing_adds_nothing(a: Resources, b: Resources, c: Resources) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + NOTHING == a == NOTHING + a


@given(amounts, amounts)
def test_what_is_added_can_be_taken_off_again(a: Resources, b: Resources) -> None:
    assert nonzero((a + b) - b) == nonzero(a)
    assert not nonzero(a - a)


@given(amounts, amounts, names)
def test_each_name_is_summed_for_itself_and_a_missing_one_is_zero(a: Resources, b: Resources, name: str) -> None:
    assert (a + b).of(name) == a.of(name) + b.of(name)
    assert (a - b).of(name) == a.of(name) - b.of(name)


@given(amounts, amounts)
def test_a_request_fits_iff_nothing_is_overdrawn_and_each_part_is_there(wanted: Resources, room: Resources) -> None:
    every = {*wanted, *room}
    expected = all(room.of(name) >= 0 for name in room) and all(
        wanted.of(name) <= room.of(name) for name in every if name in wanted
    )
    assert wanted.fits_in(room) == expected


def test_nothing_fits_where_anything_is_overdrawn() -> None:
    assert not NOTHING.fits_in(Resources({"memory": -1, "cpu": 5}))
    assert not Resources({"cpu": 1}).fits_in(Resources({"memory": -1, "cpu": 5}))


def test_a_request_of_zero_of_something_unknown_fits() -> None:
    assert Resources({"nvidia.com/gpu": 0, "cpu": 1}).fits_in(Resources({"cpu": 1}))
    assert not Resources({"nvidia.com/gpu": 1}).fits_in(Resources({"cpu": 1}))


@given(positive, positive)
def test_a_sum_holds_both_of_its_parts(a: Resources, b: Resources) -> None:
    assert a.fits_in(a + b)
    assert b.fits_in(a + b)


@given(amounts, amounts)
def test_merged_amounts_take_the_place_of_ours(a: Resources, b: Resources) -> None:
    merged = a.merged(b)
    assert all(merged[name] == b.get(name, a.get(name)) for name in {*a, *b})
    assert set(merged) == {*a, *b}


@given(amounts)
def test_equal_amounts_hash_alike_in_any_order(a: Resources) -> None:
    again = Resources(reversed(list(a.items())))
    assert again == a
    assert hash(again) == hash(a)


@given(positive)
def test_the_wire_form_reads_back(a: Resources) -> None:
    assert parse(a.quantities()) == a


@pytest.mark.parametrize(
    ("name", "written", "amount", "printed"),
    [
        ("cpu", "1.5", 1500, "1500m"),
        ("cpu", "1", 1000, "1"),
        ("cpu", "0.0001", 1, "1m"),
        ("memory", "1Gi", 2**30, "1Gi"),
        ("memory", "128974848", 128974848, "123Mi"),
        ("memory", "100m", 1, "1"),
        ("hugepages-2Mi", "4Mi", 4 * 2**20, "4Mi"),
        ("nvidia.com/gpu", 8, 8, "8"),
        ("pods", "110", 110, "110"),
    ],
)
def test_an_amount_is_whole_in_its_own_unit_and_never_less_than_written(
    name: str, written: str | int, amount: int, printed: str
) -> None:
    read = parse({name: written})
    assert read == Resources({name: amount})
    assert amount_of(name, quantity_of(name, amount)) == amount
    assert read.quantities() == {name: printed}


def test_resources_print_by_name() -> None:
    assert str(Resources({"memory": 2**30, "cpu": 500})) == "cpu 500m, memory 1Gi"
    assert str(NOTHING) == "nothing"


def test_nothing_given_is_nothing() -> None:
    assert parse(None) is NOTHING
    assert parse({}) == NOTHING


def test_a_bad_amount_is_named_with_its_place() -> None:
    with pytest.raises(BadField, match=r"spec: limits: cpu: 'lots' is not a quantity"):
        parse({"memory": "1Gi", "cpu": "lots"}, "spec", "limits")


def test_less_than_nothing_is_refused_unless_it_is_asked_for() -> None:
    with pytest.raises(BadField, match="is negative"):
        parse({"cpu": "-1"})
    assert parse({"cpu": "-1"}, allow_negative=True).cpu_millis == -1000


@pytest.mark.parametrize("name", [*HOSTILE])
def test_a_hostile_amount_is_refused_in_a_short_sentence(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse({"cpu": HOSTILE[name]}, "spec")
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("name", [name for name, value in HOSTILE.items() if not isinstance(value, dict)])
def test_a_hostile_map_is_refused_in_a_short_sentence(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(HOSTILE[name], "spec")
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("key", [None, 1, -(10**5000), True, ("a",), "", 1.5], ids=lambda key: type(key).__name__)
def test_a_resource_needs_a_name(key: object) -> None:
    with pytest.raises(BadInput, match="is not the name of a resource"):
        parse({key: "1"}, "spec")


def test_the_core_resources_are_kubernetes_own() -> None:
    assert {"cpu", "memory", "ephemeral-storage", "pods"} == resources.CORE
