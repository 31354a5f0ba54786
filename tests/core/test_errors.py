"""An error says where and what, in a sentence that can always be printed."""

from __future__ import annotations

import pytest
from tests.builders import HOSTILE

from dovetail.core.errors import BadField, BadInput, BadValue, shown


def test_a_problem_is_told_from_the_outside_in() -> None:
    problem = BadValue('"-1" is negative').at("price").within("prices.csv", "m5.large")
    assert isinstance(problem, BadField)
    assert str(problem) == 'prices.csv: m5.large: price: "-1" is negative'
    assert problem.problem == '"-1" is negative'


def test_places_may_be_numbered() -> None:
    assert str(BadValue("wrong").at("rows", 3)) == "rows: 3: wrong"


def test_every_problem_is_bad_input() -> None:
    assert issubclass(BadValue, BadInput)
    assert issubclass(BadField, BadInput)
    assert issubclass(BadInput, ValueError)


@pytest.mark.parametrize("name", [*HOSTILE])
def test_whatever_was_written_can_be_shown(name: str) -> None:
    assert 0 < len(shown(HOSTILE[name])) < 80
