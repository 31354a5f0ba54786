"""Requirements: sets of label values, closed under intersection.

One requirement is the set of states one label may be in: any of its *values*, or *absent*. Every Kubernetes
operator is such a set, and two constraints on one key are their intersection:

    In a b          {a, b}                       DoesNotExist   {absent}
    NotIn a         everything but a, or absent  Exists         everything
    Gt n, Gte n     integers from a bound up     Lt n, Lte n    integers up to a bound

Peers leave absence out of the set and read "no value left" as DoesNotExist, so `In a` meeting `In b` on a
custom key becomes a wish for an unlabelled node, and is granted. Here the two differ: DoesNotExist admits absence,
a contradiction admits nothing at all.

Bounds are always inclusive and whole: Gt 3 is Gte 4 from the moment it is built. A value that is not a decimal
integer lies outside every bound.

A NodePool, a type or a node is the *defined* side, a pod or an offering the *asking* side, and `compatible` is not
symmetric: a key the defined side says nothing about is taken as absent, unless it is well known (a zone, an
architecture …), in which case the provider will fill it in and anything goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final

from dovetail.core import labels
from dovetail.core.errors import BadValue, shown

INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,63}", re.ASCII)
_SHOWN_VALUES: Final = 5


class Operator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"
    GTE = "Gte"
    LTE = "Lte"


NUMERIC: Final = frozenset({Operator.GT, Operator.LT, Operator.GTE, Operator.LTE})


@lru_cache(maxsize=65536)
def as_integer(value: str) -> int | None:
    """The 64-bit decimal integer a label value spells, or None."""
    if _INTEGER.fullmatch(value) is None:
        return None
    number = int(value)
    return number if INT64_MIN <= number <= INT64_MAX else None


@dataclass(frozen=True, slots=True)
class Requirement:
    """The states one label may be in.

    `values` are the admitted values, or, under `complement`, the excluded ones; `absent` says whether a
    node without the label will do. Build one with `requirement` or the short constructors below.
    """

    key: str
    values: frozenset[str] = frozenset()
    complement: bool = False
    absent: bool = False
    gte: int | None = None
    lte: int | None = None
    min_values: int | None = None

    @property
    def operator(self) -> Operator:
        """The Kubernetes operator that comes nearest; bounds are extra (see `expressions`)."""
        if self.complement:
            return Operator.NOT_IN if self.values or self.absent else Operator.EXISTS
        return Operator.DOES_NOT_EXIST if self.absent and not self.values else Operator.IN

    def admits(self, value: str | None) -> bool:
        """Whether a node may carry this value; None asks about a node without the label."""
        if value is None:
            return self.absent
        return (value in self.values) != self.complement and self._in_bounds(value)

    def _in_bounds(self, value: str) -> bool:
        if self.gte is None and self.lte is None:
            return True
        number = as_integer(value)
        if number is None:
            return False
        return (self.gte is None or number >= self.gte) and (self.lte is None or number <= self.lte)

    @property
    def is_empty(self) -> bool:
        """Whether no state is left: a contradiction.

        A bounded set is empty when each integer between its bounds is excluded. (Spellings such as "007" are
        admitted where they are met, but are not what a node would be given.)
        """
        if self.absent:
            return False
        if not self.complement:
            return not self.values
        if self.gte is None and self.lte is None:
            return False
        low, high = (INT64_MIN if self.gte is None else self.gte), (INT64_MAX if self.lte is None else self.lte)
        if high - low >= len(self.values):
            return False
        return all(str(number) in self.values for number in range(low, high + 1))

    def __and__(self, other: Requirement) -> Requirement:
        """What both admit. The larger `min_values` stands."""
        gte, lte = _tighter(self.gte, other.gte, max), _tighter(self.lte, other.lte, min)
        min_values = _tighter(self.min_values, other.min_values, max)
        absent = self.absent and other.absent
        if gte is not None and lte is not None and gte > lte:
            return Requirement(self.key, absent=absent, min_values=min_values)
        if self.complement and other.complement:
            kept = Requirement(self.key, self.values | other.values, True, absent, gte, lte, min_values)
            inside = frozenset(value for value in kept.values if kept._in_bounds(value))
            return kept if len(inside) == len(kept.values) else replace(kept, values=inside)
        if self.complement:
            values = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        if gte is not None or lte is not None:
            bounds = Requirement(self.key, complement=True, gte=gte, lte=lte)
            values = frozenset(value for value in values if bounds._in_bounds(value))
        return Requirement(self.key, values, False, absent, min_values=min_values)

    def intersects(self, other: Requirement) -> bool:
        """Whether some state suits both; the cheap cases first, as this is asked millions of times."""
        if not self.complement and not other.complement:
            if self.absent and other.absent:
                return True
            return not self.values.isdisjoint(other.values)
        if self.absent and other.absent:
            return True
        if not self.complement:
            return any(other.admits(value) for value in self.values)
        if not other.complement:
            return any(self.admits(value) for value in other.values)
        return not (self & other).is_empty

    def any_value(self) -> str | None:
        """A value to give a label nobody else chose: the least by text, or the least integer that is admitted.

        None where the label is better left out, or nothing is admitted.
        """
        if not self.complement:
            return min(self.values, default=None)
        number = self.gte if self.gte is not None else (0 if self.lte is None or self.lte >= 0 else self.lte)
        step = 1 if self.gte is not None or self.lte is None or self.lte >= 0 else -1
        while str(number) in self.values:
            number += step
        return str(number) if self._in_bounds(str(number)) else None

    def expressions(self) -> tuple[tuple[Operator, tuple[str, ...]], ...]:
        """The requirement as API expressions, which ANDed mean exactly this set."""
        found: list[tuple[Operator, tuple[str, ...]]] = []
        if self.gte is not None:
            found.append((Operator.GTE, (str(self.gte),)))
        if self.lte is not None:
            found.append((Operator.LTE, (str(self.lte),)))
        ordered = tuple(sorted(self.values))
        if not self.complement:
            if ordered:
                return ((Operator.IN, ordered),)
            nothing = () if self.absent else ((Operator.EXISTS, ()),)
            return (*nothing, (Operator.DOES_NOT_EXIST, ()))
        if ordered:
            found.append((Operator.NOT_IN, ordered))
        if not self.absent and (self.gte is None and self.lte is None):
            found.append((Operator.EXISTS, ()))
        return tuple(found)

    def __str__(self) -> str:
        text = f"{self.key} {self.operator}"
        if self.operator in (Operator.IN, Operator.NOT_IN):
            ordered = sorted(self.values)
            more = len(ordered) - _SHOWN_VALUES
            text += f" [{' '.join(ordered[:_SHOWN_VALUES])}{f' and {more} others' if more > 0 else ''}]"
        text += f" >={self.gte}" if self.gte is not None else ""
        text += f" <={self.lte}" if self.lte is not None else ""
        return text + (f" minValues {self.min_values}" if self.min_values is not None else "")


def _tighter(a: int | None, b: int | None, pick: Callable[[int, int], int]) -> int | None:
    if a is None:
        return b
    return a if b is None else pick(a, b)


def requirement(
    key: str,
    operator: Operator | str,
    values: Iterable[str] = (),
    min_values: int | None = None,
    dialect: labels.Dialect = labels.KUBERNETES,
) -> Requirement:
    """Build a requirement from its API form; the key becomes canonical, then the values do."""
    key = labels.canonical(key)
    try:
        operator = Operator(operator)
    except ValueError:
        raise BadValue(f"{shown(operator)} is not an operator; use one of {', '.join(Operator)}") from None
    if operator in NUMERIC:
        return _bounded(key, operator, tuple(values), min_values)
    if operator is Operator.EXISTS:
        return Requirement(key, complement=True, min_values=min_values)
    if operator is Operator.DOES_NOT_EXIST:
        return Requirement(key, absent=True, min_values=min_values)
    chosen = frozenset(dialect.value(key, value) for value in values)
    if operator is Operator.NOT_IN:
        return Requirement(key, chosen, complement=True, absent=True, min_values=min_values)
    # `In` with nothing listed is read as DoesNotExist, as everywhere in Kubernetes' neighbourhood.
    return Requirement(key, chosen, absent=not chosen, min_values=min_values)


def _bounded(key: str, operator: Operator, values: tuple[str, ...], min_values: int | None) -> Requirement:
    number = as_integer(values[0]) if len(values) == 1 else None
    if number is None:
        given = shown(values[0]) if len(values) == 1 else f"{len(values)} values"
        raise BadValue(f"{operator} takes exactly one whole number, not {given}")
    match operator:
        case Operator.GT if number == INT64_MAX:
            # Nothing is larger; a peer reads this as "absent", which nobody asked for.
            return Requirement(key, min_values=min_values)
        case Operator.LT if number == INT64_MIN:
            return Requirement(key, min_values=min_values)
        case Operator.GT:
            return Requirement(key, complement=True, gte=number + 1, min_values=min_values)
        case Operator.GTE:
            return Requirement(key, complement=True, gte=number, min_values=min_values)
        case Operator.LT:
            return Requirement(key, complement=True, lte=number - 1, min_values=min_values)
        case _:
            return Requirement(key, complement=True, lte=number, min_values=min_values)


def is_in(key: str, *values: str, min_values: int | None = None) -> Requirement:
    return requirement(key, Operator.IN, values, min_values)


def is_not_in(key: str, *values: str) -> Requirement:
    return requirement(key, Operator.NOT_IN, values)


def exists(key: str) -> Requirement:
    return requirement(key, Operator.EXISTS)


def does_not_exist(key: str) -> Requirement:
    return requirement(key, Operator.DOES_NOT_EXIST)


@dataclass(frozen=True, slots=True)
class KeyConflict:
    """The two sides want different things of one label."""

    asked: Requirement
    defined: Requirement

    def __str__(self) -> str:
        return f"key {self.asked.key}, {self.asked} not in {self.defined}"


@dataclass(frozen=True, slots=True)
class UndefinedLabel:
    """The asking side needs a label the defined side does not speak of."""

    key: str
    typo_of: str | None = None

    def __str__(self) -> str:
        hint = f' (typo of "{self.typo_of}"?)' if self.typo_of else ""
        return f'label "{self.key}" does not have known values{hint}'


Incompatibility = KeyConflict | UndefinedLabel
_NO_KEYS: Final[frozenset[str]] = frozenset()


class Requirements:
    """An immutable set of requirements, one per key; a key that is not there may be in any state."""

    __slots__ = ("_by_key", "_contradictory", "_hash")
    _by_key: dict[str, Requirement]
    _contradictory: bool | None
    _hash: int | None

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        by_key: dict[str, Requirement] = {}
        for one in requirements:
            known = by_key.get(one.key)
            by_key[one.key] = one if known is None else known & one
        self._by_key = by_key
        self._contradictory = None
        self._hash = None

    @classmethod
    def of_labels(cls, pairs: Mapping[str, str], dialect: labels.Dialect = labels.KUBERNETES) -> Requirements:
        return cls(requirement(key, Operator.IN, (value,), dialect=dialect) for key, value in pairs.items())

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def mentions(self, key: str) -> bool:
        return key in self._by_key

    def keys(self) -> Iterable[str]:
        return self._by_key.keys()

    def get(self, key: str) -> Requirement | None:
        """What is required of a key, None where nothing is."""
        return self._by_key.get(key)

    def value(self, key: str) -> str | None:
        """The single value a key is pinned to, if it is."""
        one = self._by_key.get(key)
        if one is None or one.complement or len(one.values) != 1:
            return None
        (value,) = one.values
        return value

    def __and__(self, other: Requirements) -> Requirements:
        if not other._by_key:
            return self
        if not self._by_key:
            return other
        return Requirements((*self, *other))

    def without(self, *keys: str) -> Requirements:
        return Requirements(one for one in self if one.key not in keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requirements) and self._by_key == other._by_key

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._by_key.values()))
        return self._hash

    @property
    def is_contradictory(self) -> bool:
        """Whether some key has no state left, so that nothing at all can meet these."""
        if self._contradictory is None:
            self._contradictory = any(one.is_empty for one in self)
        return self._contradictory

    def intersects(self, other: Requirements) -> bool:
        """Whether every key has a state that suits both; a key only one speaks of suits the other anyway."""
        if self.is_contradictory or other.is_contradictory:
            return False
        mine, theirs = self._by_key, other._by_key
        if len(theirs) < len(mine):
            mine, theirs = theirs, mine
        for key, one in mine.items():
            twin = theirs.get(key)
            if twin is not None and one is not twin and not one.intersects(twin):
                return False
        return True

    def conflicts(self, asked: Requirements) -> tuple[KeyConflict, ...]:
        """Every key on which the two cannot agree, by key; a contradiction disagrees even with "anything"."""
        found = []
        for key in sorted(self._by_key.keys() | asked._by_key.keys()):
            one, defined = asked._by_key.get(key, exists(key)), self._by_key.get(key, exists(key))
            both = key in self._by_key and key in asked._by_key
            if (both and not defined.intersects(one)) or one.is_empty or defined.is_empty:
                found.append(KeyConflict(one, defined))
        return tuple(found)

    def compatible(self, asked: Requirements, allow_undefined: frozenset[str] = _NO_KEYS) -> bool:
        """Whether something that asks for `asked` may go where these requirements define the labels."""
        if self.is_contradictory or asked.is_contradictory:
            return False
        mine = self._by_key
        for key, one in asked._by_key.items():
            defined = mine.get(key)
            if defined is None:
                if not one.absent and key not in allow_undefined:
                    return False
            elif defined is not one and not defined.intersects(one):
                return False
        return True

    def incompatibilities(
        self, asked: Requirements, allow_undefined: frozenset[str] = _NO_KEYS
    ) -> tuple[Incompatibility, ...]:
        """Why `compatible` says no: the first undefined label by name, or else every conflict."""
        for key in sorted(asked.keys()):
            one = asked._by_key[key]
            if key not in self._by_key and not one.absent and key not in allow_undefined:
                return (UndefinedLabel(key, _typo_of(key, allow_undefined, self._by_key)),)
        return self.conflicts(asked)

    def __str__(self) -> str:
        return ", ".join(sorted(str(one) for one in self if one.key != labels.HOSTNAME))

    def __repr__(self) -> str:
        return f"Requirements({self})"


EMPTY: Final = Requirements()


def _typo_of(key: str, allowed: Iterable[str], defined: Iterable[str]) -> str | None:
    """A known key the unknown one was probably meant to be: it contains it, or ends in its last part."""
    tail = key.partition("/")[2] or key
    for known in (allowed, defined):
        for candidate in sorted(known):
            if key in candidate or candidate.endswith(tail):
                return candidate
    return None
