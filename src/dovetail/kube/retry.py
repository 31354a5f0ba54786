"""Whether and when to ask again.

    what happened                        repeatable       once only
    ------------------------------------ ---------------- ----------------
    refused before anything was sent     again            again
    429, a busy server                   again            again (it did nothing)
    429, a disruption budget             no               no
    reset, timeout, 5xx                  again            no: it may have happened
    a certificate is refused             no               no
    everything else                      no               no

A read is repeatable; so is a write that says the same thing twice with the same effect (an apply, a delete by uid).
Waits grow by doubling and are drawn from the whole range below (full jitter), so that a thousand clients of one server
that came back do not ask in step. A wait the server named is a lower bound. The first wait that would end after the
budget is not begun: the error goes to the caller, who knows better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dovetail.kube.errors import KubeError, StreamCut, TooManyRequests, Unavailable, Unsent, Untrusted


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one call may take with all its repetitions, and how the waits between them grow; seconds.

    An attempt takes what its kind of request is given (a list more than a get), but no longer than `attempt`.
    """

    budget: float = 60.0
    attempt: float = 300.0
    first: float = 0.1
    longest: float = 15.0

    def drawn(self, attempt: int, chance: Callable[[], float]) -> float:
        """A wait before the repetition after `attempt` failures, the first being 0."""
        # 2.0 ** 1024 overflows; so many failures in a row only happen in tests with a virtual clock.
        return chance() * min(self.longest, self.first * 2.0 ** min(attempt, 64))


def worth_repeating(problem: KubeError, *, repeatable: bool) -> bool:
    match problem:
        case TooManyRequests():
            return not problem.by_disruption_budget
        case Unsent():
            return True
        case StreamCut() | Untrusted():
            return False
        case Unavailable():
            return repeatable
        case _:
            return False


def wait_before(problem: KubeError, attempt: int, patience: Patience, chance: Callable[[], float]) -> float:
    """How long to wait before asking again."""
    drawn = patience.drawn(attempt, chance)
    told = problem.wait if isinstance(problem, TooManyRequests | Unavailable) else None
    return drawn if told is None else told + drawn
