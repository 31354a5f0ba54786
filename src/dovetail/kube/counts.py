"""What the client counts, for whoever publishes metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counts:
    """Plain counters that only grow; a reader takes them as they are."""

    #: By verb and HTTP status; status 0 is an answer that never came.
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    #: Repetitions, by verb.
    repeats: Counter[str] = field(default_factory=Counter)
    #: Requests that had to wait for their turn, by level, and for how many seconds in all.
    waits: Counter[str] = field(default_factory=Counter)
    waited: Counter[str] = field(default_factory=Counter)
