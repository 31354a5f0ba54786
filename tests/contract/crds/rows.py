"""Rows of the table: an object with one thing changed, and what a server must say to it.

A row changes a base object that is accepted, by dotted paths: `{"spec.weight": 0}`. What is refused names the field the
server must point at and a part of what it must say; what is accepted may name values the server must have filled in, or
(`GONE`) dropped.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.api.kinds import Kind

NAME: Final = "row"
GONE: Final = object()
Changes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One object put to a server. `before` is stored first; with `status`, the status alone is written."""

    about: str
    kind: Kind
    wire: dict[str, Any]
    where: str = ""
    says: str = ""
    filled: Changes = field(default_factory=dict)
    before: dict[str, Any] | None = None
    status: bool = False

    @property
    def refused(self) -> bool:
        return bool(self.says)

    def __str__(self) -> str:
        return f"{self.kind.name}: {self.about}"


def changed(wire: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """A copy with the changes made; what is GONE is left out."""
    made = copy.deepcopy(wire)
    for path, value in changes.items():
        *parents, name = path.split(".")
        inner = made
        for parent in parents:
            inner = inner.setdefault(parent, {})
        if value is GONE:
            inner.pop(name, None)
        else:
            inner[name] = copy.deepcopy(value)
    return made


def at(wire: Any, path: str) -> Any:
    """What stands at a path; GONE where nothing does. A number is an index."""
    for name in path.split("."):
        if isinstance(wire, list):
            wire = wire[int(name)]
        elif name in wire:
            wire = wire[name]
        else:
            return GONE
    return wire


class Table:
    """The rows of one kind. `about` of a row begins with the number its rule has in the contract, if it has one."""

    def __init__(self, kind: Kind, spec: Any) -> None:
        self.kind = kind
        self.rows: list[Row] = []
        self.base: dict[str, Any] = {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {"name": NAME, **({"namespace": "default"} if kind.namespaced else {})},
            "spec": spec,
        }

    def accepts(self, about: str, changes: Changes, filled: Changes | None = None) -> None:
        self.rows.append(Row(about, self.kind, changed(self.base, changes), filled=filled or {}))

    def refuses(self, about: str, changes: Changes, where: str, says: str) -> None:
        self.rows.append(Row(about, self.kind, changed(self.base, changes), where, says))

    def accepts_change(self, about: str, before: Changes, after: Changes) -> None:
        self._change(about, before, after, "", "")

    def refuses_change(self, about: str, before: Changes, after: Changes, where: str, says: str) -> None:
        self._change(about, before, after, where, says)

    def accepts_status(self, about: str, status: Any, filled: Changes | None = None) -> None:
        wire = self.base | {"status": status}
        self.rows.append(Row(about, self.kind, wire, filled=filled or {}, before=self.base, status=True))

    def refuses_status(self, about: str, status: Any, where: str, says: str) -> None:
        wire = self.base | {"status": status}
        self.rows.append(Row(about, self.kind, wire, where, says, before=self.base, status=True))

    def _change(self, about: str, before: Changes, after: Changes, where: str, says: str) -> None:
        first = changed(self.base, before)
        self.rows.append(Row(about, self.kind, changed(first, after), where, says, before=first))
