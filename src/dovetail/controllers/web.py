"""What probes and dashboards ask for: /metrics on one port, /healthz and /readyz on another."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from dovetail import __version__
from dovetail.controllers.metrics import Metrics, Sample

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
#: A status and a text, in a moment.
Answer = Callable[[], Awaitable[tuple[int, str]]]
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def declare_process(metrics: Metrics) -> None:
    """The process itself, under the names every dashboard has; the heap also under Go's, which some read."""
    metrics.gauge("process_resident_memory_bytes", "Memory in use.", lambda: _one(resident_bytes()), prefix="")
    metrics.gauge("process_cpu_seconds_total", "Processor time used.", lambda: _one(_cpu_seconds()), prefix="")
    metrics.gauge("go_gc_heap_live_bytes", "Memory in use, by the name some dashboards read.", _heap, prefix="")
    build = {"version": __version__, "goversion": f"python{sys.version_info[0]}.{sys.version_info[1]}"}
    labels = ("version", "goversion", "goarch", "commit")
    metrics.gauge("build_info", "What runs here.", lambda: [(build, 1.0)], *labels)


def _one(value: float) -> Iterable[Sample]:
    return [({}, value)]


def _heap() -> Iterable[Sample]:
    return _one(resident_bytes())


def resident_bytes() -> float:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * float(_PAGE)
    except OSError:
        # Not Linux: the largest it ever was, in kilobytes or, on a Mac, bytes.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float(peak if sys.platform == "darwin" else peak * 1024)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@asynccontextmanager
async def served(host: str, port: int, routes: Mapping[str, Answer]) -> AsyncIterator[int]:
    """Serve plain text under these paths for as long as the block runs; port 0 serves nothing."""
    if not port:
        yield 0
        return
    app = web.Application()
    for path, answer in routes.items():
        app.router.add_get(path, _handler(answer))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, reuse_address=True).start()
        yield port
    finally:
        await runner.cleanup()


def _handler(answer: Answer) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.Response:
        status, text = await answer()
        return web.Response(status=status, text=text, headers={"Content-Type": _TEXT})

    return handle
