"""Tables line up, wrap their prose, and say what they leave out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail.views.paint import Paint, Style
from dovetail.views.table import Cell, Column, display_width, facts, render

NAME, PRICE = Column("NAME"), Column("PRICE", right=True)


def test_columns_line_up_to_the_side_they_belong_to():
    assert render([NAME, PRICE], [["a", "1"], ["long", "1000"]]) == "NAME  PRICE\na         1\nlong   1000\n"


def test_a_wide_character_takes_two_cells_and_a_combining_mark_none():
    assert display_width("日本") == 4
    assert display_width("é") == 1
    lines = render([NAME, PRICE], [["日本", "1"], ["abcd", "2"]]).splitlines()
    assert [display_width(line) for line in lines] == [11, 11, 11]


def test_the_least_important_columns_go_first_and_are_named():
    columns = [NAME, Column("PODS", rank=2), Column("ZONE", rank=1)]
    text = render(columns, [["m5.large", "29", "us-east-1a"]], width=22)
    assert "m5.large  us-east-1a" in text
    assert text.endswith("not shown, for want of width: PODS\n")


def test_nothing_is_left_out_where_nobody_measures_the_width():
    assert "not shown" not in render([NAME, Column("X", rank=9)], [["a" * 500, "b"]])


def test_prose_wraps_before_a_column_is_given_up():
    text = render(
        [NAME, Column("RULE", prose=True, rank=1)], [["cpu", "six percent of the first core and one of the second"]], 34
    )
    assert text.splitlines()[1:] == ["cpu   six percent of the first", "      core and one of the second"]


def test_where_no_column_can_go_words_wrap_and_keep_their_indentation():
    columns = [Column("  NODE"), Column("TYPE"), PRICE]
    text = render(columns, [["  general-1", "m6i.24xlarge", "1000.25"]], 29)
    assert text.splitlines() == ["  NODE     TYPE         PRICE", "  general  m6i.24xla  1000.25", "  -1       rge"]


def test_a_number_stays_whole_however_narrow_the_table():
    assert "1000000.25" in render([NAME, PRICE], [["a" * 22, "1000000.25"]], 5)


def test_colour_does_not_change_how_wide_anything_is():
    rows = [[Cell("a", Style.NAME), "1"], [Cell("long", Style.BAD), "22"]]
    plain, painted = render([NAME, PRICE], rows), render([NAME, PRICE], rows, paint=Paint(True))
    assert "\x1b[" in painted
    stripped = painted
    for style in Style:
        stripped = stripped.replace(f"\x1b[{style.value}m", "")
    assert stripped.replace("\x1b[0m", "") == plain


def test_facts_are_pairs_in_two_columns():
    assert facts([("a", "1"), ("long", "2")]) == "a     1\nlong  2\n"


@given(
    rows=st.lists(st.lists(st.text(max_size=40), min_size=3, max_size=3), max_size=5),
    width=st.one_of(st.none(), st.integers(1, 120)),
)
def test_any_text_can_stand_in_a_table(rows, width):
    columns = [NAME, Column("A", rank=1), Column("B", prose=True, rank=2)]
    assert render(columns, rows, width).startswith("NAME")
