"""Bad days, on demand: what tests make the server do to see what a client does.

Answers are scripted in order: each request takes the first script that is meant for it. Everything here acts on the
next request or on the streams open now, never on what is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web

from dovetail.api.kinds import Kind
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.storage import Change, Storage

if TYPE_CHECKING:
    from dovetail.apiserver.answers import Stream
    from dovetail.apiserver.watch_streams import WatchStream

Meant = Callable[[web.BaseRequest], bool]


def _for_all(request: web.BaseRequest) -> bool:
    return True


@dataclass(slots=True)
class _Script:
    left: int
    code: int = 0
    retry_after: int | None = None
    seconds: float = 0.0
    meant: Meant = _for_all


@dataclass(slots=True)
class Faults:
    """Scripts for requests to come, and levers on what is open."""

    storage: Storage
    #: Break the next watch off after so many bytes, wherever that is.
    cut_after: int | None = None
    refused: int = 0
    _scripts: list[_Script] = field(default_factory=list)
    _streams: dict[WatchStream, Stream] = field(default_factory=dict)
    _stop_listening: Callable[[], Awaitable[None]] | None = None
    _listen: Callable[[], Awaitable[None]] | None = None
    _reissue: Callable[[bool], None] | None = None

    # --- requests to come ------------------------------------------------------------------------------------------

    def answer(self, code: int, times: int = 1, *, retry_after: int | None = None, meant: Meant = _for_all) -> None:
        """Refuse the next requests: 429, 500, 503 …"""
        self._scripts.append(_Script(times, code, retry_after, meant=meant))

    def reset(self, times: int = 1, *, meant: Meant = _for_all) -> None:
        """Break the connection of the next requests, without an answer."""
        self._scripts.append(_Script(times, meant=meant))

    def delay(self, seconds: float, times: int = 1, *, meant: Meant = _for_all) -> None:
        """Let the next requests wait."""
        self._scripts.append(_Script(times, -1, seconds=seconds, meant=meant))

    def clear(self) -> None:
        self._scripts.clear()
        self.cut_after = None

    async def meet(self, request: web.BaseRequest) -> None:
        """Do to a request what is scripted for it."""
        script = next((one for one in self._scripts if one.meant(request)), None)
        if script is None:
            return
        script.left -= 1
        if script.left <= 0:
            self._scripts.remove(script)
        self.refused += 1
        if script.seconds:
            await asyncio.sleep(script.seconds)
        elif script.code:
            raise _refusal(script.code, script.retry_after)
        else:
            if request.transport is not None:
                request.transport.abort()
            raise asyncio.CancelledError

    # --- streams that are open -------------------------------------------------------------------------------------

    @property
    def open_watches(self) -> int:
        return len(self._streams)

    def cut_watches(self) -> int:
        """Break every watch; how many there were."""
        streams = list(self._streams.items())
        for watch, stream in streams:
            stream.abort()
            watch.end()
        return len(streams)

    def end_watches(self) -> None:
        """End every watch in good order, as the real server does from time to time."""
        for watch in list(self._streams):
            watch.end()

    def expire_history(self) -> None:
        """Forget all history: watches from before and pages of lists get 410."""
        self.storage.forget_history()

    def replay(self, kind: Kind, name: str, namespace: str = "", *, back: int = 1) -> None:
        """Tell every watch of a kind once more of a change that is over: the one `back` changes ago."""
        table = self.storage.table(kind)
        known = [change for change in table.history() if change.item.key == (namespace, name)]
        change: Change = known[-1 - back]
        for watch in self._streams:
            if watch.resource.stored == table.kind:
                watch.push(change)

    def opened(self, watch: WatchStream, stream: Stream) -> None:
        self._streams[watch] = stream

    def closed(self, watch: WatchStream) -> None:
        self._streams.pop(watch, None)

    # --- the whole server ------------------------------------------------------------------------------------------

    def wire(
        self,
        stop_listening: Callable[[], Awaitable[None]],
        listen: Callable[[], Awaitable[None]],
        reissue: Callable[[bool], None],
    ) -> None:
        self._stop_listening, self._listen, self._reissue = stop_listening, listen, reissue

    async def begin_outage(self) -> None:
        """Break every connection and refuse new ones."""
        assert self._stop_listening is not None, "the server is not running"
        await self._stop_listening()

    async def end_outage(self) -> None:
        """Listen again, on the same port, with everything as it was."""
        assert self._listen is not None, "the server is not running"
        await self._listen()

    def reissue_certificate(self, *, new_authority: bool = False) -> None:
        """Show new connections another certificate, of the same authority or of a new one."""
        assert self._reissue is not None, "the server is not running"
        self._reissue(new_authority)


_REASONS = {429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout", 403: "Forbidden"}


def _refusal(code: int, retry_after: int | None) -> ApiError:
    details = {} if retry_after is None else {"retryAfterSeconds": retry_after}
    return ApiError(code, _REASONS.get(code, "Unknown"), f"scripted fault: {code}", details)
