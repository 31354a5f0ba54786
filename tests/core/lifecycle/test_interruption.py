"""A cloud takes a machine away."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from dovetail.core import labels
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.effects import Count, Delete, SaveClaim, Say
from dovetail.core.lifecycle import interruption
from dovetail.core.nodeclaims import TERMINATION_TIME, Meta, NodeClaim, NodeObject
from dovetail.core.nodepools import NodeClassRef

TOLD = {labels.INSTANCE_TYPE: "m5.large", labels.ZONE: "a", labels.CAPACITY_TYPE: "spot", labels.NODEPOOL: "general"}
CLAIM = NodeClaim(Meta("general-1", uid="u", labels=MappingProxyType(TOLD)), NodeClassRef("g", "K", "default"))


def test_the_claim_of_an_interrupted_machine_leaves_and_people_are_told() -> None:
    say, also, delete, count = interruption.interrupted(CLAIM, interruption.SPOT, 1_000_000.0).effects
    assert isinstance(say, Say)
    assert say.warning
    assert isinstance(also, Say)
    assert (also.reason, also.warning) == ("TerminatingOnInterruption", True)
    assert (say.reason, say.message) == (
        "SpotInterrupted",
        "Spot interruption warning was triggered (until 1970-01-12T13:46:40Z)",
    )
    assert isinstance(delete, Delete)
    assert delete.ref.uid == "u"
    assert isinstance(count, Count)
    assert count.labels["reason"] == "spot_interrupted"


def test_people_who_look_at_the_node_are_told_as_well() -> None:
    node = NodeObject(Meta("general-1", uid="n"))
    told = [
        one
        for one in interruption.interrupted(CLAIM, interruption.SPOT, None, (node,)).effects
        if isinstance(one, Say) and one.about.kind == "Node"
    ]
    assert {one.about.uid for one in told} == {"n"}
    assert [one.reason for one in told] == ["SpotInterrupted", "TerminatingOnInterruption"]
    assert told[1].message == "Interruption triggered termination for the Node"


def test_that_a_machine_may_be_taken_away_some_day_is_no_warning_and_ends_nothing_by_itself() -> None:
    said = [
        one for one in interruption.interrupted(CLAIM, interruption.REBALANCE, None).effects if isinstance(one, Say)
    ]
    assert [(one.reason, one.warning) for one in said] == [("SpotRebalanceRecommendation", False)]


def test_a_claim_that_leaves_already_is_left_to_it() -> None:
    leaving = replace(CLAIM, meta=replace(CLAIM.meta, deleting=1.0))
    assert interruption.interrupted(leaving, interruption.SPOT, None).effects == ()


def test_a_kind_nobody_knows_ends_the_claim_as_well() -> None:
    say, delete, _ = interruption.interrupted(CLAIM, "sun_exploded", None).effects
    assert isinstance(say, Say)
    assert say.reason == "TerminatingOnInterruption"
    assert isinstance(delete, Delete)


@pytest.mark.parametrize(
    ("kind", "capacity_type", "expected"),
    [
        ("spot_interrupted", "spot", Shortage("m5.large", "a", "spot")),
        ("spot_interrupted", "on-demand", None),
        ("instance_stopped", "spot", None),
    ],
)
def test_spot_that_was_taken_away_is_scarce(kind: str, capacity_type: str, expected: Shortage | None) -> None:
    told = MappingProxyType({**TOLD, labels.CAPACITY_TYPE: capacity_type})
    assert interruption.shortage(replace(CLAIM, meta=replace(CLAIM.meta, labels=told)), kind) == expected


def test_a_machine_whose_checks_fail_does_not_wait_for_its_pods() -> None:
    _, _, save, delete, count = interruption.interrupted(CLAIM, interruption.INSTANCE_STATUS, 1_000_000.0).effects
    assert isinstance(save, SaveClaim)
    assert save.after.meta.annotations[TERMINATION_TIME] == "1970-01-12T13:46:40Z"
    assert isinstance(delete, Delete)
    assert isinstance(count, Count)
    assert count.labels["reason"] == "instance_status"


def test_a_reservation_that_is_taken_back_has_nothing_left_for_a_while() -> None:
    told = MappingProxyType({**TOLD, labels.CAPACITY_TYPE: "reserved", "cloud.test/capacity-reservation-id": "cr-1"})
    claim = replace(CLAIM, meta=replace(CLAIM.meta, labels=told))
    assert interruption.shortage(claim, interruption.RESERVATION) == Shortage("m5.large", "a", "reserved", "cr-1")
    assert interruption.shortage(claim, interruption.STOPPED) is None
    assert interruption.shortage(CLAIM, interruption.RESERVATION) is None


@pytest.mark.parametrize("kind", sorted(interruption.EVENTS))
def test_everything_a_cloud_may_say_is_told_in_words(kind: str) -> None:
    say = interruption.interrupted(CLAIM, kind, None).effects[0]
    assert isinstance(say, Say)
    assert say.reason != "TerminatingOnInterruption"
    assert len(say.message.split()) > 2


def test_a_machine_of_no_known_type_says_nothing_of_the_market() -> None:
    told = MappingProxyType({key: value for key, value in TOLD.items() if key != labels.INSTANCE_TYPE})
    claim = replace(CLAIM, meta=replace(CLAIM.meta, labels=told))
    assert interruption.shortage(claim, interruption.SPOT) is None


@pytest.mark.parametrize(("grace", "mode"), [(None, "graceful"), (0.0, "forceful"), (1.0, "eventual")])
def test_how_hard_pods_may_be_pushed_is_counted(grace: float | None, mode: str) -> None:
    count = interruption.interrupted(replace(CLAIM, grace=grace), interruption.SPOT, None).effects[-1]
    assert isinstance(count, Count)
    assert count.labels["termination_mode"] == mode
