"""CapacityBuffers: room kept free for pods that are not there yet, planned as pods that nobody made (§6.2).

A buffer is as many pods as it says, or as a share of a workload comes to, whichever is more; its limits cap that, and
decide alone where nothing else is said. Its pods look like those of the template or of the workload, with the
lowest priority there is: so real pods choose first, though nothing else tells the two apart. Claims on volumes are
dropped, since nobody would ever make them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dovetail.api.fields import Fields
from dovetail.api.pod_wire import STATEFULSET, Draft, Drafts, Owner, labels_of, moment, named
from dovetail.api.pods import Shapes
from dovetail.api.workloads import DEPLOYMENT, KINDS, MAX_REPLICAS, REPLICASET, Workload
from dovetail.core import resources
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.pods import Pod, Shape
from dovetail.core.resources import Resources

KIND: Final = "CapacityBuffer"
GROUP: Final = "autoscaling.x-k8s.io"
#: PodTemplate objects, to which a buffer may refer.
TEMPLATE_KIND: Final = "PodTemplate"
LOWEST_PRIORITY: Final = -(2**31)
_STRATEGY: Final = "buffer.x-k8s.io/active-capacity"
_SCALABLE: Final = (DEPLOYMENT, STATEFULSET, REPLICASET)
_MANY: Final = 2**31 - 1
_VOLUMES: Final = "volumes"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A CapacityBuffer as it was written."""

    namespace: str
    name: str
    uid: str = ""
    created: float = 0.0
    template: str = ""
    scalable: tuple[str, str] | None = None  # kind, name
    replicas: int | None = None
    percentage: int | None = None
    limits: Resources | None = None
    strategy: str = _STRATEGY

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A buffer with its pods; `problem` says why there are none where it cannot be provided."""

    buffer: Buffer
    pods: tuple[Pod, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class References:
    """What buffers may refer to: templates by namespace and name, workloads by kind, namespace and name."""

    templates: Mapping[tuple[str, str], Draft] = field(default_factory=dict)
    workloads: Mapping[tuple[str, str, str], Workload] = field(default_factory=dict)


# ---- reading


def read(wire: Fields) -> Buffer:
    about, spec = wire.map("metadata"), wire.map("spec")
    namespace = about.text("namespace") or "default"
    if not namespace.isprintable():
        raise about.bad("namespace", "is not a name")
    if spec.has("podTemplateRef") and spec.has("scalableRef"):
        raise spec.bad("scalableRef", "there is a podTemplateRef too; leave one of them out")
    if spec.has("podTemplateRef") and not spec.has("replicas") and not spec.has("limits"):
        raise spec.bad("replicas", "a buffer of a pod template needs replicas or limits")
    return Buffer(
        namespace,
        named(about),
        about.text("uid") or "",
        moment(about.wire.get("creationTimestamp")),
        spec.map("podTemplateRef").required("name") if spec.has("podTemplateRef") else "",
        _scalable(spec.map("scalableRef")) if spec.has("scalableRef") else None,
        spec.whole("replicas", 0, _MANY),
        spec.whole("percentage", 0, _MANY),
        resources.parse(spec.wire.get("limits"), *spec.path, "limits") if spec.has("limits") else None,
        spec.text("provisioningStrategy") or _STRATEGY,
    )


def _scalable(ref: Fields) -> tuple[str, str]:
    group, kind = ref.text("apiGroup") or "apps", ref.required("kind")
    if kind not in _SCALABLE or group != KINDS[kind]:
        raise ref.bad("kind", f"{kind[:40]!r} of {group[:40]!r} is none of {', '.join(_SCALABLE)} of 'apps'")
    return kind, ref.required("name")


def read_template(wire: Fields, drafts: Drafts) -> tuple[tuple[str, str], Draft]:
    """A PodTemplate: its namespace and name, and the draft of the pods like it."""
    about, template = wire.map("metadata"), wire.map("template")
    namespace, name = about.text("namespace") or "default", named(about)
    own, problems = labels_of(template.map("metadata"))
    about_pods = Draft(namespace, {}, {}, owner=Owner(TEMPLATE_KIND, name), problems=problems)
    return (namespace, name), drafts.draft(namespace, own, template.map("spec").wire, about_pods)


# ---- how many, and what they look like


def desired(buffer: Buffer, scale: int, requests: Resources) -> int:
    """How many pods a buffer is: the larger of number and share, capped by the limits or decided by them alone."""
    sizes = [] if buffer.replicas is None else [buffer.replicas]
    if buffer.percentage is not None:
        sizes.append(-(-buffer.percentage * scale // 100))
    caps = [amount // requests[name] for name, amount in (buffer.limits or {}).items() if requests.of(name)]
    return min([max(sizes), *caps]) if sizes else min(caps, default=0)


def resolve(buffer: Buffer, known: References, drafts: Drafts, shapes: Shapes) -> Resolved:
    """A buffer with its pods, or with what it lacks."""
    try:
        draft, scale = _found(buffer, known)
        if buffer.strategy != _STRATEGY:
            raise BadValue(f"its strategy {buffer.strategy[:80]!r} is not {_STRATEGY}")
        shape = replace(shapes.shape(_without_claims(draft, drafts)), priority=LOWEST_PRIORITY)
        count = desired(buffer, scale, shape.requests)
        if count > MAX_REPLICAS:
            raise BadValue(f"comes to {count:,} pods; {MAX_REPLICAS:,} are the most")
    except BadInput as problem:
        return Resolved(buffer, problem=str(problem))
    return Resolved(buffer, tuple(_pods(buffer, shape, count)))


def _found(buffer: Buffer, known: References) -> tuple[Draft, int]:
    """What its pods look like, and how many the workload has of which it keeps a share."""
    if buffer.template:
        draft = known.templates.get((buffer.namespace, buffer.template))
        if draft is None:
            raise BadValue(f"there is no {TEMPLATE_KIND} {buffer.template[:80]!r} in its namespace")
        return draft, 0
    if buffer.scalable is None:
        raise BadValue("refers neither to a pod template nor to a workload")
    kind, name = buffer.scalable
    workload = known.workloads.get((kind, buffer.namespace, name))
    if workload is None:
        raise BadValue(f"there is no {kind} {name[:80]!r} in its namespace")
    return workload.draft, workload.replicas


def _without_claims(draft: Draft, drafts: Drafts) -> Draft:
    if _VOLUMES not in draft.spec:
        return draft
    spec = {key: value for key, value in draft.spec.items() if key != _VOLUMES}
    return drafts.draft(draft.namespace, draft.labels, spec, draft)


def _pods(buffer: Buffer, shape: Shape, count: int) -> Iterator[Pod]:
    for number in range(1, count + 1):
        name = f"capacity-buffer-{buffer.name}-{number}"
        yield Pod(name, shape, f"{buffer.uid}-{number}", buffer.created, owner=KIND)
