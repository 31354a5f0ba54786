"""What Azure's scheduled events say of a machine's end.

The list is told to every machine of an availability or scale set, so an event is ours only where it names us. One that
is gone from the list is over or was called off. Saying that we are ready (`acknowledge`) starts an event for every
machine it names; so it is offered only where it names nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from dovetail.core.errors import BadInput
from dovetail.core.handler import json_text
from dovetail.core.handler.notices import Kind, Notice, http_date

EVENTS: Final = "scheduledevents"
#: What an event gives at least, where it does not say how much.
_LEAD_SECONDS: Final = {"Preempt": 30.0, "Terminate": 300.0, "Redeploy": 600.0, "Reboot": 900.0, "Freeze": 900.0}
_KINDS: Final = {
    "Preempt": (Kind.PREEMPT, True),
    "Terminate": (Kind.PREEMPT, True),
    "Redeploy": (Kind.MAINTENANCE, False),
    "Reboot": (Kind.MAINTENANCE, False),
    "Freeze": (Kind.FREEZE, False),
}
_SCALE_SET: Final = re.compile(r"/virtualMachineScaleSets/([^/]+)/virtualMachines/([^/]+)/?$", re.IGNORECASE)
_MACHINE: Final = re.compile(r"/virtualMachines/([^/]+)/?$", re.IGNORECASE)


def events(text: str, names: Collection[str], now: float) -> tuple[Notice, ...]:
    """The events that name one of `names`, which are ours."""
    fields = json_text.an_object(json_text.parsed(text, EVENTS), EVENTS)
    ours = {one.lower() for one in names}
    found = (_event(json_text.an_object(one, EVENTS), ours, now) for one in _events(fields))
    return tuple(one for one in found if one is not None)


def _events(fields: dict[str, Any]) -> list[Any]:
    listed = fields.get("Events")
    return [] if listed is None else json_text.a_list(listed, EVENTS)


def _event(fields: dict[str, Any], ours: set[str], now: float) -> Notice | None:
    told, name = json_text.text_of(fields, "EventType"), json_text.text_of(fields, "EventId")
    named = {one.lower() for one in fields.get("Resources") or () if isinstance(one, str)}
    if told not in _KINDS or not name or not named & ours:
        return None
    kind, ends = _KINDS[told]
    started = json_text.text_of(fields, "EventStatus") == "Started"
    said = None if started else _time(json_text.text_of(fields, "NotBefore"))
    guess = now if started else now + _LEAD_SECONDS[told]
    return Notice(
        name,
        kind,
        EVENTS,
        guess if said is None else said,
        ends=ends,
        guessed=said is None,
        about=f"{told}: {json_text.text_of(fields, 'Description')}".rstrip(": "),
        acknowledge=name if named <= ours and not started and kind is not Kind.FREEZE else "",
    )


def _time(written: str) -> float | None:
    try:
        return http_date(written)
    except BadInput:
        return None


def names_of(provider_id: str) -> tuple[str, ...]:
    """What Azure calls the machine behind a Node: `pool_0` in a scale set, else its own name."""
    if found := _SCALE_SET.search(provider_id):
        return (f"{found[1]}_{found[2]}",)
    found = _MACHINE.search(provider_id)
    return (found[1],) if found else ()
