"""Requirements as Hypothesis draws them: few keys and values, so that they meet and clash often."""

from __future__ import annotations

from functools import reduce
from operator import and_

from hypothesis import strategies as st

from dovetail.core import labels
from dovetail.core.requirements import (
    INT64_MAX,
    INT64_MIN,
    NUMERIC,
    Operator,
    Requirement,
    Requirements,
    requirement,
)

TEAM, GENERATION = "example.com/team", "generation"
KEYS = (TEAM, GENERATION, labels.ZONE, labels.CAPACITY_TYPE)
VALUES = ("a", "b", "c", "0", "1", "2", "3", "-1")
#: Spelled like no integer prints itself: admitted by bounds, but not what a node would be given.
ODD_VALUES = ("02", "+1", "007")
BOUNDS = (-1, 0, 1, 2, 3, INT64_MIN, INT64_MAX)

operators = st.sampled_from(Operator)
min_values = st.none() | st.integers(1, 5)


@st.composite
def simple(draw: st.DrawFn, key: str = TEAM, values: tuple[str, ...] = VALUES) -> Requirement:
    """One API expression."""
    operator = draw(operators)
    if operator in NUMERIC:
        return requirement(key, operator, [str(draw(st.sampled_from(BOUNDS)))], draw(min_values))
    return requirement(key, operator, draw(st.lists(st.sampled_from(values), max_size=3)), draw(min_values))


def compound(key: str = TEAM, values: tuple[str, ...] = VALUES) -> st.SearchStrategy[Requirement]:
    """Up to three expressions on one key."""
    return st.lists(simple(key, values), min_size=1, max_size=3).map(lambda some: reduce(and_, some))


keyed = st.sampled_from(KEYS).flatmap(compound)
sets = st.lists(keyed, max_size=5).map(Requirements)
allowed = st.sampled_from([frozenset(), labels.WELL_KNOWN])


def states(*some: Requirement) -> list[str | None]:
    """Every state that these could tell apart: absence, what they name, both sides of each bound, and strangers."""
    numbers = {n + step for one in some for n in (one.gte, one.lte) if n is not None for step in (-1, 0, 1)}
    inside = {str(n) for n in numbers | set(range(-3, 6)) | {99} if INT64_MIN <= n <= INT64_MAX}
    named = {value for one in some for value in one.values}
    return [None, "stranger", *sorted(inside | named | set(VALUES))]
