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
    chosen = {
        one.key: next(iter(one.values))
        for one in requirements
        if not one.complement and len(one.values) == 1 and one.key not in labels.WELL_KNOWN
    }
    known = {
        **chosen,
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
