"""The interruption queue: asked without end, each message told once and deleted when nobody needs it any more.

SQS delivers at least once, and what is not deleted within `HIDDEN_SECONDS` comes again. Of a message becomes:

    told        its machines are ours: `tell` hears of each, and when that has been acted upon it is deleted; an event
                that comes again is deleted untold. One that could not be acted upon in time comes again, and is told
                again, to the next process if this one is no more
    foreign     no machine of ours. One that is about to be taken away may have been bought a moment ago, so that nobody
                knows whose it is yet: such a message is left until it was seen `TRIES` times
    parked      it cannot be read, or dealing with it failed `TRIES` times: it is counted, logged, kept here for whoever
                looks, and deleted

A queue that is not there, or that may not be read, costs a sentence in the log and a longer and longer wait; when it
answers again, that is said too. Nothing that AWS answers ends the loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from dovetail.clouds.aws import calls
from dovetail.clouds.aws import interruption_messages as messages
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.interruption_messages import Event
from dovetail.clouds.port import CloudError, Listener, NotFound, Notice
from dovetail.core.errors import BadInput
from dovetail.core.lifecycle import interruption

MOST_AT_ONCE: Final = 10
POLL_SECONDS: Final = 20
HIDDEN_SECONDS: Final = 20
#: So long it is waited until a message has been acted upon: less than it is hidden.
ACTED_SECONDS: Final = 15.0
#: How often a warning about a machine nobody knows is looked at.
TRIES: Final = 3
#: What comes twice comes soon; after that an event is forgotten.
REMEMBERED_SECONDS: Final = 600.0
#: The first wait after a failure, each is twice the one before, and the longest.
FIRST_WAIT: Final = 5.0
LONGEST_WAIT: Final = 300.0
_KEPT: Final = 20
_LAST: Final = 100
_SHOWN: Final = 300
_URGENT: Final = frozenset({interruption.SPOT, interruption.RESERVATION})
_log: Final = logging.getLogger(__name__)


class Watch(Protocol):
    """Who counts: metrics, or a test."""

    def received(self, kind: str) -> None: ...
    def deleted(self, number: int) -> None: ...
    def parked(self, why: str) -> None: ...

    def waited(self, seconds: float) -> None:
        """So long a message was on its way, from its event until it was read."""


@dataclass(slots=True)
class Tally:
    """A watch that counts, and remembers the last few."""

    kinds: Counter[str] = field(default_factory=Counter)
    gone: int = 0
    unread: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST))
    waits: deque[float] = field(default_factory=lambda: deque(maxlen=_LAST))

    def received(self, kind: str) -> None:
        self.kinds[kind] += 1

    def deleted(self, number: int) -> None:
        self.gone += number

    def parked(self, why: str) -> None:
        self.unread.append(why)

    def waited(self, seconds: float) -> None:
        self.waits.append(seconds)


@dataclass(frozen=True, slots=True)
class Habits:
    """Who counts, and where time comes from; `now` is in seconds since 1970. `poll` is how long SQS may hold a
    question that has no answer yet."""

    watch: Watch = field(default_factory=Tally)
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    poll: int = POLL_SECONDS


@dataclass(frozen=True, slots=True)
class Parked:
    """A message that could not be read: its id, why, and how it begins."""

    id: str
    why: str
    beginning: str


@dataclass(frozen=True, slots=True)
class _Dealing:
    """What becomes of a message: it goes when all that follows from it is done."""

    event: str = ""
    acts: tuple[asyncio.Future[object], ...] = ()

    @property
    def is_over(self) -> bool:
        return all(one.done() and not one.cancelled() and one.exception() is None for one in self.acts)


class Interruptions:
    """One queue. `find` knows the provider id of an instance that is ours."""

    def __init__(
        self,
        aws: Aws,
        queue: str,
        tell: Listener,
        find: Callable[[str], str | None],
        habits: Habits | None = None,
    ) -> None:
        self._aws, self._queue, self._tell, self._find = aws, queue, tell, find
        self._habits = habits or Habits()
        self._url = ""
        self._told: dict[str, float] = {}
        self.parked: deque[Parked] = deque(maxlen=_KEPT)
        #: Why the queue cannot be read, "" while it can.
        self.problem = ""
        self._trouble: tuple[type[CloudError], str] | None = None
        self._failures = 0

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.once()
            except CloudError as failed:
                await self._habits.sleep(self._failed(failed))
            else:
                self._answered()

    async def once(self) -> None:
        """Wait for messages, deal with them, delete those that are dealt with."""
        heard = await self._received()
        self._forget()
        dealt = [(one, dealing) for one in heard if (dealing := self._survived(one)) is not None]
        acts = [act for _, dealing in dealt for act in dealing.acts]
        if acts:
            await asyncio.wait(acts, timeout=ACTED_SECONDS)
        for _, dealing in dealt:
            if not dealing.is_over:
                self._told.pop(dealing.event, None)
        await self._delete([one for one, dealing in dealt if dealing.is_over])

    # ---- one message

    def _survived(self, wire: Mapping[str, Any]) -> _Dealing | None:
        """Deal with a message, whatever comes of it; None if it is to come again."""
        try:
            return self._dealt(wire)
        except Exception as fault:  # noqa: BLE001 - a fault of ours must not keep all other messages from being heard
            if _times_seen(wire) >= TRIES:
                self._park(wire, f"dealing with it fails: {fault!r}")
                return _Dealing()
            _log.warning("a message of the queue %s is looked at again", self._queue, exc_info=fault)
            return None

    def _dealt(self, wire: Mapping[str, Any]) -> _Dealing | None:
        watch = self._habits.watch
        try:
            event = messages.read(str(wire.get("Body", "")))
        except BadInput as bad:
            self._park(wire, str(bad))
            return _Dealing()
        watch.received(event.kind)
        if event.at is not None:
            watch.waited(max(0.0, self._habits.now() - event.at))
        if event.id in self._told or not event.instances:
            return _Dealing()
        found = [known for one in event.instances if (known := self._find(one)) is not None]
        if not found and event.kind in _URGENT and _times_seen(wire) < TRIES:
            return None
        told = [self._tell(Notice(provider_id, event.kind, event.ends)) for provider_id in found]
        self._remember(event)
        return _Dealing(event.id, tuple(asyncio.ensure_future(act) for act in told if act is not None))

    def _park(self, wire: Mapping[str, Any], why: str) -> None:
        one = Parked(str(wire.get("MessageId", "")), why, str(wire.get("Body", ""))[:_SHOWN])
        self.parked.append(one)
        self._habits.watch.parked(why)
        _log.warning(
            "a message of the queue %s cannot be read and is put aside: %s; it begins: %r",
            self._queue,
            why,
            one.beginning,
        )

    def _remember(self, event: Event) -> None:
        self._told[event.id] = self._habits.now() + REMEMBERED_SECONDS

    def _forget(self) -> None:
        """Events stand in the order in which they lapse."""
        now = self._habits.now()
        for name in [name for name, until in self._told.items() if until <= now]:
            del self._told[name]

    # ---- the queue

    async def _received(self) -> Iterable[Mapping[str, Any]]:
        if not self._url:
            self._url = str((await self._aws.ask(calls.GET_QUEUE_URL, QueueName=self._queue))["QueueUrl"])
        answer = await self._aws.ask(
            calls.RECEIVE_MESSAGES,
            QueueUrl=self._url,
            MaxNumberOfMessages=MOST_AT_ONCE,
            VisibilityTimeout=HIDDEN_SECONDS,
            WaitTimeSeconds=self._habits.poll,
            MessageSystemAttributeNames=["ApproximateReceiveCount"],
        )
        return answer.get("Messages") or ()

    async def _delete(self, done: list[Mapping[str, Any]]) -> None:
        """All in one call. What could not be deleted comes again and is known then."""
        if not done:
            return
        entries = [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(done)]
        answer = await self._aws.ask(calls.DELETE_MESSAGES, QueueUrl=self._url, Entries=entries)
        self._habits.watch.deleted(len(answer.get("Successful") or ()))

    # ---- trouble

    def _failed(self, failed: CloudError) -> float:
        """Say it once for as long as it stays the same; how long to wait."""
        if isinstance(failed, NotFound):
            self._url = ""
        self.problem = _sentence(self._queue, failed)
        kind = (type(failed), failed.reason)
        if kind != self._trouble:
            _log.warning("%s", self.problem)
        self._trouble = kind
        self._failures += 1
        return float(min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(self._failures - 1, 20)))

    def _answered(self) -> None:
        if self.problem:
            _log.info("the interruption queue %s answers again", self._queue)
        self.problem, self._trouble, self._failures = "", None, 0


def _times_seen(wire: Mapping[str, Any]) -> int:
    told = str((wire.get("Attributes") or {}).get("ApproximateReceiveCount", "1"))
    return int(told) if told.isdecimal() else 1


def _sentence(queue: str, failed: CloudError) -> str:
    if isinstance(failed, NotFound):
        return (
            f"there is no interruption queue {queue} in this account and region: nobody is warned before machines are "
            "taken away; create it, or set no queue"
        )
    return f"the interruption queue {queue} cannot be read, so nobody is warned of machines that go: {failed}"
