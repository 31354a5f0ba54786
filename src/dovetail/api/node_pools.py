"""NodePool (karpenter.sh/v1), as far as the catalog reads it, and the kubelet blocks of node classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.api import documents, kubelets, requirements
from dovetail.api.fields import Fields, fields
from dovetail.core import labels
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import NodeClassRef, NodePool

KIND: Final = "NodePool"
API_VERSION: Final = "karpenter.sh/v1"
#: Where Karpenter keeps the kubelet block of a pool that was written for v1beta1.
KUBELET_ANNOTATION: Final = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
_MAX_LABELS, _MAX_WEIGHT = 100, 100


@dataclass(frozen=True, slots=True)
class PoolRead:
    """A pool, and whether it brought its own kubelet block; if not, its node class may have one."""

    pool: NodePool
    own_kubelet: bool


def read(wire: Fields, name: str) -> PoolRead:
    wire.only(("apiVersion", "kind", "metadata", "spec", "status"))
    spec = wire.map("spec").only(("template", "disruption", "limits", "weight", "replicas"))
    template = spec.map("template").only(("metadata", "spec"))
    node = template.map("spec").only(
        (
            "nodeClassRef",
            "requirements",
            "taints",
            "startupTaints",
            "expireAfter",
            "terminationGracePeriod",
            "kubelet",
            "kubeletConfiguration",
        )
    )
    kubelet = _kubelet(wire, node)
    pool = NodePool(
        name=name,
        node_class=_node_class(node),
        requirements=requirements.read(node, "requirements", min_values=True, pool_key=False),
        labels=_labels(template.map("metadata")),
        weight=spec.whole("weight", 1, _MAX_WEIGHT) or 0,
        kubelet=kubelet or KubeletSettings(),
    )
    return PoolRead(pool, kubelet is not None)


def _node_class(node: Fields) -> NodeClassRef:
    if not node.has("nodeClassRef"):
        raise node.bad("nodeClassRef", "is missing")
    ref = node.map("nodeClassRef").only(("group", "kind", "name"))
    return NodeClassRef(ref.required("group"), ref.required("kind"), ref.required("name"))


def _labels(metadata: Fields) -> tuple[tuple[str, str], ...]:
    found = metadata.labels("labels")
    if len(found) > _MAX_LABELS:
        raise metadata.bad("labels", f"has {len(found)} entries; at most {_MAX_LABELS} are allowed")
    place = (*metadata.path, "labels")
    for key, value in found.items():
        requirements.check_selectable(key, False, *place, key)
        try:
            labels.check_value(value)
        except BadInput as problem:
            raise BadValue(str(problem)).at(*place, key) from None
    return tuple(sorted((labels.canonical(key), value) for key, value in found.items()))


def _kubelet(wire: Fields, node: Fields) -> KubeletSettings | None:
    for name in ("kubelet", "kubeletConfiguration"):
        found = kubelets.read(node, name)
        if found is not None:
            return found
    text = wire.map("metadata").map("annotations").text(KUBELET_ANNOTATION)
    if not text:
        return None
    place = ("metadata", "annotations", KUBELET_ANNOTATION)
    try:
        value = documents.parse_json(text)
    except BadInput as problem:
        raise BadValue(str(problem)).at(*place) from None
    documents.check(value, place)
    return kubelets.read(fields({KUBELET_ANNOTATION: value}, "metadata", "annotations"), KUBELET_ANNOTATION)


def read_node_class(wire: Fields) -> KubeletSettings | None:
    """The kubelet block of a node class; the rest of it is its cloud's to read."""
    return kubelets.read(wire.map("spec"), "kubelet")
