"""What the client's bad days are made of: a line to the server that can be cut, and who follows a kind over it.

The line carries bytes and does not look at them: TLS is between the client and the server, so both servers can be cut
off in the same way, wherever in an object that is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from tests.contract.kubernetes.raw_api import LOOK_EVERY, PATIENCE, Server

from dovetail.api.kinds import Kind
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.clock import Clock
from dovetail.kube.decoding import WHOLE, Codec
from dovetail.kube.retry import Patience
from dovetail.kube.store import Store
from dovetail.kube.transport import Options
from dovetail.kube.watch import Options as WatchOptions
from dovetail.kube.watch import Reflector

HOST = "127.0.0.1"
QUICK = Patience(first=0.01, longest=0.1)


async def hurried(seconds: float) -> None:
    """Sleep, but not for long: what waits for minutes in earnest may not do so in a test."""
    await asyncio.sleep(min(seconds, 0.1))


def document(server: Server, **user: Any) -> dict[str, Any]:
    """The server's kubeconfig, for another user where one is given."""
    found: dict[str, Any] = json.loads(server.kubeconfig.read_text(encoding="utf-8"))
    if user:
        found["users"][0]["user"] = user
    return found


def asking(found: dict[str, Any]) -> Client:
    return Client(config.from_document(found), Options(patience=QUICK))


class Line:
    """A way to the server. `cut_in` is how many more bytes come through from it before the line breaks."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._to = (parts.hostname or "", parts.port or 443)
        self._port = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Server | None = None
        self.cut_in: int | None = None

    def through(self, found: dict[str, Any]) -> dict[str, Any]:
        """A kubeconfig that leads over this line."""
        found["clusters"][0]["cluster"]["server"] = f"https://{HOST}:{self._port}"
        return found

    async def __aenter__(self) -> Self:
        await self.mend()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.down()

    async def mend(self) -> None:
        self._listening = await asyncio.start_server(self._carry, HOST, self._port)
        self._port = self._listening.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Break what is open and refuse what comes."""
        if self._listening is not None:
            self._listening.close()
        self.cut()
        await asyncio.gather(*self._carrying, return_exceptions=True)
        await asyncio.sleep(0)  # aborted transports report their end in the loop's next round

    def cut(self) -> None:
        for one in self._open:
            one.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)
        there, thither = await asyncio.open_connection(*self._to)
        ends = {writer, thither}
        self._open |= ends
        try:
            with suppress(OSError):
                await asyncio.gather(self._pump(reader, thither), self._pump(there, writer, counted=True))
        finally:
            self._open -= ends
            for one in ends:
                one.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, counted: bool = False) -> None:
        while data := await source.read(2**14):
            if counted and self.cut_in is not None:
                self.cut_in -= len(data)
                if self.cut_in < 0:
                    self.cut_in = None
                    self.cut()
                    return
            sink.write(data)
            await sink.drain()
        sink.close()


class Follower:
    """Follows one kind in one namespace, and remembers every change it was told of."""

    def __init__(self, client: Client, kind: Kind, namespace: str, codec: Codec[Any] = WHOLE) -> None:
        self.kind, self.namespace = kind, namespace
        self.store: Store[Any] = Store()
        self.heard: list[tuple[str, object]] = []
        self.store.listen(lambda old, new: self.heard.append(((new or old).key[1], new and new.version)))
        options = WatchOptions(namespace, page=2, clock=Clock(sleep=hurried), patience=QUICK)
        self.reflector = Reflector(client, kind, codec, self.store, options)

    @property
    def versions(self) -> dict[str, str]:
        return {one.key[1]: str(one.version) for one in self.store}

    async def agrees(self, direct: Client, *, without: str = "") -> None:
        """Wait until the store is what a fresh list is."""
        async with asyncio.timeout(PATIENCE):
            while self.versions != await self._there(direct, without):
                await asyncio.sleep(LOOK_EVERY)

    async def _there(self, direct: Client, without: str) -> dict[str, str]:
        found = [one["metadata"] for one in (await direct.list(self.kind, self.namespace)).items]
        return {about["name"]: about["resourceVersion"] for about in found if about["name"] != without}


@asynccontextmanager
async def following(client: Client, kind: Kind, namespace: str, codec: Codec[Any] = WHOLE) -> AsyncIterator[Follower]:
    one = Follower(client, kind, namespace, codec)
    task = asyncio.create_task(one.reflector.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await one.reflector.synced.wait()
        yield one
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Day:
    """Somebody who follows over a line, and somebody who needs no line."""

    line: Line
    one: Follower
    direct: Client


@asynccontextmanager
async def following_over_a_line(server: Server, kind: Kind, namespace: str) -> AsyncIterator[Day]:
    async with (
        Line(server.url) as line,
        asking(document(server)) as direct,
        asking(line.through(document(server))) as client,
        following(client, kind, namespace) as one,
    ):
        yield Day(line, one, direct)
