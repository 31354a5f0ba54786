"""A source that moves bumps the generations of exactly the halves it feeds (S0.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import node_class

from dovetail.core.catalog import generations
from dovetail.core.catalog.generations import ChangeSource, Generations

MINE, OTHER = node_class("mine"), node_class("other")


@pytest.mark.parametrize(
    ("source", "specs", "offerings"),
    [
        (ChangeSource.TYPES, True, False),
        (ChangeSource.ZONES, True, False),
        (ChangeSource.NODE_CLASS, True, True),
        (ChangeSource.PRICES, False, True),
        (ChangeSource.RESERVATIONS, False, True),
        (ChangeSource.SHORTAGES, False, True),
    ],
)
def test_each_source_feeds_the_halves_the_document_says_S0_5(
    source: ChangeSource, specs: bool, offerings: bool
) -> None:
    before = Generations()
    after = before.bumped(source)
    assert (after.specs_of(MINE) != before.specs_of(MINE)) is specs
    assert (after.offerings_of(MINE) != before.offerings_of(MINE)) is offerings


def test_discovery_and_pricing_are_asked_every_twelve_hours_S0_5() -> None:
    assert (generations.DISCOVERY_SECONDS, generations.PRICING_SECONDS) == (43200, 43200)


def test_one_node_class_s_change_is_no_news_to_another_S0_5() -> None:
    before = Generations()
    after = before.bumped(ChangeSource.NODE_CLASS, MINE)
    assert after.specs_of(MINE) > before.specs_of(MINE)
    assert after.offerings_of(MINE) > before.offerings_of(MINE)
    assert (after.specs_of(OTHER), after.offerings_of(OTHER)) == (before.specs_of(OTHER), before.offerings_of(OTHER))


@given(st.lists(st.tuples(st.sampled_from(ChangeSource), st.sampled_from([None, MINE, OTHER])), max_size=20))
def test_a_generation_moves_with_every_change_and_never_returns_to_an_old_number_S0_5(
    changes: list[tuple[ChangeSource, object]],
) -> None:
    now = Generations()
    for source, of in changes:
        after = now.bumped(source, of)  # type: ignore[arg-type]
        for one in (MINE, OTHER):
            concerned = of in (None, one)
            assert after.specs_of(one) - now.specs_of(one) == int(concerned and source in generations.FEEDS_SPECS)
            assert after.offerings_of(one) - now.offerings_of(one) == int(
                concerned and source in generations.FEEDS_OFFERINGS
            )
        now = after


def test_bumping_leaves_the_old_value_alone() -> None:
    before = Generations()
    before.bumped(ChangeSource.NODE_CLASS, MINE)
    assert before == Generations()
