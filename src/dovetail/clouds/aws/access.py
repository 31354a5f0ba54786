"""How AWS is reached, who watches, and where time comes from."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from dovetail.clouds.aws.calls import Call


@dataclass(frozen=True, slots=True)
class Access:
    """How AWS is reached; what is left out is found as every AWS tool finds it."""

    region: str = ""
    endpoint: str = ""
    connections: int = 100
    attempts: int = 5


class Watch(Protocol):
    """Who wants to know about calls: metrics, or a test."""

    def called(self, call: Call, seconds: float, code: str) -> None:
        """A call was answered; `code` is "" or what it was refused with."""

    def waited(self, call: Call, seconds: float) -> None:
        """It will be made again after so long."""


@dataclass(slots=True)
class Counts:
    """A watch that counts: calls by name, refusals by name and code, seconds spent backing off."""

    calls: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    backed_off: float = 0.0

    def called(self, call: Call, seconds: float, code: str) -> None:
        self.calls[call.name] += 1
        if code:
            self.refused[call.name, code] += 1

    def waited(self, call: Call, seconds: float) -> None:
        self.backed_off += seconds


@dataclass(frozen=True, slots=True)
class Pace:
    """Where time and chance come from."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
