"""EC2's answers as XML, written from botocore's model of them.

moto's own serializer asks each object for each field the model knows, which takes seconds for all instance types. This
one goes the other way, from the answer to the model, and so also checks it: a field the model does not have, or of
another type, is `WrongAnswer`, and fails the test that met it.
"""

from __future__ import annotations

import datetime as dt
from typing import Any
from xml.sax.saxutils import escape

from moto.core.utils import get_service_model


class WrongAnswer(AssertionError):
    """An answer that EC2 could not have given."""


def ec2_answer(operation: str, answer: dict[str, Any]) -> str:
    shape = get_service_model("ec2").operation_model(operation).output_shape
    out: list[str] = [f'<{operation}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>']
    if shape is not None:
        _structure(shape, answer, out, operation)
    out.append(f"</{operation}Response>")
    return "".join(out)


def instant(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def _structure(shape: Any, value: Any, out: list[str], path: str) -> None:
    if not hasattr(value, "items"):
        raise WrongAnswer(f"{path} is a structure, not {value!r}")
    for key, one in value.items():
        if one is None:
            continue
        member = shape.members.get(key)
        if member is None:
            raise WrongAnswer(f"{path} has no {key}")
        tag = member.serialization.get("name", key)
        out.append(f"<{tag}>")
        _value(member, one, out, f"{path}.{key}")
        out.append(f"</{tag}>")


def _value(shape: Any, value: Any, out: list[str], path: str) -> None:
    kind = shape.type_name
    if kind == "structure":
        _structure(shape, value, out, path)
    elif kind == "list":
        tag = shape.member.serialization.get("name", "item")
        for one in value:
            out.append(f"<{tag}>")
            _value(shape.member, one, out, f"{path}[]")
            out.append(f"</{tag}>")
    else:
        out.append(escape(_text(kind, value, path)))


def _text(kind: str, value: Any, path: str) -> str:
    match kind, value:
        case "boolean", bool():
            return "true" if value else "false"
        case (("integer" | "long"), int()) if not isinstance(value, bool):
            return str(value)
        case (("float" | "double"), int() | float()) if not isinstance(value, bool):
            return repr(value)
        case "string", str():
            return value
        case "timestamp", dt.datetime():
            return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    raise WrongAnswer(f"{path} is a {kind}, not {value!r}")
