"""A machine that a node class can launch, to try its rights with.

A dry run is judged by what is asked for: EC2 refuses enclaves, network cards or nested virtualization on a type that
has none, and a class that asks for these would be told that it is wrong though there are types enough for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.class_specs import Shelf, change_of
from dovetail.clouds.aws.class_terms import ClassTerms, refusal
from dovetail.clouds.aws.resolved import Image
from dovetail.core import labels

Sample = tuple[str, Image]
#: Types that every region has.
_USUAL: Final = {"amd64": "m5.large", "arm64": "m6g.large"}


def usual(image: Image) -> str:
    return _USUAL.get(image.requirements.value(labels.ARCH) or "amd64", _USUAL["amd64"])


def sampled(shelf: Shelf, terms: ClassTerms) -> Sample | None:
    """A type and its image: the usual one if the class can launch it, else the cheapest, plain ones first."""
    common = ((usual(image), image) for image in terms.images)
    rest = ((name, image) for name in _by_price(shelf, terms) for image in terms.images)
    return next((one for ways in (common, rest) for one in ways if _suits(shelf, terms, *one)), None)


def _suits(shelf: Shelf, terms: ClassTerms, name: str, image: Image) -> bool:
    known, machine = shelf.region.types.get(name), shelf.machines(change_of(terms)).get(name)
    if known is None or machine is None:
        return False
    return not refusal(known, replace(terms, images=(image,)), machine.requirements)


def _by_price(shelf: Shelf, terms: ClassTerms) -> Iterator[str]:
    machines = shelf.machines(change_of(terms))
    found: list[tuple[bool, int, str]] = []
    for name, rows in shelf.region.listing.offerings.items():
        prices = [
            row.price.nanodollars
            for row in rows
            if row.price is not None and row.capacity_type == labels.ON_DEMAND and row.zone in terms.zones
        ]
        if prices and name in machines:
            found.append((aws_labels.is_exotic(machines[name].requirements), min(prices), name))
    return (name for _, _, name in sorted(found))
