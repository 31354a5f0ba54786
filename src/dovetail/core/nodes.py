"""Nodes: machines that are there, or are on their way with a claim written for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dovetail.core import labels
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.taints import Effect, Taint

#: Taints that every node of ours carries while it comes up, and that say nothing about the node it will be.
EPHEMERAL: Final = (
    Taint("node.kubernetes.io/not-ready", Effect.NO_SCHEDULE),
    Taint("node.kubernetes.io/not-ready", Effect.NO_EXECUTE),
    Taint("node.kubernetes.io/unreachable", Effect.NO_SCHEDULE),
    Taint("node.cloudprovider.kubernetes.io/uninitialized", Effect.NO_SCHEDULE, "true"),
    Taint("karpenter.sh/unregistered", Effect.NO_EXECUTE),
)
#: What a node carries that will be given up soon: the scheduler puts pods there only if there is nowhere else. Plans
#: look through it, or they would rather buy a machine.
GOES_SOON: Final = Taint("dovetail.dev/goes-soon", Effect.PREFER_NO_SCHEDULE)
READINESS_PREFIX: Final = "readiness.k8s.io/"


@dataclass(frozen=True, slots=True)
class Node:
    """One machine, Node or NodeClaim or both seen as one.

    `pool` is None for a node that is not ours. `ready` means initialized, or not ours to initialize: until then
    ephemeral and startup taints are looked through. `leaving` nodes take no pods, and theirs are planned anew.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    pool: str | None = None
    ready: bool = True
    leaving: bool = False
    #: Attachments a node can still hold by CSI driver; a driver that is not listed is not limited.
    volume_limits: tuple[tuple[str, int], ...] = ()
    #: What it costs an hour, where that is known.
    nanodollars: int | None = None

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def hostname(self) -> str:
        return self.labels.get(labels.HOSTNAME, self.name)

    @property
    def effective_taints(self) -> tuple[Taint, ...]:
        """The taints that will still be there once the node is up."""
        if self.ready or self.pool is None:
            return tuple(one for one in self.taints if one != GOES_SOON) if GOES_SOON in self.taints else self.taints
        passing = (*EPHEMERAL, GOES_SOON, *self.startup_taints)
        return tuple(
            taint
            for taint in self.taints
            if not taint.key.startswith(READINESS_PREFIX) and not any(taint.matches(one) for one in passing)
        )
