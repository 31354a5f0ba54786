"""Labels that were true when a machine was bought and are not any more: a reservation ended, and the machine runs on.

The Node is told first and the claim last: as long as the claim says the old thing, the cloud's next look finds the
difference, so whoever dies in between leaves nothing half done. A Node that has not registered gets its labels from its
claim anyway, and what is being deleted is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dovetail.core.effects import Effect, SaveClaim, SaveNode, Step
from dovetail.core.nodeclaims import REGISTERED, Meta, NodeClaim, NodeObject

Labels = Mapping[str, str | None]
NO_NOTES: Final[Mapping[str, str]] = MappingProxyType({})


def relabelled(
    claim: NodeClaim, nodes: Iterable[NodeObject], wanted: Labels, notes: Mapping[str, str] = NO_NOTES
) -> Step:
    """Write labels, or take off those that are None; `notes` are annotations of the claim alone."""
    if claim.is_deleting:
        return Step()
    effects: list[Effect] = []
    told = _noted(_with(claim.meta, wanted), notes)
    for node in nodes if claim.is_true(REGISTERED) else ():
        known = _with(node.meta, wanted)
        if known is not node.meta and not node.is_deleting:
            effects.append(SaveNode(node, replace(node, meta=known)))
    if told is not claim.meta:
        effects.append(SaveClaim(claim, replace(claim, meta=told)))
    return Step(tuple(effects))


def _noted(meta: Meta, notes: Mapping[str, str]) -> Meta:
    found = {**meta.annotations, **notes}
    return meta if found == dict(meta.annotations) else replace(meta, annotations=MappingProxyType(found))


def _with(meta: Meta, wanted: Labels) -> Meta:
    found = {key: value for key, value in meta.labels.items() if wanted.get(key, value) is not None}
    found |= {key: value for key, value in wanted.items() if value is not None}
    return meta if found == dict(meta.labels) else replace(meta, labels=MappingProxyType(found))
