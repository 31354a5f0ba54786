"""An API server that says what a test tells it to say, in that order, over real sockets on loopback."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from dovetail.kube.clock import Clock
from dovetail.kube.config import ClusterConfig
from dovetail.kube.credentials import Anonymous, Credentials

Json = dict[str, Any]
Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Scripted:
    """`async with Scripted.saying(reply, reply) as server:`; what is asked beyond the script gets `otherwise`."""

    script: deque[Reply] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    tls: ssl.SSLContext | None = None
    port: int = 0
    otherwise: Reply | None = None

    @classmethod
    def saying(cls, *replies: Reply, **options: Any) -> Scripted:
        return cls(deque(replies), **options)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{rest:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self.tls, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        seen = Seen(request.method, request.rel_url.raw_path, dict(request.query), dict(request.headers), body)
        self.seen.append(seen)
        reply = self.script.popleft() if self.script else self.otherwise
        assert reply is not None, f"nothing is scripted for {request.method} {request.path_qs}"
        return await reply(request)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def config(self, credentials: Credentials | None = None, **more: Any) -> ClusterConfig:
        return ClusterConfig(self.url, credentials or Anonymous(), **more)


def says(body: object, code: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    async def reply(request: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=code, headers=headers)

    return reply


def says_text(text: str, code: int, kind: str = "text/plain") -> Reply:
    async def reply(request: web.Request) -> web.StreamResponse:
        return web.Response(text=text, status=code, content_type=kind)

    return reply


def refuses(code: int, reason: str = "", message: str = "", wait: int | None = None, **details: Any) -> Reply:
    """A failure as Kubernetes tells it."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message or reason,
        "reason": reason,
        "code": code,
        "details": details,
    }
    return says(body, code, {} if wait is None else {"Retry-After": str(wait)})


def hangs_up() -> Reply:
    """The connection is reset before a byte of an answer."""

    async def reply(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return reply


def breaks_off(beginning: bytes) -> Reply:
    """An answer that promises more than it brings."""

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000000"})
        await response.prepare(request)
        await response.write(beginning)
        assert request.transport is not None
        request.transport.close()
        return response

    return reply


def streams(chunks: Iterable[bytes], *, cut: bool = False, until: asyncio.Event | None = None) -> Reply:
    """A watch: chunk by chunk, held open `until` then, and ended in good order, or `cut` off."""

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if until is not None:
            await until.wait()
        if cut:
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write_eof()
        return response

    return reply


def event(kind: str, name: str, version: int, **more: Any) -> bytes:
    obj = {"metadata": {"name": name, "resourceVersion": str(version)}, **more}
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def a_list(*names: str, version: str = "7", token: str = "") -> Json:
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    return {"kind": "PodList", "metadata": metadata, "items": [{"metadata": {"name": name}} for name in names]}


class VirtualClock:
    """Time that passes only when somebody sleeps; the dice always show `chance`."""

    def __init__(self, chance: float = 1.0) -> None:
        self.time = 1000.0
        self.slept: list[float] = []
        self.clock = Clock(
            now=lambda: self.time, wall=lambda: 1_700_000_000 + self.time, sleep=self._sleep, chance=lambda: chance
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)
