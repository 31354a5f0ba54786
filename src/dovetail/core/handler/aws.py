"""What the metadata of an EC2 instance says of its end.

A path that has nothing to say is not there (404), which the reader of the answer passes on as None. A notice whose
time cannot be read is still a notice: what is known of it then is that two minutes are all there ever is.
"""

from __future__ import annotations

from typing import Final

from dovetail.core import timestamps
from dovetail.core.errors import BadInput
from dovetail.core.handler import json_text
from dovetail.core.handler.notices import Kind, Notice, http_date

INSTANCE_ACTION: Final = "spot/instance-action"
REBALANCE: Final = "events/recommendations/rebalance"
MAINTENANCE: Final = "events/maintenance/scheduled"
#: Between the notice and the end; a time further away is a clock that is wrong.
LEAD_SECONDS: Final = 120.0
_OVER: Final = frozenset({"completed", "canceled"})
#: After these the instance comes back as it was.
_COMING_BACK: Final = frozenset({"system-reboot", "instance-reboot", "system-maintenance"})


def interruption(text: str | None, now: float) -> tuple[Notice, ...]:
    """`{"action": "terminate", "time": "2020-09-18T08:22:00Z"}`."""
    if text is None:
        return ()
    fields = json_text.an_object(json_text.parsed(text, INSTANCE_ACTION), INSTANCE_ACTION)
    action = json_text.text_of(fields, "action") or "terminate"
    said = _time(json_text.text_of(fields, "time"))
    latest = now if action == "hibernate" else now + LEAD_SECONDS  # that begins with the notice
    guessed = said is None or said > latest
    deadline = latest if said is None else min(said, latest)
    about = f"spot interruption: {action}"
    return (Notice("spot-interruption", Kind.PREEMPT, INSTANCE_ACTION, deadline, guessed=guessed, about=about),)


def rebalance(text: str | None, now: float) -> tuple[Notice, ...]:
    """`{"noticeTime": "2020-10-26T21:55:00Z"}`: no end is named, for there may be none."""
    if text is None:
        return ()
    json_text.an_object(json_text.parsed(text, REBALANCE), REBALANCE)
    return (Notice("rebalance", Kind.REBALANCE, REBALANCE, None, ends=False, about="rebalance recommendation"),)


def maintenance(text: str | None, now: float) -> tuple[Notice, ...]:
    """A list of scheduled events, those that are over among them."""
    if text is None or not text.strip():
        return ()
    found = []
    for one in json_text.a_list(json_text.parsed(text, MAINTENANCE), MAINTENANCE):
        fields = json_text.an_object(one, MAINTENANCE)
        name, code = json_text.text_of(fields, "EventId"), json_text.text_of(fields, "Code")
        if json_text.text_of(fields, "State").lower() in _OVER or not name:
            continue
        said = _http_time(json_text.text_of(fields, "NotBefore"))
        found.append(
            Notice(
                name,
                Kind.MAINTENANCE,
                MAINTENANCE,
                now if said is None else said,
                ends=code not in _COMING_BACK,
                guessed=said is None,
                about=f"{code or 'maintenance'}: {json_text.text_of(fields, 'Description')}".rstrip(": "),
            )
        )
    return tuple(found)


def _time(written: str) -> float | None:
    try:
        return timestamps.seconds(written)
    except BadInput:
        return None


def _http_time(written: str) -> float | None:
    try:
        return http_date(written)
    except BadInput:
        return None
