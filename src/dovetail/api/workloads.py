"""Workloads: the pods a Deployment, ReplicaSet, StatefulSet, Job, CronJob or ReplicationController would have.

What a controller would make is made here, as far as it is not in the files already: a dump holds a Deployment, its
ReplicaSet and its pods, and they are the same pods. All pods of a workload have one draft, so a million replicas
are one shape and a million names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dovetail.api import affinities, volumes
from dovetail.api.fields import Fields
from dovetail.api.pod_wire import DAEMONSET, STATEFULSET, Draft, Drafts, Owner, PodWire, labels_of, named, owner_of
from dovetail.api.volumes import Claim, Used
from dovetail.core.pods import DaemonSet, PodState, Shape
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.resources import Resources
from dovetail.core.selectors import Selector
from dovetail.core.taints import Effect, Toleration, TolerationOperator

CRON, JOB, DEPLOYMENT, REPLICASET = "CronJob", "Job", "Deployment", "ReplicaSet"
REPLICATION: Final = "ReplicationController"
KINDS: Final[Mapping[str, str]] = {
    DEPLOYMENT: "apps",
    REPLICASET: "apps",
    STATEFULSET: "apps",
    DAEMONSET: "apps",
    JOB: "batch",
    CRON: "batch",
    REPLICATION: "",
}
#: More than this is a typing error, and would be a great many names.
MAX_REPLICAS: Final = 5_000_000
_ANY = TolerationOperator.EXISTS
#: What the DaemonSet controller has every daemon tolerate.
DAEMON_TOLERATIONS: Final = (
    *(
        Toleration(f"node.kubernetes.io/{name}", _ANY, effect=Effect.NO_EXECUTE)
        for name in ("not-ready", "unreachable")
    ),
    *(
        Toleration(f"node.kubernetes.io/{name}", _ANY, effect=Effect.NO_SCHEDULE)
        for name in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
    ),
)


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload: how many pods it wants, of which draft."""

    owner: Owner
    namespace: str
    draft: Draft
    replicas: int
    selector: Selector = field(default_factory=lambda: Selector(nothing=True))
    #: Who owns it in turn.
    of: Owner = field(default_factory=Owner)
    #: Of a StatefulSet: the number its first pod has, and its claims by template name.
    first: int = 0
    claims: tuple[tuple[str, Claim], ...] = ()
    #: Claims that are made for each pod and go with it, by volume name.
    ephemeral: tuple[tuple[str, Claim], ...] = ()
    #: Of a ReplicationController: the plain labels it selects.
    pairs: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, Owner]:
        return (self.namespace, self.owner)


def read(wire: Fields, kind: str, drafts: Drafts) -> Workload:
    """A workload of one of the kinds above."""
    about, spec = wire.map("metadata"), wire.map("spec")
    namespace = about.text("namespace") or "default"
    if not namespace.isprintable():
        raise about.bad("namespace", "is not a name")
    outer, holder = spec, spec
    if kind == CRON:
        holder = spec.map("jobTemplate").map("spec")
    owner = Owner(kind, named(about), KINDS[kind])
    pairs = spec.labels("selector") if kind == REPLICATION else {}
    return Workload(
        owner,
        namespace,
        _draft(holder.map("template"), namespace, owner, drafts),
        _wanted(kind, outer, holder, wire),
        Selector(Requirements.of_labels(pairs))
        if pairs
        else affinities.read_selector(spec, "selector")
        if kind in (DEPLOYMENT, REPLICASET, STATEFULSET)
        else Selector(nothing=True),
        owner_of(about),
        spec.map("ordinals").whole("start", 0, 2**31) or 0,
        tuple(_claims(spec)) if kind == STATEFULSET else (),
        tuple(_ephemeral(holder.map("template").map("spec"))),
        pairs,
    )


def _draft(template: Fields, namespace: str, owner: Owner, drafts: Drafts) -> Draft:
    found, problems = labels_of(template.map("metadata"))
    about = Draft(namespace, {}, {}, {}, owner, f"{owner.name}-0", problems)
    return drafts.draft(namespace, found, template.map("spec").wire, about)


def _wanted(kind: str, outer: Fields, holder: Fields, wire: Fields) -> int:
    if kind not in (JOB, CRON):
        return _count(outer, "replicas", 1)
    if outer.flag("suspend"):
        return 0
    status = wire.map("status") if kind == JOB else Fields({})
    over = any(
        one.wire.get("type") in ("Complete", "Failed") and one.wire.get("status") == "True"
        for one in status.items("conditions")
    )
    at_once = _count(holder, "parallelism", 1)
    in_all = _count(holder, "completions", at_once) - _count(status, "succeeded", 0)
    return 0 if over else max(0, min(at_once, in_all))


def _count(wire: Fields, name: str, default: int) -> int:
    found = wire.whole(name, 0, MAX_REPLICAS)
    return default if found is None else found


def _claims(spec: Fields) -> Iterator[tuple[str, Claim]]:
    for one in spec.items("volumeClaimTemplates"):
        yield named(one.map("metadata")), volumes.read_claim(one)


def _ephemeral(spec: Fields) -> Iterator[tuple[str, Claim]]:
    listed = spec.wire.get("volumes")
    for one in spec.items("volumes") if isinstance(listed, list) and all(isinstance(v, dict) for v in listed) else ():
        if one.has("ephemeral"):
            template = one.map("ephemeral").map("volumeClaimTemplate")
            yield one.required("name"), volumes.read_claim(template)


def daemon_set(one: Workload, shape: Shape, requests: Resources) -> DaemonSet:
    """A DaemonSet as planning sees it, of which a pod asks for so much.

    What its newest pod asks for tells more than its template does (§3.6): the server may have filled something in, and
    an autoscaler changed it.
    """
    tolerated = (*shape.tolerations, *DAEMON_TOLERATIONS)
    return DaemonSet(
        one.owner.name, replace(shape, requests=requests, tolerations=tolerated, problem=None), one.namespace
    )


# ---- expanding


@dataclass(frozen=True, slots=True)
class Expanded:
    """The pods a workload lacks. `claims` is set where each pod has its own."""

    workload: Workload
    names: tuple[str, ...]

    def claims(self, name: str) -> tuple[Used, ...]:
        kept = tuple(Used(f"{template}-{name}", claim) for template, claim in self.workload.claims)
        return kept + tuple(Used(f"{name}-{volume}", claim) for volume, claim in self.workload.ephemeral)


def missing(workloads: Iterable[Workload], pods: Iterable[PodWire]) -> Iterator[Expanded]:
    """For every workload the pods that are not there yet."""
    known = {one.key: one for one in workloads}
    running = [key for key, one in known.items() if (one.namespace, one.of) in known and one.owner.kind == JOB]
    parents = {(known[key].namespace, known[key].of) for key in running}
    there = _there(known, pods)
    for key, one in known.items():
        if one.owner.kind == DAEMONSET or _is_made_by_another(one, known) or key in parents:
            continue
        have = there.get(key, set())
        yield Expanded(one, tuple(_names(one, have)))


def _is_made_by_another(one: Workload, known: Mapping[tuple[str, Owner], Workload]) -> bool:
    """A listed Deployment stands for its ReplicaSets. A Job stands for itself, whichever CronJob started it."""
    return one.owner.kind != JOB and (one.namespace, one.of) in known


def _names(one: Workload, have: set[str]) -> Iterable[str]:
    name = one.owner.name
    if one.owner.kind == STATEFULSET:
        numbers = range(one.first, one.first + one.replicas)
        return (full for number in numbers if (full := f"{name}-{number}") not in have)
    lacking = max(0, one.replicas - len(have))
    if not have:
        return (f"{name}-{number}" for number in range(lacking))
    free = (full for number in range(one.replicas + len(have)) if (full := f"{name}-{number}") not in have)
    return (full for full, _ in zip(free, range(lacking), strict=False))


def _there(known: Mapping[tuple[str, Owner], Workload], pods: Iterable[PodWire]) -> dict[tuple[str, Owner], set[str]]:
    """Which pods each workload has: those it owns, through a ReplicaSet or not, and stray ones it would adopt."""
    found: dict[tuple[str, Owner], set[str]] = {}
    adopting: dict[str, list[Workload]] = {}
    for one in known.values():
        if not one.selector.nothing and one.owner.kind != DAEMONSET and not _is_made_by_another(one, known):
            adopting.setdefault(one.namespace, []).append(one)
    strays: dict[int, Workload | None] = {}
    for pod in pods:
        # A pod of a StatefulSet keeps its name until it is gone, so nobody else is made in its place.
        if pod.state is PodState.DONE or (pod.state is PodState.GOING and pod.owner.kind != STATEFULSET):
            continue
        namespace = pod.draft.namespace
        if pod.owner.kind:
            key = _root((namespace, pod.owner), known)
        else:
            if id(pod.draft) not in strays:
                choices = adopting.get(namespace, ())
                strays[id(pod.draft)] = next((w for w in choices if w.selector.matches(pod.draft.labels)), None)
            stray = strays[id(pod.draft)]
            key = stray.key if stray is not None else None
        if key is not None:
            found.setdefault(key, set()).add(pod.name)
    return found


def _root(key: tuple[str, Owner], known: Mapping[tuple[str, Owner], Workload]) -> tuple[str, Owner] | None:
    """The listed workload at the top; a ReplicaSet that is not listed bears its Deployment's name and a hash."""
    namespace, owner = key
    one = known.get(key)
    if one is not None:
        above = (namespace, one.of)
        return above if above in known and owner.kind != JOB else key
    if owner.kind == REPLICASET:
        deployment = (namespace, Owner(DEPLOYMENT, owner.name.rpartition("-")[0], KINDS[DEPLOYMENT]))
        return deployment if deployment in known else None
    return None


#: Which pods belong together, as their owner says: plain labels of a ReplicationController, or a selector.
Belonging = tuple[Mapping[str, str], Requirements]


def belonging(wire: Fields) -> Belonging:
    """What the owner of pods says of them, read without its template."""
    spec = wire.map("spec")
    if wire.required("kind") == REPLICATION:
        return spec.labels("selector"), EMPTY
    return {}, affinities.read_selector(spec, "selector").wanted


def selectors(workloads: Iterable[Workload]) -> dict[tuple[str, Owner], Belonging]:
    """What owners say about which pods belong together, for default spread constraints (§4.9)."""
    found: dict[tuple[str, Owner], Belonging] = {}
    for one in workloads:
        if one.owner.kind == REPLICATION:
            found[one.key] = (one.pairs, EMPTY)
        elif one.owner.kind in (DEPLOYMENT, REPLICASET, STATEFULSET):
            found[one.key] = ({}, one.selector.wanted)
    return found
