"""One request to the API server, from the queue to the answer, as often as it takes.

    wait for a turn  →  credentials, TLS context  →  request  →  200: the body
         ↑                                             ├→  401: renew the credentials, ask once more
         └── wait (back-off, Retry-After) ←────────────┴→  an error worth repeating, while the budget lasts

A stream takes a turn only until it has begun: a watch that lasts five minutes must not hold a seat for as long.
"""

from __future__ import annotations

import asyncio
import io
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode
from weakref import WeakSet

import aiohttp

from dovetail.kube import answers, failures
from dovetail.kube.calls import Call
from dovetail.kube.clock import Clock
from dovetail.kube.config import ClusterConfig
from dovetail.kube.counts import Counts
from dovetail.kube.credentials import Shown
from dovetail.kube.errors import KubeError, StreamCut, TooLarge, TooManyRequests, Untrusted
from dovetail.kube.fairness import Fairness, Limits
from dovetail.kube.retry import Patience, wait_before, worth_repeating
from dovetail.kube.tls import Contexts, read_in_small_pieces

R = TypeVar("R")

#: Bytes read ahead of the reader: large enough that a list of hundreds of megabytes is not read in sips.
_READ_AHEAD: Final = 2**20
#: An error's body says little; a whole page from a proxy is cut here.
_MOST_OF_AN_ERROR: Final = 2**20
#: Idle connections are given up before load balancers do (60 s with most), as those do it silently.
_KEEP_IDLE: Final = 45.0
_CONNECT_IN: Final = 10.0
_LARGE: Final = 2**18
#: A watch may be silent for long, but a server says at once that it has begun.
_BEGIN_IN: Final = 60.0
#: A request given up before it was answered takes leave of the server in good order; closing waits so long for that,
#: and as long again for what it then hangs up itself.
_GOODBYE: Final = 1.0
#: A peer that vanished is noticed after half a minute of silence and three unanswered probes.
_PROBES: Final = (
    (getattr(socket, "TCP_KEEPIDLE", None), 30),
    (getattr(socket, "TCP_KEEPINTVL", None), 10),
    (getattr(socket, "TCP_KEEPCNT", None), 3),
)


@dataclass(frozen=True, slots=True)
class Options:
    """How a client behaves. `largest` is the largest answer taken, in bytes."""

    user_agent: str = "dovetail"
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    clock: Clock = field(default_factory=Clock)
    largest: int = 2**30


class Transport:
    """One session with one server. Opened and closed by the client that owns it."""

    def __init__(self, config: ClusterConfig, options: Options) -> None:
        self.counts = Counts()
        self._config = config
        self._options = options
        self._clock = options.clock
        self._fairness = Fairness(options.limits, options.clock, self.counts)
        self._contexts = Contexts(config.trust, options.clock)
        self._session: aiohttp.ClientSession | None = None
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._secure = config.server.startswith("https:")
        compressed = config.compression and not config.on_loopback
        self._headers = (
            ("User-Agent", options.user_agent),
            ("Accept", "application/json"),
            ("Accept-Encoding", "gzip" if compressed else "identity"),
            *config.acting_as,
        )

    def open(self) -> None:
        read_in_small_pieces()
        self._session = aiohttp.ClientSession(
            # Seats bound what is under way; a bound here would let watches block everything else.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_IDLE, socket_factory=self._socket),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_AHEAD,
        )

    async def close(self) -> None:
        self._fairness.close()
        if self._session is not None:
            await self._session.close()
            self._session = None
        for one in await self._left_open():
            with suppress(OSError):  # the server hung up in this moment
                one.shutdown(socket.SHUT_RDWR)
        await self._left_open()

    async def _left_open(self) -> list[socket.socket]:
        """Connections that did not end in good time."""
        now = asyncio.get_running_loop().time
        deadline = now() + _GOODBYE
        while (still := [one for one in self._sockets if one.fileno() != -1]) and now() < deadline:
            await asyncio.sleep(0.005)
        return still

    async def send(self, call: Call, patience: Patience) -> bytes:
        """The body of the answer."""

        call = replace(call, total=min(call.total or patience.attempt, patience.attempt))

        async def whole() -> bytes:
            response = await self._answered(call)
            async with response:
                return await self._body(call, response, self._options.largest)

        return await self._persistently(call, patience, whole)

    async def stream(self, call: Call, patience: Patience) -> AsyncGenerator[bytes, None]:
        """What arrives, as it arrives. Ends with the body; raises StreamCut where it breaks off before."""

        async def begun() -> aiohttp.ClientResponse:
            try:
                async with asyncio.timeout(min(_BEGIN_IN, patience.attempt)):
                    return await self._answered(call)
            except TimeoutError as problem:
                raise failures.error_of(problem, call.asked, self._config.server) from None

        response = await self._persistently(call, patience, begun)
        try:
            while chunk := await response.content.readany():
                yield chunk
        except TimeoutError:
            raise StreamCut(f"{call.asked}: nothing came for {call.silence:g} s", reason="Timeout") from None
        except failures.TROUBLE as problem:
            raise StreamCut(str(failures.error_of(problem, call.asked, self._config.server))) from None
        finally:
            _hang_up(response)

    async def _persistently(self, call: Call, patience: Patience, attempt: Callable[[], Awaitable[R]]) -> R:
        """Ask until there is an answer, an error that asking again does not mend, or no time left."""
        deadline = self._clock.now() + patience.budget
        failed = 0
        while True:
            try:
                async with self._fairness.turn(call.level, call.flow):
                    return await attempt()
            except KubeError as problem:
                if not worth_repeating(problem, repeatable=call.repeatable):
                    raise
                wait = wait_before(problem, failed, patience, self._clock.chance)
                if isinstance(problem, TooManyRequests) and problem.wait:
                    self._fairness.pause(call.level, problem.wait)
                if self._clock.now() + wait > deadline:
                    raise
            failed += 1
            self.counts.repeats[call.verb] += 1
            await self._clock.sleep(wait)

    async def _answered(self, call: Call) -> aiohttp.ClientResponse:
        """An answer of success, its body still to be read."""
        shown = await self._config.credentials.current()
        response = await self._requested(call, shown)
        if response.status == 401 and await self._renewed(response, shown):
            response = await self._requested(call, await self._config.credentials.current())
        if 200 <= response.status < 300:
            return response
        async with response:
            body = await self._body(call, response, _MOST_OF_AN_ERROR, cut=True)
        raise answers.error_of(response.status, response.headers, body, call.asked)

    async def _renewed(self, response: aiohttp.ClientResponse, shown: Shown) -> bool:
        """Whether there is something else to show than what was just refused."""
        try:
            # API servers take any certificate in the handshake, and refuse it here.
            fresh = await self._config.credentials.renew(shown) or self._look_again(shown)
        except BaseException:
            response.close()
            raise
        if fresh:
            response.close()
        return fresh

    async def _requested(self, call: Call, shown: Shown) -> aiohttp.ClientResponse:
        """One request; once more where it failed and the certificates turn out to have changed."""
        try:
            return await self._sent(call, shown)
        except failures.TROUBLE as problem:
            told = failures.error_of(problem, call.asked, self._config.server)
            # Some servers hang up on a certificate without a word; then nobody knows whether they saw the request.
            again = isinstance(told, Untrusted) or call.repeatable
            if not self._look_again(shown) or not again:
                self.counts.requests[call.verb, 0] += 1
                raise told from None
        try:
            return await self._sent(call, shown)
        except failures.TROUBLE as problem:
            self.counts.requests[call.verb, 0] += 1
            raise failures.error_of(problem, call.asked, self._config.server) from None

    def _look_again(self, shown: Shown) -> bool:
        return self._secure and self._contexts.look_again(shown)

    async def _sent(self, call: Call, shown: Shown) -> aiohttp.ClientResponse:
        assert self._session is not None, "the client is used outside `async with`"
        config = self._config
        headers = list(self._headers)
        if shown.token:
            headers.append(("Authorization", f"Bearer {shown.token}"))
        if call.body is not None:
            headers.append(("Content-Type", call.content_type))
        response = await self._session.request(
            call.method,
            self._url(call),
            data=_payload(call.body),
            headers=headers,
            ssl=self._ssl(shown),
            server_hostname=config.trust.server_name or None,
            proxy=config.proxy or None,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=call.total, sock_connect=_CONNECT_IN, sock_read=call.silence),
        )
        self.counts.requests[call.verb, response.status] += 1
        return response

    def _socket(self, address: tuple[Any, ...]) -> socket.socket:
        made = _socket(address)
        self._sockets.add(made)
        return made

    def _ssl(self, shown: Shown) -> ssl.SSLContext | bool:
        return self._contexts.current(shown) if self._secure else True

    def _url(self, call: Call) -> str:
        query = urlencode({name: value for name, value in call.query.items() if value})
        path = quote(call.path, safe="/:@!$&'()*+,;=~")
        return f"{self._config.server}{path}{'?' if query else ''}{query}"

    async def _body(self, call: Call, response: aiohttp.ClientResponse, most: int, *, cut: bool = False) -> bytes:
        """All of an answer; with `cut`, as much as is wanted of it, however it ends."""
        pieces: list[bytes] = []
        size = 0
        try:
            while chunk := await response.content.readany():
                pieces.append(chunk)
                size += len(chunk)
                if size > most:
                    response.close()
                    if cut:
                        break
                    raise TooLarge(f"{call.asked}: the answer is larger than {most:,} bytes", status=response.status)
        except failures.TROUBLE as problem:
            response.close()
            if not cut:
                raise failures.error_of(problem, call.asked, self._config.server) from None
        except asyncio.CancelledError:
            _hang_up(response)
            raise
        return b"".join(pieces)


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """End a stream now: TLS in good order would wait for the server's own goodbye, which may be half a minute away."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """A large body goes out in pieces, so that others get their turn meanwhile."""
    return body if body is None or len(body) <= _LARGE else io.BytesIO(body)


def _socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket on which a dead peer is noticed: a watch may be silent for minutes and still be alive."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _PROBES:
        if option is not None:
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made
