"""Labels that were true when a machine was bought and are not any more: a reservation ended, and the machine runs on.

The Node is told first and the claim last: as long as the claim says the old thing, the cloud's next look finds the
difference, so whoever dies in between leaves nothing half done. A Node that has not registered gets its labels from its
claim anyway, and what is being deleted is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from dovetail.core.effects import Effect, SaveClaim, SaveNode, Step
from dovetail.core.nodeclaims import REGISTERED, Meta, NodeClaim, NodeObject

Labels = Mapping[str, str | None]


def relabelled(claim: NodeClaim, nodes: Iterable[NodeObject], wanted: Labels) -> Step:
    """Write labels, or take off those that are None."""
    if claim.is_deleting:
        return Step()
    effects: list[Effect] = []
    told = _with(claim.meta, wanted)
    for node in nodes if claim.is_true(REGISTERED) else ():
        known = _with(node.meta, wanted)
        if known is not node.meta and not node.is_deleting:
            effects.append(SaveNode(node, replace(node, meta=known)))
    if told is not claim.meta:
        effects.append(SaveClaim(claim, replace(claim, meta=told)))
    return Step(tuple(effects))


def _with(meta: Meta, wanted: Labels) -> Meta:
    found = {key: value for key, value in meta.labels.items() if wanted.get(key, value) is not None}
    found |= {key: value for key, value in wanted.items() if value is not None}
    return meta if found == dict(meta.labels) else replace(meta, labels=MappingProxyType(found))
