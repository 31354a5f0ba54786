"""Whether a machine is unhealthy, and if not yet, when to look again.

A machine is one of three: unhealthy, with a reason; pending, with the time at which it will be; or healthy. A failed
machine is unhealthy at once (R40): Cluster API's own checks no longer look at that, and then nothing ever removes a
machine whose price was too low.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from dovetail.core import conditions
from dovetail.core.machines import names
from dovetail.core.machines.objects import Cluster, HealthCheck, Machine, Sign
from dovetail.core.nodeclaims import NodeObject

#: So much past a time-out, so that a clock that is read a little early does not look twice.
_SLACK: Final = 1.0


@dataclass(frozen=True, slots=True)
class Target:
    """A machine that is looked after, and its Node if it is there."""

    machine: Machine
    node: NodeObject | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """`reason` is "" unless it is unhealthy; `again` is in how many seconds it may be. `barren` is whether the machine
    failed before it ever was a node: such failures are backed off from."""

    reason: str = ""
    message: str = ""
    again: float | None = None
    barren: bool = False

    @property
    def is_unhealthy(self) -> bool:
        return bool(self.reason)


HEALTHY: Final = Health()


@dataclass(frozen=True, slots=True)
class _Look:
    check: HealthCheck
    cluster: Cluster
    target: Target
    now: float


def judged(check: HealthCheck, cluster: Cluster, target: Target, now: float) -> Health:
    """The first rule that finds it unhealthy decides; otherwise the soonest time at which one may."""
    look = _Look(check, cluster, target, now)
    if names.REMEDIATE in target.machine.meta.annotations:
        return Health("HasRemediateAnnotation", f"annotation {names.REMEDIATE} asks for it")
    if not _is_judged(look):
        return HEALTHY
    verdicts = [rule(look) for rule in RULES]
    bad = next((one for one in verdicts if one.is_unhealthy), None)
    if bad is not None:
        return bad
    return Health(again=min((one.again for one in verdicts if one.again is not None), default=None))


def _is_judged(look: _Look) -> bool:
    """Nothing is said of machines of a cluster that is not up: they cannot be other than they are."""
    up = look.cluster.control_plane is not None or look.target.machine.meta.is_of_control_plane
    return up and look.cluster.infrastructure is not None


def failed(look: _Look) -> Health:
    failure = look.target.machine.failure
    if failure is None:
        return HEALTHY
    return Health("MachineHasFailure", f"{failure.reason}: {failure.message}", barren=not look.target.machine.node)


def machine_signs(look: _Look) -> Health:
    """One that nothing was bought for is barren: while a cloud sells nothing, all of a set show the same sign."""
    machine = look.target.machine
    found = _first(look.check.machine_signs, machine.conditions, "UnhealthyMachine", look.now)
    return replace(found, barren=found.is_unhealthy and not machine.node and not machine.provider_id)


def node_gone(look: _Look) -> Health:
    name = look.target.machine.node
    if not name or look.target.node is not None:
        return HEALTHY
    return Health("NodeDeleted", f"Node {name} is gone")


def never_started(look: _Look) -> Health:
    """Counted from when everything it needs was there."""
    machine, allowed = look.target.machine, look.check.startup
    if look.target.node is not None or machine.node or not allowed:
        return HEALTHY
    infrastructure = conditions.found(machine.conditions, names.INFRASTRUCTURE_READY)
    since = infrastructure.since if infrastructure is not None and machine.is_true(names.INFRASTRUCTURE_READY) else 0.0
    cluster = look.cluster
    start = max(machine.meta.created, cluster.control_plane or 0.0, cluster.infrastructure or 0.0, since)
    if start + allowed < look.now:
        said = f"no Node after {allowed:g} s"
        return Health("NodeStartupTimeout", said, barren=not machine.provider_id)
    return Health(again=start + allowed - look.now + _SLACK)


def node_signs(look: _Look) -> Health:
    if look.target.node is None:
        return HEALTHY
    return _first(look.check.node_signs, look.target.node.conditions, "UnhealthyNode", look.now)


RULES: Final[tuple[Callable[[_Look], Health], ...]] = (failed, machine_signs, node_gone, never_started, node_signs)


def _first(signs: tuple[Sign, ...], held: conditions.Conditions, reason: str, now: float) -> Health:
    soonest: float | None = None
    for sign in signs:
        one = conditions.found(held, sign.type)
        if one is None or str(one.status) != sign.status:
            continue
        if one.since + sign.timeout < now:
            return Health(reason, f"{sign.type} is {sign.status} for more than {sign.timeout:g} s")
        left = one.since + sign.timeout - now + _SLACK
        soonest = left if soonest is None else min(soonest, left)
    return Health(again=soonest)
