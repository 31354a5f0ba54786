"""Everything the shell may be asked to do, as values. `controllers.act` carries them out, one `case` each.

A decision returns effects in the order they must happen. Saving an object names what it was and what it shall be; the
shell sends the difference, and whoever wrote in between wins: the object comes back by its watch and is judged again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dovetail.core.instances import Instance
from dovetail.core.nodeclaims import NodeClaim, NodeObject

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ref:
    """An object by name. `uid` makes sure it is still the same one."""

    kind: str
    name: str
    uid: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Create:
    """Write a new claim down, under a name the API server makes up behind `prefix`. `types` are the instance types it
    names, in their order."""

    claim: NodeClaim
    prefix: str
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Return:
    """Give a machine back that nobody claims."""

    machine: Instance


@dataclass(frozen=True, slots=True)
class Launch:
    """Buy the machine of this claim; what was bought is remembered, a refusal judged by
    `lifecycle.launch.refused`."""

    claim: NodeClaim


@dataclass(frozen=True, slots=True)
class Terminate:
    """Ask the cloud to remove the machine. `node` is the Node that may go when the machine is gone, None where it is
    the claim itself. `held` is the claim as it was last written, where more has been found out since; `is_last` says
    that nothing but this Node keeps the claim."""

    claim: NodeClaim
    node: NodeObject | None = None
    held: NodeClaim | None = None
    is_last: bool = False

    @property
    def written(self) -> NodeClaim:
        """The claim as the API server has it."""
        return self.held or self.claim


@dataclass(frozen=True, slots=True)
class SaveClaim:
    """Write what differs: metadata and status. `locked` refuses to if anybody wrote the claim meanwhile, as does a
    `note`, which nobody waits for and which may be written a while later."""

    before: NodeClaim
    after: NodeClaim
    locked: bool = False
    note: bool = False


@dataclass(frozen=True, slots=True)
class SaveNode:
    """Write what differs of a Node's labels, annotations, taints, finalizers and owners."""

    before: NodeObject
    after: NodeObject


@dataclass(frozen=True, slots=True)
class Delete:
    """Ask the API server to delete an object; finalizers do the rest."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Evict:
    """See to it that a pod leaves: ask until it does, hearing disruption budgets, and force it by the deadline."""

    pod: Ref
    node: str = ""
    deadline: float | None = None
    #: Why, for the counter of pods that left.
    reason: str = ""
    #: Asked no longer than this, and never forced by it: the node will be back (a reboot). A deadline goes before.
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """An event on an object, for people. Equal `dedupe` values within its time are said once."""

    about: Ref
    reason: str
    message: str
    warning: bool = False
    dedupe: tuple[str, ...] = ()
    quiet_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Count:
    """Add to a counter; the name is without its prefix."""

    metric: str
    labels: Mapping[str, str] = field(default_factory=lambda: _NONE)
    amount: float = 1.0


@dataclass(frozen=True, slots=True)
class Observe:
    """Put one value into a histogram."""

    metric: str
    value: float
    labels: Mapping[str, str] = field(default_factory=lambda: _NONE)


@dataclass(frozen=True, slots=True)
class Health:
    """One machine of a pool came up, or did not: the pool's NodeRegistrationHealthy is judged by the last few."""

    pool: str
    pool_uid: str
    healthy: bool
    reason: str = ""
    message: str = ""


Effect = Create | Return | Launch | Terminate | SaveClaim | SaveNode | Delete | Evict | Say | Count | Observe | Health


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now, and when to look again if nothing happens before (seconds from now; None: only on events)."""

    effects: tuple[Effect, ...] = ()
    again: float | None = None


def soonest(*waits: float | None) -> float | None:
    return min((one for one in waits if one is not None), default=None)
