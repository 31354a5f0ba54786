"""Claims and Nodes of a live cluster as the planner's reader knows machines."""

from __future__ import annotations

from typing import Final

from dovetail.api.nodes import Machine
from dovetail.core.nodeclaims import INSTANCE_TERMINATING, NodeClaim, NodeObject
from dovetail.core.taints import Effect, Taint

_REBOOTING: Final = Taint("karpenter.sh/rebooting", Effect.NO_SCHEDULE)
_CORDONED: Final = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)


def of_node(node: NodeObject) -> Machine:
    # One that is being rebooted will be back: its pods wait for it, and nothing is bought in its place.
    taints = tuple(one for one in node.taints if not one.matches(_REBOOTING))
    if node.unschedulable and not any(one.matches(_CORDONED) for one in taints):
        taints = (*taints, _CORDONED)
    return Machine(
        node.name,
        node.meta.labels,
        taints,
        capacity=node.capacity,
        allocatable=node.allocatable,
        provider_id=node.provider_id,
        leaving=node.is_deleting,
    )


def of_claim(claim: NodeClaim) -> Machine:
    """What a claim promises. Until its machine is bought that is what it was ordered for, and no more: whoever the
    place was meant for may be replaced by another of its like before it comes."""
    return Machine(
        claim.name,
        claim.meta.labels,
        claim.taints,
        claim.startup_taints,
        claim.capacity or claim.requests,
        claim.allocatable or claim.requests,
        claim.provider_id,
        claim.node_name,
        claim.is_deleting or claim.is_true(INSTANCE_TERMINATING),
    )
