"""A region's catalogue, heard from AWS once, for somebody who waits for it.

What cannot be had is left as the files have it, if only prices are missing; without types there is nothing to tell.
`say` is told of each part as it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from dovetail.clouds.aws import region as regions
from dovetail.clouds.aws.access import Access, Counts
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.discovery import Discovery, Habits
from dovetail.clouds.aws.freshness import Subject
from dovetail.clouds.aws.market import AwsMarket
from dovetail.clouds.port import CloudError
from dovetail.core.catalog.listing import Listing
from dovetail.core.errors import BadField, BadInput


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The listing, what of it is not from now, what could not be read, and how many calls it took."""

    listing: Listing
    stale: tuple[str, ...]
    problems: tuple[BadField, ...]
    calls: int


async def refreshed(access: Access, say: Callable[[str], None], habits: Habits | None = None) -> Refreshed:
    """Raises BadInput with a sentence if AWS could not be asked what there is."""
    counts, habits = Counts(), habits or Habits()
    async with Aws(access, counts) as aws:
        name = await _region(aws)
        market = AwsMarket(await asyncio.to_thread(regions.bundled, name))
        finding = Discovery(aws, market, habits)
        await asyncio.gather(*(_told(finding, one, say, habits) for one in finding.subjects))
    known = finding.freshness.by_subject
    if not known[Subject.TYPES].live:
        raise BadInput(f"AWS was not heard: {known[Subject.TYPES].problem}")
    stale = tuple(one.told(subject, habits.now()) for subject, one in known.items() if not one.live)
    return Refreshed(market.region.listing, stale, finding.problems, sum(counts.calls.values()))


async def _region(aws: Aws) -> str:
    try:
        found = await aws.region()
    except CloudError as failed:
        raise BadInput(str(failed)) from None
    if not found:
        raise BadInput("no AWS region is known; name one with --region, or set AWS_REGION")
    return found


async def _told(finding: Discovery, subject: Subject, say: Callable[[str], None], habits: Habits) -> None:
    await finding.refresh(subject)
    say(finding.freshness.by_subject[subject].told(subject, habits.now()))
