"""InstanceType (karpenter.sh/v1alpha1): what a user knows about a type better than its cloud (S2.1–S2.5)."""

from __future__ import annotations

from typing import Final

from dovetail.api.fields import Fields, kind_of
from dovetail.core import labels, resources
from dovetail.core.catalog.overrides import Override, OverrideRow
from dovetail.core.catalog.prices import parse_amount
from dovetail.core.errors import BadInput

KIND: Final = "InstanceType"
API_VERSION: Final = "karpenter.sh/v1alpha1"


def read(wire: Fields, name: str) -> Override:
    wire.only(("apiVersion", "kind", "metadata", "spec", "status"))
    spec = wire.map("spec").only(("instanceType", "resources", "overhead", "offerings"))
    return Override(
        name=_type_name(wire, spec, name),
        resources=resources.parse(spec.wire.get("resources"), "spec", "resources"),
        overhead=resources.parse(spec.wire.get("overhead"), "spec", "overhead") if spec.has("overhead") else None,
        rows=tuple(_row(entry) for entry in spec.items("offerings")) if spec.has("offerings") else None,
    )


def _type_name(wire: Fields, spec: Fields, name: str) -> str:
    """The type's name: the object's, or the one in the spec where no object can be called so (`Standard_D4s_v5`)."""
    given = spec.text("instanceType")
    try:
        labels.check_value(given or name)
    except BadInput as problem:
        raise (spec.bad("instanceType", str(problem)) if given else wire.bad("metadata.name", str(problem))) from None
    return given or name


def _row(entry: Fields) -> OverrideRow:
    """One entry: a value per label (S2.4)."""
    pairs: dict[str, str] = {}
    amount = None
    for key in entry.wire:
        if key == labels.PRICE:
            amount = _price(entry)
            continue
        _check_key(entry, key)
        value = _value(entry, key)
        canonical = labels.canonical(key)
        if pairs.setdefault(canonical, value) != value:
            raise entry.bad(key, f"is another name of {canonical}, which has another value here; keep one")
    return OverrideRow(tuple(sorted(pairs.items())), amount)


def _price(entry: Fields) -> int:
    value = entry.wire[labels.PRICE]
    _refuse_several(entry, labels.PRICE, value)
    try:
        return parse_amount(value)
    except BadInput as problem:
        raise entry.bad(labels.PRICE, str(problem)) from None


def _check_key(entry: Fields, key: str) -> None:
    try:
        labels.check_key(key)
    except BadInput as problem:
        raise entry.bad(key, str(problem)) from None
    if labels.is_restricted(key):
        known = ", ".join((labels.CAPACITY_TYPE, labels.PRICE, labels.NODEPOOL))
        raise entry.bad(key, f"unknown key; of the reserved domain an offering may use {known}")


def _value(entry: Fields, key: str) -> str:
    value = entry.wire[key]
    _refuse_several(entry, key, value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise entry.bad(key, f"expected text, got {kind_of(value)}; put it in quotes")
    try:
        labels.check_value(value)
    except BadInput as problem:
        raise entry.bad(key, str(problem)) from None
    if key == labels.CAPACITY_TYPE and value not in labels.CAPACITY_TYPES:
        raise entry.bad(key, f"{value!r} is no capacity type; use one of {', '.join(labels.CAPACITY_TYPES)}")
    return value


def _refuse_several(entry: Fields, key: str, value: object) -> None:
    if isinstance(value, list | tuple | dict):
        raise entry.bad(key, "has several values; an offering has one for each label, so write an offering for each")
