"""The label that says whose a claim or a Node is: every one of ours carries its node class by name (§2.8).

Claims written by hand, and those of earlier days, may lack it.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from dovetail.core.nodeclaims import NodeClaim, NodeObject


def hydrated(claim: NodeClaim) -> NodeClaim:
    """The claim with its node class on it; itself where it is there."""
    key, name = claim.node_class.label_key, claim.node_class.name
    if claim.meta.labels.get(key) == name:
        return claim
    return replace(claim, meta=replace(claim.meta, labels=MappingProxyType({**claim.meta.labels, key: name})))


def hydrated_node(claim: NodeClaim, node: NodeObject) -> NodeObject:
    """The Node of a claim, likewise."""
    key, name = claim.node_class.label_key, claim.node_class.name
    if node.meta.labels.get(key) == name:
        return node
    return replace(node, meta=replace(node.meta, labels=MappingProxyType({**node.meta.labels, key: name})))
