"""Selectors as people type them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.api import selectors
from dovetail.core.errors import BadInput


@pytest.mark.parametrize(
    ("text", "value", "fits"),
    [
        ("a=1", "1", True),
        ("a==1", "2", False),
        ("a!=1", "2", True),
        ("a!=1", None, True),
        ("a in (1, 2)", "2", True),
        ("a notin (1,2)", "2", False),
        ("a", "x", True),
        ("a", None, False),
        ("!a", None, True),
        ("! a", "x", False),
        ("a>3", "4", True),
        ("a > 3", "3", False),
        ("a>=3", "3", True),
        ("a<3", "2", True),
        ("a<=3", "4", False),
        ("a>=2,a<=4", "5", False),
        ("a>=2, a<=4, a!=3", "2", True),
    ],
)
def test_every_operator_means_what_it_looks_like(text, value, fits):
    (one,) = selectors.parse(text)
    assert one.admits(value) is fits


def test_an_alias_is_the_label_it_stands_for():
    (one,) = selectors.parse("beta.kubernetes.io/arch=arm64")
    assert one.key == "kubernetes.io/arch"


def test_nothing_asked_is_nothing_required():
    assert len(selectors.parse("")) == 0


@pytest.mark.parametrize(
    "text", ["=b", "a in ()", "a in (b", "a>x", "a=b,", "a b", "a=b c", "a=b=c", "a//b=c", "a in (_)"]
)
def test_what_is_no_selector_is_refused_with_a_sentence(text):
    with pytest.raises(BadInput):
        selectors.parse(text)


def test_an_empty_value_is_a_value():
    (one,) = selectors.parse("a=")
    assert one.admits("")


@given(st.text(max_size=60))
def test_any_text_is_a_selector_or_bad_input(text):
    with contextlib.suppress(BadInput):
        selectors.parse(text)
