"""`kubectl get`: objects as rows, with the columns people know."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from dovetail.apiserver import columns, jsonpath
from dovetail.apiserver.columns import Column
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.storage import Object

_DESCRIPTION: Final = {"Name": "Name must be unique within a namespace."}


def partial(obj: Object) -> Object:
    """An object's metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def table(resource: Resource, objects: Sequence[Object], metadata: dict[str, Any], include: str = "Metadata") -> Object:
    """A `Table` of objects; `include` says how much of each goes with its row."""
    now = datetime.now(UTC)
    shown = _custom(resource) if resource.definition else columns.BUILTIN.get(resource.kind, columns.PLAIN)
    rows = []
    for obj in objects:
        row: dict[str, Any] = {"cells": [column.cell(obj, now) for column in shown]}
        match include:
            case "None":
                row["object"] = None
            case "Object":
                row["object"] = obj
            case _:
                row["object"] = partial(obj)
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [_defined(column) for column in shown],
        "rows": rows,
    }


def _defined(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column.name == "Name" else column.format,
        "description": column.description or _DESCRIPTION.get(column.name, ""),
        "priority": column.priority,
    }


def _custom(resource: Resource) -> tuple[Column, ...]:
    """A custom kind's columns: its name, then what its definition lists."""
    assert resource.definition is not None
    return (columns.NAME, *(_custom_column(one) for one in resource.definition.columns))


def _custom_column(wanted: dict[str, Any]) -> Column:
    path, kind = wanted["jsonPath"], wanted.get("type", "string")

    def cell(obj: Object, now: datetime) -> Any:
        found = jsonpath.find(path, obj)
        if not found:
            return None
        if kind == "date":
            return columns.age(found[0], now)
        if kind in ("integer", "number", "boolean"):
            return found[0]
        return ",".join(_text(one) for one in found)

    shown = "string" if kind == "date" else kind
    described = wanted.get("description") or ""
    return Column(wanted["name"], cell, shown, wanted.get("priority", 0), described, wanted.get("format", ""))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else columns.compact(value)
