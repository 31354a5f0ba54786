"""Manifests: everything in a user's files that the catalog listens to, and what is wrong with the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from dovetail.api import documents, instance_types, node_overlays, node_pools
from dovetail.api.documents import Document
from dovetail.api.fields import Fields, dotted, fields
from dovetail.api.node_pools import PoolRead
from dovetail.core.catalog.overlays import NodeOverlay
from dovetail.core.catalog.overrides import Override
from dovetail.core.errors import BadField, BadInput, BadValue
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import NodeClassRef, NodePool

K = TypeVar("K")
V = TypeVar("V")

_VERSIONS: Final = {
    instance_types.KIND: instance_types.API_VERSION,
    node_overlays.KIND: node_overlays.API_VERSION,
    node_pools.KIND: node_pools.API_VERSION,
}
_CORE_GROUP: Final = "karpenter.sh"
_NODE_CLASS: Final = "NodeClass"


@dataclass(frozen=True, slots=True)
class Manifests:
    """What was found. Kubelet blocks of node classes are in their pools already."""

    pools: tuple[NodePool, ...] = ()
    overrides: tuple[Override, ...] = ()
    overlays: tuple[NodeOverlay, ...] = ()
    node_classes: Mapping[NodeClassRef, KubeletSettings] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    problems: tuple[BadField, ...] = ()


NONE: Final = Manifests()


@dataclass(slots=True)
class Found:
    """Objects as they are met, by name."""

    pools: dict[str, PoolRead] = field(default_factory=dict)
    overrides: dict[str, Override] = field(default_factory=dict)
    overlays: dict[str, NodeOverlay] = field(default_factory=dict)
    node_classes: dict[NodeClassRef, KubeletSettings] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    problems: list[BadField] = field(default_factory=list)
    #: Whether an EC2NodeClass may have expressions in its kubelet block.
    formulas: bool = False


def read(files: Iterable[tuple[str, str]], *, formulas: bool = False) -> Manifests:
    """Sort the objects of all files, given as (name, text); a bad object costs only itself. `formulas`: an
    EC2NodeClass may have expressions in its kubelet block."""
    found = Found(formulas=formulas)
    for filename, text in files:
        for document in documents.read(text, filename):
            if isinstance(document, BadField):
                found.problems.append(document)
                continue
            try:
                take(found, fields(document.value))
            except BadInput as problem:
                found.problems.append(placed(problem, document))
    return finished(found)


def placed(problem: BadInput, document: Document) -> BadField:
    """A problem with the file and the object it stands in."""
    name = documents.name_of(document.value)
    outer = (*document.place, *((name,) if name else ()))
    return dotted(problem, *outer) if isinstance(problem, BadField) else BadValue(str(problem)).at(*outer)


def finished(found: Found) -> Manifests:
    return Manifests(
        pools=tuple(_with_class(one, found.node_classes) for one in found.pools.values()),
        overrides=tuple(found.overrides.values()),
        overlays=tuple(found.overlays.values()),
        node_classes=found.node_classes,
        skipped=tuple(found.skipped),
        problems=tuple(found.problems),
    )


def take(found: Found, wire: Fields) -> None:
    """Read one object; a kind the catalog has no use for is only remembered by name."""
    kind, version = wire.required("kind"), wire.required("apiVersion")
    group = version.partition("/")[0]
    expected = _VERSIONS.get(kind) if group == _CORE_GROUP else None
    if expected is None and not kind.endswith(_NODE_CLASS):
        found.skipped.append(kind)
        return
    if expected is not None and version != expected:
        raise wire.bad("apiVersion", f"{version[:60]!r} is not read; use {expected}")
    name = wire.map("metadata").required("name")
    match kind:
        case instance_types.KIND:
            override = instance_types.read(wire, name)
            _add(found.overrides, wire, override.name, override)
        case node_overlays.KIND:
            _add(found.overlays, wire, name, node_overlays.read(wire, name))
        case node_pools.KIND:
            _add(found.pools, wire, name, node_pools.read(wire, name))
        case _:
            kubelet = node_pools.read_node_class(wire, formulas=found.formulas)
            if kubelet is not None:
                _add(found.node_classes, wire, NodeClassRef(group, kind, name), kubelet)


def _add(known: dict[K, V], wire: Fields, key: K, value: V) -> None:
    if key in known:
        raise wire.bad("metadata.name", "another object of this kind and name was read before; keep one")
    known[key] = value


def _with_class(one: PoolRead, classes: Mapping[NodeClassRef, KubeletSettings]) -> NodePool:
    """A pool's own kubelet block counts whole; else that of its node class."""
    kubelet = classes.get(one.pool.node_class)
    return one.pool if one.own_kubelet or kubelet is None else replace(one.pool, kubelet=kubelet)
