from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dovetail.controllers.queue import WorkQueue


def ignore(key: str, problem: Exception) -> None:
    raise AssertionError(f"{key}: {problem}")


async def run_until_drained(queue: WorkQueue[str], workers: int = 4) -> None:
    task = asyncio.create_task(queue.run(workers))
    await queue.drained()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_key_added_twice_is_handled_once():
    async def scenario() -> list[str]:
        seen: list[str] = []

        async def handle(key: str) -> None:
            seen.append(key)

        queue = WorkQueue(handle, ignore)
        for key in ("a", "b", "a"):
            queue.add(key)
        await run_until_drained(queue)
        return seen

    assert asyncio.run(scenario()) == ["a", "b"]


def test_a_key_is_never_handled_by_two_at_once_and_what_comes_meanwhile_is_not_lost():
    async def scenario() -> tuple[int, int]:
        running = most = looks = 0
        queue: WorkQueue[str]

        async def handle(key: str) -> None:
            nonlocal running, most, looks
            running, looks = running + 1, looks + 1
            most = max(most, running)
            if looks == 1:
                queue.add(key)
                queue.add(key)
            await asyncio.sleep(0)
            running -= 1

        queue = WorkQueue(handle, ignore)
        queue.add("a")
        await run_until_drained(queue)
        return most, looks

    assert asyncio.run(scenario()) == (1, 2)


def looks_until(count: int, handler: Callable[[int], Awaitable[float | None]], failed: list[str]) -> int:
    async def scenario() -> int:
        looks = 0
        enough = asyncio.Event()

        async def handle(key: str) -> float | None:
            nonlocal looks
            looks += 1
            if looks >= count:
                enough.set()
                return None
            return await handler(looks)

        queue = WorkQueue(handle, lambda key, problem: failed.append(str(problem)), first_retry=0.001)
        queue.add("a")
        task = asyncio.create_task(queue.run(2))
        await enough.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return looks

    return asyncio.run(scenario())


def test_a_handler_that_fails_is_told_of_and_tried_again():
    async def fails(look: int) -> float | None:
        raise ValueError(f"no {look}")

    failed: list[str] = []
    assert looks_until(4, fails, failed) == 4
    assert failed == ["no 1", "no 2", "no 3"]


def test_a_handler_is_called_again_when_it_asked_to_be():
    async def later(look: int) -> float | None:
        return 0.001

    assert looks_until(3, later, []) == 3


def test_an_earlier_look_is_not_put_off_by_a_later_one():
    async def scenario() -> int:
        looks = 0
        done = asyncio.Event()

        async def handle(key: str) -> None:
            nonlocal looks
            looks += 1
            done.set()

        queue = WorkQueue(handle, ignore)
        queue.add("a", after=0.005)
        queue.add("a", after=1000.0)
        task = asyncio.create_task(queue.run(1))
        await done.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return looks

    assert asyncio.run(scenario()) == 1


def test_a_forgotten_key_is_not_looked_at():
    async def scenario() -> int:
        looks = 0

        async def handle(key: str) -> None:
            nonlocal looks
            looks += 1

        queue = WorkQueue(handle, ignore)
        queue.add("a", after=0.001)
        queue.forget("a")
        task = asyncio.create_task(queue.run(1))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return looks

    assert asyncio.run(scenario()) == 0
