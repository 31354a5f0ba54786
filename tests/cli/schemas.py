"""What the documented JSON schemas promise, checked."""

from __future__ import annotations


def conforms(value: object, schema: dict, root: dict | None = None, at: str = "$") -> None:
    """A validator for as much of JSON Schema as ours use; `root` holds the definitions."""
    root = schema if root is None else root
    if "$ref" in schema:
        conforms(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, at)
    if "enum" in schema:
        assert value in schema["enum"], f"{at}: {value!r}"
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    assert not wanted or any(isinstance(value, kinds[one]) for one in wanted), f"{at}: {value!r} is none of {wanted}"
    assert not wanted or "boolean" in wanted or not isinstance(value, bool), f"{at}: {value!r}"
    if isinstance(value, list):
        for number, one in enumerate(value):
            conforms(one, schema.get("items", {}), root, f"{at}[{number}]")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        rest = schema.get("additionalProperties", {})
        assert set(schema.get("required", ())) <= value.keys(), at
        for key, one in value.items():
            assert key in known or rest is not False, f"{at}.{key} is not in the schema"
            conforms(one, known.get(key, rest if isinstance(rest, dict) else {}), root, f"{at}.{key}")
