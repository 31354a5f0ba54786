"""Pods: who they are, and what of them matters for scheduling.

Pods of one Deployment differ in name and little else. All that scheduling can see of a pod is its *shape*, a frozen
value computed once when the pod is read; thousands of pods share one shape, and every question is asked once per
shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.selectors import NOTHING_SELECTED, Selector
from dovetail.core.taints import Toleration

Labels = tuple[tuple[str, str], ...]


class Policy(StrEnum):
    """Whether a spread constraint looks at node affinity, or at taints, when it counts."""

    HONOR = "Honor"
    IGNORE = "Ignore"


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint. `hard` is DoNotSchedule; a soft one may be dropped when nothing else helps."""

    key: str
    max_skew: int
    selector: Selector
    hard: bool = True
    min_domains: int | None = None
    node_affinity: Policy = Policy.HONOR
    node_taints: Policy = Policy.IGNORE


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A pod affinity or anti-affinity term: pods selected in these namespaces, near or far by this label.

    `namespaces` are the names given; `namespace_selector` adds those whose labels match (None adds none).
    """

    key: str
    selector: Selector = NOTHING_SELECTED
    namespaces: frozenset[str] = frozenset()
    namespace_selector: Selector | None = None


@dataclass(frozen=True, slots=True)
class Preferred:
    """A wish and its weight, 1 to 100."""

    weight: int
    term: Requirements | PodTerm


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node a pod takes for itself; equal ports clash unless both name different addresses."""

    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"  # noqa: S104  (Kubernetes' word for "every address", not one we bind)

    def clashes(self, other: HostPort) -> bool:
        if self.port != other.port or self.protocol != other.protocol:
            return False
        return self.ip == other.ip or self.ip in _EVERY_ADDRESS or other.ip in _EVERY_ADDRESS


_EVERY_ADDRESS: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104


@dataclass(frozen=True, slots=True)
class Volumes:
    """What a pod's volumes demand of a node.

    `places` are alternatives: the node must suit one of them (none listed: no demand). `attached` counts claims
    by CSI driver, each named so that a claim two pods share counts once per node.
    """

    places: tuple[Requirements, ...] = ()
    attached: tuple[tuple[str, str], ...] = ()  # (driver, claim key)


NO_VOLUMES: Final = Volumes()


@dataclass(frozen=True, slots=True)
class Affinity:
    """Pod affinity or anti-affinity: what must hold, and what would be nice."""

    required: tuple[PodTerm, ...] = ()
    preferred: tuple[Preferred, ...] = ()


NO_AFFINITY: Final = Affinity()


class Kinship:
    """What a shape asks of nodes and of other pods, apart from room: what kin have in common."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, *parts: object) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Kinship) and self._parts == other._parts)


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything about a pod that scheduling can see.

    `terms` are the required node-affinity terms, any one of which will do (none: no demand). `problem` says why the
    pod cannot be planned at all, in a sentence; such a pod is refused and harms nobody else.
    """

    namespace: str = "default"
    labels: Labels = ()
    requests: Resources = NOTHING
    selector: Requirements = EMPTY
    terms: tuple[Requirements, ...] = ()
    preferred: tuple[Preferred, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[Spread, ...] = ()
    near: Affinity = NO_AFFINITY
    apart: Affinity = NO_AFFINITY
    ports: tuple[HostPort, ...] = ()
    volumes: Volumes = NO_VOLUMES
    priority: int = 0
    problem: str | None = None
    #: Asked for in every plan, so worked out once: the kinship, and the hash of it all.
    kinship: Kinship = field(init=False, compare=False, repr=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        kinship = Kinship(
            self.namespace,
            self.selector,
            self.terms,
            self.preferred,
            self.tolerations,
            self.spread,
            self.near,
            self.apart,
            self.ports,
            self.volumes,
        )
        object.__setattr__(self, "kinship", kinship)
        object.__setattr__(self, "_hash", hash((kinship, self.labels, self.requests, self.priority, self.problem)))

    def __hash__(self) -> int:
        return self._hash


#: Owners whose pods come and go with their node: daemons, and the mirrors of static pods.
TIED_TO_NODE: Final = frozenset({"DaemonSet", "Node"})


class PodState(StrEnum):
    """Where a pod stands, as far as planning cares."""

    PENDING = "pending"  # waits for a node; to be planned
    BOUND = "bound"  # runs on, or is bound to, a node
    GOING = "going"  # terminating on its node: its room, ports and volumes are taken, and nobody counts it any more
    WAITING = "waiting"  # not ours to plan: gated, preempting, or not yet looked at by the scheduler
    DONE = "done"  # finished, or gone before it had a node; takes no room


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod."""

    name: str
    shape: Shape
    uid: str = ""
    created: float = 0.0
    node: str | None = None
    state: PodState = PodState.PENDING
    #: The controller it belongs to, "DaemonSet", "StatefulSet", "Node" (a mirror pod) …; "" for none.
    owner: str = ""

    @property
    def namespace(self) -> str:
        return self.shape.namespace

    @property
    def key(self) -> str:
        """namespace/name, for people."""
        return f"{self.shape.namespace}/{self.name}"

    def seen_as(self, state: PodState, node: str | None) -> Pod:
        """The same pod in another state, and perhaps on another node."""
        return Pod(self.name, self.shape, self.uid, self.created, node, state, self.owner)

    @property
    def takes_room(self) -> bool:
        """Whether it is on a node, to stay or not yet gone."""
        return self.state is PodState.BOUND or self.state is PodState.GOING

    @property
    def moves(self) -> bool:
        """Whether it needs another place if its node leaves (§2.3): what comes and goes with a node does not.

        A pod of a StatefulSet comes back under its name, so one that is going does too.
        """
        if self.owner in TIED_TO_NODE:
            return False
        return self.state is PodState.BOUND or (self.state is PodState.GOING and self.owner == "StatefulSet")


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """A DaemonSet: what one of its pods asks of every node it goes to."""

    name: str
    shape: Shape
    namespace: str = "kube-system"
