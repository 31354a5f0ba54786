"""Compiled requirements: one integer each, so that asking whether two meet is three machine operations.

A vocabulary gives every key a field of bits, one bit for each state anybody distinguishes: each named value, each
stretch of integers between the bounds in use, one bit for "some other text", one for "absent". A requirement is
the set of bits it admits, and a key nobody requires is all ones. Above each field lies a guard bit. Two
requirement sets meet iff every field of `a & b` is non-zero, and that is one subtraction for all fields at once:
taking 1 from every field borrows its guard exactly where the field was empty.

    ((a & b | guards) - ones) & guards == guards

The answer is exact, not a filter, for requirements built of the vocabulary's own keys, values and bounds; anything
else is refused when it is compiled. One spelling matters: where somebody names "007", it is a state of its own beside
"7", so bounds that leave only 7 still meet an exclusion of "7" there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from dovetail.core.requirements import INT64_MAX, INT64_MIN, Requirement, Requirements, as_integer


@dataclass(frozen=True, slots=True)
class _Field:
    """Where one key's states lie in the integer."""

    shift: int
    bits: dict[str, int]
    stretches: tuple[tuple[int, int, int], ...]  # first, last, bit
    cuts: frozenset[int]
    other: int
    absent: int
    full: int

    def mask(self, one: Requirement) -> int:
        found = self.absent if one.absent else 0
        if not one.complement:
            for value in one.values:
                found |= self.bits[value]
            return found
        bounded = one.gte is not None or one.lte is not None
        low, high = (INT64_MIN if one.gte is None else one.gte), (INT64_MAX if one.lte is None else one.lte)
        foreign = {low, high + 1} - self.cuts or one.values - self.bits.keys()
        if foreign:
            raise KeyError(f"{one} speaks of {sorted(map(str, foreign))}, which this vocabulary never numbered")
        for first, last, bit in self.stretches:
            if first >= low and last <= high:
                found |= bit
        if not bounded:
            found |= self.other
        for value, bit in self.bits.items():
            if one.admits(value):
                found |= bit
        return found


class Vocabulary:
    """Every key, value and bound that a family of requirements uses, numbered."""

    __slots__ = ("_cache", "_fields", "_full", "_guards", "_ones")

    def __init__(self, families: Iterable[Requirements]) -> None:
        values: dict[str, set[str]] = {}
        edges: dict[str, set[int]] = {}
        for one in (one for family in families for one in family):
            values.setdefault(one.key, set()).update(one.values)
            cuts = edges.setdefault(one.key, set())
            if one.gte is not None:
                cuts.add(one.gte)
            if one.lte is not None and one.lte < INT64_MAX:
                cuts.add(one.lte + 1)
        self._fields: dict[str, _Field] = {}
        self._guards = self._ones = self._full = 0
        shift = 0
        for key in sorted(values):
            shift = self._add(key, shift, sorted(values[key]), edges[key])
        self._cache: dict[Requirements, int] = {}

    def _add(self, key: str, shift: int, values: list[str], cuts: set[int]) -> int:
        bit = 1 << shift
        bits: dict[str, int] = {}
        for value in values:
            bits[value] = bit
            bit <<= 1
        named = {number for value in values if (number := as_integer(value)) is not None and str(number) == value}
        stretches = []
        cuts = cuts | {INT64_MIN, INT64_MAX + 1}
        for first, after in pairwise(sorted(cuts)):
            if not _all_named(first, after, named):
                stretches.append((first, after - 1, bit))
                bit <<= 1
        other, absent, guard = bit, bit << 1, bit << 2
        full = guard - (1 << shift)
        self._fields[key] = _Field(shift, bits, tuple(stretches), frozenset(cuts), other, absent, full)
        self._guards |= guard
        self._ones |= 1 << shift
        self._full |= full
        return guard.bit_length()

    def compile(self, requirements: Requirements) -> int:
        """The set of states these requirements admit; KeyError if they speak of something never numbered."""
        known = self._cache.get(requirements)
        if known is None:
            known = self._full
            for one in requirements:
                field = self._fields[one.key]
                known = known & ~field.full | field.mask(one)
            self._cache[requirements] = known
        return known

    def meet(self, a: int, b: int) -> bool:
        """Whether two compiled sets have a state in common for every key."""
        guards = self._guards
        return ((a & b | guards) - self._ones) & guards == guards


def _all_named(first: int, after: int, named: set[int]) -> bool:
    return after - first <= len(named) and all(number in named for number in range(first, after))
