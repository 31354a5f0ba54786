"""The drift hash, to the bit.

A fleet that changes over from Karpenter carries these numbers on its claims; were ours different, all of it would
drift that day. It is FNV-1, 64 bits, over the structure of the object: a struct folds in its kept fields one after
another, a map and a list are sums by xor, so their order does not matter (and two equal elements of a list cancel out,
a quirk that has to stay: it is the number that counts). Values that are zero in Go's sense are left out altogether,
except behind a pointer.

A value to be hashed is made of the classes below, which say what Go's types would: `Struct` with its type's name and
its fields in order, dict, list, text, `Int32`, `Int64`, bool, None for what is absent, and `Pointer` for a value that
counts though it is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core.nodepools import NodeClassRef
from dovetail.core.taints import Taint

VERSION: Final = "v3"
_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = 2**64 - 1
NANOSECONDS: Final = 10**9


@dataclass(frozen=True, slots=True)
class Int32:
    value: int


@dataclass(frozen=True, slots=True)
class Int64:
    value: int


@dataclass(frozen=True, slots=True)
class Pointer:
    """A value that was given, even if it is zero."""

    to: Hashed


@dataclass(frozen=True, slots=True)
class Struct:
    """A Go struct: its type's name and its fields, in the order of their declaration, ignored ones left out."""

    name: str
    fields: tuple[tuple[str, Hashed], ...]


Hashed = Struct | Pointer | Int32 | Int64 | str | bool | None | Mapping[str, "Hashed"] | Sequence["Hashed"]


def fnv(data: bytes) -> int:
    number = _OFFSET
    for byte in data:
        number = (number * _PRIME & _MASK) ^ byte
    return number


def _pair(first: int, second: int) -> int:
    return fnv(first.to_bytes(8, "little") + second.to_bytes(8, "little"))


def _finish(number: int) -> int:
    return fnv(number.to_bytes(8, "little"))


def hashed(value: Hashed) -> int:
    """The number of a value."""
    match value:
        case None:
            return 0
        case Pointer(to):
            return hashed(to)
        case bool():
            return fnv(b"\x01" if value else b"\x00")
        case str():
            return fnv(value.encode())
        case Int32(number):
            return fnv(number.to_bytes(4, "little", signed=True))
        case Int64(number):
            return fnv(number.to_bytes(8, "little", signed=True))
        case Struct():
            return _struct(value)
        case Mapping():
            return _finish(_xor(_pair(fnv(key.encode()), hashed(one)) for key, one in value.items()))
        case _:
            return _xor(hashed(one) for one in value)


def _struct(value: Struct) -> int:
    number = fnv(value.name.encode())
    for name, one in value.fields:
        if not _is_zero(one):
            number = _finish(number ^ _pair(fnv(name.encode()), hashed(one)))
    return number


def _is_zero(value: Hashed) -> bool:
    """Go's zero: absent, empty text, false, 0, or a struct of nothing but such. An empty list or map was given."""
    match value:
        case None | "" | False | Int32(0) | Int64(0):
            return True
        case Struct(_, fields):
            return all(_is_zero(one) for _, one in fields)
        case _:
            return False


def _xor(numbers: Iterable[int]) -> int:
    total = 0
    for number in numbers:
        total ^= number
    return total


@dataclass(frozen=True, slots=True)
class Template:
    """What of a NodePool's template its hash is taken over.

    None is a list or map that was not given, as against one that is empty. `grace` and `expire_after` are
    nanoseconds; None is not given, and for `expire_after` also Never.
    """

    node_class: NodeClassRef
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None
    taints: tuple[Taint, ...] | None = None
    startup_taints: tuple[Taint, ...] | None = None
    grace: int | None = None
    expire_after: int | None = None


def pool_hash(template: Template) -> str:
    """The value of the annotation karpenter.sh/nodepool-hash."""
    ref = template.node_class
    node_class = Struct("NodeClassReference", (("Kind", ref.kind), ("Name", ref.name), ("Group", ref.group)))
    grace = None if template.grace is None else Pointer(Struct("Duration", (("Duration", Int64(template.grace)),)))
    expiry = None if template.expire_after is None else Pointer(Int64(template.expire_after))
    spec = Struct(
        "NodeClaimTemplateSpec",
        (
            ("Taints", _taints(template.taints)),
            ("StartupTaints", _taints(template.startup_taints)),
            ("NodeClassRef", Pointer(node_class)),
            ("TerminationGracePeriod", grace),
            ("ExpireAfter", Struct("NillableDuration", (("Duration", expiry),))),
        ),
    )
    about = Struct("ObjectMeta", (("Labels", template.labels), ("Annotations", template.annotations)))
    return str(hashed(Struct("NodeClaimTemplate", (("ObjectMeta", about), ("Spec", spec)))))


def _taints(taints: tuple[Taint, ...] | None) -> list[Hashed] | None:
    if taints is None:
        return None
    return [Struct("Taint", (("Key", one.key), ("Value", one.value), ("Effect", str(one.effect)))) for one in taints]
