"""`requirements` lists and label maps on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail.api.fields import Fields, kind_of, shown
from dovetail.core import labels
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.requirements import NUMERIC, Operator, Requirement, Requirements, requirement

MAX_REQUIREMENTS: Final = 100
_MAX_MIN_VALUES: Final = 50


def read(parent: Fields, name: str, *, min_values: bool, pool_key: bool) -> Requirements:
    """A list of requirements.

    `min_values` says whether the object may ask for flexibility, `pool_key` whether it may speak of
    karpenter.sh/nodepool.
    """
    entries = parent.items(name)
    if len(entries) > MAX_REQUIREMENTS:
        raise parent.bad(name, f"has {len(entries)} entries; at most {MAX_REQUIREMENTS} are allowed")
    return Requirements(_one(entry, min_values, pool_key) for entry in entries)


def _one(entry: Fields, min_values: bool, pool_key: bool) -> Requirement:
    entry.only(("key", "operator", "values", "minValues") if min_values else ("key", "operator", "values"))
    key = entry.required("key")
    check_selectable(key, pool_key, *entry.path, "key")
    operator = _operator(entry)
    values = tuple(_values(entry, operator))
    # A pool may exclude nothing, as its schema lets it; an overlay may not.
    if not values and (operator is Operator.IN or (operator is Operator.NOT_IN and not min_values)):
        raise entry.bad("values", f"{operator} needs at least one value")
    if operator in NUMERIC and any(value.startswith("-") for value in values):
        raise entry.bad("values", f"{shown(values[0])} is negative; {operator} takes a whole number, 0 or more")
    if operator is Operator.IN:
        check_known(entry, key, values)
    least = entry.whole("minValues", 1, _MAX_MIN_VALUES)
    known = labels.VALUED.get(labels.canonical(key))
    listed = set(values) if known is None else known.of(values)
    if least is not None and operator is Operator.IN and len(listed) < least:
        raise entry.bad("minValues", f"asks for {least} values, but only {len(listed)} are listed")
    try:
        return requirement(key, operator, values, least)
    except BadInput as problem:
        raise entry.bad("values", str(problem)) from None


def _operator(entry: Fields) -> Operator:
    text = entry.required("operator")
    try:
        return Operator(text)
    except ValueError:
        raise entry.bad("operator", f"{shown(text)} is not an operator; use one of {', '.join(Operator)}") from None


def _values(entry: Fields, operator: Operator) -> Iterator[str]:
    found = entry.wire.get("values")
    if found is None:
        return
    if not isinstance(found, list | tuple):
        raise entry.bad("values", f"expected a list, got {kind_of(found)}")
    for at, value in enumerate(found):
        place = f"values[{at}]"
        if not isinstance(value, str):
            raise entry.bad(place, f"expected text, got {kind_of(value)}; put it in quotes")
        if operator not in NUMERIC:
            try:
                labels.check_value(value)
            except BadInput as problem:
                raise entry.bad(place, str(problem)) from None
        yield value


def check_known(entry: Fields, key: str, values: tuple[str, ...]) -> None:
    """Refuse a list in which no value is one that its key can have."""
    known = labels.VALUED.get(labels.canonical(key))
    if known is not None and not known.of(values):
        raise entry.bad("values", f"none of them is a {known.noun}; {known.hint}")


def check_selectable(key: str, pool_key: bool, *path: str) -> None:
    """Refuse a key that is none, or that users may not set."""
    try:
        labels.check_key(key)
    except BadInput as problem:
        raise BadValue(str(problem)).at(*path) from None
    if labels.is_restricted(key) or (key == labels.NODEPOOL and not pool_key):
        raise BadValue(f"{key} is not for users to set").at(*path)
