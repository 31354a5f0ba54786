from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core import timestamps
from dovetail.core.errors import BadInput


@given(st.datetimes())
def test_a_time_is_written_as_everybody_writes_it_and_read_back(moment: datetime):
    whole = moment.replace(microsecond=0, tzinfo=UTC)
    written = timestamps.text(whole.timestamp())
    assert written == whole.isoformat().replace("+00:00", "Z")
    assert timestamps.seconds(written) == whole.timestamp()


def test_zones_and_fractions_are_read():
    assert timestamps.seconds("2026-11-15T12:00:00+02:00") == timestamps.seconds("2026-11-15T10:00:00Z")
    assert timestamps.seconds("1970-01-01T00:00:01.5Z") == 1.5
    assert timestamps.text(1.25, micros=True) == "1970-01-01T00:00:01.250000Z"


@pytest.mark.parametrize("text", ["", "soon", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-15 12:00:00Z"])
def test_what_is_no_time_is_refused_in_a_sentence(text: str):
    with pytest.raises(BadInput, match=r"time|does not exist"):
        timestamps.seconds(text)


def test_durations_are_read():
    assert timestamps.duration("1h30m") == 5400.0
    assert timestamps.duration("1.5h") == 5400.0
    with pytest.raises(BadInput):
        timestamps.duration("5 minutes")
