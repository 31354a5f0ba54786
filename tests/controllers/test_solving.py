"""Working things out beside the event loop, in turns that do not keep it waiting."""

import asyncio
import sys
import threading

import pytest

from dovetail.controllers.solving import TURN_SECONDS, aside


def interval() -> float:
    return round(sys.getswitchinterval(), 6)


def test_turns_are_short_while_something_is_worked_out_and_as_they_were_after():
    before = interval()
    assert asyncio.run(aside(interval)) == TURN_SECONDS < before
    assert interval() == before


def test_what_fails_leaves_turns_as_they_were():
    def fails() -> None:
        raise ValueError("no plan")

    before = interval()
    with pytest.raises(ValueError, match="no plan"):
        asyncio.run(aside(fails))
    assert interval() == before


def test_the_last_of_several_has_turns_as_they_were():
    go_on = threading.Event()

    async def both() -> tuple[float, float]:
        slow = asyncio.create_task(aside(lambda: go_on.wait(20)))
        await aside(interval)
        between = interval()
        go_on.set()
        await slow
        return between, interval()

    before = interval()
    assert asyncio.run(both()) == (TURN_SECONDS, before)
