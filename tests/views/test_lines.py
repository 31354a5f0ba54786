"""Sentences and pairs are broken where a terminal ends, between words, and go on further in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail.views.lines import fitted, shown_width
from dovetail.views.paint import Paint, Style


def test_a_sentence_goes_on_a_little_further_in():
    assert fitted("  four words are here\n", 12) == "  four words\n    are here\n"


def test_a_value_goes_on_below_itself():
    assert fitted("price  a dollar an hour\nzone   a\n", 16) == "price  a dollar\n       an hour\nzone   a\n"


def test_a_word_wider_than_the_terminal_stays_whole_and_goes_as_far_left_as_it_may():
    assert fitted("  on a node with  topology.kubernetes.io/zone\n", 30).endswith("\n    topology.kubernetes.io/zone\n")
    assert fitted("karpenter.sh/do-not-disrupt\n", 10) == "karpenter.sh/do-not-disrupt\n"


def test_colour_takes_no_room():
    line = f"{Paint(True)(Style.BAD, 'error:')} a word\n"
    assert fitted(line, 13) == line
    assert shown_width(line.rstrip()) == 13


def test_nothing_is_broken_where_nobody_measures():
    assert fitted("a " * 500, None) == "a " * 500


@given(st.text(alphabet="ab \n日", max_size=200), st.integers(5, 60))
def test_every_word_is_kept_in_its_order_and_lines_fit_where_words_do(text: str, width: int):
    found = fitted(text, width)
    assert found.split() == text.split()
    for line in found.splitlines():
        words = line.split()
        assert shown_width(line) <= width or len(words) < 2
