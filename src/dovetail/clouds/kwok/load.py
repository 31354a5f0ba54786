"""kwok's listing: the generic catalogue, in the one region there is."""

from __future__ import annotations

from typing import Final

from dovetail.clouds.kwok import generic
from dovetail.clouds.options import LoadOptions
from dovetail.core.catalog.listing import Listing

DEFAULT_REGION: Final = generic.REGION


def regions(options: LoadOptions) -> tuple[str, ...]:
    del options  # made by rule, so there is no file to look for
    return (DEFAULT_REGION,)


def load(region: str, options: LoadOptions) -> Listing:
    del region
    return generic.listing(options.disk_bytes)
