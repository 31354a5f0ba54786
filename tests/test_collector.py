"""The collector rests while anybody asks it to, and no longer."""

import gc

import pytest

from dovetail.collector import RESTING


def test_the_collector_goes_on_when_the_last_one_has_left() -> None:
    with RESTING:
        with RESTING:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError, match="no plan"), RESTING:
        raise ValueError("no plan")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with RESTING:
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
