"""The port through which infrastructure machines of Cluster API are bought, watched and removed, one at a time.

It is smaller than `port.Cloud`: nothing is chosen here. What is bought is exactly what the object asks for (R7), on
spot if it says so and never otherwise (R4). The errors are those of `port`; `refusal` says what each of them means for
the machine. The contract suite in `tests/contract/machines` holds every implementation to it, the simulated one first.

What an implementation owes beyond the methods' own words:

- it asks for machines that the cloud itself never replaces or restarts (R11): on AWS a one-time request that terminates
  (R17, R18), on GCP no automatic restart and termination on host maintenance (R22), on Azure no scale set (R30);
- it never starts, restarts or replaces anything (R12);
- `Found.interruptible` is the cloud's word on the instance, not the order's.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol

from dovetail.clouds.port import CloudError, Misconfigured, NoCapacity, NotFound, QuotaExceeded, Throttled, Unavailable
from dovetail.core.machines.infra_objects import Found, InfraMachine, Kind, Purchase, Refusal, Sent


@dataclass(frozen=True, slots=True)
class Sought:
    """Which instance is meant: the one with this id or, where no id is on record yet, the one of this name and cluster
    with this token."""

    name: str
    cluster: str
    token: str
    provider_id: str = ""
    namespace: str = ""


#: Lines shorter than this tell nobody anything, and would be found where they are not meant.
_TELLING: Final = 8
_PACKED: Final = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}", re.ASCII)
_HIDDEN: Final = "(left out)"


@dataclass(frozen=True, slots=True)
class UserData:
    """What a machine starts with: it makes it a node, and holds secrets, so it is never shown."""

    data: bytes
    format: str = "cloud-config"

    def __repr__(self) -> str:
        return f"UserData({len(self.data)} bytes, {self.format})"

    def left_out(self, said: str) -> str:
        """What a cloud said, without what of it is this: some repeat what they refuse, and what they say is told in
        conditions, events and logs."""
        lines = {one.strip() for one in self.data.decode(errors="replace").splitlines()}
        for one in sorted((one for one in lines if len(one) >= _TELLING), key=lambda one: (-len(one), one)):
            said = said.replace(one, _HIDDEN)
        encoded = base64.b64encode(self.data).decode()
        return _PACKED.sub(lambda found: _HIDDEN if found[0].rstrip("=") in encoded else found[0], said)


class Underway(CloudError):
    """The cloud has taken the order and is at it; ask again with the same token after `wait` seconds. It is how a
    cloud whose orders take a while keeps nobody waiting, and how want of capacity that shows late is still heard.
    `taken` is whether it is the instance that is under way, and not only what it needs first."""

    def __init__(self, message: str, wait: float = 3.0, *, taken: bool = False) -> None:
        super().__init__(message)
        self.wait, self.taken = wait, taken


class Undone(Unavailable):
    """The order came to nothing for a reason that may pass, and nothing is left of it: another may be sent."""


class Lost(CloudError):
    """An order was carried out, and its instance is gone before anybody had its id."""


class Unmarked(Misconfigured):
    """There is an instance under the id that somebody wrote, and nothing on it says whose it is: it is not removed for
    that, and it is not gone either."""

    def __init__(self, sought: Sought, mark: str | None) -> None:
        """`mark` is what would make it the cluster's, None where nothing can."""
        whose = f"cluster {sought.cluster}" if sought.cluster else "any cluster"
        advice = f"put {mark} on it, or correct spec.providerID" if mark else "correct spec.providerID"
        super().__init__(f"{sought.provider_id} carries no mark of {whose}; {advice}")


Ordering = Callable[[], Awaitable[None]]


async def unrecorded() -> None:
    """Nobody keeps a record of orders."""


class Machines(Protocol):
    """Single instances of one cloud."""

    @property
    def cloud(self) -> str:
        """aws, gcp or azure: which infrastructure machines are its own."""

    async def create(self, purchase: Purchase, boot: UserData, ordering: Ordering = unrecorded) -> Found:
        """Make one. The same token again, later or at the same time, returns the same instance. Raises Underway while
        the cloud cannot say yet whether there will be one.

        `ordering` is awaited right before the call that makes the instance: that it is made goes on record first, and
        what it raises keeps it from being made. What the record says comes back as `purchase.sent`. An order that was
        TAKEN is only asked about, and is Lost where nothing is there; one that is UNHEARD is sent again, unless the
        cloud can tell that it was carried out."""

    async def find(self, sought: Sought) -> Found:
        """The instance, in whatever state, as long as the cloud remembers it; raises NotFound if it has none. One that
        has been gone for long may be forgotten; one that `create` would say is underway may not be told of yet."""

    async def delete(self, sought: Sought) -> None:
        """Remove it and everything that was made for it: disks, network interfaces, addresses. Returns while it is
        going; raises NotFound once nothing is left, or if there never was any. An id is only what somebody wrote: where
        nothing of ours is under it, what was made for this name and token is removed all the same. Raises Unmarked, as
        `find` does, for as long as what is under it may be anybody's."""

    async def instances(self, cluster: str) -> tuple[Found, ...]:
        """Every instance that was made for machines of this cluster and is not gone, and nobody else's."""

    async def roll_call(self, fleet: Collection[Sought]) -> frozenset[str]:
        """Provider ids of those that certainly run, asked for together, in as few calls as the cloud allows. It says
        nothing of the others: a list may be behind, so each of them is looked at by itself. Raises CloudError where a
        part of the answer is missing: half a list would cast doubt on all the rest."""


def refusal(error: CloudError, sent: Sent = Sent.UNHEARD) -> Refusal:
    """What it means that an instance was not made (R38). `sent` is what was known of the order before: a plain no to
    the first one that was ever sent leaves nothing to be heard of, unless it was sent before that and not answered."""
    match error:
        case NoCapacity() | QuotaExceeded():
            return Refusal(Kind.CAPACITY, str(error), sent=Sent.NO)
        case Misconfigured() | NotFound():
            plain = sent is Sent.NO and not error.unheard
            return Refusal(Kind.PERSISTENT, str(error), sent=Sent.NO if plain else None)
        case Throttled():
            return Refusal(Kind.TRANSIENT, str(error), error.wait)
        case Underway():
            return Refusal(Kind.UNDERWAY, str(error), error.wait, Sent.TAKEN if error.taken else None)
        case Undone():
            return Refusal(Kind.TRANSIENT, str(error), sent=Sent.NO)
        case Lost():
            return Refusal(Kind.LOST, str(error))
        case _:
            return Refusal(Kind.TRANSIENT, str(error))


@contextmanager
def order_sent() -> Iterator[None]:
    """What is refused in here says nothing of the order: the cloud has it."""
    try:
        yield
    except CloudError as refused:
        refused.unheard = True
        raise


async def removed(remove: Callable[[Sought], Awaitable[None]], sought: Sought) -> None:
    """Remove what is under the id; if that may be anybody's, at least what was made, and say so. It may hold parts of
    what was made, which are refused for that."""
    try:
        await remove(sought)
    except Unmarked:
        with suppress(NotFound, Misconfigured):
            await remove(replace(sought, provider_id=""))
        raise


def sought(infra: InfraMachine, cluster: str, token: str) -> Sought:
    return Sought(infra.name, cluster, token, infra.provider_id, infra.meta.namespace)
