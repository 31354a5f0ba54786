"""From a planned claim to the NodeClaim that is written down (§2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dovetail.core import labels
from dovetail.core.lifecycle import hashes
from dovetail.core.nodeclaims import FINALIZER, MIN_VALUES_RELAXED, POOL_HASH, POOL_HASH_VERSION, Meta, NodeClaim, Owner
from dovetail.core.nodepools import NodePool
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.resources import NOTHING, Resources

PRICE_OVERLAID: Final = "karpenter.sh/price-overlay-applied"
CAPACITY_OVERLAID: Final = "karpenter.sh/capacity-overlay-applied"
_POOL_API: Final = "karpenter.sh/v1"


@dataclass(frozen=True, slots=True)
class Template:
    """What every claim of a pool has in common, whatever it becomes."""

    pool: NodePool
    uid: str
    pool_hash: str
    annotations: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    grace: float | None = None
    expire_after: float | None = None
    #: The labels that the cloud gives a machine; all others are for us to choose.
    well_known: frozenset[str] = labels.WELL_KNOWN


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is known of one claim: nothing, for one of a static pool."""

    requirements: Requirements = EMPTY
    requests: Resources = NOTHING
    relaxed: bool = False
    price_overlaid: bool = False
    capacity_overlaid: bool = False


def ordered(template: Template, wanted: Wanted, name: str) -> NodeClaim:
    """The claim to be created. Its finalizer is there from the start: nothing is bought for a claim without."""
    pool = template.pool
    requirements = wanted.requirements or (pool.requirements & pool.label_requirements)
    known = {
        **_chosen(template, requirements),
        **dict(pool.labels),
        labels.NODEPOOL: pool.name,
        pool.node_class.label_key: pool.node_class.name,
    }
    return NodeClaim(
        meta=Meta(
            name=name,
            labels=MappingProxyType(known),
            annotations=MappingProxyType(_notes(template, wanted)),
            finalizers=(FINALIZER,),
            owners=(Owner("NodePool", pool.name, template.uid, _POOL_API),),
        ),
        node_class=pool.node_class,
        requirements=requirements.without(labels.HOSTNAME),
        requests=wanted.requests,
        taints=pool.taints,
        startup_taints=pool.startup_taints,
        grace=template.grace,
        expire_after=template.expire_after,
    )


def _chosen(template: Template, requirements: Requirements) -> dict[str, str]:
    """A value for each label that no cloud knows (§3.12): a node without it would not be what its pool asks for, and
    drift. One that may as well be absent is put on where the pool speaks of it; what only a pod would rather not see
    stays off, as it was planned."""
    found = {}
    for one in requirements:
        if one.key in labels.WELL_KNOWN or labels.is_restricted(one.key, template.well_known):
            continue
        open_ = one.key not in template.well_known and (not one.absent or template.pool.requirements.mentions(one.key))
        value = one.any_value() if open_ else requirements.value(one.key)
        if value is not None:
            found[one.key] = value
    return found


def _notes(template: Template, wanted: Wanted) -> dict[str, str]:
    notes = {
        **template.annotations,
        POOL_HASH: template.pool_hash,
        POOL_HASH_VERSION: hashes.VERSION,
        MIN_VALUES_RELAXED: "true" if wanted.relaxed else "false",
    }
    if wanted.price_overlaid:
        notes[PRICE_OVERLAID] = "true"
    if wanted.capacity_overlaid:
        notes[CAPACITY_OVERLAID] = "true"
    return notes
