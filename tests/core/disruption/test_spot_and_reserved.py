"""Spot for spot needs a wide choice; what was paid for already is used first (S4.6, S3.10)."""

from tests.core.disruption.clusters import (
    RESERVATION,
    TYPES,
    decided,
    kind,
    member,
    pods,
    policy,
    reserved,
    said,
)

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.disruption.facts import Gates
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.refusals import Code
from dovetail.core.requirements import Requirement, is_in

SPOT = is_in(labels.CAPACITY_TYPE, labels.SPOT)
ON = Gates(spot_to_spot=True)


def market(count: int) -> tuple[InstanceType, ...]:
    """A dear type, and so many cheaper ones."""
    cheap = [kind(f"c{number:02d}", 4, 0.5, spot=0.05 + number / 1000) for number in range(count)]
    return (kind("dear", 4, 0.9, spot=0.3), *cheap)


def spot(count: int, *wanted: Requirement, gates: Gates = ON) -> Decided:
    types = market(count)
    node = member("a", "dear", pods=pods("web", 7), capacity_type=labels.SPOT, types=types)
    return decided(node, types=types, pools=[policy("pool", SPOT, *wanted)], gates=gates)


def test_spot_is_not_replaced_by_spot_while_the_gate_is_off() -> None:
    assert spot(20, gates=Gates()).refusals["a"].code is Code.SPOT_GATE


def test_one_spot_node_needs_fifteen_cheaper_types_S4_6() -> None:
    assert said(spot(15)) == ["replace a -> c00"]
    refusal = spot(14).refusals["a"]
    assert refusal.code is Code.SPOT_FEW
    assert "requires 15 cheaper instance type options than the current candidate to consolidate, got 14" in refusal.text


def test_the_launch_list_is_cut_to_the_fifteen_cheapest() -> None:
    (claim,) = spot(20).commands[0].replacements
    assert [one.name for one in claim.types] == [f"c{number:02d}" for number in range(15)]


def test_min_values_above_fifteen_keep_more_types_S4_6() -> None:
    everything = [one.name for one in market(20)]
    (claim,) = spot(20, is_in(labels.INSTANCE_TYPE, *everything, min_values=18)).commands[0].replacements
    assert len(claim.types) == 18


def test_several_spot_nodes_need_no_wide_choice() -> None:
    types = market(3)
    nodes = [member(name, "dear", pods=pods(f"on-{name}", 3), capacity_type=labels.SPOT, types=types) for name in "ab"]
    found = decided(*nodes, types=types, pools=[policy("pool", SPOT)], gates=ON)
    assert said(found) == ["replace a b -> c00"]


def test_an_on_demand_node_may_become_spot_without_the_gate() -> None:
    types = market(3)
    node = member("a", "dear", pods=pods("web", 7), types=types)
    assert said(decided(node, types=types)) == ["replace a -> c00"]


# ---- reservations


def test_an_on_demand_node_moves_into_a_free_reservation_S3_10() -> None:
    types = (kind("m4", 4, 0.2), reserved(TYPES[2], 1, dollars=0.0004))
    found = decided(member("a", pods=pods("web", 7), types=types), types=types)
    (command,) = found.commands
    (claim,) = command.replacements
    assert claim.reservation_ids == ("cr-1",)
    assert claim.requirements.value(labels.CAPACITY_TYPE) == labels.RESERVED


def test_a_spot_node_moves_into_a_free_reservation_though_the_spot_gate_is_off_S3_10() -> None:
    types = (kind("m4", 4, 0.2, spot=0.06), reserved(TYPES[2], 1, dollars=0.0004))
    node = member("a", pods=pods("web", 7), capacity_type=labels.SPOT, types=types)
    (command,) = decided(node, types=types).commands
    assert command.replacements[0].reservation_ids == ("cr-1",)


def test_nobody_moves_into_a_reservation_that_is_full() -> None:
    types = (kind("m4", 4, 0.2), reserved(TYPES[2], 0, dollars=0.0004))
    assert said(decided(member("a", pods=pods("web", 7), types=types), types=types)) == []


def test_a_larger_reservation_is_left_for_a_smaller_one_S3_10() -> None:
    types = (reserved(TYPES[1], 1, "small", 0.0002), reserved(TYPES[2], 0, "large", 0.0004))
    node = member(
        "a", "m8", pods=pods("web", 7), capacity_type=labels.RESERVED, labels={RESERVATION: "large"}, types=types
    )
    (command,) = decided(node, types=types).commands
    assert command.replacements[0].reservation_ids == ("small",)


def test_two_moves_do_not_share_one_slot() -> None:
    types = (kind("m4", 4, 0.2), reserved(TYPES[1], 1))
    nodes = [member(name, pods=pods(f"on-{name}", 7), types=types) for name in "ab"]
    found = decided(*nodes, types=types)
    into = [claim for one in found.commands for claim in one.replacements if claim.reservation_ids]
    assert len(into) == 1
