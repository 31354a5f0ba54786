"""What was decided, one sentence for each thing a person would want to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dovetail.core.catalog.shortages import Shortage
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.reasons import Reason
from dovetail.demo.witness import Bought, GivenUp, Heard, Joined
from dovetail.views import figures

#: As much of a purchase as is told; the table has the rest.
_SHOWN = 4


def of(heard: Sequence[Heard]) -> Iterator[str]:
    """Everything that came of one plan, in the order it makes sense in."""
    refused = [one for one in heard if isinstance(one, GivenUp)]
    bought = [one for one in heard if isinstance(one, Bought)]
    joined = sum(one.pods for one in heard if isinstance(one, Joined))
    if bought:
        yield _bought(bought)
    if refused:
        yield _given_up(refused)
    if joined:
        yield f"{_count(joined, 'pod')} {_go(joined)} to machines that are there or on their way."


def _bought(bought: Sequence[Bought]) -> str:
    pods = sum(one.pods for one in bought)
    rate = sum(one.nanodollars for one in bought)
    together = f", {figures.money(rate)}/h together" if len(bought) > 1 else ""
    gone = dict.fromkeys(what for one in bought for what in one.missed)
    # One that takes a leaving machine's place is bought before anybody knows which pods will come to it.
    purpose = f" for {_count(pods, 'pod')}" if pods else ""
    told = f"{_count(len(bought), 'machine')} bought{purpose}{together}: {_listed(bought)}"
    return f"{told} ({names(gone)} being sold out)." if gone else f"{told}."


def _listed(bought: Iterable[Bought]) -> str:
    """By type and capacity type, with the zones and what one costs there."""
    groups: dict[tuple[str, str], list[Bought]] = {}
    for one in bought:
        groups.setdefault((one.type, one.capacity_type), []).append(one)
    parts = [_some(held) for held in groups.values()]
    more = len(parts) - _SHOWN
    return "; ".join(parts) if more < 1 else f"{'; '.join(parts[:_SHOWN])}; and {more} more kinds"


def _some(held: Sequence[Bought]) -> str:
    one, prices = held[0], sorted({each.nanodollars for each in held})
    zones = ", ".join(sorted({each.zone for each in held}))
    rate = "–".join(figures.money(each) for each in prices[:: max(1, len(prices) - 1)])
    return f"{f'{len(held)}× ' if len(held) > 1 else ''}{one.type} {one.capacity_type} in {zones} at {rate}/h"


def _given_up(refused: Sequence[GivenUp]) -> str:
    pods = sum(one.pods for one in refused)
    gone = dict.fromkeys(what for one in refused for what in one.missed)
    orders = "an order is" if len(refused) == 1 else f"{len(refused)} orders are"
    return f"{names(gone)} is sold out: {orders} given up, and {_count(pods, 'pod')} {_are(pods)} planned elsewhere."


def names(gone: Iterable[Shortage]) -> str:
    return ", ".join(_name(one) for one in gone)


def _name(what: Shortage) -> str:
    kind = " ".join(part for part in (what.instance_type or what.family, what.capacity_type) if part)
    return f"{kind} in {what.zone}" if kind and what.zone else kind or what.zone or "everything"


def given_up(commands: Sequence[Command]) -> Iterator[str]:
    """What becomes of nodes that are not worth what they cost: those nobody uses together, the best others each."""
    empty = [one for one in commands if one.reason is Reason.EMPTY]
    rest = sorted((one for one in commands if one.reason is not Reason.EMPTY), key=lambda one: -one.saved)
    if empty:
        saved = figures.money(sum(one.saved for one in empty))
        yield f"{_count(len(empty), 'node')} {_are(len(empty))} empty: given up, which saves {saved} an hour."
    for one in rest[:_SHOWN]:
        yield f"{', '.join(one.names)}: {_instead(one)}; {one.sentence}."


def _instead(command: Command) -> str:
    if not command.replacements:
        return "its pods fit elsewhere" if len(command.names) == 1 else "their pods fit elsewhere"
    names = ", ".join(one.choice.instance_type.name for one in command.replacements)
    return f"replaced by {names}, which comes first"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _go(number: int) -> str:
    return "goes" if number == 1 else "go"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
