"""A batch waits for what is new, not for what has spoken before."""

import asyncio
import time

from dovetail.controllers.batching import Batcher, Window


def test_a_pod_that_speaks_again_in_the_same_batch_does_not_make_it_wait_longer():
    async def scenario() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        batcher = Batcher(Window(0.05, 5.0))
        batcher.trigger("a")
        first = batcher._last
        await asyncio.sleep(0.01)
        batcher.trigger("a")
        same = batcher._last
        batcher.trigger("b")
        assert batcher._last > first
        await batcher.batch()
        batcher.trigger("a")
        assert batcher._last > same, "in the next batch it counts again"
        assert loop.time() >= batcher._last
        return first, same

    first, same = asyncio.run(scenario())
    assert first == same


def test_a_loop_that_had_no_time_did_not_listen():
    """What came while it was blocked is some hops away from the batch: it is waited for."""

    async def blocked():
        loop = asyncio.get_running_loop()
        batcher = Batcher(Window(0.1, 5.0))
        came: list[str] = []

        def hop(left: int) -> None:
            if left:
                loop.call_soon(hop, left - 1)
            else:
                came.append("b")
                batcher.trigger("b")

        def block() -> None:
            time.sleep(0.3)
            hop(9)

        batcher.trigger("a")
        loop.call_later(0.01, block)
        await batcher.batch()
        return came

    assert asyncio.run(blocked()) == ["b"]
