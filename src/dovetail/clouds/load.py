"""One door to every cloud's listing: `load("aws", "eu-west-1")`.

A cloud's package is imported when its listing is asked for and not before; most processes look at one.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Final, Protocol, cast

from dovetail.clouds.options import DEFAULTS, LoadOptions
from dovetail.core.catalog.listing import Listing
from dovetail.core.errors import BadInput

CLOUDS: Final = ("aws", "azure", "gcp", "kwok")
_NEAR, _SHOWN = 3, 6

__all__ = ["CLOUDS", "LoadOptions", "default_region", "load", "regions"]


class _Reader(Protocol):
    """What each cloud's `load` module has."""

    DEFAULT_REGION: str

    def load(self, region: str, options: LoadOptions) -> Listing: ...

    def regions(self, options: LoadOptions) -> tuple[str, ...]: ...


def load(cloud: str, region: str | None = None, *, options: LoadOptions = DEFAULTS) -> Listing:
    """What a region sells, from the files; objects that cannot be read are in its `problems`."""
    reader = _reader(cloud)
    if region is None:
        return reader.load(reader.DEFAULT_REGION, options)
    known = reader.regions(options)
    if region not in known:
        raise BadInput(f"there is no listing for region {region[:60]!r} of {cloud}; {_nearest(region, known)}")
    return reader.load(region, options)


def regions(cloud: str, *, options: LoadOptions = DEFAULTS) -> tuple[str, ...]:
    """The regions a listing exists for, by name."""
    return _reader(cloud).regions(options)


def default_region(cloud: str) -> str:
    return _reader(cloud).DEFAULT_REGION


def _reader(cloud: str) -> _Reader:
    if cloud not in CLOUDS:
        raise BadInput(f"there is no cloud {cloud[:60]!r}; {_nearest(cloud, CLOUDS)}")
    return cast(_Reader, import_module(f"dovetail.clouds.{cloud}.load"))


def _nearest(wrong: str, known: Iterable[str]) -> str:
    choices = sorted(known)
    near = get_close_matches(wrong, choices, _NEAR, 0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    more = f" and {len(choices) - _SHOWN} others" if len(choices) > _SHOWN else ""
    return f"use one of {', '.join(choices[:_SHOWN])}{more}"
