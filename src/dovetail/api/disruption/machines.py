"""Machines: the claim and the Node of one, from a live cluster or from files.

In a file a claim is often missing: somebody dumped nodes and pods only. A Node with a pool's label is then that pool's,
and is taken to be up since it was created, or for long where it does not say; a claim is made up for it, so that it can
be judged like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import msgspec

from dovetail.api.fields import Fields
from dovetail.api.live.claims import ClaimReader, ClaimWire
from dovetail.api.live.nodes import NodeReader, NodeWire
from dovetail.core import conditions, labels
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.facts import Machine
from dovetail.core.errors import BadValue
from dovetail.core.nodeclaims import INITIALIZED, READY, REGISTERED, NodeClaim, NodeObject
from dovetail.core.nodepools import NodeClassRef

#: Not Launched: what drift is judged by stands in a claim, and there is none.
_UP: Final = (REGISTERED, INITIALIZED)
_UNKNOWN: Final = NodeClassRef("", "", "")
T = TypeVar("T")


def machine(claim: NodeClaim | None, node: NodeObject | None, **shell: Any) -> Machine:
    """One machine under the name a snapshot has for it: its Node's, or its claim's before there is one.

    `shell` is what only the shell knows: `nominated`, `marked`, `cloud_drift`, `reboots`, `rebooted`.
    """
    if node is not None:
        return Machine(node.name, claim, node, **shell)
    if claim is None:
        raise ValueError("a machine has a claim, a Node, or both")
    return Machine(claim.name, claim, None, **shell)


def machines(claims: Iterable[NodeClaim], nodes: Iterable[NodeObject]) -> dict[str, Machine]:
    """Claims and Nodes put together, by name; those belong together that say so, or that are one instance."""
    listed = tuple(claims)
    by_node = {one.node_name: one for one in listed if one.node_name}
    by_provider = {one.provider_id: one for one in listed if one.provider_id}
    found: dict[str, Machine] = {}
    taken: set[str] = set()
    for node in nodes:
        claim = by_node.get(node.name) or (by_provider.get(node.provider_id) if node.provider_id else None)
        if claim is not None:
            taken.add(claim.name)
        found[node.name] = machine(claim, node)
    found.update((one.name, machine(one, None)) for one in listed if one.name not in taken)
    return found


# ---- from files


class FileReader:
    """Claims and Nodes of files, read as those of a live cluster are."""

    def __init__(self) -> None:
        self._claims, self._nodes = ClaimReader(), NodeReader()

    def claim(self, wire: Fields) -> NodeClaim:
        return self._claims.of(_converted(wire, ClaimWire))

    def node(self, wire: Fields) -> NodeObject:
        return self._nodes.of(_converted(wire, NodeWire))


def _converted(wire: Fields, into: type[T]) -> T:
    try:
        return msgspec.convert(wire.wire, into)
    except msgspec.ValidationError as bad:
        problem, _, path = str(bad).partition(" - at `$.")
        raise BadValue(problem[:1].lower() + problem[1:]).at(*path.rstrip("`").split(".")) from None


def taken_up(node: NodeObject, classes: Mapping[str, NodeClassRef]) -> NodeClaim:
    """The claim of a Node that came without one. `classes` are the node classes of pools, by their names."""
    since = node.meta.created
    held = tuple(Condition(type_, Status.TRUE, type_, since=since) for type_ in (*_UP, READY))
    return NodeClaim(
        meta=node.meta,
        node_class=classes.get(node.meta.labels.get(labels.NODEPOOL, ""), _UNKNOWN),
        provider_id=node.provider_id,
        node_name=node.name,
        capacity=node.capacity,
        allocatable=node.allocatable,
        conditions=held,
    )


def with_readiness(node: NodeObject) -> NodeObject:
    """A Node whose file says nothing of its health is taken to be well."""
    if conditions.found(node.conditions, READY) is not None:
        return node
    return replace(node, conditions=(*node.conditions, Condition(READY, Status.TRUE, READY, since=node.meta.created)))
