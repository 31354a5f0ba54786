"""Pods: from a draft to the shape that scheduling sees. Equal shapes are one object.

Each part of a pod is read for itself. What is wrong with one part becomes the pod's `problem`, a sentence naming the
field, and the other parts are read all the same: a running pod takes its room whatever its affinity says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from dovetail.api import affinities, containers, scheduler_config, volumes
from dovetail.api.fields import Fields, dotted, fields
from dovetail.api.pod_wire import Draft, Owner, PodWire
from dovetail.api.scheduler_config import Service
from dovetail.api.taints import read_tolerations
from dovetail.api.volumes import Storage, Used
from dovetail.core import resources
from dovetail.core.errors import BadField, BadInput
from dovetail.core.pods import NO_AFFINITY, HostPort, Pod, Shape, Spread, Volumes
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.taints import Toleration

T = TypeVar("T")

NOT_OURS: Final = "asks not to run on a node of ours: it wants no karpenter.sh/nodepool label"
NO_DEVICES: Final = "spec.resourceClaims: pod has Dynamic Resource Allocation requirements, which are not supported yet"
_EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104  (what Kubernetes calls every address)
_MAX_PORT, _PRIORITY = 65535, 2**31
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
#: Classes every cluster has.
_SYSTEM_CLASSES: Final[Mapping[str, int]] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


@dataclass(frozen=True, slots=True)
class RuntimeClass:
    """What a runtime takes for itself, and where it is installed."""

    overhead: Resources = NOTHING
    selector: Requirements = EMPTY
    tolerations: tuple[Toleration, ...] = ()


def read_runtime_class(wire: Fields) -> RuntimeClass:
    overhead, scheduling = wire.map("overhead"), wire.map("scheduling")
    return RuntimeClass(
        resources.parse(overhead.wire.get("podFixed"), *overhead.path, "podFixed"),
        Requirements.of_labels(scheduling.labels("nodeSelector")),
        read_tolerations(scheduling, "tolerations"),
    )


@dataclass(slots=True)
class Surroundings:
    """Everything else a pod's meaning depends on."""

    storage: Storage = field(default_factory=Storage)
    priorities: dict[str, int] = field(default_factory=dict)
    default_priority: int = 0
    runtimes: dict[str, RuntimeClass] = field(default_factory=dict)
    limit_ranges: dict[str, containers.Defaults] = field(default_factory=dict)
    spread: scheduler_config.Defaults = scheduler_config.NO_DEFAULTS
    services: dict[str, list[Service]] = field(default_factory=dict)
    #: By namespace and owner: what a ReplicationController selects, and what a ReplicaSet or StatefulSet does.
    selectors: dict[tuple[str, Owner], tuple[Mapping[str, str], Requirements]] = field(default_factory=dict)


class Shapes:
    """Shapes by what they say, and by the draft they were read from."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._by_draft: dict[int, tuple[Draft, Shape]] = {}
        self._known: dict[Shape, Shape] = {}

    def __len__(self) -> int:
        return len(self._known)

    def shape(self, draft: Draft, claims: tuple[Used, ...] = ()) -> Shape:
        """The shape of a draft; `claims` are those a StatefulSet makes for one of its pods."""
        known = self._by_draft.get(id(draft))
        if known is None:
            known = self._by_draft[id(draft)] = (draft, self._interned(_Reader(draft, self._around).shape()))
        return known[1] if not claims else self._claiming(draft, known[1], claims)

    def _claiming(self, draft: Draft, shape: Shape, claims: tuple[Used, ...]) -> Shape:
        own = tuple(one for one in _claims_in(draft) if one.template is None)
        found, problems = volumes.resolved((*own, *claims), draft.namespace, self._around.storage)
        known = shape.problem or ""
        problem = "; ".join([*([known] if known else []), *(one for one in problems if one not in known)]) or None
        return self._interned(replace(shape, volumes=found, problem=problem))

    def daemon(self, draft: Draft) -> Shape:
        """The shape of a daemon, which its controller puts where it belongs whatever planning thinks of it."""
        return _Reader(draft, self._around, planned=False).shape()

    def pod(self, wire: PodWire) -> Pod:
        shape = self.shape(wire.draft)
        return Pod(wire.name, shape, wire.uid, wire.created, wire.node, wire.state, wire.owner.kind)

    def _interned(self, shape: Shape) -> Shape:
        return self._known.setdefault(shape, shape)


def _claims_in(draft: Draft) -> tuple[Used, ...]:
    try:
        return volumes.claims_of(fields(draft.spec, "spec"), draft.pod)
    except BadInput:
        return ()


class _Reader:
    """One draft, part by part."""

    def __init__(self, draft: Draft, around: Surroundings, planned: bool = True) -> None:
        self.draft = draft
        self.planned = planned
        self.around = around
        self.spec = fields(draft.spec, "spec")
        self.problems: list[str] = list(draft.problems)

    def part(self, read: Callable[[], T], default: T) -> T:
        try:
            return read()
        except BadField as problem:
            self.problems.append(str(dotted(problem)))
        except BadInput as problem:
            self.problems.append(str(problem))
        return default

    def parts(self, read: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
        nothing: tuple[T, ...] = ()
        return self.part(read, nothing)

    def shape(self) -> Shape:
        own, spec, around = self.draft.labels, self.spec, self.around
        affinity = self.part(lambda: spec.map("affinity"), Fields({}, ("spec", "affinity")))
        runtime = self.part(self._runtime, RuntimeClass())
        selector = self.part(lambda: affinities.read_node_selector(spec, self.planned), EMPTY) & runtime.selector
        found = Shape(
            namespace=self.draft.namespace,
            labels=tuple(sorted(own.items())),
            requests=self._requests(runtime),
            selector=selector,
            terms=self.parts(lambda: affinities.read_node_terms(affinity, self.planned)),
            preferred=self.parts(lambda: affinities.read_preferred_terms(affinity)),
            tolerations=self.parts(lambda: read_tolerations(spec, "tolerations")) + runtime.tolerations,
            spread=self._spread(),
            near=self.part(lambda: affinities.read_pod_affinity(affinity, "podAffinity", own), NO_AFFINITY),
            apart=self.part(lambda: affinities.read_pod_affinity(affinity, "podAntiAffinity", own), NO_AFFINITY),
            ports=self.parts(lambda: _ports(spec)),
            volumes=self._volumes(),
            priority=self.part(self._priority, around.default_priority),
        )
        if spec.has("resourceClaims") and spec.wire["resourceClaims"]:
            self.problems.append(NO_DEVICES)
        if self.planned and affinities.is_shut(found.selector, found.terms, found.preferred):
            self.problems.append(NOT_OURS)
        return replace(found, problem="; ".join(self.problems)) if self.problems else found

    def _requests(self, runtime: RuntimeClass) -> Resources:
        defaults = self.around.limit_ranges.get(self.draft.namespace)
        asked = self.part(
            lambda: containers.effective_requests(self.spec, self.draft.allocated, defaults),
            NOTHING,
        )
        return containers.finished(asked, runtime.overhead)

    def _runtime(self) -> RuntimeClass:
        """The runtime class, with the overhead the API server wrote into the pod where it did."""
        overhead = resources.parse(self.spec.wire.get("overhead"), "spec", "overhead")
        name = self.spec.text("runtimeClassName")
        if not name:
            return RuntimeClass(overhead)
        found = self.around.runtimes.get(name)
        if found is not None:
            return replace(found, overhead=overhead) if self.spec.has("overhead") else found
        if self.spec.has("overhead"):
            return RuntimeClass(overhead)
        raise self.spec.bad("runtimeClassName", f"there is no RuntimeClass {name[:80]!r}")

    def _spread(self) -> tuple[Spread, ...]:
        found = self.parts(lambda: affinities.read_spread(self.spec, self.draft.labels))
        around, draft = self.around, self.draft
        if found or not around.spread.constraints or self.spec.wire.get("topologySpreadConstraints"):
            return found
        nothing: tuple[Mapping[str, str], Requirements] = ({}, EMPTY)
        pairs, owner = around.selectors.get((draft.namespace, draft.owner), nothing)
        services = around.services.get(draft.namespace, ())
        return around.spread.for_pod(scheduler_config.deduced(draft.labels, services, pairs, owner))

    def _volumes(self) -> Volumes:
        used = self.parts(lambda: volumes.claims_of(self.spec, self.draft.pod))
        found, problems = volumes.resolved(used, self.draft.namespace, self.around.storage)
        self.problems += problems
        return found

    def _priority(self) -> int:
        given = self.spec.whole("priority", -_PRIORITY, _PRIORITY)
        if given is not None:
            return given
        name, around = self.spec.text("priorityClassName"), self.around
        if not name:
            return around.default_priority
        return around.priorities.get(name, _SYSTEM_CLASSES.get(name, around.default_priority))


def _ports(spec: Fields) -> tuple[HostPort, ...]:
    """Ports of the node itself; a pod in the host's network takes those its containers listen on."""
    on_host = spec.flag("hostNetwork")
    found = []
    for container in spec.items("containers"):
        for one in container.items("ports"):
            port = one.whole("hostPort", 0, _MAX_PORT) or (
                one.whole("containerPort", 0, _MAX_PORT) if on_host else None
            )
            if not port:
                continue
            protocol = one.text("protocol") or _PROTOCOLS[0]
            if protocol not in _PROTOCOLS:
                raise one.bad("protocol", f"{protocol[:40]!r} is none of {', '.join(_PROTOCOLS)}")
            found.append(HostPort(port, protocol, one.text("hostIP") or _EVERY_ADDRESS))
    return tuple(found)
