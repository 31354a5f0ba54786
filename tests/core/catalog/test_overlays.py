"""NodeOverlays adjust prices and capacity of whatever matches, and conflict out loud (S2.6, §6.1)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import a_type, hardware, named, nanos, overlay, pool, requirements, row, spec
from tests.core.strategies import compound

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, instance_type, offering
from dovetail.core.catalog.overlays import Matches, NodeOverlay, conflicts, in_order, match, overlaid
from dovetail.core.catalog.prices import SourceKind
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.resources import GIB, Resources

M5, C5 = a_type("m5.large"), a_type("c5.large")
MARKET = (M5, C5)


def matched(one: NodeOverlay, pool_labels: Requirements = EMPTY, types: Iterable[InstanceType] = MARKET) -> Matches:
    return match(one, pool_labels, types)


def worn(*overlays: NodeOverlay, of: InstanceType = M5) -> InstanceType:
    """The type with these overlays on, conflicts left out."""
    ordered = in_order(overlays)
    views = {one.name: matched(one, types=[of]) for one in ordered}
    out = conflicts(ordered, [views])
    touching = [
        (one, views[one.name][of.name]) for one in ordered if one.name not in out and of.name in views[one.name]
    ]
    return overlaid(of, touching)


def costs(found: InstanceType) -> dict[tuple[str | None, str | None], int | None]:
    return {(one.zone, one.capacity_type): one.price.nanodollars if one.price else None for one in found.offerings}


# ---- what an overlay does


@pytest.mark.parametrize(
    ("price", "adjust", "found"),
    [
        ("0.5", None, "0.5"),
        (None, "-10%", "0.09"),
        (None, "+10%", "0.11"),
        (None, "-0.04", "0.06"),
        (None, "+0.4", "0.5"),
        (None, "-9", "0"),
        (None, "-100%", "0"),
    ],
)
def test_a_price_is_replaced_or_adjusted_but_never_below_nothing_S2_6(
    price: str | None, adjust: str | None, found: str
) -> None:
    one = worn(overlay(wanted=requirements((labels.CAPACITY_TYPE, "In", "on-demand")), price=price, adjust=adjust))
    assert costs(one)["a", "on-demand"] == nanos(found)
    assert costs(one)["a", "spot"] == nanos("0.03")
    assert one.price_overlaid
    assert not one.capacity_overlaid


def test_an_overlaid_price_names_its_overlay_and_a_row_left_alone_is_the_same_object() -> None:
    one = worn(overlay("sale", requirements((labels.ZONE, "In", "a")), adjust="-10%"))
    by_zone = {(r.zone, r.capacity_type): r for r in one.offerings}
    changed = by_zone["a", "spot"].price
    assert changed is not None
    assert (changed.source.kind, changed.source.detail) == (SourceKind.OVERLAY, "NodeOverlay sale")
    untouched = next(r for r in M5.offerings if (r.zone, r.capacity_type) == ("b", "spot"))
    assert by_zone["b", "spot"] is untouched
    assert one.spec is M5.spec


def test_rows_are_put_in_order_by_their_new_prices() -> None:
    one = worn(overlay(wanted=requirements((labels.CAPACITY_TYPE, "In", "on-demand")), price="0.001"))
    assert [r.capacity_type for r in one.offerings] == ["on-demand", "on-demand", "spot", "spot"]


def test_a_row_without_a_price_can_be_given_one_but_has_nothing_to_adjust() -> None:
    bare = a_type(offered=(row(dollars=None),))
    assert costs(worn(overlay(price="1"), of=bare))["a", "on-demand"] == nanos("1")
    assert costs(worn(overlay(adjust="+1"), of=bare))["a", "on-demand"] is None


def test_capacity_is_added_to_the_whole_type_as_soon_as_one_row_matches_S2_6() -> None:
    one = worn(overlay(wanted=requirements((labels.ZONE, "In", "a")), capacity={"smarter-devices/fuse": 5}))
    assert one.capacity == M5.capacity + Resources({"smarter-devices/fuse": 5})
    assert one.allocatable == M5.allocatable + Resources({"smarter-devices/fuse": 5})
    assert one.capacity_overlaid
    assert not one.price_overlaid
    assert one.offerings is M5.offerings


def test_capacity_replaces_what_the_type_had_of_it() -> None:
    gpu = a_type()
    gpu = overlaid(gpu, [(overlay(capacity={"nvidia.com/gpu": 1}), frozenset({0}))])
    assert worn(overlay(capacity={"nvidia.com/gpu": 4}), of=gpu).allocatable.of("nvidia.com/gpu") == 4


@pytest.mark.parametrize(("had", "pages", "left"), [(0, 3, 5), (2, 3, 5), (2, 1, 7), (0, 9, 0)])
def test_huge_pages_added_by_an_overlay_come_out_of_memory(had: int, pages: int, left: int) -> None:
    machine = hardware(devices=Resources({"hugepages-1Gi": had * GIB} if had else {}))
    base = instance_type(spec(machine), M5.offerings)
    assert worn(overlay(capacity={"hugepages-1Gi": pages * GIB}), of=base).allocatable.memory_bytes == left * GIB


def test_an_overlay_that_touches_nothing_leaves_the_very_type() -> None:
    assert overlaid(M5, []) is M5
    assert overlaid(M5, [(overlay(), frozenset({0, 1}))]) is M5


# ---- whom it matches


def test_an_overlay_without_requirements_matches_everything() -> None:
    assert matched(overlay()) == {"m5.large": frozenset(range(4)), "c5.large": frozenset(range(4))}


def test_an_overlay_may_name_types_or_whole_families_S2_6() -> None:
    types = [a_type("m5.large", labelled={"family": "m5"}), a_type("m5.xlarge", labelled={"family": "m5"}), C5]
    assert set(matched(overlay(wanted=named("m5.large")), types=types)) == {"m5.large"}
    assert set(matched(overlay(wanted=requirements(("family", "In", "m5"))), types=types)) == {"m5.large", "m5.xlarge"}
    assert set(matched(overlay(wanted=requirements((labels.ARCH, "In", "arm64"))), types=types)) == set()


def test_only_the_rows_that_match_are_touched() -> None:
    spot = matched(overlay(wanted=requirements((labels.CAPACITY_TYPE, "In", "spot"))))["m5.large"]
    assert {M5.offerings[position].capacity_type for position in spot} == {"spot"}
    assert len(spot) == 2


def test_a_type_of_which_no_row_matches_is_not_matched() -> None:
    split = a_type(offered=(row("a", "spot"), row("b", "on-demand")))
    both = requirements((labels.ZONE, "In", "a"), (labels.CAPACITY_TYPE, "In", "on-demand"))
    assert matched(overlay(wanted=both), types=[split]) == {}


def test_a_key_nobody_defines_does_not_match_unless_absence_will_do() -> None:
    assert matched(overlay(wanted=requirements(("team", "In", "x")))) == {}
    assert set(matched(overlay(wanted=requirements(("team", "NotIn", "x"))))) == {"m5.large", "c5.large"}
    assert set(matched(overlay(wanted=requirements(("team", "DoesNotExist"))))) == {"m5.large", "c5.large"}


@pytest.mark.parametrize(("wanted", "matches"), [("pool-a", True), ("pool-b", False)])
def test_an_overlay_may_ask_for_a_pool_by_name(wanted: str, matches: bool) -> None:
    asking = requirements((labels.NODEPOOL, "In", wanted))
    assert bool(matched(overlay(wanted=asking), pool("pool-a").label_requirements)) is matches


def test_an_overlay_may_ask_for_a_label_of_the_pool_s_template() -> None:
    asking = overlay(wanted=requirements(("team", "In", "blue")))
    assert matched(asking, pool(labelled={"team": "blue"}).label_requirements)
    assert not matched(asking, pool(labelled={"team": "red"}).label_requirements)


def test_a_pool_s_label_that_a_type_cannot_have_keeps_the_type_out() -> None:
    asking = overlay(wanted=requirements((labels.ARCH, "Exists")))
    assert matched(asking, pool(labelled={labels.ARCH: "amd64"}).label_requirements)
    assert not matched(asking, pool(labelled={labels.ARCH: "arm64"}).label_requirements)


KINDS = [
    {"kind": "small", "team": "blue"},
    {"kind": "large"},
    {"kind": "1"},
    {},
]
asked = st.lists(
    st.sampled_from(["kind", "team", labels.ZONE]).flatmap(
        lambda key: compound(key, ("small", "large", "1", "blue", "a", "b"))
    ),
    max_size=3,
).map(Requirements)


@given(asked, st.sampled_from([{}, {"team": "blue"}, {"team": "red", "kind": "small"}, {labels.ZONE: "a"}]))
def test_matching_is_strict_compatibility_with_pool_and_type_and_then_each_row(
    wanted: Requirements, labelled: dict[str, str]
) -> None:
    """The specification's words, one type at a time, against the code's short cuts; the rest does not matter."""
    types = [a_type(f"t{n}", labelled=kind) for n, kind in enumerate(KINDS)]
    pool_labels = pool(labelled=labelled).label_requirements
    expected = {}
    for one in types:
        node = Requirements(each for each in pool_labels & one.requirements if wanted.mentions(each.key))
        if node.compatible(wanted):
            rows = frozenset(n for n, r in enumerate(one.offerings) if r.requirements.intersects(wanted))
            if rows:
                expected[one.name] = rows
    assert matched(overlay(wanted=wanted), pool_labels, types) == expected


# ---- who wins


def test_the_heavier_overlay_wins_and_nothing_accumulates_S2_6() -> None:
    light = overlay("light", adjust="-50%", capacity={"x": 1, "y": 1}, weight=1)
    heavy = overlay("heavy", adjust="+50%", capacity={"x": 2}, weight=2)
    one = worn(light, heavy)
    assert costs(one)["a", "on-demand"] == nanos("0.15")
    assert (one.capacity.of("x"), one.capacity.of("y")) == (2, 1)


def test_a_row_that_the_heavier_leaves_is_the_lighter_s() -> None:
    heavy = overlay("heavy", requirements((labels.ZONE, "In", "a")), price="9", weight=5)
    light = overlay("light", price="7")
    found = costs(worn(heavy, light))
    assert found["a", "spot"] == nanos("9")
    assert found["b", "spot"] == nanos("7")


def test_overlays_are_judged_by_weight_and_then_by_name_from_the_end() -> None:
    some = [overlay("a"), overlay("c", weight=1), overlay("b"), overlay("d", weight=1)]
    assert [one.name for one in in_order(some)] == ["d", "c", "b", "a"]


def clash(*overlays: NodeOverlay, types: Iterable[InstanceType] = MARKET) -> dict[str, str]:
    """Who is refused because of whom."""
    ordered = in_order(overlays)
    found = conflicts(ordered, [{one.name: matched(one, types=types) for one in ordered}])
    return {name: one.other for name, one in found.items()}


def test_of_two_of_one_weight_the_earlier_name_is_refused_even_where_they_agree() -> None:
    assert clash(overlay("a", price="1"), overlay("b", price="1")) == {"a": "b"}


def test_overlays_of_different_weights_never_conflict() -> None:
    assert clash(overlay("a", price="1"), overlay("b", price="2", weight=1)) == {}


def test_overlays_that_touch_different_rows_or_types_do_not_conflict() -> None:
    spot, dear = (requirements((labels.CAPACITY_TYPE, "In", kind)) for kind in ("spot", "on-demand"))
    assert clash(overlay("a", spot, price="1"), overlay("b", dear, price="1")) == {}
    assert clash(overlay("a", named("m5.large"), price="1"), overlay("b", named("c5.large"), price="1")) == {}


def test_the_same_resource_conflicts_even_by_way_of_different_rows() -> None:
    """Capacity is the whole type's as soon as one row matches."""
    spot, dear = (requirements((labels.CAPACITY_TYPE, "In", kind)) for kind in ("spot", "on-demand"))
    assert clash(overlay("a", spot, capacity={"x": 1}), overlay("b", dear, capacity={"x": 1})) == {"a": "b"}
    assert clash(overlay("a", capacity={"x": 1}), overlay("b", capacity={"y": 1})) == {}


def test_a_price_and_a_capacity_do_not_conflict() -> None:
    assert clash(overlay("a", price="1"), overlay("b", capacity={"x": 1})) == {}


def test_three_of_one_weight_conflict_though_the_one_between_is_about_something_else() -> None:
    """A peer remembers only the last of a weight, and lets A{x}, B{y}, C{x} pass."""
    some = [overlay("a", capacity={"x": 1}), overlay("b", capacity={"y": 1}), overlay("c", capacity={"x": 1})]
    assert clash(*some) == {"a": "c"}


def test_an_overlay_that_is_out_keeps_nobody_else_out() -> None:
    """b loses to c, so a, which only clashes with b, stays in."""
    some = [
        overlay("c", capacity={"x": 1}),
        overlay("b", capacity={"x": 1, "y": 1}),
        overlay("a", capacity={"y": 1}),
    ]
    assert clash(*some) == {"b": "c"}


def test_a_conflict_in_one_pool_is_a_conflict_in_all() -> None:
    everybody, mine = overlay("b", price="1"), overlay("a", requirements((labels.NODEPOOL, "In", "mine")), price="2")
    ordered = in_order([everybody, mine])
    views = [{one.name: matched(one, pool(name).label_requirements) for one in ordered} for name in ("mine", "other")]
    assert set(conflicts(ordered, views[1:])) == set()
    assert set(conflicts(ordered, views)) == {"a"}


def test_a_refusal_names_both_and_what_they_both_want() -> None:
    ordered = in_order([overlay("a", price="1"), overlay("b", price="2")])
    (found,) = conflicts(ordered, [{one.name: matched(one) for one in ordered}]).values()
    assert str(found) == (
        "conflicts with overlay b: both have this weight and set the price of c5.large; give a or b another weight"
    )


def test_a_label_only_a_row_carries_can_be_asked_for_S2_5() -> None:
    licensed = offering({labels.CAPACITY_TYPE: "on-demand", "example.com/license": "byol"}, None)
    one = instance_type(M5.spec, (licensed, *M5.offerings))
    wanted = overlay(wanted=requirements(("example.com/license", "In", "byol")))
    assert matched(wanted, types=[one]) == {"m5.large": frozenset({0})}


def test_a_row_open_to_any_zone_does_not_hide_the_zones_of_the_others_S2_6() -> None:
    anywhere, zoned = offering({labels.CAPACITY_TYPE: "on-demand"}, None), row("b", "spot", "1")
    one = instance_type(M5.spec, (anywhere, zoned))
    wanted = overlay(wanted=requirements((labels.ZONE, "In", "b")))
    assert matched(wanted, types=[one]) == {"m5.large": frozenset({1})}
