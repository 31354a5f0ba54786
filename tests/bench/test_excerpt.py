"""The README's table is a part of the page of figures, what was missed included."""

from __future__ import annotations

import pytest
from bench.page import PAGE

from bench import excerpt
from tools import regions

TEXT = PAGE.read_text(encoding="utf-8")
README = excerpt.README.read_text(encoding="utf-8")
SMALL = """\
| processor | fast |

## a

|  | ours | peer | times better | target | met |
| --- | ---: | ---: | ---: | --- | --- |
| whole | 1 s | – | – |  |  |
| – part | 2 s | – | – | at most 1 s | NO |
| other | 1 s | – | – | at most 1 s | yes |
"""


def test_the_readme_has_the_rows_that_were_chosen_as_they_stand_on_the_page():
    assert excerpt.filled(README, TEXT) == README, "run python -m bench --render-only"


def test_every_row_of_the_readme_is_on_the_page():
    table = regions.held(README, *excerpt.REGION).splitlines()[2:]
    assert len(table) >= 12
    assert [row for row in table if row not in TEXT.splitlines()] == []


def test_what_was_missed_is_shown_below_what_it_is_a_part_of(monkeypatch):
    monkeypatch.setattr(excerpt, "CHOSEN", {})
    assert [excerpt.name_of(row) for row in excerpt.chosen(SMALL)] == ["whole", "– part"]


def test_a_chosen_row_that_is_gone_is_an_error_that_says_where_to_choose_another(monkeypatch):
    monkeypatch.setattr(excerpt, "CHOSEN", {"a": ("gone",)})
    with pytest.raises(excerpt.Missing, match=r"no row \('a', 'gone'\); choose another in bench/excerpt.py"):
        excerpt.chosen(SMALL)


def test_a_page_without_a_place_for_it_is_an_error():
    with pytest.raises(regions.NoRegion, match="there are no lines <!-- performance: made by"):
        excerpt.filled("nothing", TEXT)
