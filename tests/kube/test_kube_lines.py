"""Lines out of a stream: the same whatever the pieces it arrives in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.kube.lines import Lines


@given(st.lists(st.text("ab\n", max_size=9).map(str.encode)))
def test_lines_are_the_same_however_the_stream_is_cut_up(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    lines = Lines(10**6)
    found = [line for piece in pieces for line in lines.feed(piece)]
    *whole, tail = stream.split(b"\n")
    assert found == [line for line in whole if line]
    assert lines.unfinished == len(tail)


def test_a_line_without_end_is_refused() -> None:
    lines = Lines(10)
    lines.feed(b"12345")
    with pytest.raises(OverflowError, match="longer than 10 bytes"):
        lines.feed(b"678901")


def test_what_is_unfinished_is_forgotten_once_it_is_whole() -> None:
    lines = Lines(10)
    for _ in range(5):
        assert lines.feed(b"1234567") == []
        assert lines.feed(b"8\n") == [b"12345678"]
    assert lines.unfinished == 0
