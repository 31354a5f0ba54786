"""Instances looked up, many at a time, and what is known of those EC2 has not heard of yet.

Looks that are asked for within a moment are one describe, by filter: a filter that fits nothing is no error, so an id
that EC2 does not know spoils it for nobody.

EC2's describes are behind: for half a minute and more they may not know an instance that was just made. What this
process made is believed to be there while it is young. What a process before it made it cannot know of; so until it has
been at it for as long itself, that EC2 has nothing under an id is not taken for an answer (`Young.is_certain`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.batching import Batcher, Window
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.ends import PATIENCE
from dovetail.clouds.aws.machines import marks, states
from dovetail.clouds.machines import Sought
from dovetail.clouds.port import CloudError, NotFound
from dovetail.core.machines.infra_objects import Found, Purchase, State

Wire = Mapping[str, Any]
BY_ID: Final = "instance-id"
BY_TOKEN: Final = f"tag:{marks.TOKEN}"
BY_CLIENT_TOKEN: Final = "client-token"  # noqa: S105  (the name of a filter)
#: EC2 takes 200 values in a filter.
LOOKS: Final = Window(0.1, 1.0, 200)


class Looks:
    """Describes instances by one filter each, in batches."""

    def __init__(self, aws: Aws, window: Window = LOOKS) -> None:
        self._aws = aws
        self._batches: Batcher[str, str, Wire] = Batcher(self._described, window)

    async def by(self, filter_: str, value: str) -> Wire:
        """The one instance; of several, which only a person can have made, one that lives, and of those the oldest."""
        return await self._batches.add(filter_, value, PATIENCE)

    async def close(self) -> None:
        await self._batches.close()

    async def _described(self, filter_: str, values: Sequence[str]) -> Sequence[Wire | CloudError]:
        wanted = {"Name": filter_, "Values": sorted(set(values))}
        found: dict[str, list[Wire]] = {}
        for one in each(await self._aws.all(calls.DESCRIBE_INSTANCES, Filters=[wanted])):
            found.setdefault(_value(filter_, one), []).append(one)
        return [min(found[value], key=_rank) if value in found else _none(value) for value in values]


def each(reservations: Sequence[Wire]) -> list[Wire]:
    return [one for held in reservations for one in held.get("Instances") or ()]


def _value(filter_: str, wire: Wire) -> str:
    if filter_ == BY_ID:
        return str(wire["InstanceId"])
    if filter_ == BY_CLIENT_TOKEN:
        return str(wire.get("ClientToken") or "")
    return tags.read(wire.get("Tags")).get(marks.TOKEN, "")


def _rank(wire: Wire) -> tuple[bool, float, str]:
    found = states.found(wire)
    return found.state in (State.GONE, State.GOING), found.created, found.provider_id


def _none(value: str) -> NotFound:
    return NotFound(f"there is no instance {value}")


@dataclass(frozen=True, slots=True)
class _Made:
    found: Found
    token: str
    cluster: str
    at: float


class Young:
    """What this process made within the last `seconds`, and whether it has been at it for as long."""

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._seconds, self._now = seconds, now
        self._made: dict[str, _Made] = {}
        self._began: float | None = None

    def begin(self) -> None:
        """Somebody asks. One that only waits for its turn asks nothing, and makes nothing either."""
        if self._began is None:
            self._began = self._now()

    @property
    def is_certain(self) -> bool:
        """Whether everything that anybody else made is old enough to be seen."""
        return self._began is not None and self._now() - self._began >= self._seconds

    def remember(self, found: Found, purchase: Purchase) -> None:
        self._made[found.provider_id] = _Made(found, purchase.token, purchase.cluster, self._now())

    def forget(self, provider_id: str) -> None:
        self._made.pop(provider_id, None)

    def of(self, sought: Sought) -> Found | None:
        made = (one.found for one in self._kept().values() if one.token == sought.token)
        return next((one for one in made if sought.provider_id in ("", one.provider_id)), None)

    def of_cluster(self, cluster: str) -> tuple[Found, ...]:
        return tuple(one.found for one in self._kept().values() if one.cluster == cluster)

    def _kept(self) -> Mapping[str, _Made]:
        oldest = self._now() - self._seconds
        self._made = {name: one for name, one in self._made.items() if one.at > oldest}
        return self._made
