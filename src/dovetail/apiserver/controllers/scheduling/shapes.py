"""What the scheduler sees of a pod. Equal pods are one value, read once.

Reading is done by the readers planning uses too. They leave out two things a scheduler needs: terms that name nodes
by a field, as daemons' pods do, and claims, whose meaning changes while a pod waits and which are therefore looked up
each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovetail.api import pod_wire
from dovetail.api.fields import fields
from dovetail.api.pod_wire import Draft, Drafts
from dovetail.api.pods import Shapes, Surroundings
from dovetail.apiserver.storage import Object
from dovetail.core.pods import Shape
from dovetail.core.requirements import Requirements
from dovetail.core.taints import Taint, untolerated

#: More kinds of pods than this are forgotten all at once, and read again.
_MOST_DRAFTS: Final = 10_000
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True, eq=False)
class PodShape:
    """A shape, the only nodes its terms name (None: any), and the claims it mounts."""

    shape: Shape
    names: frozenset[str] | None = None
    claims: tuple[str, ...] = ()

    @property
    def depends_on_pods(self) -> bool:
        """Whether other pods can make room for it by coming, not only by going."""
        return bool(self.shape.near.required) or any(one.hard for one in self.shape.spread)

    def wrong_node(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the node's name or labels rule it out."""
        if not holds(self.shape.selector, labels):
            return True
        if self.names is not None:
            return name not in self.names
        return bool(self.shape.terms) and not any(holds(term, labels) for term in self.shape.terms)

    def untolerated(self, taints: Iterable[Taint]) -> tuple[Taint, ...]:
        return untolerated(taints, self.shape.tolerations)


def holds(wanted: Requirements, labels: Mapping[str, str]) -> bool:
    return all(one.admits(labels.get(one.key)) for one in wanted)


class Reader:
    """Reads pods, each distinct one once."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._drafts = Drafts()
        self._shapes = Shapes(Surroundings())
        self._known: dict[tuple[int, frozenset[str] | None, tuple[str, ...]], tuple[Draft, PodShape]] = {}

    def read(self, pod: Object) -> PodShape:
        if len(self._known) > _MOST_DRAFTS:
            self._forget()
        draft = pod_wire.read(fields(pod), self._drafts).draft
        names, claims = _named_nodes(pod["spec"]), _claims(pod)
        key = id(draft), names, claims
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = draft, PodShape(self._shapes.daemon(draft), names, claims)
        return found[1]


def _named_nodes(spec: dict[str, Any]) -> frozenset[str] | None:
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    found = [
        name
        for term in affinity.get("nodeSelectorTerms") or ()
        for one in term.get("matchFields") or ()
        if one.get("key") == "metadata.name"
        for name in one.get("values") or ()
    ]
    return frozenset(found) if found else None


def _claims(pod: Object) -> tuple[str, ...]:
    found = []
    for one in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in one:
            found.append(one["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in one:
            found.append(f"{pod['metadata'].get('name', '')}-{one['name']}")
    return tuple(found)
