"""Long answers are read one at a time, beside the event loop, while the collector rests."""

import asyncio
import gc
import threading

import pytest

from dovetail.clouds.aws.reading import Reading


def test_one_thing_is_read_at_a_time_and_never_on_the_event_loop():
    within, most, threads = 0, 0, set()

    def read():
        nonlocal within, most
        within += 1
        most = max(most, within)
        threads.add(threading.get_ident())
        within -= 1

    async def scenario():
        reading = Reading()
        await asyncio.gather(*(reading(read) for _ in range(20)))

    asyncio.run(scenario())
    assert most == 1
    assert threading.get_ident() not in threads


def test_the_collector_rests_meanwhile_and_goes_on_after_a_failure():
    def read():
        assert not gc.isenabled()
        raise ValueError("no answer")

    async def scenario():
        with pytest.raises(ValueError, match="no answer"):
            await Reading()(read)

    asyncio.run(scenario())
    assert gc.isenabled()


def test_who_gave_up_waiting_does_not_stop_the_others():
    began, goes_on = threading.Event(), threading.Event()

    def slow():
        began.set()
        goes_on.wait(5)

    async def scenario():
        reading = Reading()
        first = asyncio.create_task(reading(slow))
        await asyncio.to_thread(began.wait, 5)
        second = asyncio.create_task(reading(lambda: 2))
        await asyncio.sleep(0)
        second.cancel()
        goes_on.set()
        await first
        return await reading(lambda: 3)

    assert asyncio.run(scenario()) == 3
