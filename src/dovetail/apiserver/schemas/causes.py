"""Why an object is refused, in the words of a real API server.

Programs compare these texts, and people search for them, so they are built the way Kubernetes builds them: the kind of
fault, the value it was found in as Go would print it, and a detail.
"""

from __future__ import annotations

import math
import re
from typing import Final

import msgspec

from dovetail.apiserver.errors import Cause

INVALID: Final = "FieldValueInvalid"
REQUIRED: Final = "FieldValueRequired"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
DUPLICATE: Final = "FieldValueDuplicate"
FORBIDDEN: Final = "FieldValueForbidden"

#: Faults after which a real server no longer runs CEL rules: they could not rely on the object's form.
BLOCKING: Final = frozenset({NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID})

#: How Kubernetes prints a path it does not have.
NOWHERE: Final = "<nil>"


def invalid(field: str, value: object, detail: str) -> Cause:
    return Cause(field, INVALID, f"Invalid value: {go_value(value)}: {detail}")


def invalid_whole(field: str, detail: str) -> Cause:
    """An object or a list that breaks a rule; it is not printed."""
    return Cause(field, INVALID, f"Invalid value: {detail}")


def wrong_type(field: str, expected: str, found: str) -> Cause:
    detail = f"{field} in body must be of type {expected}: {go_quote(found)}"
    return Cause(field, TYPE_INVALID, f"Invalid value: {go_quote(found)}: {detail}")


def required(field: str, detail: str = "") -> Cause:
    return Cause(field, REQUIRED, f"Required value: {detail}" if detail else "Required value")


def forbidden(field: str, detail: str) -> Cause:
    return Cause(field, FORBIDDEN, f"Forbidden: {detail}" if detail else "Forbidden")


def duplicate(field: str, value: object) -> Cause:
    return Cause(field, DUPLICATE, f"Duplicate value: {go_value(value)}")


def not_supported(field: str, value: object, allowed: tuple[object, ...]) -> Cause:
    texts = [one if isinstance(one, str) else _json(one) for one in allowed]
    detail = f": supported values: {', '.join(go_quote(one) for one in texts)}" if texts else ""
    return Cause(field, NOT_SUPPORTED, f"Unsupported value: {go_value(value)}{detail}")


def too_long(field: str, limit: int) -> Cause:
    return Cause(field, TOO_LONG, f"Too long: may not be more than {limit} {'byte' if limit == 1 else 'bytes'}")


def too_many(field: str, count: int, limit: int) -> Cause:
    return Cause(field, TOO_MANY, f"Too many: {count}: must have at most {limit} {'item' if limit == 1 else 'items'}")


RULES_NOT_RUN: Final = Cause(
    NOWHERE,
    INVALID,
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def go_value(value: object) -> str:
    """A value as Kubernetes prints it in an error."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, int | float):
        return go_number(value)
    return _json(value)


def go_number(number: int | float) -> str:
    """A number as Go's %v prints it: the shortest digits that read back the same, an exponent only for extremes."""
    if isinstance(number, int):
        return str(number)
    if number == 0 or not math.isfinite(number):
        return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(str(number), "0")
    if 1e-4 <= abs(number) < 1e21:
        return str(int(number)) if number == int(number) else repr(number)
    digits, _, power = f"{number!r}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(power):+03d}" if power else repr(number)


_GO_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"}
_GO_ESCAPES_MORE: Final = _GO_ESCAPES | {"\f": "\\f", "\v": "\\v"}
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")


def go_quote(text: str) -> str:
    """A string as Go's %q prints it."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return '"' + "".join(_go_character(one) for one in text) + '"'


def _go_character(one: str) -> str:
    known = _GO_ESCAPES_MORE.get(one)
    if known is not None:
        return known
    if one.isprintable():
        return one
    code = ord(one)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json(value: object) -> str:
    """Compact JSON with sorted keys and with <, > and & escaped, as Go's encoder writes it."""
    text = msgspec.json.encode(value, order="sorted").decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
