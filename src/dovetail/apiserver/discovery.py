"""What a client learns before its first request: groups, versions, resources; in one document or in many."""

from __future__ import annotations

from typing import Any, Final

from dovetail.apiserver import reviews
from dovetail.apiserver.resources import ALL_VERBS, Registry, Resource

#: The version of Kubernetes whose ways are followed.
VERSION: Final = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0+dovetail",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "cpython",
    "platform": "any/any",
}
#: Subresources that are not the object itself: group, version and kind of what is sent.
_SPECIAL: Final = {
    "scale": ("autoscaling", "v1", "Scale"),
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
_CREATED: Final = ("binding", "eviction", "token")
_AGGREGATED: Final = "as=APIGroupDiscoveryList"


def wants_all(accept: str) -> str | None:
    """The content type to answer with when a client wants everything in one document; v2 only."""
    for wish in accept.split(","):
        if _AGGREGATED in wish and "v=v2;" in f"{wish.strip()};":
            return "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    return None


def core_versions(address: str) -> dict[str, Any]:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def groups(registry: Registry) -> dict[str, Any]:
    found = [group(registry, name) for name in _names(registry) if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [one for one in found if one]}


def group(registry: Registry, name: str) -> dict[str, Any] | None:
    versions = [{"groupVersion": f"{name}/{one}", "version": one} for one in _versions(registry, name)]
    if not versions:
        return None
    shown = {"name": name, "versions": versions, "preferredVersion": versions[0]}
    return {"kind": "APIGroup", "apiVersion": "v1", **shown}


def resources(registry: Registry, name: str, version: str) -> dict[str, Any] | None:
    """The resources of one version of one group."""
    if version not in _versions(registry, name):
        return None
    served = registry.groups().get(name, {}).get(version, [])
    listed = [one for resource in served for one in _listed(resource)]
    listed += reviews.listed(name, version)
    full = f"{name}/{version}" if name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": full, "resources": listed}


def aggregated(registry: Registry, *, core: bool) -> dict[str, Any]:
    """Everything at once (apidiscovery.k8s.io/v2)."""
    names = [""] if core else [name for name in _names(registry) if name]
    items = []
    for name in names:
        versions = []
        for version in _versions(registry, name):
            served = registry.groups().get(name, {}).get(version, [])
            shown = [_aggregated(resource) for resource in served]
            shown += reviews.aggregated(name, version)
            versions.append({"version": version, "resources": shown, "freshness": "Current"})
        items.append({"metadata": {"name": name} if name else {}, "versions": versions})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _names(registry: Registry) -> list[str]:
    return list(dict.fromkeys((*registry.groups(), *reviews.GROUPS)))


def _versions(registry: Registry, name: str) -> list[str]:
    """A group's versions, the one clients should prefer first: v1 before v1beta1 before v1alpha1."""
    found = {*registry.groups().get(name, {}), *(("v1",) if name in reviews.GROUPS else ())}
    return sorted(found, key=lambda version: ("beta" in version or "alpha" in version, "alpha" in version, version))


def _listed(resource: Resource) -> list[dict[str, Any]]:
    kind = resource.kind
    main: dict[str, Any] = {
        "name": kind.plural,
        "singularName": resource.singular,
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": list(ALL_VERBS),
        "storageVersionHash": "",
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    below = []
    for name in resource.subresources:
        one: dict[str, Any] = {
            "name": f"{kind.plural}/{name}",
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": _SPECIAL[name][2] if name in _SPECIAL else kind.name,
            "verbs": _verbs(name),
        }
        if name in _SPECIAL:
            one |= {"group": _SPECIAL[name][0], "version": _SPECIAL[name][1]}
        below.append(one)
    return [main, *below]


def _verbs(subresource: str) -> list[str]:
    if subresource in _CREATED:
        return ["create"]
    return ["update"] if subresource == "finalize" else ["get"] if subresource == "log" else ["get", "patch", "update"]


def _aggregated(resource: Resource) -> dict[str, Any]:
    kind = resource.kind
    found: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.name},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(ALL_VERBS),
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
    }
    found["subresources"] = [
        {
            "subresource": name,
            "responseKind": dict(
                zip(
                    ("group", "version", "kind"),
                    _SPECIAL.get(name, (kind.group, kind.version, kind.name)),
                    strict=True,
                )
            ),
            "verbs": _verbs(name),
        }
        for name in resource.subresources
    ]
    return {name: value for name, value in found.items() if value not in ([], ())}
