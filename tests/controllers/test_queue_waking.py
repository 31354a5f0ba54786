"""One key wakes one worker."""

import asyncio

from dovetail.controllers.queue import WorkQueue


def test_a_key_wakes_one_worker_of_many_and_none_is_forgotten():
    async def scenario() -> tuple[int, list[int]]:
        handled: list[int] = []
        done = asyncio.Event()

        async def handle(key: int) -> None:
            handled.append(key)
            if len(handled) == 40:
                done.set()

        queue: WorkQueue[int] = WorkQueue(handle, lambda key, problem: None)
        running = asyncio.create_task(queue.run(16))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        queue.add(0)
        asleep = len(queue._sleepers)
        for key in range(1, 40):
            queue.add(key)
        await asyncio.wait_for(done.wait(), 5)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return asleep, handled

    asleep, handled = asyncio.run(scenario())
    assert asleep == 15
    assert sorted(handled) == list(range(40))
