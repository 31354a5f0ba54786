"""Free ports on loopback, from below the range the system hands out by itself.

A port found free and released again can be taken before its server binds it. Most takers ask the system for any
port, and the system answers from 32768 up (49152 elsewhere); a port below is only ever taken by somebody who names it.
"""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from typing import Final

LOW, HIGH = 20000, 32000
TRIES: Final = 500


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """That many different ports nobody listens on."""
    chance = random.SystemRandom()
    found: list[int] = []
    with ExitStack() as held:
        for _ in range(TRIES):
            if len(found) == count:
                return found
            port = chance.randrange(LOW, HIGH)
            candidate = held.enter_context(socket.socket())
            try:
                candidate.bind((host, port))
            except OSError:
                continue
            found.append(port)
    raise OSError(f"no {count} free ports between {LOW} and {HIGH} in {TRIES} tries")
