"""What is asked of the API server, as values: the request, how urgent it is, and whether it may be made twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.kube.errors import Invalid
from dovetail.kube.fairness import Level

_READING: Final = frozenset({"get", "list", "watch"})
#: Verbs about many objects, or one that has no name yet. For any other, no name would mean all there are.
_NAMELESS: Final = frozenset({"list", "watch", "create", "deletecollection"})


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked. `total` and `silence` are seconds: for all of one attempt, and between two reads of it."""

    verb: str
    method: str
    path: str
    asked: str
    level: Level
    flow: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    content_type: str = "application/json"
    repeatable: bool = False
    total: float | None = 60.0
    silence: float = 60.0


def call_for(verb: str, method: str, kind: Kind, where: tuple[str, str], *, subresource: str = "", **more: Any) -> Call:
    """`where` is namespace and name, either of them empty."""
    namespace, name = where
    asked = asked_of(verb, kind, namespace, name)
    for part in where:
        # A slash or a dot-dot would lead to another object than the one named.
        if "/" in part or "%" in part or part in (".", ".."):
            raise Invalid(f"{asked}: {part!r} cannot be a name")
    if not name and verb not in _NAMELESS:
        raise Invalid(f"{asked}: the name is missing")
    if kind.namespaced and not namespace and (name or verb == "create"):
        raise Invalid(f"{asked}: the namespace is missing")
    path = kind.path(name, namespace, subresource)
    return Call(verb, method, path, asked, level_of(verb, kind), str(kind), **more)


def level_of(verb: str, kind: Kind) -> Level:
    if kind == kinds.LEASES:
        return Level.LEASES
    if verb in _READING:
        return Level.READS
    return Level.EVENTS if kind == kinds.CORE_EVENTS else Level.WRITES


def asked_of(verb: str, kind: Kind, namespace: str, name: str) -> str:
    """What is asked, to begin a sentence with: `get pods default/web`."""
    return f"{verb} {kind} {namespace}{'/' if namespace and name else ''}{name}".rstrip()


def delete_options(uid: str, resource_version: str, grace: int | None, propagation: str) -> bytes:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if uid or resource_version:
        named = {"uid": uid, "resourceVersion": resource_version}
        options["preconditions"] = {name: value for name, value in named.items() if value}
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    if propagation:
        options["propagationPolicy"] = propagation
    return msgspec.json.encode(options)
