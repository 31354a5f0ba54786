"""Drift, on values alone: what differs first decides, and what is not known is no drift."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from tests.clouds.aws.orders import claim, kinds, resolved

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.described import Machine
from dovetail.clouds.aws.drift import RULES, drifted
from dovetail.clouds.aws.launching import HASH, HASH_VERSION
from dovetail.clouds.aws.resolved import HeldReservation, PlacementGroup
from dovetail.clouds.port import Unavailable
from dovetail.core.nodeclaims import NodeClaim

KIND = kinds()["m5.large"]
NOW = resolved(reservations=MappingProxyType({"cr-1": HeldReservation("cr-1", "m5.large", "us-east-1a")}))


def bought(**more: Any) -> NodeClaim:
    return claim(annotations={HASH: "12345", HASH_VERSION: "v6", **more})


def machine(**more: Any) -> Machine:
    told = {"image_id": "ami-x86", "security_groups": ("sg-1",), "subnet_id": "subnet-us-east-1a", **more}
    return Machine("i-1", "m5.large", "us-east-1a", "on-demand", **told)


def test_a_machine_that_is_as_its_class_says_has_not_drifted() -> None:
    assert drifted(bought(), machine(), NOW, KIND) == ""
    assert drifted(bought(), machine(reservation_id="cr-1"), NOW, KIND) == ""


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"image_id": "ami-old"}, "AMIDrift"),
        ({"image_id": "ami-arm"}, "AMIDrift"),
        ({"security_groups": ("sg-1", "sg-2")}, "SecurityGroupDrift"),
        ({"security_groups": ("sg-2",)}, "SecurityGroupDrift"),
        ({"subnet_id": "subnet-other"}, "SubnetDrift"),
        ({"reservation_id": "cr-2"}, "CapacityReservationDrift"),
        ({"placement_group_id": "pg-1"}, "PlacementGroupDrift"),
    ],
)
def test_a_machine_that_differs_has_drifted(more: dict[str, Any], word: str) -> None:
    assert drifted(bought(), machine(**more), NOW, KIND) == word


def test_another_number_of_the_same_version_is_drift_and_of_another_is_not() -> None:
    assert drifted(bought(**{HASH: "1"}), machine(), NOW, KIND) == "NodeClassDrift"
    assert drifted(bought(**{HASH: "1", HASH_VERSION: "v5"}), machine(), NOW, KIND) == ""
    assert drifted(claim(), machine(), NOW, KIND) == ""


def test_the_first_difference_decides() -> None:
    everything = machine(
        image_id="ami-old", security_groups=("sg-2",), subnet_id="x", reservation_id="cr-2", placement_group_id="pg-1"
    )
    found, now = [], NOW
    told = bought(**{HASH: "1"})
    repairs = (
        lambda: (bought(), everything),
        lambda: (bought(), replace(everything, image_id="ami-x86")),
        lambda: (bought(), machine(subnet_id="x", reservation_id="cr-2", placement_group_id="pg-1")),
        lambda: (bought(), machine(reservation_id="cr-2", placement_group_id="pg-1")),
        lambda: (bought(), machine(placement_group_id="pg-1")),
    )
    found.append(drifted(told, everything, now, KIND))
    found += [drifted(*one(), now, KIND) for one in repairs]
    assert found == [word for word, _ in RULES]


def test_a_placement_group_is_compared_by_the_claims_label() -> None:
    grouped = replace(NOW, placement_group=PlacementGroup("pg-1"))
    labelled = bought()
    labelled = replace(
        labelled,
        meta=replace(labelled.meta, labels=MappingProxyType({aws_labels.PLACEMENT_GROUP_ID: "pg-1"})),
    )
    assert drifted(labelled, machine(), grouped, KIND) == ""
    assert drifted(bought(), machine(), grouped, KIND) == "PlacementGroupDrift"
    assert drifted(labelled, machine(), NOW, KIND) == "PlacementGroupDrift"


def test_a_fallback_machine_is_not_moved_because_a_reservation_went_away() -> None:
    """S3.11: it runs on demand, and the terms select nothing any more."""
    assert drifted(bought(), machine(), replace(NOW, reservations=MappingProxyType({})), KIND) == ""


def test_a_class_without_an_image_for_the_type_is_an_error_and_no_drift() -> None:
    with pytest.raises(Unavailable, match=r"for m5\.large"):
        drifted(bought(), machine(), replace(NOW, images=NOW.images[1:]), KIND)


def test_of_a_type_nobody_sells_any_more_every_image_of_the_class_will_do() -> None:
    assert drifted(bought(), machine(image_id="ami-arm"), NOW, None) == ""
    assert drifted(bought(), machine(image_id="ami-old"), NOW, None) == "AMIDrift"
