"""The table leaves nothing out: every constraint and every rule of every schema has a row that runs into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contract.crds.cases import TABLES
from tests.contract.crds.rows import Table

from dovetail.api.crds import every

#: What a server says when a keyword does not hold.
TOLD = {
    "pattern": "should match",
    "enum": "supported values",
    "minimum": "should be greater than or equal to",
    "maximum": "should be less than or equal to",
    "minLength": "chars long",
    "maxLength": "may not be more than",
    "minItems": "should have at least",
    "maxItems": "must have at most",
    "maxProperties": "must have at most",
    "format": "date-time",
}
Schema = dict[str, Any]


def root_of(table: Table) -> Schema:
    definition = next(one for one in (*every.DEFINITIONS, *every.CLUSTER_API) if one.kind == table.kind)
    return definition.manifest()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def walk(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, one in schema.get("properties", {}).items():
        yield from walk(one, f"{path}.{name}" if path else name)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from walk(schema[name], f"{path}[]")


def place(schema: Schema, where: str) -> str:
    """The path of the schema that judges a field: entries of lists and of maps are both `[]`."""
    if where == "<nil>":
        return ""
    path, left = "", re.sub(r"\[\d+\]", ".#", where)
    while left:
        if "additionalProperties" in schema:
            return f"{path}[]"  # the rest, dots and all, is the key
        name, _, left = left.partition(".")
        if name == "#":
            schema, path = schema["items"], f"{path}[]"
        else:
            schema, path = schema["properties"][name], f"{path}.{name}" if path else name
    return path


def refusals(table: Table) -> set[tuple[str, str]]:
    """(path, what was said) of everything the table expects to be refused."""
    root = root_of(table)
    return {(place(root, row.where), row.says) for row in table.rows if row.refused}


def of_each_table(argument: str) -> Any:
    return pytest.mark.parametrize(argument, TABLES, ids=lambda table: table.kind.name)


@of_each_table("table")
def test_every_rule_is_run_into(table):
    found = refusals(table)
    missed = [
        (path, rule["message"])
        for path, schema in walk(root_of(table))
        for rule in schema.get("x-kubernetes-validations", [])
        if not any(where == path and says in rule["message"] for where, says in found)
    ]
    assert missed == []


@of_each_table("table")
def test_every_constraint_of_a_field_is_run_into(table):
    found = refusals(table)
    missed = [
        (path, keyword)
        for path, schema in walk(root_of(table))
        for keyword, told in TOLD.items()
        if keyword in schema
        and not (keyword == "format" and schema["format"] != "date-time")
        and not any(where == path and (told in says or says in told) for where, says in found)
    ]
    assert missed == []


@of_each_table("table")
def test_every_required_field_is_left_out_once(table):
    found = refusals(table)
    missed = [
        f"{path}.{name}"
        for path, schema in walk(root_of(table))
        for name in schema.get("required", ())
        # What the server fills in cannot be missing.
        if "default" not in schema["properties"][name]
        and (f"{path}.{name}" if path else name, "Required value") not in found
    ]
    assert missed == []


@of_each_table("table")
def test_every_default_is_seen(table):
    paths = {re.sub(r"\.\d+(?=\.|$)", "[]", path) for row in table.rows for path in row.filled}
    for path, schema in walk(root_of(table)):
        if "default" in schema:
            assert any(path == seen or path.startswith(seen) or seen.startswith(path) for seen in paths), path
