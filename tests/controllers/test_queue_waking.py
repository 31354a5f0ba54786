"""One key wakes one worker; workers are hired as they are needed, and few stay."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

from dovetail.controllers.queue import KEPT, WorkQueue


async def at_work(
    handle: Callable[[int], Awaitable[None]],
    scenario: Callable[[WorkQueue[int]], Awaitable[None]],
    workers: int = 40,
) -> None:
    """What a scenario does to a queue that is being worked on by so many at most."""
    queue: WorkQueue[int] = WorkQueue(handle, lambda key, problem: None)
    running = asyncio.create_task(queue.run(workers))
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5):
            await scenario(queue)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def test_a_key_wakes_one_worker_of_those_who_wait_and_none_is_forgotten():
    handled: list[int] = []

    async def handle(key: int) -> None:
        handled.append(key)
        await asyncio.sleep(0.01)

    async def scenario(queue: WorkQueue[int]) -> None:
        for key in range(KEPT):
            queue.add(key)
        await queue.drained()
        await asyncio.sleep(0)
        assert len(queue._sleepers) == KEPT
        queue.add(KEPT)
        assert len(queue._sleepers) == KEPT - 1
        for key in range(KEPT + 1, 100):
            queue.add(key)
        await queue.drained()

    asyncio.run(at_work(handle, scenario))
    assert sorted(handled) == list(range(100))


def test_many_keys_at_once_do_not_begin_all_at_once():
    begun: list[int] = []
    seen: list[int] = []
    over = asyncio.Event()

    async def handle(key: int) -> None:
        begun.append(key)
        await over.wait()  # by no clock: whoever ends while others begin takes the next key in the same turn

    async def scenario(queue: WorkQueue[int]) -> None:
        for key in range(30):
            queue.add(key)
        for _ in range(30):
            await asyncio.sleep(0)
            seen.append(len(begun))
        over.set()
        await queue.drained()

    asyncio.run(at_work(handle, scenario))
    assert max(after - before for before, after in pairwise([0, *seen])) == 1
    assert len(begun) == 30


def test_handlers_that_wait_for_each_other_are_all_let_in():
    waiting, all_here = 0, asyncio.Event()

    async def handle(key: int) -> None:
        nonlocal waiting
        waiting += 1
        if waiting == 40:
            all_here.set()
        await all_here.wait()

    async def scenario(queue: WorkQueue[int]) -> None:
        for key in range(40):
            queue.add(key)
        await queue.drained()

    asyncio.run(at_work(handle, scenario))
    assert waiting == 40


def test_no_more_are_at_work_than_are_allowed():
    busy = most = 0

    async def handle(key: int) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.01)
        busy -= 1

    async def scenario(queue: WorkQueue[int]) -> None:
        for key in range(200):
            queue.add(key)
        await queue.drained()

    asyncio.run(at_work(handle, scenario))
    assert most == 40


def test_few_stay_when_there_is_nothing_to_do():
    async def handle(key: int) -> None:
        await asyncio.sleep(0)

    async def scenario(queue: WorkQueue[int]) -> None:
        for key in range(200):
            queue.add(key)
        await queue.drained()
        await asyncio.sleep(0)
        assert len(queue._sleepers) == queue._workers == KEPT

    asyncio.run(at_work(handle, scenario))


def test_a_key_that_is_added_while_all_ends_hires_nobody():
    ended = asyncio.Event()

    async def scenario() -> None:
        queue: WorkQueue[int]

        async def handle(key: int) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                queue.add(key)
                queue.add(key + 1)
                ended.set()

        queue = WorkQueue(handle, lambda key, problem: None)
        running = asyncio.create_task(queue.run(40))
        await asyncio.sleep(0)
        queue.add(1)
        await asyncio.sleep(0)
        running.cancel()
        (outcome,) = await asyncio.gather(running, return_exceptions=True)
        assert isinstance(outcome, asyncio.CancelledError)

    asyncio.run(scenario())
    assert ended.is_set()


def test_a_worker_that_dies_takes_all_with_it_and_hires_nobody_on_the_way():
    async def scenario() -> BaseException | None:
        queue: WorkQueue[int]

        async def handle(key: int) -> None:
            try:
                if key == 1:
                    raise GeneratorExit
                await asyncio.sleep(60)
            finally:
                queue.add(key + 2)

        queue = WorkQueue(handle, lambda key, problem: None)
        running = asyncio.create_task(queue.run(40))
        await asyncio.sleep(0)
        queue.add(0)
        queue.add(1)
        (outcome,) = await asyncio.wait_for(asyncio.gather(running, return_exceptions=True), 5)
        assert isinstance(outcome, BaseExceptionGroup)
        return outcome.split(GeneratorExit)[1]

    assert asyncio.run(scenario()) is None, "it died of nothing else"


def test_a_handler_given_up_by_another_leaves_no_key_behind():
    handled: list[int] = []

    async def handle(key: int) -> None:
        handled.append(key)
        if key == 0:
            lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            lost.cancel()
            await lost

    async def scenario(queue: WorkQueue[int]) -> None:
        for key in range(3):
            queue.add(key)
        await queue.drained()

    asyncio.run(at_work(handle, scenario, workers=1))
    assert handled == [0, 1, 2]


def test_a_queue_that_was_ended_can_be_worked_on_again():
    handled: list[int] = []

    async def handle(key: int) -> None:
        handled.append(key)
        await asyncio.sleep(0)

    async def scenario() -> None:
        queue: WorkQueue[int] = WorkQueue(handle, lambda key, problem: None)
        first = asyncio.create_task(queue.run(40))
        await asyncio.sleep(0)
        queue.add(1)
        first.cancel()  # before anybody has begun
        await asyncio.gather(first, return_exceptions=True)
        second = asyncio.create_task(queue.run(40))
        async with asyncio.timeout(5):
            await queue.drained()
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)

    asyncio.run(scenario())
    assert handled == [1]
