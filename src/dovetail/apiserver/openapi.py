"""OpenAPI, as much as kubectl needs: which requests take `fieldValidation`, and what fields there are.

Built-in kinds are described by their fields' names and types, without the words the real server has for each.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from dovetail.apiserver import builtin_types, openapi_types
from dovetail.apiserver.discovery import VERSION
from dovetail.apiserver.resources import Registry, Resource
from dovetail.apiserver.storage import encode

_WRITES: Final = {"create": "post", "update": "put", "patch": "patch"}
_PARAMETERS: Final = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]


def index(registry: Registry) -> dict[str, Any]:
    """Where the document of each group and version is."""
    paths = {}
    for group, versions in registry.groups().items():
        for version, served in versions.items():
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            # A client may keep a document as long as its address stays the same.
            text = encode(document(group, version, served))
            digest = hashlib.sha256(text).hexdigest()[:32].upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def document(group: str, version: str, served: list[Resource]) -> dict[str, Any]:
    """The OpenAPI v3 document of one version of one group."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for resource in served:
        schemas[_name(resource)] = _schema(resource)
        message = builtin_types.message_of(resource.kind) if resource.definition is None else None
        for name, one in openapi_types.below(message).items() if message else ():
            schemas.setdefault(name, openapi_types.of_message(one))
        _add_paths(paths, resource)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
        "paths": paths,
        "components": {"schemas": schemas},
    }


#: The v2 document, in the only form clients ask for it: a protobuf message with nothing set is no bytes at all. The
#: name they ask for it by has an @ in it, which no media type may have; they expect it under this one.
OLD_MEDIA: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
OLD_DOCUMENT: Final = b""


def _name(resource: Resource) -> str:
    kind = resource.kind
    message = builtin_types.message_of(kind) if resource.definition is None else None
    if message is not None:
        return openapi_types.reference(message.name)
    return f"{'.'.join(reversed(kind.group.split('.')))}.{kind.version}.{kind.name}"


def _schema(resource: Resource) -> dict[str, Any]:
    kind = resource.kind
    named = [{"group": kind.group, "version": kind.version, "kind": kind.name}]
    text = {"type": "string"}
    known = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}}
    if resource.definition is None:
        message = builtin_types.message_of(kind)
        shown: dict[str, Any] = openapi_types.of_message(message) if message else {"type": "object"}
        shown = {**shown, "properties": {**(shown.get("properties") or {}), "apiVersion": text, "kind": text}}
    else:
        openapi = resource.definition.openapi
        shown = {**openapi, "properties": {**known, **(openapi.get("properties") or {})}}
    return shown | {"x-kubernetes-group-version-kind": named}


def _add_paths(paths: dict[str, Any], resource: Resource) -> None:
    kind = resource.kind
    within = "/namespaces/{namespace}" if kind.namespaced else ""
    many = f"{kind.root}{within}/{kind.plural}"
    shown = {"group": kind.group, "version": kind.version, "kind": kind.name}
    for verb, method in _WRITES.items():
        operation = {
            "x-kubernetes-action": verb,
            "x-kubernetes-group-version-kind": shown,
            "parameters": _PARAMETERS,
            "responses": {"200": {"description": "OK"}},
        }
        where = many if verb == "create" else f"{many}/{{name}}"
        paths.setdefault(where, {})[method] = operation
