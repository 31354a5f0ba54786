"""A reservation ended and its machine runs on."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from dovetail.core import labels
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import SaveClaim, SaveNode
from dovetail.core.lifecycle.relabelling import relabelled
from dovetail.core.nodeclaims import REGISTERED, Meta, NodeClaim, NodeObject
from dovetail.core.nodepools import NodeClassRef

LABELS = MappingProxyType({labels.CAPACITY_TYPE: "reserved", "cr": "cr-1", "team": "red"})
CLAIM = NodeClaim(
    Meta("general-1", labels=LABELS),
    NodeClassRef("g", "K", "default"),
    conditions=(Condition(REGISTERED, Status.TRUE),),
)
NODE = NodeObject(Meta("node-1", labels=MappingProxyType({**LABELS, "by": "others"})))
WANTED = {labels.CAPACITY_TYPE: "on-demand", "cr": None, "unheard-of": None}


def test_the_node_and_then_its_claim_say_what_is_true_now_and_keep_the_rest() -> None:
    node, claim = relabelled(CLAIM, (NODE,), WANTED).effects
    assert isinstance(node, SaveNode)
    assert node.after.meta.labels == {labels.CAPACITY_TYPE: "on-demand", "team": "red", "by": "others"}
    assert isinstance(claim, SaveClaim)
    assert claim.after.meta.labels == {labels.CAPACITY_TYPE: "on-demand", "team": "red"}


def test_what_is_true_already_is_not_written() -> None:
    _, claim = relabelled(CLAIM, (NODE,), WANTED).effects
    assert isinstance(claim, SaveClaim)
    known = replace(NODE, meta=replace(NODE.meta, labels=claim.after.meta.labels))
    assert relabelled(claim.after, (known,), WANTED).effects == ()


def test_a_node_that_has_not_registered_gets_its_labels_from_its_claim() -> None:
    (only,) = relabelled(replace(CLAIM, conditions=()), (NODE,), WANTED).effects
    assert isinstance(only, SaveClaim)


def test_what_is_being_deleted_is_left_as_it_is() -> None:
    going = replace(CLAIM, meta=replace(CLAIM.meta, deleting=1.0))
    assert relabelled(going, (NODE,), WANTED).effects == ()
    leaving = replace(NODE, meta=replace(NODE.meta, deleting=1.0))
    (only,) = relabelled(CLAIM, (leaving,), WANTED).effects
    assert isinstance(only, SaveClaim)
