"""What can be asked for notices: each source knows one cloud's way of telling one thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from dovetail.core.handler import age
from dovetail.core.handler.notices import Notice

#: How long an answer to a plain question may take; a metadata server is a link away.
ANSWER_SECONDS: Final = 2.0
#: Where all three clouds have theirs.
METADATA_URL: Final = "http://169.254.169.254"


class Source(Protocol):
    """`look` asks once, and may wait as long as the server lets it; `pause` is how long to wait after an answer.

    `doubts` is how many answers in a row have to leave a notice out before it counts as taken back, and `silence` how
    long the source may take to answer when all is well.
    """

    name: str
    pause: float
    doubts: int
    silence: float

    async def look(self, now: Callable[[], float]) -> tuple[Notice, ...]: ...


class Age:
    """How long the machine has run; nobody has to be asked."""

    name: str = age.SOURCE
    pause: float = 60.0
    doubts: int = 1
    silence: float = 0.0

    def __init__(self, node: str, limit: float, uptime: Callable[[], float]) -> None:
        self._node, self._limit, self._uptime = node, limit, uptime

    async def look(self, now: Callable[[], float]) -> tuple[Notice, ...]:
        moment = now()
        return age.too_old(moment - self._uptime(), self._limit, self._node, moment)


def uptime() -> float:
    """Seconds since the machine was started, which is when clouds begin to count."""
    with open("/proc/uptime", encoding="ascii") as file:
        return float(file.read().split()[0])
