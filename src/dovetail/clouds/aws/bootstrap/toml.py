"""Tables as TOML: what `tomllib` reads, written. Keys are sorted, so equal settings are equal texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def written(table: Mapping[str, Any]) -> str:
    return "\n".join(_lines(table, ())).lstrip("\n") + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    tables = {key: value for key, value in sorted(table.items()) if isinstance(value, Mapping)}
    plain = [(key, value) for key, value in sorted(table.items()) if key not in tables]
    if path and (plain or not tables):
        yield f"\n[{'.'.join(map(_key, path))}]"
    for key, value in plain:
        yield f"{_key(key)} = {_value(value)}"
    for key, value in tables.items():
        yield from _lines(value, (*path, key))


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else _text(text)


def _text(text: str) -> str:
    """A JSON string is a TOML string, but for one character that TOML does not let stand."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _text(value)
        case int() | float():
            return repr(value)
        case datetime() | date() | time():
            return value.isoformat()
        case Mapping():
            return "{" + ", ".join(f"{_key(key)} = {_value(one)}" for key, one in sorted(value.items())) + "}"
        case Sequence():
            return "[" + ", ".join(map(_value, value)) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} has no form in TOML")
