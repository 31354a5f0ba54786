"""Python's garbage collector, out of the way of work that leaves it nothing to do.

It looks for objects that refer to each other in circles, whenever enough objects were made. Reading and planning make a
great many objects and next to no circles; what they drop is freed at once all the same. So while they last the
collector rests, and goes on as soon as nobody needs it to.
"""

from __future__ import annotations

import gc
from threading import Lock
from types import TracebackType
from typing import Final


class Rest:
    """`with RESTING:` nothing is collected, until the last of those in it, in whichever thread, has left.

    Where somebody else switched the collector off, it stays off.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._within = 0
        self._was_on = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._within:
                self._was_on = gc.isenabled()
                gc.disable()
            self._within += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._within -= 1
            if not self._within and self._was_on:
                gc.enable()


RESTING: Final = Rest()
