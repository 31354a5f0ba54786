"""From structs to schemas: what the walk makes of each annotation, and what holds of every definition we ship."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import msgspec
import pytest

from dovetail.api.crds import every
from dovetail.api.crds.openapi import schema_of
from dovetail.api.crds.parts import Quantity
from dovetail.api.crds.schema import ATOMIC_LIST, BY_TYPE, Filled, Int32, Limits, Required, Rule, Wire

SHIPPED = pytest.mark.parametrize("definition", [*every.DEFINITIONS, *every.CLUSTER_API], ids=lambda one: one.kind.name)
#: What an API server accepts as one expression, and one message.
LONGEST_MESSAGE = 2048


class Inner(Wire, frozen=True):
    """Something inside."""

    size: Int32 = 3


class Outer(Wire, frozen=True):
    long_name: Annotated[str, Limits(max_length=5, pattern="^a"), "What it is called."]
    maybe: Annotated[int | None, Limits(minimum=1)] = None
    filled: Annotated[str, Required()] = "x"
    empty: str = ""
    inner: Annotated[Inner, Filled({"size": 4}), Rule("self.size > 0", "size must be positive")] = Inner()
    many: Annotated[tuple[Inner, ...], ATOMIC_LIST, Limits(max_items=2)] = ()
    marks: dict[str, str] = msgspec.field(default_factory=dict)
    amounts: dict[str, Quantity] = msgspec.field(default_factory=dict)
    since: datetime | None = None
    odd_id: str = msgspec.field(default="", name="oddID")


def properties() -> dict[str, Any]:
    return schema_of(Outer)["properties"]


def test_a_field_without_a_default_is_required_and_so_is_one_that_says_so():
    assert schema_of(Outer)["required"] == ["filled", "longName"]


def test_names_are_those_of_the_wire_in_order():
    names = "amounts empty filled inner longName many marks maybe oddID since"
    assert list(properties()) == names.split()


def test_limits_and_the_description_stand_beside_the_type():
    assert properties()["longName"] == {
        "type": "string",
        "maxLength": 5,
        "pattern": "^a",
        "description": "What it is called.",
    }
    assert properties()["maybe"] == {"type": "integer", "minimum": 1}
    assert properties()["since"] == {"type": "string", "format": "date-time"}


def test_a_plain_default_is_the_servers_and_an_empty_one_is_none():
    assert properties()["filled"]["default"] == "x"
    assert "default" not in properties()["empty"]
    assert properties()["inner"]["default"] == {"size": 4}


def test_rules_keep_their_message():
    assert properties()["inner"]["x-kubernetes-validations"] == [
        {"rule": "self.size > 0", "message": "size must be positive"}
    ]


def test_lists_and_maps_describe_what_is_in_them():
    many = properties()["many"]
    assert (many["type"], many["maxItems"], many["x-kubernetes-list-type"]) == ("array", 2, "atomic")
    assert many["items"]["properties"]["size"] == {"type": "integer", "format": "int32", "default": 3}
    assert properties()["marks"] == {"type": "object", "additionalProperties": {"type": "string"}}
    assert properties()["amounts"]["additionalProperties"]["x-kubernetes-int-or-string"] is True


def test_a_list_by_key_names_the_key():
    found = schema_of(Annotated[tuple[Inner, ...], BY_TYPE])
    assert found["x-kubernetes-list-map-keys"] == ["type"]
    assert found["x-kubernetes-list-type"] == "map"


def test_a_type_no_schema_has_is_refused():
    with pytest.raises(TypeError, match="no place in a schema"):
        schema_of(float)


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside a schema, with its path."""
    yield path, schema
    for name, one in schema.get("properties", {}).items():
        yield from nodes(one, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from nodes(schema[name], f"{path}[]")


def root(definition: Any) -> dict[str, Any]:
    return definition.manifest()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


@SHIPPED
def test_every_value_has_one_type(definition):
    for path, schema in nodes(root(definition)):
        assert ("type" in schema) != ("x-kubernetes-int-or-string" in schema), path
        assert not ("properties" in schema and "additionalProperties" in schema), path


@SHIPPED
def test_every_field_says_what_it_is(definition):
    for path, schema in nodes(root(definition)):
        assert path.endswith("[]") or path in (".apiVersion", ".kind", ".metadata") or schema.get("description"), path


@SHIPPED
def test_every_rule_has_a_message_that_names_its_field(definition):
    for path, schema in nodes(root(definition)):
        names = {*re.findall(r"\w+", path), *schema.get("properties", {})}
        for rule in schema.get("x-kubernetes-validations", []):
            words = set(re.findall(r"\w+", rule["message"]))
            assert words & names or words & {"requirement", "label", "metadata"}, (path, rule["message"])
            assert len(rule["message"]) <= LONGEST_MESSAGE


@SHIPPED
def test_required_fields_exist_and_defaults_satisfy_their_own_schema(definition):
    for path, schema in nodes(root(definition)):
        assert set(schema.get("required", ())) <= set(schema.get("properties", ())), path
        default = schema.get("default")
        if isinstance(default, str):
            assert re.search(schema.get("pattern", ""), default), path
            assert default in schema.get("enum", [default]), path


@SHIPPED
def test_the_definition_is_served_under_its_kinds_name(definition):
    wire = definition.manifest()
    assert wire["metadata"]["name"] == f"{definition.kind.plural}.{definition.kind.group}"
    assert wire["spec"]["scope"] == ("Namespaced" if definition.kind.namespaced else "Cluster")
    (version,) = wire["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == (definition.kind.version, True, True)
    assert "status" in version["subresources"]


def test_a_pool_can_be_scaled():
    (version,) = every.CORE[0].manifest()["spec"]["versions"]
    assert version["subresources"]["scale"] == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.nodes",
    }
