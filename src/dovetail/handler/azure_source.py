"""Azure's scheduled events: one list, asked for every second.

The first question of all switches the service on for the machine, which may take two minutes. Whom the events are
about is told by the machine's name, which the metadata know; the Node's provider ID is a second opinion.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from dovetail.core.errors import BadInput
from dovetail.core.handler import azure, json_text
from dovetail.core.handler.notices import Notice
from dovetail.handler.metadata import Metadata, MetadataError, Refused

_HEADERS: Final = {"Metadata": "true"}
_EVENTS: Final = "/metadata/scheduledevents?api-version=2020-07-01"
_COMPUTE: Final = "/metadata/instance/compute?api-version=2021-02-01"
_ANSWER_SECONDS: Final = 5.0
#: The first answer, while the service is switched on.
_FIRST_SECONDS: Final = 125.0


class AzureSource:
    """The list of events, and the way to say that we are ready for one."""

    name = azure.EVENTS
    doubts = 2

    def __init__(self, metadata: Metadata, names: tuple[str, ...], poll: float) -> None:
        self.pause, self.silence = poll, poll + _ANSWER_SECONDS
        self._metadata, self._names = metadata, names
        self._asked_for_name = self._answered = False

    async def look(self, now: Callable[[], float]) -> tuple[Notice, ...]:
        if not self._asked_for_name:
            await self._learn_name()
        within = _ANSWER_SECONDS if self._answered else _FIRST_SECONDS
        answer = await self._metadata.ask("GET", _EVENTS, _HEADERS, within=within)
        if answer.status != 200:
            raise Refused("GET /metadata/scheduledevents", answer.status)
        self._answered = True
        return azure.events(answer.text, self._names, now())

    async def _learn_name(self) -> None:
        """What the machine calls itself. With a name from the Node there is something to go by if it does not say."""
        try:
            answer = await self._metadata.ask("GET", _COMPUTE, _HEADERS, within=_ANSWER_SECONDS)
            if answer.status != 200:
                raise Refused("GET /metadata/instance/compute", answer.status)
            found = json_text.an_object(json_text.parsed(answer.text, "compute"), "compute")
        except (MetadataError, BadInput):
            if not self._names:
                raise
            return
        self._asked_for_name = True
        name = json_text.text_of(found, "name")
        if name and name.lower() not in {one.lower() for one in self._names}:
            self._names = (*self._names, name)

    async def acknowledge(self, event: str) -> None:
        """Let the event begin: nobody here needs the rest of its notice."""
        body = json.dumps({"StartRequests": [{"EventId": event}]}).encode()
        headers = {**_HEADERS, "Content-Type": "application/json"}
        answer = await self._metadata.ask("POST", _EVENTS, headers, within=_ANSWER_SECONDS, body=body)
        if answer.status != 200:
            raise Refused("POST /metadata/scheduledevents", answer.status)
