"""One compiled schema and the three things a server does with it: prune, fill in defaults, validate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.apiserver.errors import Cause
from dovetail.apiserver.schemas import causes, list_types, rules, shaping, values
from dovetail.apiserver.schemas.nodes import MISSING, Node, node_of


class Schema:
    """The schema of one version of one kind. Not for several threads at once: rules share contexts."""

    __slots__ = ("_root",)

    def __init__(self, root: Node) -> None:
        self._root = root

    def prune(self, obj: dict[str, Any]) -> list[str]:
        """Remove, in place, what the schema does not know; returns the paths of what went."""
        gone: list[str] = []
        shaping.prune(self._root, obj, "", gone, resource=True)
        return gone

    def default(self, obj: dict[str, Any]) -> None:
        """Drop, in place, nulls that are no values; then fill in defaults."""
        shaping.drop_nulls(self._root, obj)
        shaping.fill_in(self._root, obj)

    def validate(self, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[Cause]:
        """Everything wrong with an object, or with its change from `old`; nothing means it is accepted."""
        found: list[Cause] = []
        before = MISSING if old is None else old
        values.check(self._root, obj, "", before, found)
        if old is None or not self._list_faults(old):
            found += self._list_faults(obj)
        if not self._root.has_rules:
            return found
        if any(one.reason in causes.BLOCKING for one in found):
            return [*found, causes.RULES_NOT_RUN]
        return found + rules.check(self._root, obj, "", before, False)

    def _list_faults(self, obj: dict[str, Any]) -> list[Cause]:
        found: list[Cause] = []
        list_types.check(self._root, obj, "", found)
        return found


def compile_schema(schema: Mapping[str, Any]) -> Schema:
    """Compile an `openAPIV3Schema`; a `BadInput` says what in it cannot be used, and where."""
    root = node_of(schema)
    rules.attach(root, root=True)
    return Schema(root)
