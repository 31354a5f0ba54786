"""What probes and dashboards ask for, over a server of forty lines: a framework would be a part of all the memory used.

/healthz says whether notices would be seen, /livez whether the loop turns, /metrics the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from dovetail.core.errors import BadValue

#: A status and a text.
Answer = Callable[[], tuple[int, str]]
_REASONS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Unavailable"}
_LONGEST_REQUEST: Final = 2**13
_PATIENCE: Final = 5.0


@asynccontextmanager
async def served(host: str, port: int, routes: Mapping[str, Answer]) -> AsyncIterator[int]:
    """Serve these paths for as long as the block runs; the port is told, for 0 takes any. A negative one is none."""
    if port < 0:
        yield port
        return

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                status, text = _answer(await reader.readuntil(b"\r\n\r\n"), routes)
                writer.write(_response(status, text))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asked has gone, or asks for something else
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(handle, host, port, limit=_LONGEST_REQUEST)
    except OSError as problem:
        # The port is the node's: somebody else on it may have taken it.
        raise BadValue(f"{host}:{port} cannot be listened on: {problem.strerror}").at("--metrics-port") from None
    async with server:
        yield int(server.sockets[0].getsockname()[1])


def _answer(head: bytes, routes: Mapping[str, Answer]) -> tuple[int, str]:
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(words) != 3:
        return 400, "this is not HTTP"
    if words[0] not in ("GET", "HEAD"):
        return 405, "only GET is answered here"
    answer = routes.get(words[1].partition("?")[0])
    return answer() if answer is not None else (404, "there is nothing here")


def _response(status: int, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, '')}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
