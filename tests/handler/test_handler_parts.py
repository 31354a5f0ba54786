"""The parts of a handler that stand alone: its pages, its start, its metadata client."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from tests.handler.handled import Handled
from tests.live.virtual_time import run
from tools.metadata_server.server import FakeMetadata, Fault

from dovetail.core.errors import BadInput
from dovetail.handler import web
from dovetail.handler.metadata import Metadata, Unreachable

ROUTES = {"/healthz": lambda: (200, "ok"), "/sick": lambda: (503, "no answer")}


async def asked(port: int, request: bytes) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return int(head.split()[1]), body.decode()


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", (200, "ok")),
        (b"GET /healthz?verbose HTTP/1.0\r\n\r\n", (200, "ok")),
        (b"GET /sick HTTP/1.1\r\n\r\n", (503, "no answer")),
        (b"GET /else HTTP/1.1\r\n\r\n", (404, "there is nothing here")),
        (b"POST /healthz HTTP/1.1\r\n\r\n", (405, "only GET is answered here")),
        (b"hello\r\n\r\n", (400, "this is not HTTP")),
    ],
)
def test_a_page_is_answered_and_nothing_else_is(request_, answer):
    async def scenario() -> None:
        async with web.served("127.0.0.1", 0, ROUTES) as port:
            assert await asked(port, request_) == answer

    asyncio.run(scenario())


def test_whoever_says_too_much_or_nothing_is_let_go():
    async def scenario() -> None:
        async with web.served("127.0.0.1", 0, ROUTES) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /" + b"a" * 20_000)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            assert await asked(port, b"GET /healthz HTTP/1.1\r\n\r\n") == (200, "ok")

    asyncio.run(scenario())


def test_a_port_somebody_else_has_is_named():
    async def scenario() -> None:
        async with web.served("127.0.0.1", 0, ROUTES) as port:
            with pytest.raises(BadInput, match=f"--metrics-port: 127.0.0.1:{port}"):
                async with web.served("127.0.0.1", port, ROUTES):
                    pass

    asyncio.run(scenario())


def test_a_port_below_zero_serves_nothing():
    async def scenario() -> None:
        async with web.served("127.0.0.1", -1, ROUTES) as port:
            assert port == -1

    asyncio.run(scenario())


def test_health_is_red_while_notices_would_not_be_seen_and_metrics_tell_of_them():
    async def scenario() -> None:
        async with Handled("azure", port=0) as one:
            port = one.processes[0].port
            assert await asked(port, b"GET /healthz HTTP/1.1\r\n\r\n") == (200, "ok")
            one.metadata.faults.append(Fault(500, times=10**6))
            await one.settle(90)
            status, text = await asked(port, b"GET /healthz HTTP/1.1\r\n\r\n")
            assert (status, "scheduledevents: no answer" in text) == (503, True)
            _, page = await asked(port, b"GET /metrics HTTP/1.1\r\n\r\n")
            assert 'dovetail_metadata_errors_total{cloud="azure",source="scheduledevents"}' in page

    run(scenario())


def test_an_answer_without_end_is_none():
    async def scenario() -> None:
        async with FakeMetadata() as fake, Metadata(fake.url) as metadata:
            fake.faults.append(Fault(200, text="a" * 400_000))
            with pytest.raises(Unreachable, match="larger"):
                await metadata.ask("GET", "/latest/meta-data/x", {}, within=2.0)

    asyncio.run(scenario())


def test_a_redirect_is_not_followed():
    async def scenario() -> None:
        async with FakeMetadata() as fake, Metadata(fake.url) as metadata:
            fake.faults.append(Fault(302))
            assert (await metadata.ask("GET", "/latest/meta-data/x", {}, within=2.0)).status == 302
            assert len(fake.asked) == 1

    asyncio.run(scenario())


def test_the_client_is_loaded_without_the_systems_certificates_and_the_environment_is_as_it_was():
    code = (
        "import os; os.environ['SSL_CERT_FILE'] = 'mine'; os.environ.pop('SSL_CERT_DIR', None);"
        "from dovetail.handler import lean; lean.load();"
        "from aiohttp import connector;"
        "print(connector._SSL_CONTEXT_VERIFIED.cert_store_stats()['x509_ca'], os.environ['SSL_CERT_FILE'],"
        "'SSL_CERT_DIR' in os.environ)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["0", "mine", "False"]
