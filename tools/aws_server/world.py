"""The knobs tests turn. Zones, types and capacity types may be "*"."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

ICE: Final = "InsufficientInstanceCapacity"
_HOUR: Final = 3600.0

Pool = tuple[str, str, str]
"""A capacity type, an instance type and a zone."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with this error instead of doing anything."""

    code: str = "RequestLimitExceeded"
    message: str = "Request limit exceeded."
    status: int = 503


@dataclass(frozen=True, slots=True)
class Cut:
    """Cut the connection: after the work is done (the answer is lost), or before it."""

    done: bool = True


@dataclass(frozen=True, slots=True)
class Nonsense:
    """Answer with a page that no SDK can read."""

    status: int = 500


@dataclass(frozen=True, slots=True)
class Hold:
    """Answer when `release` is set, at the latest after ten seconds."""

    release: threading.Event


@dataclass(frozen=True, slots=True)
class Without:
    """Leave every element of this name out of an answer in XML."""

    element: str


Fault = Refuse | Cut | Nonsense | Hold | Without


@dataclass(frozen=True, slots=True)
class Scarcity:
    """How many of a pool are left, and what those hear who come too late."""

    left: int
    code: str = ICE


class World:
    """One per process, as moto's backends are."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        with self.lock:
            self._offset = 0.0
            #: Where time comes from, in seconds since 1970; a test in virtual time has its own.
            self.clock: Callable[[], float] = time.time
            self.stock: dict[Pool, Scarcity] = {}
            self.on_demand: dict[str, float] = {}
            self.spot: dict[tuple[str, str], float] = {}
            self.reservations: dict[str, dict[str, Any]] = {}
            self.placement_groups: dict[str, dict[str, Any]] = {}
            self.zonal_shifts: list[dict[str, Any]] = []
            self.impaired: dict[str, dict[str, Any]] = {}
            self.extra_types: dict[str, dict[str, Any]] = {}
            self.fleet_tokens: dict[str, tuple[str, dict[str, Any]]] = {}
            #: Requests for single machines that were met, and by their token which machine each was met with.
            self.runs: list[dict[str, Any]] = []
            self.run_tokens: dict[str, tuple[str, str]] = {}
            self.lives: dict[str, Life] = {}
            self.calls: Counter[str] = Counter()
            self.waits = Waits()
            self._faults: dict[str, list[Fault]] = {}
            self._always: dict[str, Fault] = {}

    # ---- time

    @property
    def now(self) -> float:
        return self.clock() + self._offset

    def forward(self, seconds: float) -> None:
        self._offset += seconds

    # ---- the market

    def sell_out(self, capacity_type: str = "*", instance_type: str = "*", zone: str = "*", code: str = ICE) -> None:
        self.restock(capacity_type, instance_type, zone, left=0, code=code)

    def restock(self, capacity_type: str, instance_type: str, zone: str, *, left: int, code: str = ICE) -> None:
        self.stock[capacity_type, instance_type, zone] = Scarcity(left, code)

    def taken(self, pool: Pool) -> str:
        """Take one of a pool: "" or the code of the refusal."""
        keys = [key for key in itertools.product(*((part, "*") for part in pool)) if key in self.stock]
        for key in keys:
            if self.stock[key].left <= 0:
                return self.stock[key].code
        for key in keys:
            self.stock[key] = Scarcity(self.stock[key].left - 1, self.stock[key].code)
        return ""

    # ---- faults: an action is named as in the documentation, "CreateFleet"; "*" is every action

    def fail(self, action: str, fault: Fault, times: int = 1) -> None:
        with self.lock:
            self._faults.setdefault(action, []).extend([fault] * times)

    def fail_always(self, action: str, fault: Fault | None) -> None:
        """From now on, or no longer."""
        with self.lock:
            self._always.pop(action, None)
            if fault is not None:
                self._always[action] = fault

    def throttle(self, action: str = "*", times: int = 1) -> None:
        self.fail(action, Refuse(), times)

    def lose_answer(self, action: str, times: int = 1) -> None:
        self.fail(action, Cut(), times)

    def called(self, action: str) -> Fault | None:
        """Count a call; what is to go wrong with it."""
        with self.lock:
            self.calls[action] += 1
            for name in (action, "*"):
                if self._faults.get(name):
                    return self._faults[name].pop(0)
                if name in self._always:
                    return self._always[name]
            return None


@dataclass(slots=True)
class Waits:
    """How long things take, in seconds: until a new machine is seen by describes, until it runs, until one that was
    terminated is gone, and until nobody remembers it."""

    seen: float = 0.0
    boot: float = 0.0
    shutdown: float = 0.0
    remembered: float = _HOUR


@dataclass(slots=True)
class Life:
    """When a machine began and when it was told to end."""

    born: float
    waits: Waits = field(default_factory=Waits)
    ended: float | None = None
    boots: int = 0


WORLD: Final = World()
