"""One telling of the demo, from an empty cluster to the verdict."""

from __future__ import annotations

import asyncio
import signal
import time

from dovetail.demo.judge import Judge
from dovetail.demo.screen import Screen
from dovetail.demo.story import Story, Unfinished
from dovetail.demo.world import World


async def told(screen: Screen) -> bool:
    """Whether it came out as it must; what did not is said."""
    began = time.monotonic()
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with World() as world:
        judge = Judge(world)
        story = Story(world, screen, judge, began)
        try:
            await story.tell()
            wrong = await judge.verdict()
        except Unfinished as stuck:
            wrong = [str(stuck)]
        screen.close()
        story.say(judge.summary(story.seconds))
        for one in wrong:
            story.say(f"That is wrong: {one}.")
    return not wrong
