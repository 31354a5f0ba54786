"""NodePools as objects that say how they are: whether they are valid, whether their node class is ready, how much
they have, and whether their machines come up (§1.1, §2.7, §2.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Conditions, ConditionSet, Moment, Status
from dovetail.core.effects import Health
from dovetail.core.lifecycle import hashes, health
from dovetail.core.lifecycle.hashes import Template
from dovetail.core.lifecycle.health import Window
from dovetail.core.nodeclaims import (
    INITIALIZED,
    NO_LABELS,
    POOL_HASH,
    POOL_HASH_VERSION,
    Meta,
    NodeClaim,
    NodeObject,
)
from dovetail.core.nodepools import NodePool
from dovetail.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, NOTHING, PODS, Resources, quantity_of

VALIDATED: Final = "ValidationSucceeded"
CLASS_READY: Final = "NodeClassReady"
REGISTRATION_HEALTHY: Final = "NodeRegistrationHealthy"
#: False where a budget or another setting of disruption cannot be read; not there where all of them can.
DISRUPTION_READ: Final = "DisruptionSettingsValid"
POOL_CONDITIONS: Final = ConditionSet("Ready", (VALIDATED, CLASS_READY))
NODES: Final = "nodes"
#: What a pool without nodes has.
EMPTY: Final = Resources(dict.fromkeys((CPU, MEMORY, PODS, EPHEMERAL_STORAGE, NODES), 0))
#: 720 hours: what the API server fills in where nothing is said.
DEFAULT_EXPIRY: Final = 720 * 3600.0


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """A NodePool and all that is said of it. `problem` is why it cannot be used, "" if it can."""

    meta: Meta
    pool: NodePool
    template: Template
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    grace: float | None = None
    expire_after: float | None = DEFAULT_EXPIRY
    own_kubelet: bool = False
    problem: str = ""
    conditions: Conditions = ()
    nodes: int = 0
    resources: Resources = NOTHING
    class_generation: int = 0
    #: `spec.disruption` as it is written: what it means is read one storey up.
    disruption: Mapping[str, object] = field(default_factory=lambda: NO_LABELS)

    @property
    def name(self) -> str:
        return self.meta.name


@dataclass(frozen=True, slots=True)
class ClassState:
    """A node class as its pools see it."""

    ready: Condition | None = None
    deleting: bool = False
    generation: int = 0


def judged(record: PoolRecord, node_class: ClassState | None, now: float) -> PoolRecord:
    """The pool with what is said of it brought up to date."""
    at = Moment(now, record.meta.generation)
    held = conditions.put(record.conditions, _validated(record), at)
    held = conditions.put(held, _class_ready(record, node_class), at)
    return replace(record, conditions=POOL_CONDITIONS.complete(held, record.meta.created, at))


def disruption_told(record: PoolRecord, problem: str, now: float) -> PoolRecord:
    """The pool saying what of its disruption settings nobody can read. It stays usable: only they do without."""
    held = conditions.without(record.conditions, DISRUPTION_READ)
    if problem:
        told = Condition(DISRUPTION_READ, Status.FALSE, "UnreadableSettings", problem)
        held = conditions.put(record.conditions, told, Moment(now, record.meta.generation))
    return replace(record, conditions=_root_last(held))


def _validated(record: PoolRecord) -> Condition:
    problem = record.problem or _doubled(record.pool)
    if problem:
        return Condition(VALIDATED, Status.FALSE, "NodePoolValidationFailed", problem)
    return conditions.true(VALIDATED)


def _doubled(pool: NodePool) -> str:
    seen = set()
    for one in (*pool.taints, *pool.startup_taints):
        mark = (one.key, one.effect)
        if mark in seen:
            return f"spec: template: spec: taints: {one.key}:{one.effect} is given twice"
        seen.add(mark)
    return ""


def _class_ready(record: PoolRecord, node_class: ClassState | None) -> Condition:
    ref = record.pool.node_class
    if node_class is None:
        return Condition(CLASS_READY, Status.FALSE, "NodeClassNotFound", f"there is no {ref.kind} {ref.name}")
    if node_class.deleting:
        return Condition(CLASS_READY, Status.FALSE, "NodeClassTerminating", f"{ref.kind} {ref.name} is being deleted")
    ready = node_class.ready
    if ready is None or ready.status is Status.UNKNOWN:
        message = f"{ref.kind} {ref.name} does not say yet whether it is ready"
        return Condition(CLASS_READY, Status.FALSE, "NodeClassReadinessUnknown", message)
    if ready.status is Status.TRUE:
        return conditions.true(CLASS_READY)
    return Condition(CLASS_READY, Status.FALSE, ready.reason, ready.message)


def capacity(claim: NodeClaim, node: NodeObject | None) -> Resources:
    """What a machine has: by its Node and, until that is initialized, by its claim where the Node says nothing yet.
    Devices are registered late, and count from the start."""
    if node is None or claim.is_true(INITIALIZED):
        return claim.capacity if node is None or not node.capacity else node.capacity
    return claim.capacity.merged({name: amount for name, amount in node.capacity.items() if amount})


@dataclass(frozen=True, slots=True)
class Held:
    """What the nodes of a pool that are to stay have together."""

    nodes: int = 0
    resources: Resources = NOTHING


NOTHING_HELD: Final = Held()


def counted(record: PoolRecord, held: Held) -> PoolRecord:
    """The pool with what its nodes have."""
    return replace(record, nodes=held.nodes, resources=_all_of(held))


def _all_of(held: Held) -> Resources:
    return EMPTY.merged(held.resources).merged({NODES: held.nodes})


def exceeded(record: PoolRecord, held: Held) -> str:
    """What of a pool is over its limit already, in a sentence; "" where nothing is. What just reaches it is not."""
    limits = record.pool.limits
    if not limits:
        return ""
    has = _all_of(held)
    for name, limit in limits.items():
        if has.of(name) > limit:
            return f"{name} is limited to {quantity_of(name, limit)}, and {quantity_of(name, has.of(name))} is there"
    return ""


def hashed(record: PoolRecord) -> PoolRecord:
    """The pool with its drift hash written on it."""
    notes = {**record.meta.annotations, POOL_HASH: hashes.pool_hash(record.template), POOL_HASH_VERSION: hashes.VERSION}
    return replace(record, meta=replace(record.meta, annotations=MappingProxyType(notes)))


# ---- whether machines come up


def seeded(record: PoolRecord) -> Window:
    """What is known after a restart."""
    held = conditions.found(record.conditions, REGISTRATION_HEALTHY)
    return health.seeded(str(held.status) if held is not None else None)


def must_forget(record: PoolRecord, class_generation: int) -> bool:
    """Whether what happened before says nothing any more: the pool or its class has changed."""
    held = conditions.found(record.conditions, REGISTRATION_HEALTHY)
    return held is None or class_generation != record.class_generation or record.meta.generation != held.generation


def forgotten(record: PoolRecord, class_generation: int, now: float) -> PoolRecord:
    unknown = Condition(REGISTRATION_HEALTHY, Status.UNKNOWN, conditions.AWAITING, "object is awaiting reconciliation")
    held = conditions.put(record.conditions, unknown, Moment(now, record.meta.generation))
    return replace(record, conditions=_root_last(held), class_generation=class_generation)


def health_told(record: PoolRecord, window: Window, one: Health, now: float) -> tuple[PoolRecord, Window]:
    """One machine came up, or did not. The condition turns when the last few have turned."""
    after = window.after(one.healthy)
    at = Moment(now, record.meta.generation)
    held = conditions.found(record.conditions, REGISTRATION_HEALTHY)
    if one.healthy and after.healthy:
        new = conditions.put(record.conditions, conditions.true(REGISTRATION_HEALTHY), at)
    elif not one.healthy and after.healthy is False and (held is None or held.status is not Status.FALSE):
        failed = Condition(REGISTRATION_HEALTHY, Status.FALSE, one.reason or "RegistrationFailed", one.message)
        new = conditions.put(record.conditions, failed, at)
    else:
        new = record.conditions
    return replace(record, conditions=_root_last(new)), after


def _root_last(held: Conditions) -> Conditions:
    root = conditions.found(held, POOL_CONDITIONS.root)
    return held if root is None else (*conditions.without(held, POOL_CONDITIONS.root), root)
