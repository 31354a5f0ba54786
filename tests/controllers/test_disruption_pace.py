"""When a pass is made: while changes never end, when a time has come, and when nodes are free again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest
from tests.core.disruption.clusters import decided, member, world
from tests.live.virtual_time import run

from dovetail.controllers.disruption import loop as loops
from dovetail.controllers.disruption.loop import LONGEST_SECONDS, LOOP_SHARE, QUIET_SECONDS, SHARE, pause


def test_a_pass_that_takes_nothing_is_made_as_soon_as_changes_had_time_to_settle() -> None:
    assert pause(0.0, 0.0) == 2 * QUIET_SECONDS


def test_passes_take_no_more_than_their_share_of_the_time() -> None:
    assert pause(1.0, 0.0) == SHARE


def test_the_event_loop_is_kept_from_its_work_for_a_much_smaller_share() -> None:
    assert pause(0.2, 0.1) == pytest.approx(0.1 * LOOP_SHARE)
    assert pause(0.2, 0.1) > pause(0.2, 0.0)


def test_however_long_a_pass_takes_the_next_one_comes() -> None:
    assert pause(60.0, 60.0) == LONGEST_SECONDS


# ---- when the next pass is made


@dataclass
class Passes:
    """A disruption loop over one empty node, on which nothing that is watched ever changes."""

    times: list[float] = field(default_factory=list)
    opens: float = inf
    takes: float = 0.0
    refuses: bool = False

    def loop(self) -> loops.Disruption:
        found = world(member("a"))
        around = SimpleNamespace(
            take=lambda *_: found, opens=self.opens, prices=tuple, nominations=(), buffers=SimpleNamespace(pods=tuple)
        )
        carrier = SimpleNamespace(
            commands=(), rests=lambda _: False, rested=lambda: None, has=lambda _: False, start=lambda *_: None
        )
        teller = SimpleNamespace(passed=lambda *_: False, judged_again=lambda *_: None)
        now = asyncio.get_running_loop().time
        parts: Any = (around, carrier, teller, self.beside)
        return loops.Disruption(*parts, is_ready=lambda: True, failed=_raised, now=now)

    def beside(self, function: Callable[..., Any], /, *given: Any) -> Awaitable[Any]:
        return self._done(function, *given)

    async def _done(self, function: Callable[..., Any], *given: Any) -> Any:
        now = asyncio.get_running_loop().time()
        if function is loops.validation.judge_all:
            refusal = loops.Refusal(loops.Code.NOT_CHEAPER, "no longer")
            return [
                loops.Again((), ((one.names, refusal),)) if self.refuses else loops.Again((one,)) for one in given[0]
            ]
        self.times.append(now)
        await asyncio.sleep(self.takes)
        commands = decided(member("a"), now=now).commands if len(self.times) == 1 and self.refuses else ()
        return SimpleNamespace(commands=commands)


def _raised(_: object, fault: Exception) -> None:
    raise fault


def passes_within(seconds: float, of: Passes, changes_at: float | None = None) -> list[float]:
    async def scenario() -> None:
        found = of.loop()
        task = asyncio.create_task(found.run())
        if changes_at is not None:
            await asyncio.sleep(changes_at)
            found.trigger()
        await asyncio.sleep(seconds - (changes_at or 0.0))
        task.cancel()

    run(scenario())
    return [round(one) for one in of.times]


def test_where_nothing_happens_everything_is_judged_once_a_minute() -> None:
    assert passes_within(130, Passes()) == [0, 60, 120]


def test_a_pass_is_made_when_a_node_s_time_comes_however_long_the_last_one_took() -> None:
    assert passes_within(50, Passes(opens=20.0))[:2] == [0, 20]
    assert passes_within(50, Passes(opens=20.0, takes=4.0))[:2] == [0, 20]


def test_times_that_have_come_leave_as_much_room_between_passes_as_changes_do() -> None:
    assert passes_within(4.5, Passes(opens=0.0)) == [0, 1, 2, 3, 4]


def test_nodes_whose_command_does_not_hold_any_more_are_judged_at_once() -> None:
    """They were spoken for in every pass since, and nothing that is watched tells that they are not."""
    times = passes_within(50, Passes(refuses=True), changes_at=5.0)
    assert times[:3] == [0, 6, 15]
