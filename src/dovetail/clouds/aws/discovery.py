"""Asking AWS what it sells, at intervals, and keeping what was known where it does not answer.

    instance types and zones    every 12 h     as the peer does; they change a few times a year
    on-demand prices            every 12 h
    spot prices                 every 15 min   a pool's price moves about every seven hours, so a quarter of an hour
                                               leaves it wrong 2 % of the time, and looking every 12 h most of it

Each is asked for on its own: one that fails is tried again soon, then less and less often, and changes nothing else.
What is heard is read beside the event loop; what then changed, and only that, is rebuilt (S0.5).
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from dovetail.clouds.aws import prices_live, region, spot_history, types_live
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.freshness import Freshness, Subject
from dovetail.clouds.aws.market import AwsMarket
from dovetail.clouds.aws.parse import Answers
from dovetail.clouds.aws.region import Region
from dovetail.clouds.port import CloudError
from dovetail.core.catalog.generations import DISCOVERY_SECONDS, PRICING_SECONDS
from dovetail.core.errors import BadField

SPOT_SECONDS: Final = 15 * 60.0
INTERVALS: Final[Mapping[Subject, float]] = MappingProxyType(
    {Subject.TYPES: DISCOVERY_SECONDS, Subject.ON_DEMAND: PRICING_SECONDS, Subject.SPOT: SPOT_SECONDS}
)
#: What a person can do about some refusals.
_ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "CredentialsMissing": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with a profile of "
        "~/.aws/config, or run where a role is to be had: on an EC2 machine, or in a pod with an identity",
    }
)
#: The first wait after a failure; each is twice the one before, up to the longest or the subject's interval.
FIRST_WAIT: Final = 10.0
LONGEST_WAIT: Final = 15 * 60.0


@dataclass(frozen=True, slots=True)
class Habits:
    """`isolated`: the network does not reach the Pricing service. `now` is in seconds since 1970."""

    isolated: bool = False
    intervals: Mapping[Subject, float] = field(default_factory=lambda: INTERVALS)
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Discovery:
    """Keeps one market up to date."""

    def __init__(self, aws: Aws, market: AwsMarket, habits: Habits | None = None) -> None:
        self._aws, self._market, self._habits = aws, market, habits or Habits()
        #: One change of the region at a time: each is made from the one before.
        self._changing = asyncio.Lock()
        self._problems: dict[Subject, tuple[BadField, ...]] = {}
        self.freshness = Freshness()
        self.freshness.bundled(_dates(market.region))
        why = prices_live.why_not_asked(market.region.name, self._habits.isolated)
        if why:
            self.freshness.skipped(Subject.ON_DEMAND, why)

    @property
    def problems(self) -> tuple[BadField, ...]:
        """What of the last answers could not be read; the rest of them was used."""
        return tuple(one for found in self._problems.values() for one in found)

    def standing(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """For a condition: what is stale, and what else is not from AWS itself."""
        known = self.freshness.by_subject
        stale = self.freshness.stale(self._habits.intervals, self._habits.now())
        others = (subject for subject, one in known.items() if not one.live and subject not in stale)
        return tuple(known[one].dated(one) for one in stale), tuple(known[one].dated(one) for one in others)

    def complaints(self) -> tuple[str, ...]:
        return self.freshness.complaints(self._habits.intervals, self._habits.now())

    async def run(self) -> None:
        """For ever: ask for each subject at once and then at its interval."""
        async with asyncio.TaskGroup() as group:
            for subject in self.subjects:
                group.create_task(self._keep_asking(subject), name=f"aws {subject}")

    async def once(self) -> bool:
        """Ask for everything once. Whether all of it could be had; what could not is in `freshness`."""
        return all(await asyncio.gather(*(self.refresh(subject) for subject in self.subjects)))

    async def refresh(self, subject: Subject) -> bool:
        """Ask for one subject now. Whether it could be had."""
        began = self._habits.now()
        try:
            await _ASKING[subject](self, began)
        except CloudError as failed:
            advice = _ADVICE.get(failed.reason)
            self.freshness.failed(subject, f"{failed}; {advice}" if advice else str(failed), self._habits.now())
            return False
        self.freshness.heard(subject, began)
        return True

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What is asked for here at all."""
        return tuple(one for one in Subject if not self.freshness.by_subject[one].skipped)

    async def _keep_asking(self, subject: Subject) -> None:
        interval = self._habits.intervals[subject]
        while True:
            if await self.refresh(subject):
                await self._habits.sleep(interval)
            else:
                failures = self.freshness.by_subject[subject].failures
                await self._habits.sleep(min(FIRST_WAIT * 2.0 ** min(failures - 1, 20), LONGEST_WAIT, interval))

    # ---- each subject: hear, read beside the loop, hand over

    async def _types(self, now: float) -> None:
        heard = await types_live.ask(self._aws)

        def read(before: Region) -> tuple[Region, tuple[BadField, ...]]:
            types, zones = heard.types, types_live.zones_of(heard)
            said = (before.prices, before.network, types_live.SOURCE, types.problems)
            answers = Answers(before.name, types.rows, zones, *said)
            found = region.read(answers, before)
            return found, found.listing.problems

        await self._change(Subject.TYPES, read)

    async def _on_demand(self, now: float) -> None:
        products = await prices_live.ask(self._aws, self._market.region.name)

        def read(before: Region) -> tuple[Region, tuple[BadField, ...]]:
            found, problems = prices_live.prices_of(products, before.name, _date(now))
            prices = replace(before.prices, on_demand=region.merged(before.prices.on_demand, found))
            return region.repriced(before, prices), problems

        await self._change(Subject.ON_DEMAND, read)

    async def _spot(self, now: float) -> None:
        records = await spot_history.ask(self._aws, now)

        def read(before: Region) -> tuple[Region, tuple[BadField, ...]]:
            found, problems = spot_history.prices_of(records, _date(now))
            prices = replace(before.prices, spot=region.merged(before.prices.spot, found), spot_whole=True)
            return region.repriced(before, prices), problems

        await self._change(Subject.SPOT, read)

    async def _change(self, subject: Subject, read: Callable[[Region], tuple[Region, tuple[BadField, ...]]]) -> None:
        market = self._market
        async with self._changing:
            found, problems = await self._aws.reading(read, market.region)
            market.adopt(await self._aws.reading(market.draft, found))
        self._problems[subject] = problems


_ASKING: Final[Mapping[Subject, Callable[[Discovery, float], Awaitable[None]]]] = MappingProxyType(
    {
        Subject.TYPES: Discovery._types,
        Subject.ON_DEMAND: Discovery._on_demand,
        Subject.SPOT: Discovery._spot,
    }
)


def _dates(found: Region) -> dict[Subject, str | None]:
    """From when the bundled files are, as far as they say."""
    priced = next(iter(found.prices.on_demand.values()), None)
    date = priced.source.as_of if priced is not None else None
    return {Subject.TYPES: date, Subject.ON_DEMAND: date, Subject.SPOT: date}


def _date(now: float) -> str:
    return dt.datetime.fromtimestamp(now, dt.UTC).date().isoformat()
