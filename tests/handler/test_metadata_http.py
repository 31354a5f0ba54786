"""The handler's own HTTP: what metadata servers and those in their place may answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from dovetail.handler.metadata import Answer, Metadata, Unreachable

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Scripted:
    """A server that gives these answers in turn, whatever is asked; one that ends in b"" is followed by hanging up."""

    answers: list[tuple[bytes, ...]]
    asked: list[bytes] = field(default_factory=list)
    connections: int = 0
    url: str = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next((int(one[15:]) for one in head.split(b"\r\n") if one.startswith(b"Content-Length:")), 0)
                self.asked.append(head + await reader.readexactly(length))
                *parts, last = self.answers.pop(0)
                for part in (*parts, last):
                    writer.write(part)
                    await writer.drain()
                if not last:
                    return
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def scripted(*answers: bytes | tuple[bytes, ...]) -> AsyncIterator[tuple[Scripted, Metadata]]:
    one = Scripted([each if isinstance(each, tuple) else (each,) for each in answers])
    server = await asyncio.start_server(one.handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Metadata(f"http://127.0.0.1:{port}/base/") as metadata:
        yield one, metadata


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await scenario()

    asyncio.run(bounded())


async def got(metadata: Metadata, method: str = "GET", body: bytes | None = None) -> Answer:
    return await metadata.ask(method, "/x?y=z", {"Metadata": "true"}, within=5.0, body=body)


def test_a_question_is_http_and_its_connection_is_kept() -> None:
    async def scenario() -> None:
        async with scripted(OK, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nETag: e1\r\n\r\n") as (
            server,
            metadata,
        ):
            assert await got(metadata) == Answer(200, "ok", {"content-length": "2"})
            second = await got(metadata, "PUT")
            assert (second.status, second.text, second.headers["etag"]) == (404, "", "e1")
            assert server.connections == 1
            first, put = (one.decode().split("\r\n") for one in server.asked)
            assert first[0] == "GET /base/x?y=z HTTP/1.1"
            assert {"Metadata: true", "User-Agent: dovetail-handler"} < set(first)
            assert any(one.startswith("Host: 127.0.0.1:") for one in first)
            assert "Content-Length: 0" in put

    run(scenario)


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n3\r\nay!\r\n0\r\nT: t\r\n\r\n",),
            200,
            "okay!",
        ),
        ((b"HTTP/1.1 200 OK\r\n\r\nuntil ", b"the end", b""), 200, "until the end"),
        ((b"HTTP/1.0 503 x\r\nContent-Length: 2\r\n\r\nno",), 503, "no"),
        ((b"HTTP/1.1 100 Continue\r\n\r\n", OK), 200, "ok"),
        ((b"HTTP/1.1 204 No Content\r\n\r\n",), 204, ""),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: Close\r\n\r\n\xff\xfe",), 200, "\ufffd\ufffd"),
    ],
)
def test_answers_come_in_several_forms_and_another_may_follow(
    answer: tuple[bytes, ...], status: int, text: str
) -> None:
    async def scenario() -> None:
        async with scripted(answer, OK) as (_, metadata):
            found = await got(metadata)
            assert (found.status, found.text) == (status, text)
            assert (await got(metadata)).text == "ok"

    run(scenario)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((b"",), "it hung up without an answer"),
        ((b"HTTP/1.1 200 OK\r\nConte", b""), "the answer breaks off"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b""), "the answer breaks off"),
        ((b"SSH-2.0-OpenSSH_9.9\r\n\r\n",), "what answers does not speak HTTP"),
        ((b"HTTP/1.1 abc\r\n\r\n",), "what answers does not speak HTTP"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",), "the answer says it is '-1' long"),
        ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",), "invalid literal"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n",), "larger than a metadata server's"),
        (
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + 5 * (b"ffff\r\n" + b"a" * 65535 + b"\r\n"),),
            "larger",
        ),
        ((b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 300_000, b""), "larger"),
        ((b"HTTP/1.1 200 OK\r\nX: " + b"a" * 600_000,), "larger"),
    ],
)
def test_what_is_no_answer_is_said_in_a_sentence_and_the_next_is_asked_anew(
    answer: tuple[bytes, ...], said: str
) -> None:
    async def scenario() -> None:
        async with scripted(answer, OK) as (_, metadata):
            with pytest.raises(Unreachable, match=f"^GET /x: .*{said}"):
                await got(metadata)
            assert (await got(metadata)).text == "ok"

    run(scenario)


def test_a_connection_that_was_closed_meanwhile_is_no_fault_but_nothing_is_started_twice() -> None:
    async def scenario() -> None:
        async with scripted(OK, (b"",), OK) as (server, metadata):
            await got(metadata)
            assert (await got(metadata)).text == "ok", "asked again over another connection"
            assert (server.connections, len(server.asked)) == (2, 3)
        async with scripted(OK, (b"",), OK) as (server, metadata):
            await got(metadata)
            with pytest.raises(Unreachable, match="POST /x: it hung up"):
                await got(metadata, "POST", b"{}")
            assert server.asked[-1].endswith(b"Content-Length: 2\r\n\r\n{}")

    run(scenario)


def test_an_answer_that_takes_too_long_is_none_and_its_connection_is_not_used_again() -> None:
    async def scenario() -> None:
        async with scripted((b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",), OK) as (server, metadata):
            with pytest.raises(Unreachable, match=r"no answer within 0\.05 s"):
                await metadata.ask("GET", "/x", {}, within=0.05)
            assert (await got(metadata)).text == "ok"
            assert server.connections == 2

    run(scenario)


def test_nobody_there_is_said() -> None:
    async def scenario() -> None:
        async with Metadata("http://127.0.0.1:1") as metadata:
            with pytest.raises(Unreachable, match="GET /x: "):
                await got(metadata)

    run(scenario)
