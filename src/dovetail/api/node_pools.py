"""NodePool (karpenter.sh/v1), and the kubelet blocks of node classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.api import documents, kinds, kubelets, requirements
from dovetail.api.fields import Fields, fields, shown
from dovetail.api.taints import read_taints
from dovetail.core import labels, resources
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import MinValuesPolicy, NodeClassRef, NodePool
from dovetail.core.resources import Resources

KIND: Final = "NodePool"
API_VERSION: Final = "karpenter.sh/v1"
#: Where Karpenter keeps the kubelet block of a pool that was written for v1beta1.
KUBELET_ANNOTATION: Final = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
#: What to do where this pool's minValues cannot be met, if not what holds for all (S4.8).
MIN_VALUES_ANNOTATION: Final = "karpenter.sh/min-values-policy"
_MAX_LABELS, _MAX_WEIGHT, _MAX_REPLICAS = 100, 100, 2**63 - 1
_NODES: Final = "nodes"


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
        taints=read_taints(node, "taints"),
        startup_taints=read_taints(node, "startupTaints"),
        limits=_limits(spec),
        weight=spec.whole("weight", 1, _MAX_WEIGHT) or 0,
        replicas=_replicas(spec),
        ready=_is_ready(wire),
        min_values_policy=_policy(wire),
        kubelet=kubelet or KubeletSettings(),
    )
    return PoolRead(pool, kubelet is not None)


def _limits(spec: Fields) -> Resources | None:
    """What all nodes of the pool may have together; an empty map limits nothing."""
    return resources.parse(spec.wire.get("limits"), *spec.path, "limits") or None


def _replicas(spec: Fields) -> int | None:
    """How many nodes a static pool keeps; such a pool limits its nodes only, and has no weight."""
    replicas = spec.whole("replicas", 0, _MAX_REPLICAS)
    if replicas is None:
        return None
    if spec.has("weight"):
        raise spec.bad("weight", "a pool with replicas has no weight; leave one of them out")
    if set(spec.map("limits").wire) - {_NODES}:
        raise spec.bad("limits", f"a pool with replicas can limit its {_NODES} only")
    return replicas


def _is_ready(wire: Fields) -> bool:
    """A pool nobody has looked at yet is taken to be in order; one that is being deleted buys nothing."""
    if wire.map("metadata").has("deletionTimestamp"):
        return False
    conditions = wire.map("status").items("conditions")
    return all(one.wire.get("status") == "True" for one in conditions if one.wire.get("type") == "Ready")


def _policy(wire: Fields) -> MinValuesPolicy | None:
    notes = wire.map("metadata").map("annotations")
    text = notes.text(MIN_VALUES_ANNOTATION)
    if text is None:
        return None
    try:
        return MinValuesPolicy(text)
    except ValueError:
        choices = " nor ".join(MinValuesPolicy)
        raise notes.bad(MIN_VALUES_ANNOTATION, f"{shown(text)} is neither {choices}") from None


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


def read_node_class(wire: Fields, *, formulas: bool = False) -> KubeletSettings | None:
    """The kubelet block of a node class; the rest of it is its cloud's to read. `formulas`: an EC2NodeClass may have
    expressions in it."""
    formulas = formulas and wire.text("kind") == kinds.EC2_NODE_CLASSES.name
    return kubelets.read(wire.map("spec"), "kubelet", formulas=formulas)
