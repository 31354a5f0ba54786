"""Bad days, as values: what can go wrong between a cloud and whoever uses it, and plans of when it does.

Faults of a call (any verb) and faults of a machine (asked for when it is launched):

    OutOfStock    the first so many options cannot be had, or none of them
    Throttle      the cloud has had enough of us
    TimeOut       nothing was done, and nobody answers
    LostAnswer    it was done, and nobody answers
    Twice         the call arrives twice, at the same time
    JoinsLate     the Node comes later, or never
    Dies          the machine is gone, and its Node stays behind
    Sickens       the Node says that it is not ready, for a while or for good
    Interrupted   the cloud says that it will take the machine away, and does

A plan is asked at every call. A `Script` hands its faults out one by one; `Dice` rolls for each call, and rolls the
same for the same seed, verb, subject and how-manieth call, in whatever order calls are made.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

LAUNCH: Final = "launch"
TERMINATE: Final = "terminate"
GET: Final = "get"
INSTANCES: Final = "instances"
REBOOT: Final = "reboot"


@dataclass(frozen=True, slots=True)
class OutOfStock:
    """`options` is how many, from the first; None for all."""

    options: int | None = None


@dataclass(frozen=True, slots=True)
class Throttle:
    wait: float = 1.0


@dataclass(frozen=True, slots=True)
class TimeOut:
    """`seconds` pass before that is clear."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LostAnswer:
    pass


@dataclass(frozen=True, slots=True)
class Twice:
    pass


@dataclass(frozen=True, slots=True)
class JoinsLate:
    seconds: float = math.inf


@dataclass(frozen=True, slots=True)
class Dies:
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Sickens:
    after: float = 0.0
    lasts: float = math.inf


@dataclass(frozen=True, slots=True)
class Interrupted:
    after: float = 0.0
    notice: float = 120.0


CallFault = OutOfStock | Throttle | TimeOut | LostAnswer | Twice
MachineFault = JoinsLate | Dies | Sickens | Interrupted
Fault = CallFault | MachineFault
_OF_MACHINES: Final = (JoinsLate, Dies, Sickens, Interrupted)


class Plan(Protocol):
    """When what goes wrong."""

    def faults(self, verb: str, subject: str) -> tuple[Fault, ...]:
        """What befalls this call. `subject` is the claim's name, a provider id, or nothing."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One fault, once: at the next such call, of this subject or of any."""

    verb: str
    fault: Fault
    subject: str = ""


class Script:
    """Faults handed out in order, each once; one for each call at most."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._left = list(entries)

    @property
    def left(self) -> tuple[Entry, ...]:
        return tuple(self._left)

    def add(self, verb: str, fault: Fault, subject: str = "") -> None:
        self._left.append(Entry(verb, fault, subject))

    def faults(self, verb: str, subject: str) -> tuple[Fault, ...]:
        for one in self._left:
            if one.verb == verb and one.subject in ("", subject):
                self._left.remove(one)
                return (one.fault,)
        return ()


class Dice:
    """Every call may suffer each of these, with its chance. Machine faults and lack of stock befall launches only."""

    def __init__(self, seed: int, chances: Mapping[Fault, float]) -> None:
        self._seed = seed
        self._chances = dict(chances)
        self._calls: Counter[tuple[str, str]] = Counter()
        self.on = True

    def faults(self, verb: str, subject: str) -> tuple[Fault, ...]:
        if not self.on:
            return ()
        self._calls[verb, subject] += 1
        call = f"{self._seed} {verb} {subject} {self._calls[verb, subject]}"
        found = []
        for number, (fault, chance) in enumerate(self._chances.items()):
            if verb != LAUNCH and isinstance(fault, (OutOfStock, *_OF_MACHINES)):
                continue
            if random.Random(f"{call} {number}").random() < chance:  # noqa: S311  (a game, not a secret)
                found.append(fault)
        return tuple(found)
