"""A user's world: everything in the files that planning looks at, as one snapshot.

Objects are sorted as they are met and read in an order that lets each find what it refers to: storage before pods, pods
before the workloads that may have made them. A bad object costs itself. What of a pod is bad becomes that pod's
refusal, a NodePool that cannot be read is a pool with a problem, and everything else goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from dovetail.api import (
    buffers,
    containers,
    disruption_budgets,
    documents,
    dumps,
    kinds,
    manifests,
    node_pools,
    nodes,
    pod_wire,
    pods,
    scheduler_config,
    volumes,
    what_if,
    workloads,
)
from dovetail.api.buffers import Buffer, References, Resolved
from dovetail.api.disruption_budgets import Budget, Budgets
from dovetail.api.documents import Document
from dovetail.api.fields import Fields, fields
from dovetail.api.manifests import Manifests
from dovetail.api.pod_wire import DAEMONSET, Draft, Drafts, PodWire
from dovetail.api.scheduler_config import Service
from dovetail.api.what_if import Change
from dovetail.api.workloads import Expanded, Workload
from dovetail.core.errors import BadField, BadInput, BadValue
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.pods import DaemonSet, Pod, PodState, Shape
from dovetail.core.snapshot import Snapshot

if TYPE_CHECKING:
    from dovetail.api.disruption.gathered import Gathered

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_KARPENTER: Final = "karpenter.sh"
_NO_CLASS: Final = NodeClassRef("", "", "")
_TEMPLATES: Final = {kind.name: kind for kind in kinds.INFRA_TEMPLATES}
_CLUSTER_API: Final = (kinds.MACHINES.group, kinds.AWS_MACHINES.group, kinds.CONTROL_PLANES.group)
Files = Iterable[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class World:
    """What the files hold.

    `skipped` counts kinds nobody here has a use for; `sources` are the objects of Karpenter's own kinds and the node
    classes as they were written, by kind and name. The pods of `buffers` are in the snapshot if buffers are planned.
    """

    snapshot: Snapshot = field(default_factory=Snapshot)
    manifests: Manifests = manifests.NONE
    skipped: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[BadField, ...] = ()
    sources: Mapping[tuple[str, str], Document] = field(default_factory=dict)
    node_classes: frozenset[NodeClassRef] = frozenset()
    shapes: int = 0
    buffers: tuple[Resolved, ...] = ()
    #: What disruption looks at besides; None where nobody asked for it.
    gathered: Gathered | None = None
    #: Objects of Cluster API, where a pool draws on its machines.
    machines: tuple[Document, ...] = ()


@dataclass(slots=True)
class _Sorted:
    """Objects by kind, as they are met."""

    drafts: Drafts
    around: pods.Surroundings
    catalog: manifests.Found = field(default_factory=manifests.Found)
    machines: nodes.Machines = field(default_factory=nodes.Machines)
    pods: dict[tuple[str, str], PodWire] = field(default_factory=dict)
    workloads: dict[tuple[str, str, str], Workload] = field(default_factory=dict)
    budgets: dict[tuple[str, str], Budget] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    templates: dict[tuple[str, str], Draft] = field(default_factory=dict)
    limit_ranges: dict[tuple[str, str], containers.Defaults] = field(default_factory=dict)
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    sources: dict[tuple[str, str], Document] = field(default_factory=dict)
    classes: set[NodeClassRef] = field(default_factory=set)
    broken: dict[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[BadField] = field(default_factory=list)
    #: Workloads that a change or a later file says anew: their pods are still those of before.
    restated: set[tuple[str, str, str]] = field(default_factory=set)
    #: What is changed before it is read.
    changes: list[Change] = field(default_factory=list)
    #: How many pods were named by each `generateName`.
    generated: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: In which file an object was met.
    met: dict[tuple[str, str, str], str] = field(default_factory=dict)
    gathered: Gathered | None = None
    cluster_api: list[Document] = field(default_factory=list)


def _gathering() -> Gathered:
    # All of disruption stands behind it, which who only plans need not wait for.
    from dovetail.api.disruption.gathered import Gathered

    return Gathered()


def read_world(
    files: Files,
    spread: scheduler_config.Defaults = scheduler_config.NO_DEFAULTS,
    changes: Iterable[Change] = (),
    *,
    with_buffers: bool = False,
    with_disruption: bool = False,
    formulas: bool = False,
) -> World:
    """Read every file, given as its name and its text, or its bytes where it is a large dump.

    `with_buffers`: the pods CapacityBuffers stand for are planned as well. `with_disruption`: what only disruption
    looks at is kept. `formulas`: an EC2NodeClass may have expressions in its kubelet block.
    """
    around = pods.Surroundings(spread=spread)
    found = _Sorted(Drafts(by_owner=bool(spread.constraints)), around)
    found.catalog.formulas = formulas
    found.gathered = _gathering() if with_disruption else None
    wanted = found.changes = list(changes)
    for filename, held in files:
        for document in documents.read(held, filename) if isinstance(held, str) else dumps.read(held, filename):
            if isinstance(document, BadField):
                found.problems.append(document)
                continue
            try:
                what_if.apply(wanted, document)
                _take(found, document, filename)
            except BadInput as problem:
                found.problems.append(manifests.placed(problem, document))
                _remember_broken(found, document, str(problem))
    found.problems += what_if.unmet(wanted)
    return _joined(found, with_buffers)


def _remember_broken(found: _Sorted, document: Document, problem: str) -> None:
    """A pool that cannot be read is still one a person asks about."""
    value = document.value
    if (
        isinstance(value, Mapping)
        and value.get("kind") == node_pools.KIND
        and isinstance(value.get("metadata"), Mapping)
    ):
        name = value["metadata"].get("name")
        if isinstance(name, str) and name and name not in found.catalog.pools:
            found.broken[name] = problem
            found.sources[node_pools.KIND, name] = document


# ---- sorting


def _take(found: _Sorted, document: Document, filename: str) -> None:
    wire = fields(document.value)
    kind, version = wire.required("kind"), wire.required("apiVersion")
    group = version.rpartition("/")[0]
    reader = _READERS.get((group, kind))
    if reader is not None:
        reader(found, wire)
        return
    if group in _CLUSTER_API:
        pod_wire.named(wire.map("metadata"))  # one that nobody can refer to is a mistake
        found.cluster_api.append(document)
        return
    if group != _KARPENTER and not kind.endswith("NodeClass"):
        found.skipped[kind] += 1
        return
    name = pod_wire.named(wire.map("metadata"))
    _replace(found, kind, name, NodeClassRef(group, kind, name), filename)
    before = len(found.catalog.skipped)
    if kind.endswith("NodeClass"):
        found.classes.add(NodeClassRef(group, kind, name))
    found.sources[kind, name] = document
    manifests.take(found.catalog, wire)
    if len(found.catalog.skipped) > before:
        found.skipped[kind] += 1


def _replace(found: _Sorted, kind: str, name: str, ref: NodeClassRef, filename: str) -> None:
    """A later file may say an object anew, which is how a what-if is written; one file may not say it twice."""
    key = (kind, "", name)
    if found.met.get(key, filename) != filename:
        known = found.catalog
        known.pools.pop(name, None) if kind == node_pools.KIND else None
        known.overrides.pop(name, None) if kind == "InstanceType" else None
        known.overlays.pop(name, None) if kind == "NodeOverlay" else None
        known.node_classes.pop(ref, None)
        found.broken.pop(name, None) if kind == node_pools.KIND else None
    found.met[key] = filename


def _pod(found: _Sorted, wire: Fields) -> None:
    one = pod_wire.read(wire, found.drafts)
    namespace = one.draft.namespace
    if not wire.map("metadata").has("name"):
        found.generated[namespace, one.name] += 1
        one.name = f"{one.name}{found.generated[namespace, one.name]}"
    found.pods[namespace, one.name] = one


def _node(found: _Sorted, wire: Fields) -> None:
    one = nodes.read_node(wire)
    found.machines.nodes[one.name] = one
    if found.gathered is not None:
        found.gathered.take_node(wire)


def _claim(found: _Sorted, wire: Fields) -> None:
    one = nodes.read_claim(wire)
    found.machines.claims[one.name] = one
    if found.gathered is not None:
        found.gathered.take_claim(wire)


def _csi_node(found: _Sorted, wire: Fields) -> None:
    name = pod_wire.named(wire.map("metadata"))
    found.machines.volume_limits[name] = nodes.read_csi_node(wire)


def _workload(found: _Sorted, wire: Fields) -> None:
    kind = wire.required("kind")
    one = workloads.read(wire, kind, found.drafts)
    key = (kind, one.namespace, one.owner.name)
    if key in found.workloads or any(change.fits(kind, one.owner.name) for change in found.changes):
        found.restated.add(key)
    found.workloads[key] = one


def _budget(found: _Sorted, wire: Fields) -> None:
    about = wire.map("metadata")
    found.budgets[about.text("namespace") or "default", pod_wire.named(about)] = disruption_budgets.read(wire)


def _buffer(found: _Sorted, wire: Fields) -> None:
    one = buffers.read(wire)
    found.buffers[one.key] = one


def _template(found: _Sorted, wire: Fields) -> None:
    key, draft = buffers.read_template(wire, found.drafts)
    found.templates[key] = draft


def _namespace(found: _Sorted, wire: Fields) -> None:
    about = wire.map("metadata")
    name = pod_wire.named(about)
    found.namespaces[name] = {_NAME_LABEL: name, **about.labels("labels")}


def _volume_claim(found: _Sorted, wire: Fields) -> None:
    about = wire.map("metadata")
    key = (about.text("namespace") or "default", pod_wire.named(about))
    found.around.storage.claims[key] = volumes.read_claim(wire)


def _volume(found: _Sorted, wire: Fields) -> None:
    found.around.storage.volumes[pod_wire.named(wire.map("metadata"))] = volumes.read_volume(wire)


def _storage_class(found: _Sorted, wire: Fields) -> None:
    found.around.storage.classes[pod_wire.named(wire.map("metadata"))] = volumes.read_storage_class(wire)


def _priority_class(found: _Sorted, wire: Fields) -> None:
    value = wire.whole("value", -(2**31), 2**31) or 0
    found.around.priorities[pod_wire.named(wire.map("metadata"))] = value
    if wire.flag("globalDefault"):
        found.around.default_priority = value


def _runtime_class(found: _Sorted, wire: Fields) -> None:
    found.around.runtimes[pod_wire.named(wire.map("metadata"))] = pods.read_runtime_class(wire)


def _limit_range(found: _Sorted, wire: Fields) -> None:
    about = wire.map("metadata")
    key = about.text("namespace") or "default", about.text("name") or ""
    found.limit_ranges[key] = containers.read_limit_range(wire)


def _service(found: _Sorted, wire: Fields) -> None:
    namespace = wire.map("metadata").text("namespace") or "default"
    found.around.services.setdefault(namespace, []).append(Service(wire.map("spec").labels("selector")))


_READERS: Final[Mapping[tuple[str, str], Callable[[_Sorted, Fields], None]]] = {
    ("", "Pod"): _pod,
    ("", "Node"): _node,
    ("", "Namespace"): _namespace,
    ("", "PersistentVolumeClaim"): _volume_claim,
    ("", "PersistentVolume"): _volume,
    ("", "LimitRange"): _limit_range,
    ("", buffers.TEMPLATE_KIND): _template,
    ("", "Service"): _service,
    (_KARPENTER, "NodeClaim"): _claim,
    (buffers.GROUP, buffers.KIND): _buffer,
    (disruption_budgets.GROUP, disruption_budgets.KIND): _budget,
    ("storage.k8s.io", "StorageClass"): _storage_class,
    ("storage.k8s.io", "CSINode"): _csi_node,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    **{(group, kind): _workload for kind, group in workloads.KINDS.items()},
}


# ---- putting together


def _joined(found: _Sorted, with_buffers: bool) -> World:
    listed = list(found.workloads.values())
    found.around.selectors = workloads.selectors(listed)
    found.around.limit_ranges = containers.by_namespace(found.limit_ranges.items())
    shapes = pods.Shapes(found.around)
    catalog = manifests.finished(found.catalog)
    pools = (*catalog.pools, *(NodePool(name, _NO_CLASS, problem=why) for name, why in found.broken.items()))
    machines = tuple(nodes.merged(found.machines, {one.name: one for one in pools}))
    leaving = {one.name for one in machines if one.leaving}
    found.classes.update(_templates(found.cluster_api))
    budgets = Budgets(found.budgets.values())
    if found.gathered is not None:
        found.gathered.pods = tuple(found.pods.values())
        found.gathered.budgets = tuple(found.budgets.values())
    made = [_stayed(shapes.pod(one), one, leaving, budgets) for one in found.pods.values()]
    for lacking in workloads.missing(listed, found.pods.values()):
        made += _expanded(lacking, shapes, found)
    known = References(found.templates, found.workloads)
    kept = tuple(buffers.resolve(one, known, found.drafts, shapes) for _, one in sorted(found.buffers.items()))
    made += (pod for one in kept if with_buffers for pod in one.pods)
    daemons = tuple(_daemons(listed, shapes, found))
    snapshot = Snapshot(
        nodes=machines,
        pods=tuple(made),
        pools=pools,
        daemons=daemons,
        namespaces=_namespaces(found, listed),
    )
    return World(
        snapshot,
        catalog,
        found.skipped,
        tuple(found.problems),
        found.sources,
        frozenset(found.classes),
        len(shapes),
        kept,
        found.gathered,
        _machines(found, pools),
    )


def _templates(held: Iterable[Document]) -> Iterator[NodeClassRef]:
    """Machine templates, which pools may refer to as their node class."""
    for one in held:
        wire = fields(one.value)
        kind, name = _TEMPLATES.get(wire.required("kind")), wire.map("metadata").wire.get("name")
        if kind is not None and isinstance(name, str):
            yield NodeClassRef(kind.group, kind.name, name)


def _machines(found: _Sorted, pools: Iterable[NodePool]) -> tuple[Document, ...]:
    """What Cluster API has, where a pool draws on it; its templates are then node classes."""
    if not any(one.node_class.kind in _TEMPLATES for one in pools):
        found.skipped.update(str(fields(one.value).wire["kind"]) for one in found.cluster_api)
        return ()
    return tuple(found.cluster_api)


def _stayed(pod: Pod, wire: PodWire, leaving: set[str], budgets: Budgets) -> Pod:
    """A pod that may not be disrupted goes down with its node; nobody looks for another place for it (§2.3)."""
    if pod.node in leaving and pod.moves and (wire.protected or budgets.hold(wire)):
        return replace(pod, state=PodState.WAITING)
    return pod


def _expanded(lacking: Expanded, shapes: pods.Shapes, found: _Sorted) -> Iterator[Pod]:
    one, names = lacking.workload, lacking.names
    if found.pods:
        names = tuple(f"{name}-new" if (one.namespace, name) in found.pods else name for name in names)
    if one.claims or one.ephemeral:
        return (Pod(name, shapes.shape(one.draft, lacking.claims(name)), owner=one.owner.kind) for name in names)
    return map(_light, names, repeat(shapes.shape(one.draft)), repeat(one.owner.kind))


def _light(name: str, shape: Shape, owner: str) -> Pod:
    return Pod(name, shape, owner=owner)


def _daemons(listed: Iterable[Workload], shapes: pods.Shapes, found: _Sorted) -> Iterator[DaemonSet]:
    """Daemons as their controller makes them. Those that want devices are not planned for, as such pods are not."""
    there = [wire for wire in found.pods.values() if wire.owner.kind == DAEMONSET]
    there.sort(key=lambda wire: (wire.created, wire.name))
    newest = {(DAEMONSET, wire.draft.namespace, wire.owner.name): wire for wire in there}
    for one in listed:
        if one.owner.kind != DAEMONSET:
            continue
        shape = shapes.daemon(one.draft)
        if shape.problem == pods.NO_DEVICES:
            continue
        if shape.problem is not None:
            found.problems.append(BadValue(shape.problem).at(f"DaemonSet {one.namespace}/{one.owner.name}"))
        key = (DAEMONSET, one.namespace, one.owner.name)
        asked = shapes.shape(newest[key].draft) if key in newest and key not in found.restated else shape
        yield workloads.daemon_set(one, shape, asked.requests)


def _namespaces(found: _Sorted, listed: Iterable[Workload]) -> Mapping[str, Mapping[str, str]]:
    """Every namespace anything is in; one nobody wrote down has the label all namespaces have."""
    used = {one.draft.namespace for one in found.pods.values()} | {one.namespace for one in listed}
    used |= {one.namespace for one in found.buffers.values()}
    return MappingProxyType({name: {_NAME_LABEL: name} for name in sorted(used)} | found.namespaces)
