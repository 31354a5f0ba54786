"""Questions to the metadata server of the machine this runs on.

The server is on the link itself, so no proxy is ever asked, whatever the environment says, and no redirect is followed.
Answers are short; one that is not is not an answer of a metadata server. Questions are asked every second or two for as
long as the machine lives, and a framework for HTTP takes several times as long for one as these hundred lines: plain
HTTP/1.1, with a length or in chunks, over connections that are kept.

    MetadataError
    ├── Refused        it answered with another status than was hoped for
    └── Unreachable    it did not answer, or not in time
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

#: Far more than any cloud says about a machine's end.
_LARGEST: Final = 2**18
#: Between two looks a connection stays; servers drop idle ones after a minute or more.
_KEEP_IDLE: Final = 30.0
_MOST_IDLE: Final = 8
_USER_AGENT: Final = "dovetail-handler"
_HTTP: Final = 80
#: Statuses that have no body.
_BODILESS: Final = frozenset({204, 304})


class MetadataError(Exception):
    """No usable answer; the text is a sentence."""


class Refused(MetadataError):
    """An answer, but not one to work with."""

    def __init__(self, asked: str, status: int) -> None:
        super().__init__(f"{asked}: the metadata server answered {status}")
        self.status = status


class Unreachable(MetadataError):
    """No answer."""


class _HungUp(OSError):
    """The other end closed the connection before it said anything."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The names of headers are in lower case."""

    status: int
    text: str
    headers: Mapping[str, str]


@dataclass(slots=True)
class _Line:
    """One connection; `idle` is since when nobody has used it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    idle: float = 0.0

    def is_good(self, now: float) -> bool:
        return now - self.idle < _KEEP_IDLE and not self.reader.at_eof() and not self.writer.is_closing()


class Metadata:
    """One server, asked over connections that are kept. Use it with `async with`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or _HTTP
        self._prefix = parts.path.rstrip("/")
        self._said_to_all = f"Host: {parts.netloc.rpartition('@')[2]}\r\nUser-Agent: {_USER_AGENT}\r\n"
        self._idle: list[_Line] = []

    async def __aenter__(self) -> Metadata:
        return self

    async def __aexit__(self, *_: object) -> None:
        for line in self._idle:
            line.writer.close()
        self._idle.clear()

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        within: float,
        body: bytes | None = None,
    ) -> Answer:
        """One question; any status is an answer. `within` is in seconds, for all of it."""
        asked = f"{method} {path.partition('?')[0]}"
        try:
            request = self._request(method, path, headers, body)
            async with asyncio.timeout(within):
                return await self._answered(request, repeats=method != "POST")
        except TimeoutError:
            raise Unreachable(f"{asked}: no answer within {within:g} s") from None
        except asyncio.IncompleteReadError:
            raise Unreachable(f"{asked}: the answer breaks off") from None
        except asyncio.LimitOverrunError:
            raise Unreachable(f"{asked}: the answer is larger than a metadata server's") from None
        except (OSError, ValueError) as problem:
            raise Unreachable(f"{asked}: {problem or type(problem).__name__}") from None

    def _request(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        if body is not None or method != "GET":
            lines += f"Content-Length: {len(body or b'')}\r\n"
        head = f"{method} {self._prefix}{path} HTTP/1.1\r\n{self._said_to_all}{lines}\r\n"
        return head.encode("latin-1") + (body or b"")

    async def _answered(self, request: bytes, repeats: bool) -> Answer:
        """Over a connection that was kept, if there is one; if the server closed that meanwhile, over another."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            line = self._idle.pop()
            if not line.is_good(now):
                line.writer.close()
                continue
            try:
                return await self._over(line, request)
            except _HungUp:
                if not repeats:
                    raise
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=_LARGEST)
        return await self._over(_Line(reader, writer), request)

    async def _over(self, line: _Line, request: bytes) -> Answer:
        stays = False
        try:
            line.writer.write(request)
            version, status, headers = await _head(line.reader)
            body, ended = await _body(line.reader, status, headers)
            wish = headers.get("connection", "close" if version == "HTTP/1.0" else "").lower()
            stays = ended and "close" not in wish and len(self._idle) < _MOST_IDLE
        finally:
            if not stays:
                line.writer.close()
        if stays:
            line.idle = asyncio.get_running_loop().time()
            self._idle.append(line)
        return Answer(status, body.decode("utf-8", "replace"), headers)


async def _head(reader: asyncio.StreamReader) -> tuple[str, int, dict[str, str]]:
    """The version, the status and the headers."""
    while True:
        try:
            told = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError) as problem:
            if isinstance(problem, ConnectionError) or not problem.partial:
                raise _HungUp("it hung up without an answer") from None
            raise
        first, *rest = told.decode("latin-1").rstrip("\r\n").split("\r\n")
        version, _, words = first.partition(" ")
        if not version.startswith("HTTP/1.") or not (words[:3].isascii() and words[:3].isdigit()):
            raise ValueError("what answers does not speak HTTP")
        status = int(words[:3])
        if status >= 200:  # before it there may be interim ones
            pairs = (one.partition(":") for one in rest)
            return version, status, {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, status: int, headers: Mapping[str, str]) -> tuple[bytes, bool]:
    """The body, and whether its end was told, so that another answer may follow."""
    if status in _BODILESS:
        return b"", True
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _chunks(reader), True
    length = headers.get("content-length")
    if length is not None:
        return await reader.readexactly(_bounded(length, 10)), True
    text = b""
    while more := await reader.read(_LARGEST):
        text += more
        _within_bounds(len(text))
    return text, False


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    text = b""
    while size := _bounded((await reader.readuntil(b"\r\n")).decode("latin-1").partition(";")[0], 16):
        text += (await reader.readexactly(size + 2))[:-2]
        _within_bounds(len(text))
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers say nothing here
    return text


def _bounded(text: str, base: int) -> int:
    """A length as it was told; ValueError for one that is none."""
    digits = text.strip()
    if not (digits.isascii() and digits.isalnum()):
        raise ValueError(f"the answer says it is {digits[:20]!r} long")
    return _within_bounds(int(digits, base))


def _within_bounds(length: int) -> int:
    if length > _LARGEST:
        raise ValueError("the answer is larger than a metadata server's")
    return length
