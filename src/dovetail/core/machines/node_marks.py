"""What a Machine puts on its Node: labels, annotations, and one taint taken off (R33–R35).

Labels and annotations that come from the Machine are listed in annotations of the Node, so that what the Machine no
longer asks for is taken off again and those of others stay. The label that says a machine may be taken away is true or
not there: where the infrastructure says that it is not so, the label goes, whoever put it on, for a termination handler
follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dovetail.core.effects import Say
from dovetail.core.machines import names
from dovetail.core.machines.effects import reference
from dovetail.core.machines.objects import Machine
from dovetail.core.nodeclaims import NodeObject

#: Labels of a Machine that its Node gets: of these domains, or of one below them.
_DOMAINS: Final = ("node-role.kubernetes.io", "node-restriction.kubernetes.io", "node.cluster.x-k8s.io")
#: The same of its annotations.
_NOTE_DOMAINS: Final = ("node.cluster.x-k8s.io",)


def is_handed_down(key: str, domains: tuple[str, ...] = _DOMAINS) -> bool:
    domain = key.partition("/")[0]
    return "/" in key and any(domain == one or domain.endswith("." + one) for one in domains)


def marked(node: NodeObject, machine: Machine, interruptible: bool | None) -> NodeObject:
    """The Node as the Machine wants it; the same value where nothing differs."""
    wanted = {key: value for key, value in machine.meta.labels.items() if is_handed_down(key)}
    if interruptible:
        wanted[names.INTERRUPTIBLE] = ""
    labels = _labels(node, wanted, interruptible)
    notes = _annotations(node, machine) | {names.LABELS_FROM_MACHINE: ",".join(sorted(wanted))}
    taints = tuple(one for one in node.taints if one.key != names.UNINITIALIZED)
    if labels == dict(node.meta.labels) and notes == dict(node.meta.annotations) and taints == node.taints:
        return node
    meta = replace(node.meta, labels=MappingProxyType(labels), annotations=MappingProxyType(notes))
    return replace(node, meta=meta, taints=taints)


def _labels(node: NodeObject, wanted: Mapping[str, str], interruptible: bool | None) -> dict[str, str]:
    ours = _listed(node, names.LABELS_FROM_MACHINE)
    if interruptible is False:
        ours.add(names.INTERRUPTIBLE)
    return {**{key: value for key, value in node.meta.labels.items() if key not in ours}, **wanted}


def _listed(node: NodeObject, key: str) -> set[str]:
    return set(node.meta.annotations.get(key, "").split(",")) - {""}


def _annotations(node: NodeObject, machine: Machine) -> dict[str, str]:
    ours = _listed(node, names.ANNOTATIONS_FROM_MACHINE)
    given = {key: value for key, value in machine.meta.annotations.items() if is_handed_down(key, _NOTE_DOMAINS)}
    others = {key: value for key, value in node.meta.annotations.items() if key not in ours}
    return {**others, **given, **_notes(machine), names.ANNOTATIONS_FROM_MACHINE: ",".join(sorted(given))}


def _notes(machine: Machine) -> dict[str, str]:
    notes = {
        names.CLUSTER_NAME: machine.cluster,
        names.NODE_CLUSTER_NAMESPACE: machine.meta.namespace,
        names.NODE_MACHINE: machine.name,
    }
    owner = machine.meta.controller
    if owner is not None:
        notes |= {names.NODE_OWNER_KIND: owner.kind, names.NODE_OWNER_NAME: owner.name}
    return notes


def told(machine: Machine, before: NodeObject, after: NodeObject) -> tuple[Say, ...]:
    """An event when the label comes, and only then."""
    if names.INTERRUPTIBLE in before.meta.labels or names.INTERRUPTIBLE not in after.meta.labels:
        return ()
    said = f"{before.name} may be taken away at any time"
    return (Say(reference("Machine", machine.meta), "SuccessfulSetInterruptibleNodeLabel", said),)
