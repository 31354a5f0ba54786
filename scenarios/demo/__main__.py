"""`python -m scenarios.demo`: tell the story, and exit with 1 if it did not come out as it must."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time

from dovetail.cli.exits import Exit
from scenarios.demo.judge import Judge
from scenarios.demo.screen import Screen, open_screen
from scenarios.demo.story import Story, Unfinished
from scenarios.demo.world import World


async def told(screen: Screen) -> int:
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
    return Exit.FAILED if wrong else Exit.OK


def main() -> int:
    screen = open_screen(sys.stdout, os.environ)
    try:
        code = asyncio.run(told(screen))
        screen.close()
    except (KeyboardInterrupt, asyncio.CancelledError):
        screen.close()
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read has read enough; the interpreter must not try to flush the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    return code


if __name__ == "__main__":
    sys.exit(main())
