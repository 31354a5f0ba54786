"""Zones that traffic is shifted away from (ARC's zonal shifts and autoshifts, `spec/aws` §7), for who asks for it.

A zone is shifted away from because something is wrong with it. So nothing is bought there; and what EC2 says of its
machines is not believed: they are taken to be what they were when the shift began, and none of them is ended or tagged,
until the shift is over. ARC knows zones by their id, which means the same in every account.

A question that fails leaves what was known before, for as long as ARC had said.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.wire import ZoneRow
from dovetail.clouds.port import CloudError, NotFound, Unavailable

SECONDS: Final = 30.0
_APPLIED: Final = "APPLIED"
_FOR_EVER: Final = float("inf")
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """A zone that is shifted away from now, or is not any more."""

    zone: str
    active: bool


class Shifts:
    """What ARC says of one cluster. `zones` are those that are shifted away from, by name."""

    def __init__(self, aws: Aws, cluster: str, now: Callable[[], float]) -> None:
        self._aws, self._cluster, self._now = aws, cluster, now
        self._arn = ""
        #: By zone id, until when.
        self._away: dict[str, float] = {}
        self._problem = ""
        self.zones: frozenset[str] = frozenset()

    async def follow(
        self,
        named: Callable[[], Iterable[ZoneRow]],
        changed: Callable[[tuple[Change, ...]], None],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        """Until cancelled. `named` says what the zones are called, which is not known from the start."""
        while True:
            changes = await self.look(named())
            if changes:
                changed(changes)
            await sleep(SECONDS)

    async def look(self, named: Iterable[ZoneRow]) -> tuple[Change, ...]:
        """Ask now. What is different from before."""
        try:
            self._away = await self._asked()
            self._problem = ""
        except CloudError as failed:
            if str(failed) != self._problem:
                self._problem = str(failed)
                _log.warning("zonal shifts are not heard of: %s", failed)
        now, before = self._now(), self.zones
        self.zones = frozenset(one.zone_name for one in named if self._away.get(one.zone_id, 0.0) > now)
        return (
            *(Change(zone, active=True) for zone in sorted(self.zones - before)),
            *(Change(zone, active=False) for zone in sorted(before - self.zones)),
        )

    def hide(self, provider_id: str) -> bool:
        """Whether a machine is in a zone that is shifted away from: nothing is done to it, nothing of it believed."""
        return zone_of(provider_id) in self.zones

    def spare(self, provider_id: str, what: str) -> None:
        """Raises Unavailable for what would be done to such a machine."""
        if self.hide(provider_id):
            raise Unavailable(f"{what} waits: its zone {zone_of(provider_id)} is shifted away from")

    async def _asked(self) -> dict[str, float]:
        if not self._arn:
            answer = await self._aws.ask(calls.DESCRIBE_CLUSTER, name=self._cluster)
            self._arn = str((answer.get("cluster") or {}).get("arn") or "")
            if not self._arn:
                raise Unavailable(f"EKS does not say what the ARN of {self._cluster} is")
        try:
            return dict(away(await self._aws.ask(calls.GET_SHIFTS, resourceIdentifier=self._arn)))
        except NotFound:
            return {}  # ARC has never heard of the cluster, so it has shifted nothing


def zone_of(provider_id: str) -> str:
    """In `aws:///zone/i-…`."""
    return provider_id.removeprefix("aws:///").partition("/")[0]


def away(answer: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """By the id of each zone that is shifted away from, until when; later ones come last."""
    found: dict[str, float] = {}
    for one in (*(answer.get("zonalShifts") or ()), *(answer.get("autoshifts") or ())):
        if one.get("appliedStatus") == _APPLIED and one.get("awayFrom"):
            ends = one.get("expiryTime")
            until = ends.timestamp() if isinstance(ends, datetime) else _FOR_EVER
            zone = str(one["awayFrom"])
            found[zone] = max(until, found.get(zone, 0.0))
    yield from found.items()
