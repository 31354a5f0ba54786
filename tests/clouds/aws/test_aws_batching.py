"""Wishes collected into calls, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.live.virtual_time import run

from dovetail.clouds.aws.batching import AT_ONCE, DESCRIBES, FLEETS, TERMINATIONS, Batcher, Window
from dovetail.clouds.port import CloudError, NotFound, Throttled, Unavailable

WINDOW = Window(0.035, 1.0, 10)


class Calls:
    """Answers a wish with its double; odd numbers above 100 are not found."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.made: list[tuple[float, str, tuple[int, ...]]] = []
        self.at_once = self.most_at_once = 0
        self.seconds = seconds

    async def __call__(self, key: str, wishes: Sequence[int]) -> Sequence[int | CloudError]:
        self.made.append((asyncio.get_running_loop().time(), key, tuple(wishes)))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.seconds)
        self.at_once -= 1
        if 7777 in wishes:
            raise ZeroDivisionError
        if 13 in wishes:
            raise Throttled("too many calls", 2.0)
        return [NotFound(str(one)) if one > 100 and one % 2 else 2 * one for one in wishes]


def test_the_windows_are_those_of_the_peer() -> None:
    assert (FLEETS.idle, FLEETS.longest, FLEETS.most) == (0.035, 1.0, 1000)
    assert DESCRIBES == TERMINATIONS == Window(0.1, 1.0, 500)


def test_wishes_within_a_moment_are_one_call() -> None:
    async def scenario() -> None:
        calls = Calls()
        batcher: Batcher[str, int, int] = Batcher(calls, WINDOW)
        assert await asyncio.gather(*(batcher.add("a", n, 60) for n in range(5))) == [0, 2, 4, 6, 8]
        assert [wishes for _, _, wishes in calls.made] == [(0, 1, 2, 3, 4)]

    run(scenario())


def test_a_batch_leaves_after_a_moment_of_quiet() -> None:
    async def scenario() -> None:
        calls = Calls()
        batcher: Batcher[str, int, int] = Batcher(calls, WINDOW)
        first = asyncio.create_task(batcher.add("a", 1, 60))
        await asyncio.sleep(0.030)
        second = asyncio.create_task(batcher.add("a", 2, 60))
        await asyncio.sleep(0.030)
        assert calls.made == []
        await asyncio.gather(first, second)
        ((when, _, wishes),) = calls.made
        assert (when, wishes) == (pytest.approx(0.065), (1, 2))

    run(scenario())


def test_a_batch_never_waits_longer_than_its_longest() -> None:
    async def scenario() -> None:
        calls = Calls()
        batcher: Batcher[str, int, int] = Batcher(calls, Window(0.035, 0.2, 1000))

        async def late(n: int) -> int:
            await asyncio.sleep(0.03 * n)
            return await batcher.add("a", n, 60)

        await asyncio.gather(*(late(n) for n in range(9)))
        assert calls.made[0][0] == pytest.approx(0.2)
        assert len(calls.made) == 2

    run(scenario())


def test_a_full_batch_leaves_at_once_and_the_next_one_begins() -> None:
    async def scenario() -> None:
        calls = Calls()
        batcher: Batcher[str, int, int] = Batcher(calls, WINDOW)
        await asyncio.gather(*(batcher.add("a", n, 60) for n in range(12) if n != 13))
        assert [(when, len(wishes)) for when, _, wishes in calls.made] == [(0.0, 10), (pytest.approx(0.035), 2)]

    run(scenario())


def test_what_differs_in_key_is_not_mixed() -> None:
    async def scenario() -> None:
        calls = Calls()
        batcher: Batcher[str, int, int] = Batcher(calls, WINDOW)
        await asyncio.gather(batcher.add("a", 1, 60), batcher.add("b", 2, 60), batcher.add("a", 3, 60))
        assert sorted((key, wishes) for _, key, wishes in calls.made) == [("a", (1, 3)), ("b", (2,))]

    run(scenario())


def test_one_bad_wish_costs_only_itself() -> None:
    async def scenario() -> None:
        batcher: Batcher[str, int, int] = Batcher(Calls(), WINDOW)
        good, bad = await asyncio.gather(batcher.add("a", 102, 60), batcher.add("a", 103, 60), return_exceptions=True)
        assert good == 204
        assert isinstance(bad, NotFound)

    run(scenario())


def test_a_call_that_fails_fails_all_its_wishes() -> None:
    async def scenario() -> None:
        batcher: Batcher[str, int, int] = Batcher(Calls(), WINDOW)
        found = await asyncio.gather(*(batcher.add("a", n, 60) for n in (1, 13)), return_exceptions=True)
        assert all(isinstance(one, Throttled) for one in found)
        assert await batcher.add("a", 2, 60) == 4

    run(scenario())


def test_a_fault_of_ours_is_not_hidden() -> None:
    async def scenario() -> None:
        batcher: Batcher[str, int, int] = Batcher(Calls(), WINDOW)
        with pytest.raises(ZeroDivisionError):
            await batcher.add("a", 7777, 60)

    run(scenario())


def test_who_waits_too_long_is_told_so_and_the_rest_goes_on() -> None:
    async def scenario() -> None:
        calls = Calls(seconds=10.0)
        batcher: Batcher[str, int, int] = Batcher(calls, WINDOW)
        patient = asyncio.create_task(batcher.add("a", 1, 60))
        with pytest.raises(Unavailable, match="within 5 s"):
            await batcher.add("a", 2, 5.0)
        assert await patient == 2
        assert len(calls.made) == 1

    run(scenario())


def test_who_is_cancelled_takes_nobody_along() -> None:
    async def scenario() -> None:
        batcher: Batcher[str, int, int] = Batcher(Calls(), WINDOW)
        one, other = (asyncio.create_task(batcher.add("a", n, 60)) for n in (1, 2))
        await asyncio.sleep(0.01)
        one.cancel()
        assert await other == 4

    run(scenario())


def test_only_so_many_batches_are_under_way_at_once() -> None:
    async def scenario() -> None:
        calls = Calls(seconds=1.0)
        batcher: Batcher[str, int, int] = Batcher(calls, WINDOW)
        await asyncio.gather(*(batcher.add(f"k{n}", 1, 60) for n in range(AT_ONCE + 50)))
        assert calls.most_at_once == AT_ONCE

    run(scenario())


def test_sizes_and_times_of_batches_are_told() -> None:
    async def scenario() -> None:
        seen: list[tuple[int, float]] = []
        batcher: Batcher[str, int, int] = Batcher(Calls(), WINDOW, lambda size, seconds: seen.append((size, seconds)))
        await asyncio.gather(*(batcher.add("a", n, 60) for n in range(3)))
        assert seen == [(3, pytest.approx(0.035))]

    run(scenario())


def test_a_batcher_that_is_closed_leaves_nobody_waiting() -> None:
    async def scenario() -> None:
        batcher: Batcher[str, int, int] = Batcher(Calls(seconds=100.0), WINDOW)
        waiting = asyncio.create_task(batcher.add("a", 1, 600))
        await asyncio.sleep(1.0)
        await batcher.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(scenario())
