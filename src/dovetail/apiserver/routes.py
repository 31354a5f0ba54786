"""From a path to what it names: `/apis/apps/v1/namespaces/default/deployments/web/scale`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.apiserver.errors import nothing_served
from dovetail.apiserver.resources import Registry, Resource

_OF_NAMESPACES: Final = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Target:
    """A resource, and how far the path narrows it down."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def split(path: str) -> tuple[str, str, list[str]] | None:
    """The group, the version and the rest of a resource's path; None for a path of another kind."""
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        return "", parts[1], parts[2:]
    if len(parts) >= 4 and parts[0] == "apis":
        return parts[1], parts[2], parts[3:]
    return None


def target(registry: Registry, path: str) -> Target:
    """What a path names; 404 when nothing is served there."""
    found = split(path)
    if found is None:
        raise nothing_served()
    group, version, rest = found
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and not (len(rest) == 3 and rest[2] in _OF_NAMESPACES):
        namespace, rest = rest[1], rest[2:]
    resource = registry.find(group, version, rest[0])
    if resource is None or len(rest) > 3 or bool(namespace) > resource.kind.namespaced:
        raise nothing_served()
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource and subresource not in resource.subresources:
        raise nothing_served()
    if name and resource.kind.namespaced and not namespace:
        raise nothing_served()
    return Target(resource, namespace, name, subresource)
