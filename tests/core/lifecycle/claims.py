"""Claims and Nodes in the middle of their lives, for tests: everything boring has a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dovetail.core import conditions, resources
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.nodeclaims import (
    CLAIM_CONDITIONS,
    FINALIZER,
    READY,
    UNREGISTERED,
    Meta,
    NodeClaim,
    NodeObject,
    Owner,
)
from dovetail.core.nodepools import NodeClassRef

CLASS = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
POOL = Owner("NodePool", "general", "pool-uid", "karpenter.sh/v1")
START = 1_800_000_000.0


def meta(name: str, **given: Any) -> Meta:
    return Meta(**{"name": name, "uid": f"{name}-uid", "version": "1", "created": START, **given})


def claim(name: str = "general-1", *, true: tuple[str, ...] = (), at: float = START, **given: Any) -> NodeClaim:
    """A claim of pool `general` with these conditions True since `at`."""
    about = {
        "labels": {"karpenter.sh/nodepool": "general", CLASS.label_key: CLASS.name, **given.pop("labels", {})},
        "annotations": given.pop("annotations", {}),
        "finalizers": given.pop("finalizers", (FINALIZER,)),
        "owners": given.pop("owners", (POOL,)),
        "deleting": given.pop("deleting", None),
    }
    made = NodeClaim(meta(name, **about), CLASS, **{"provider_id": "kwok://node-1" if true else "", **given})
    held: conditions.Conditions = made.conditions
    moment = Moment(at, made.meta.generation)
    for type_ in true:
        held = conditions.put(held, conditions.true(type_), moment)
    return replace(made, conditions=CLAIM_CONDITIONS.complete(held, START, moment))


def node(name: str = "node-1", *, ready: bool = True, **given: Any) -> NodeObject:
    about = {
        "labels": {CLASS.label_key: CLASS.name, **given.pop("labels", {})},
        "annotations": given.pop("annotations", {}),
        "finalizers": given.pop("finalizers", ()),
        "deleting": given.pop("deleting", None),
    }
    status = Status.TRUE if ready else Status.FALSE
    defaults: Mapping[str, Any] = {
        "provider_id": f"kwok://{name}",
        "taints": (UNREGISTERED,),
        "capacity": amounts(cpu="4", memory="8Gi", pods="110"),
        "allocatable": amounts(cpu="3900m", memory="7Gi", pods="110"),
        "conditions": (Condition(READY, status, "KubeletReady"),),
    }
    return NodeObject(meta(name, **about), **{**defaults, **given})


def amounts(**given: str) -> resources.Resources:
    return resources.parse({name.replace("_", "-"): value for name, value in given.items()})
