"""The rules of CustomResourceDefinitions: whatever would keep a kind from being served."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from dovetail.apiserver import errors
from dovetail.apiserver.errors import Cause
from dovetail.apiserver.storage import Object

#: Schemas with any of these have fields nobody listed.
_OPEN: Final = ("additionalProperties", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
_FIELD_OF_SELF: Final = re.compile(r"(?<![\w.])self\.\??([A-Za-z_]\w*)(?!\s*\()")
_ESCAPES: Final = {"__dot__": ".", "__dash__": "-", "__slash__": "/", "__underscores__": "__"}


def causes(new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    names = spec.get("names") or {}
    for field, value in (("spec.group", spec.get("group")), ("spec.names.plural", names.get("plural"))):
        if not value:
            yield errors.required(field)
    if not names.get("kind"):
        yield errors.required("spec.names.kind")
    wanted = f"{names.get('plural')}.{spec.get('group')}"
    if new["metadata"].get("name") != wanted:
        yield errors.bad_value("metadata.name", new["metadata"].get("name"), 'must be spec.names.plural+"."+spec.group')
    if spec.get("scope") not in (known := ("Cluster", "Namespaced")):
        yield (
            errors.required("spec.scope")
            if not spec.get("scope")
            else errors.unsupported("spec.scope", spec["scope"], known)
        )
    yield from _versions(spec.get("versions") or ())
    if old is not None:
        yield from _fixed(old["spec"], spec)


def _versions(versions: Any) -> Iterator[Cause]:
    if sum(1 for one in versions if one.get("storage")) != 1:
        yield errors.bad_value(
            "spec.versions",
            [one.get("name") for one in versions],
            "must have exactly one version marked as storage version",
        )
    seen = set()
    for number, version in enumerate(versions):
        place = f"spec.versions[{number}]"
        if not version.get("name"):
            yield errors.required(f"{place}.name")
        elif version["name"] in seen:
            yield errors.duplicate(f"{place}.name", version["name"])
        seen.add(version.get("name"))
        scale = (version.get("subresources") or {}).get("scale")
        for name in ("specReplicasPath", "statusReplicasPath"):
            if scale is not None and not scale.get(name):
                yield errors.required(f"{place}.subresources.scale.{name}")
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield errors.required(f"{place}.schema.openAPIV3Schema", "schemas are required")
        elif version["schema"]["openAPIV3Schema"].get("type") != "object":
            yield errors.bad_value(
                f"{place}.schema.openAPIV3Schema.type",
                version["schema"]["openAPIV3Schema"].get("type") or "",
                "must be object at the root",
            )
        else:
            yield from _rules(f"{place}.schema.openAPIV3Schema", version["schema"]["openAPIV3Schema"])


def _rules(place: str, schema: Any) -> Iterator[Cause]:
    """Rules that ask for fields the schema does not have. Rules are not typed here; this mistake is the usual one."""
    if not isinstance(schema, dict):
        return
    known = schema.get("properties") or {}
    closed = known or schema.get("type") == "object"
    if closed and not any(schema.get(name) for name in _OPEN):
        reachable = {*known, "apiVersion", "kind", "metadata"}
        for number, one in enumerate(schema.get("x-kubernetes-validations") or ()):
            missing = [
                name for name in _FIELD_OF_SELF.findall(one.get("rule") or "") if _unescaped(name) not in reachable
            ]
            if missing:
                yield errors.bad_value(
                    f"{place}.x-kubernetes-validations[{number}].rule",
                    one["rule"],
                    f"compilation failed: undefined field '{missing[0]}'",
                )
    for name, child in known.items():
        yield from _rules(f"{place}.properties[{name}]", child)
    yield from _rules(f"{place}.items", schema.get("items"))


def _unescaped(name: str) -> str:
    for escape, sign in _ESCAPES.items():
        name = name.replace(escape, sign)
    return name.removeprefix("__").removesuffix("__") if name.startswith("__") else name


def _fixed(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Cause]:
    for field in ("group", "scope"):
        if old.get(field) != new.get(field):
            yield errors.bad_value(f"spec.{field}", new.get(field), "field is immutable")
    for field in ("plural", "kind"):
        if old["names"].get(field) != (new.get("names") or {}).get(field):
            yield errors.bad_value(f"spec.names.{field}", (new.get("names") or {}).get(field), "field is immutable")
