"""The embedded server for the contract: in a thread of its own, as tests bring loops and processes of theirs."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.contract.kubernetes.raw_api import Server
from tools.control_plane.find import find
from tools.control_plane.programs import NoControlPlane

from dovetail.apiserver.server import EmbeddedServer, Options

# Sooner than in earnest, so that the row about bookmarks need not wait.
BOOKMARKS_EVERY = 0.5


class Thread:
    """One server in one thread, from `start` to `stop`."""

    def __init__(self) -> None:
        self._ready: Future[EmbeddedServer] = Future()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="embedded-server", daemon=True)

    def start(self) -> EmbeddedServer:
        self._thread.start()
        return self._ready.result(timeout=30)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(timeout=30)
        self._loop.close()

    def call(self, act: Callable[[], object]) -> None:
        """Do it in the server's own loop, and wait until it is done."""

        async def run() -> None:
            if inspect.isawaitable(begun := act()):
                await begun

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(timeout=30)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        try:
            async with EmbeddedServer(Options(bookmark_seconds=BOOKMARKS_EVERY)) as server:
                self._ready.set_result(server)
                await self._end.wait()
        except BaseException as problem:
            if not self._ready.done():
                self._ready.set_exception(problem)
            raise


async def restarted(server: EmbeddedServer) -> None:
    await server.faults.begin_outage()
    server.faults.expire_history()
    await server.faults.end_outage()


@contextmanager
def running(directory: Path) -> Iterator[Server]:
    thread = Thread()
    server = thread.start()
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(json.dumps(server.kubeconfig()))
    kubectl = None
    with suppress(NoControlPlane):
        kubectl = find(os.environ).path("kubectl")
    try:
        yield Server(
            "embedded",
            kubeconfig,
            kubectl,
            expire=lambda: thread.call(server.faults.expire_history),
            aged=lambda token: token,
            restart=lambda: thread.call(lambda: restarted(server)),
            reissue=lambda: thread.call(server.faults.reissue_certificate),
        )
    finally:
        thread.stop()
