"""Claims and Nodes put together as machines, and Nodes of files that came without a claim."""

from __future__ import annotations

import pytest
from tests.api.objects import NODE_CLASS, Json, node, thing

from dovetail.api.disruption import machines
from dovetail.api.disruption.machines import FileReader
from dovetail.api.fields import fields
from dovetail.core import labels
from dovetail.core.errors import BadField
from dovetail.core.nodepools import NodeClassRef

POOL = {labels.NODEPOOL: "general"}


def claim(name: str, **status: object) -> Json:
    spec = {"nodeClassRef": NODE_CLASS, "requirements": []}
    return thing("NodeClaim", "karpenter.sh/v1", {"name": name, "labels": POOL}, spec=spec, status=status)


def test_a_claim_and_its_node_are_one_machine() -> None:
    reader = FileReader()
    claims = [
        reader.claim(fields(one))
        for one in (claim("a", nodeName="node-a"), claim("b", providerID="kwok://b"), claim("c"))
    ]
    nodes = [reader.node(fields(one)) for one in (node("node-a"), node("node-b", providerID="kwok://b"), node("alien"))]
    found = machines.machines(claims, nodes)
    pairs = {name: (one.claim and one.claim.name, one.node and one.node.name) for name, one in found.items()}
    assert pairs == {
        "node-a": ("a", "node-a"),
        "node-b": ("b", "node-b"),
        "alien": (None, "alien"),
        "c": ("c", None),
    }


def test_what_only_the_shell_knows_goes_along() -> None:
    found = machines.machine(None, FileReader().node(fields(node("one"))), nominated=True, cloud_drift="AMIDrift")
    assert (found.nominated, found.cloud_drift) == (True, "AMIDrift")
    with pytest.raises(ValueError, match="a claim, a Node, or both"):
        machines.machine(None, None)


def test_a_node_without_a_claim_is_taken_to_be_up_since_it_was_made() -> None:
    about = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    one = FileReader().node(fields(node("one", labels=POOL, about=about)))
    ref = NodeClassRef("g", "k", "n")
    made = machines.taken_up(one, {"general": ref})
    found = machines.machine(made, machines.with_readiness(one))
    assert found.is_initialized
    assert found.node is not None
    assert found.node.is_ready
    assert (made.pool, made.node_class, made.meta.created) == ("general", ref, 1_767_225_600.0)


def test_a_node_that_says_it_is_ill_stays_ill() -> None:
    wire = node("one", labels=POOL)
    wire["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    assert not machines.with_readiness(FileReader().node(fields(wire))).is_ready


def test_a_node_or_claim_that_cannot_be_read_names_the_field() -> None:
    wire = node("one")
    wire["spec"]["taints"] = "none"
    with pytest.raises(BadField, match="spec: taints: expected `array"):
        FileReader().node(fields(wire))
    with pytest.raises(BadField, match="status: providerID"):
        FileReader().claim(fields(claim("a", providerID=7)))
