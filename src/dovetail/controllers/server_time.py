"""The API server's time, which is the one that counts: it dates what time-outs are measured from.

A machine whose clock is an hour ahead would give up every claim the moment it is made, and order another, for ever. So
whenever the server dates something we have just made, its date is compared with ours, and from a difference that no
answer takes to arrive we go by its clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

#: Less than this is the time an answer takes, and the second that dates are rounded to.
TOLERATED_SECONDS: Final = 30.0


@dataclass(slots=True)
class ServerTime:
    wall: Callable[[], float] = time.time
    ahead: float = 0.0

    def now(self) -> float:
        return self.wall() - self.ahead

    def learn(self, created: float) -> None:
        """The server has this moment dated something so."""
        difference = self.wall() - created
        self.ahead = difference if abs(difference) > TOLERATED_SECONDS else 0.0
