"""Taints and tolerations on the wire."""

from __future__ import annotations

from typing import Final

from dovetail.api.fields import Fields, shown
from dovetail.core import labels
from dovetail.core.errors import BadInput
from dovetail.core.taints import Effect, Taint, Toleration, TolerationOperator

_NUMERIC: Final = frozenset({TolerationOperator.GT, TolerationOperator.LT})


def read_taints(parent: Fields, name: str) -> tuple[Taint, ...]:
    """A list of taints; when one was put on is nobody's concern here."""
    return tuple(_taint(one) for one in parent.items(name))


def _taint(entry: Fields) -> Taint:
    key = entry.required("key")
    try:
        labels.check_key(key)
    except BadInput as problem:
        raise entry.bad("key", str(problem)) from None
    return Taint(key, _effect(entry, entry.required("effect")), entry.text("value") or "")


def _effect(entry: Fields, text: str) -> Effect:
    try:
        return Effect(text)
    except ValueError:
        raise entry.bad("effect", f"{shown(text)} is no effect; use one of {', '.join(Effect)}") from None


def read_tolerations(parent: Fields, name: str) -> tuple[Toleration, ...]:
    return tuple(_toleration(one) for one in parent.items(name))


def _toleration(entry: Fields) -> Toleration:
    text = entry.text("operator") or TolerationOperator.EQUAL
    try:
        operator = TolerationOperator(text)
    except ValueError:
        choices = ", ".join(TolerationOperator)
        raise entry.bad("operator", f"{shown(text)} is no operator; use one of {choices}") from None
    key, value, effect = entry.text("key") or "", entry.text("value") or "", entry.text("effect")
    if not key and operator is not TolerationOperator.EXISTS:
        raise entry.bad("operator", "must be Exists where no key is named, which tolerates every taint")
    if operator is TolerationOperator.EXISTS and value:
        raise entry.bad("value", "must be empty with the operator Exists, which takes any value")
    return Toleration(key, operator, value, _effect(entry, effect) if effect else None)
