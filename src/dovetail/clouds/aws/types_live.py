"""Which types and zones there are, as EC2 says now (`spec/aws` §2).

Three questions make one answer: what the types are, which zones sell which of them, and what the zones are called in
every account. A type that cannot be read is left out with a sentence about it; the others stand. Types that can never
be a node are asked for as well, so that `explain` can say why they are not bought.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.wire import TypeAnswer, ZoneRow
from dovetail.clouds.bundled import convert_rows
from dovetail.clouds.port import Unavailable
from dovetail.core.errors import BadField

SOURCE: Final = "EC2 DescribeInstanceTypes"
_BY_ZONE: Final = "availability-zone"


class Types(NamedTuple):
    """The types that can be read, and what is wrong with the others."""

    rows: tuple[TypeAnswer, ...]
    problems: tuple[BadField, ...]


@dataclass(frozen=True, slots=True)
class Heard:
    """EC2's answers: the types read already, as its words about them take much room; the others are short."""

    types: Types
    offered: tuple[Mapping[str, Any], ...]
    zones: tuple[Mapping[str, Any], ...]


async def ask(aws: Aws) -> Heard:
    """All three questions at once. An empty answer to any of them is no answer: EC2 sells something everywhere."""
    answers = await asyncio.gather(
        _types(aws),
        aws.all(calls.DESCRIBE_TYPE_OFFERINGS, LocationType=_BY_ZONE),
        aws.all(calls.DESCRIBE_ZONES),
        return_exceptions=True,
    )
    types, offered, zones = (_or_raise(one) for one in answers)
    for found, what in ((any(types), "instance types"), (offered, "offerings"), (zones, "zones")):
        if not found:
            raise Unavailable(f"EC2 answered with no {what}")
    return Heard(Types(*types), offered, zones)


async def _types(aws: Aws) -> Types:
    """Each page is read, beside the event loop, before the next is asked for: what EC2 says of all types at once is a
    hundred thousand objects, and what we keep of it a tenth."""
    rows: list[TypeAnswer] = []
    problems: list[BadField] = []
    async for page in aws.pages(calls.DESCRIBE_INSTANCE_TYPES):
        read, bad = await aws.reading(convert_rows, page, TypeAnswer, SOURCE)
        rows.extend(read)
        problems.extend(bad)
    return Types(tuple(rows), tuple(problems))


def _or_raise(answer: tuple[Any, ...] | BaseException) -> tuple[Any, ...]:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def zones_of(heard: Heard) -> list[ZoneRow]:
    """Each zone with its id and the types it sells. A zone that only one of the answers names counts all the same."""
    ids = {str(one.get("ZoneName", "")): str(one.get("ZoneId", "")) for one in heard.zones}
    sold: dict[str, list[str]] = {}
    for one in heard.offered:
        sold.setdefault(str(one.get("Location", "")), []).append(str(one.get("InstanceType", "")))
    return [ZoneRow(name, ids.get(name, ""), tuple(sorted(sold[name]))) for name in _named(sold)]


def _named(zones: Iterable[str]) -> list[str]:
    return sorted(name for name in zones if name)
