"""Partial answers: `fields=nextPageToken,items/*/instances(name,zone)` leaves out everything else."""

from __future__ import annotations

from typing import Any

from tools.gcp_server.refusals import Refused

#: Names to what is chosen within; empty for everything.
Chosen = dict[str, "Chosen"]


def chosen(text: str) -> Chosen:
    """Raises Refused for what Google would not understand."""
    found, rest = _several(text)
    if rest:
        raise _odd(text)
    return found


def cut(value: Any, wanted: Chosen) -> Any:
    """What was chosen of a value; of a list, of each of its items."""
    if not wanted:
        return value
    if isinstance(value, list):
        return [cut(one, wanted) for one in value]
    if not isinstance(value, dict):
        return value
    every = wanted.get("*")
    held = {key: cut(one, wanted.get(key, every) or {}) for key, one in value.items() if key in wanted or "*" in wanted}
    return {key: one for key, one in held.items() if one != {}}


def _several(text: str) -> tuple[Chosen, str]:
    found: Chosen = {}
    while True:
        text = _path(text, found)
        if not text.startswith(","):
            return found, text
        text = text[1:]


def _path(text: str, into: Chosen) -> str:
    """One path, with what follows it left over; paths that begin alike are one."""
    end = next((at for at, one in enumerate(text) if one in "/(),"), len(text))
    name, rest = text[:end], text[end:]
    if not name:
        raise _odd(text)
    inner = into.setdefault(name, {})
    if rest.startswith("/"):
        return _path(rest[1:], inner)
    if rest.startswith("("):
        several, rest = _several(rest[1:])
        if not rest.startswith(")"):
            raise _odd(text)
        inner.update(several)
        return rest[1:]
    return rest


def _odd(text: str) -> Refused:
    return Refused(400, "invalidParameter", f"Invalid field selection {text}")
