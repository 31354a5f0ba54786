"""Going the rounds: who of many machines still runs is asked twice a minute, of all of them together.

Looked at one by one, a thousand machines would be more questions than a cloud answers, or each would be looked at so
seldom that one that was taken away is missed for minutes. A list of what runs is a few calls however many there are. It
is believed in one thing only: that who is on it runs. Who is not on it is looked at by itself, at once, and what that
look finds is what counts: a list may be behind, and an instance it leaves out is not gone for that.

- A list that breaks off, or was not to be had, says nothing about anybody. After a few of them in a row machines are
  looked at one by one again, so many a second, and each says for itself that the cloud does not answer.
- A machine that is left out time and again although it runs, as another provider's without our labels may be, is looked
  at in its turn, so that it keeps nobody new from being looked at first.
- What no list tells, such as an address that was added, is found by a look at each machine now and then.
- Few machines have no rounds. Each is looked at every half minute, and there may be thousands of others in the account.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Never, TypeVar

from dovetail.clouds.machines import Machines, Sought
from dovetail.clouds.port import CloudError, Throttled
from dovetail.controllers import supervision
from dovetail.core.machines.infra_objects import InfraMachine

#: From one round to the next; the longest that nobody notices a machine that was taken away.
ROUND_SECONDS: Final = 30.0
#: Fewer machines are looked at one by one.
FEWEST: Final = 25
#: So many rounds in a row that come to nothing, and machines are looked at one by one.
PATIENCE: Final = 3
#: At most so many machines that run are looked at per second. Azure answers 12,000 questions an hour.
LOOKS_A_SECOND: Final = 3.0
#: Where there are rounds, a machine that runs is looked at by itself once within this time, and after half of it.
AUDIT_SECONDS: Final = 3600.0
#: After a fault of our own.
_REST: Final = supervision.Rest(ROUND_SECONDS, 300.0)
K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class Rounds(Generic[K]):
    """The rounds of one cloud. `fleet` are the machines that are known to run now, `wake` has one looked at in so many
    seconds."""

    cloud: Machines
    fleet: Callable[[], Mapping[K, Sought]]
    wake: Callable[[K, float], None]
    failed: Callable[[Exception], None]
    _works: bool = False
    _failures: int = 0
    #: Who was left out of the last list, in the order in which they are looked at.
    _doubted: tuple[K, ...] = ()

    async def run(self) -> Never:
        """Until cancelled."""
        await supervision.keep_on(self.turn, self.failed, _REST)

    async def turn(self) -> float:
        """One round; returns in how many seconds the next is due."""
        fleet = self.fleet()
        if len(fleet) < FEWEST:
            self._one_by_one(fleet)
            return ROUND_SECONDS
        try:
            running = await self.cloud.roll_call(tuple(fleet.values()))
        except CloudError as problem:
            return self._came_to_nothing(fleet, problem)
        self._works, self._failures = True, 0
        self._look_at([key for key, one in fleet.items() if one.provider_id not in running])
        return ROUND_SECONDS

    def pace(self, name: str, count: int) -> float:
        """Seconds between looks at one machine of so many. Those that were made together are not looked at together."""
        if not self._works:
            return count / LOOKS_A_SECOND
        return AUDIT_SECONDS * (0.5 + zlib.crc32(name.encode()) / 2**33)

    def _came_to_nothing(self, fleet: Mapping[K, Sought], problem: CloudError) -> float:
        self._failures += 1
        if self._failures >= PATIENCE:
            self._one_by_one(fleet)
        self.failed(problem)
        return max(ROUND_SECONDS, problem.wait if isinstance(problem, Throttled) else 0.0)

    def _look_at(self, missing: Sequence[K]) -> None:
        known = set(self._doubted)
        new = [key for key in missing if key not in known]
        for key in new:
            self.wake(key, 0.0)
        left = set(missing)
        waiting = [key for key in self._doubted if key in left]
        most = int(LOOKS_A_SECOND * ROUND_SECONDS)
        self._in_turn(waiting[:most])
        self._doubted = (*waiting[most:], *waiting[:most], *new)

    def _one_by_one(self, fleet: Iterable[K]) -> None:
        """From now on nobody else notices; whoever was to be looked at in an hour is looked at now."""
        if self._works:
            self._works, self._doubted = False, ()
            self._in_turn(fleet)

    def _in_turn(self, keys: Iterable[K]) -> None:
        for number, key in enumerate(keys):
            self.wake(key, number / LOOKS_A_SECOND)


def is_at_rest(one: InfraMachine) -> bool:
    """Whether it is known to run and nothing is being done about it. All others are looked at every few seconds."""
    return bool(one.provider_id) and one.ready and one.failure is None and not one.is_deleting
