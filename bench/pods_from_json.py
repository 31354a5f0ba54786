"""The benchmark's Pods and Nodes read into core values.

It knows what stands in the files of `worlds` and refuses the rest, so that no constraint is dropped unseen. Equal pods
get one shape, as they do when a cluster is watched: a pod is read once when it arrives and planned many times.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from dovetail.core import resources
from dovetail.core.labels import NODEPOOL
from dovetail.core.nodes import Node
from dovetail.core.pods import NO_AFFINITY, Affinity, Pod, PodState, PodTerm, Preferred, Shape, Spread
from dovetail.core.requirements import EMPTY, Requirements, requirement
from dovetail.core.resources import NOTHING, PODS, Resources
from dovetail.core.selectors import Selector, selector_of

Json = dict[str, Any]
_SPEC: Final = frozenset({"containers", "nodeName", "nodeSelector", "affinity", "topologySpreadConstraints"})
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def objects(path: Path) -> Iterator[Json]:
    """A file's objects, one at a time: they stand one a line, so a large list is never in memory as JSON."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            text = line.strip().removesuffix(",")
            if text.startswith("{") and not text.endswith("["):  # or it is the list around them
                yield json.loads(text)


def read_pods(path: Path) -> tuple[Pod, ...]:
    shapes: dict[str, Shape] = {}
    return tuple(_pod(one, shapes) for one in objects(path))


def _pod(wire: Json, shapes: dict[str, Shape]) -> Pod:
    about, spec = wire["metadata"], wire["spec"]
    node = spec.pop("nodeName", None)
    written = json.dumps((about["namespace"], about["labels"], spec), sort_keys=True)
    shape = shapes.get(written)
    if shape is None:
        shape = shapes[written] = shape_of(about, spec)
    state = PodState.PENDING if node is None else PodState.BOUND
    return Pod(about["name"], shape, uid=about["uid"], node=node, state=state)


def shape_of(about: Json, spec: Json) -> Shape:
    _expect(spec, _SPEC)
    affinity = spec.get("affinity", {})
    _expect(affinity, frozenset({"nodeAffinity", "podAffinity", "podAntiAffinity"}))
    node = affinity.get("nodeAffinity", {})
    _expect(node, frozenset({_PREFERRED}))
    requests = sum((resources.parse(one["resources"]["requests"]) for one in spec["containers"]), NOTHING)
    selector = spec.get("nodeSelector")
    return Shape(
        namespace=about["namespace"],
        labels=tuple(sorted(about["labels"].items())),
        requests=requests + Resources({PODS: 1}),
        selector=Requirements.of_labels(selector) if selector else EMPTY,
        preferred=tuple(Preferred(one["weight"], _node_term(one["preference"])) for one in node.get(_PREFERRED, ())),
        spread=tuple(_spread(one) for one in spec.get("topologySpreadConstraints", ())),
        near=_affinity(affinity.get("podAffinity")),
        apart=_affinity(affinity.get("podAntiAffinity")),
    )


def _node_term(wire: Json) -> Requirements:
    _expect(wire, frozenset({"matchExpressions"}))
    return Requirements(requirement(one["key"], one["operator"], one["values"]) for one in wire["matchExpressions"])


def _spread(wire: Json) -> Spread:
    _expect(wire, frozenset({"maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector"}))
    hard = wire["whenUnsatisfiable"] == "DoNotSchedule"
    return Spread(wire["topologyKey"], wire["maxSkew"], _selector(wire["labelSelector"]), hard=hard)


def _affinity(wire: Json | None) -> Affinity:
    if wire is None:
        return NO_AFFINITY
    _expect(wire, frozenset({_REQUIRED, _PREFERRED}))
    return Affinity(
        tuple(_term(one) for one in wire.get(_REQUIRED, ())),
        tuple(Preferred(one["weight"], _term(one["podAffinityTerm"])) for one in wire.get(_PREFERRED, ())),
    )


def _term(wire: Json) -> PodTerm:
    _expect(wire, frozenset({"topologyKey", "labelSelector"}))
    return PodTerm(wire["topologyKey"], _selector(wire["labelSelector"]))


def _selector(wire: Json) -> Selector:
    _expect(wire, frozenset({"matchLabels"}))
    return selector_of(Requirements.of_labels(wire["matchLabels"]))


def read_nodes(path: Path) -> tuple[Node, ...]:
    known: dict[str, Resources] = {}  # nodes of one type share their amounts
    return tuple(_node(one, known) for one in objects(path))


def _node(wire: Json, known: dict[str, Resources]) -> Node:
    about, status = wire["metadata"], wire["status"]
    amounts = [known.setdefault(json.dumps(status[name]), resources.parse(status[name])) for name in status]
    has = dict(zip(status, amounts, strict=True))
    return Node(
        about["name"],
        MappingProxyType(about["labels"]),
        capacity=has["capacity"],
        allocatable=has["allocatable"],
        pool=about["labels"].get(NODEPOOL),
    )


def _expect(wire: Json, known: frozenset[str]) -> None:
    unknown = wire.keys() - known
    assert not unknown, f"the benchmark's reader does not know {', '.join(sorted(unknown))}"
