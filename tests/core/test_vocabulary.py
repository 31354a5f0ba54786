"""Compiled requirements give the answers of the ones they were compiled from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import requirements
from tests.core.strategies import sets

from dovetail.core.requirements import EMPTY, INT64_MAX, INT64_MIN, Requirements
from dovetail.core.vocabulary import Vocabulary

families = st.lists(sets, min_size=1, max_size=6)


@given(families)
def test_two_compiled_sets_meet_iff_the_sets_intersect(family: list[Requirements]) -> None:
    words = Vocabulary(family)
    for a in family:
        for b in family:
            assert words.meet(words.compile(a), words.compile(b)) == a.intersects(b)


@given(families)
def test_compiled_intersections_are_intersections_compiled(family: list[Requirements]) -> None:
    """What a scheduler narrows, and compiles again, is still in the vocabulary."""
    words = Vocabulary(family)
    for a in family:
        for b in family:
            both = words.compile(a & b)
            for c in family:
                assert words.meet(both, words.compile(c)) == (a & b).intersects(c)


@given(families)
def test_the_order_of_the_family_does_not_change_the_numbering(family: list[Requirements]) -> None:
    there, back = Vocabulary(family), Vocabulary(reversed(family))
    assert [there.compile(one) for one in family] == [back.compile(one) for one in family]


def test_a_set_that_asks_nothing_meets_everything_but_a_contradiction() -> None:
    torn, fine = requirements(("k", "In", "a"), ("k", "In", "b")), requirements(("k", "In", "a"))
    words = Vocabulary([torn, fine])
    assert words.meet(words.compile(EMPTY), words.compile(fine))
    assert not words.meet(words.compile(EMPTY), words.compile(torn))


def test_without_any_key_everything_meets() -> None:
    words = Vocabulary([])
    assert words.meet(words.compile(EMPTY), words.compile(EMPTY))


def test_bounds_at_the_ends_of_the_integers_are_in_the_vocabulary() -> None:
    family = [
        requirements(("k", "Gte", str(INT64_MAX))),
        requirements(("k", "Lte", str(INT64_MIN))),
        requirements(("k", "Lte", str(INT64_MAX))),
        requirements(("k", "In", str(INT64_MAX))),
        requirements(("k", "NotIn", str(INT64_MAX))),
    ]
    words = Vocabulary(family)
    for a in family:
        for b in family:
            assert words.meet(words.compile(a), words.compile(b)) == a.intersects(b)


@pytest.mark.parametrize(
    "foreign", [("other", "Exists"), ("k", "In", "c"), ("k", "NotIn", "3"), ("k", "Gt", "5"), ("k", "Lte", "7")]
)
def test_what_was_never_numbered_is_refused_rather_than_guessed(foreign: tuple[str, str]) -> None:
    words = Vocabulary([requirements(("k", "In", "a b")), requirements(("k", "Gte", "2"), ("k", "Lte", "3"))])
    with pytest.raises(KeyError):
        words.compile(requirements(foreign))
