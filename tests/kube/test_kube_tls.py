"""Certificates: verified, shown, and replaced under a running program."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import socket
import sys
import threading
import warnings
from asyncio.sslproto import SSLProtocol
from pathlib import Path

import pytest
from aiohttp import web
from tests.kube.certificates import Authority, serving
from tests.kube.loopback import Scripted, VirtualClock, hangs_up, refuses, says, streams

from dovetail.api import kinds
from dovetail.kube.client import Client
from dovetail.kube.config import ClusterConfig
from dovetail.kube.credentials import Anonymous, Shown
from dovetail.kube.errors import NoCredentials, Unauthorized, Unavailable, Untrusted
from dovetail.kube.exec_plugin import ExecPlugin, Plugin
from dovetail.kube.retry import Patience
from dovetail.kube.tls import Contexts, Pem, Trust
from dovetail.kube.transport import Options

OLD, NEW = Authority("old"), Authority("new")
HOST = "127.0.0.1"
OK = says({"ok": 1})


async def ask(client: Client) -> object:
    return await client.get(kinds.NODES, "n1")


def test_a_server_is_believed_that_the_authority_vouches_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        tls = serving(OLD.sign("server", address=HOST), tmp_path)
        async with Scripted.saying(OK, tls=tls) as server, Client(server.config(trust=Trust(Pem(OLD.pem)))) as client:
            assert await ask(client) == {"ok": 1}

    asyncio.run(scenario())


def test_an_answer_far_larger_than_what_is_set_aside_for_a_connection_arrives_whole(tmp_path: Path) -> None:
    large = {"text": "x" * 3_000_000}

    async def scenario() -> None:
        tls = serving(OLD.sign("server", address=HOST), tmp_path)
        scripted = Scripted.saying(says(large), tls=tls)
        async with scripted as server, Client(server.config(trust=Trust(Pem(OLD.pem)))) as client:
            assert SSLProtocol.max_size == 2**16
            assert await ask(client) == large

    asyncio.run(scenario())


def test_a_server_that_never_says_goodbye_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under load a server may take longer than anybody waits; what was left open then was found by the collector."""
    monkeypatch.setattr("dovetail.kube.transport._GOODBYE", 0.1)
    tls = serving(OLD.sign("server", address=HOST), tmp_path)
    over = threading.Event()
    listening = socket.create_server((HOST, 0))

    def silent() -> None:
        held, _ = listening.accept()
        with tls.wrap_socket(held, server_side=True) as connection:
            connection.recv(2**16)
            over.wait()

    async def scenario() -> None:
        config = ClusterConfig(f"https://{HOST}:{listening.getsockname()[1]}", Anonymous(), trust=Trust(Pem(OLD.pem)))
        async with Client(config, Options(patience=Patience(budget=0.2, attempt=0.2))) as client:
            with pytest.raises(Unavailable):
                await ask(client)

    server = threading.Thread(target=silent)
    with listening, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        server.start()
        asyncio.run(scenario())
        gc.collect()
        over.set()
        server.join()
    assert [str(one.message) for one in told] == []


@pytest.mark.parametrize(
    ("trust", "why"),
    [
        (Trust(Pem(NEW.pem)), "unable to get local issuer certificate"),
        (Trust(), "unable to get local issuer certificate"),
        (Trust(Pem(OLD.pem), server_name="elsewhere"), "elsewhere"),
    ],
)
def test_a_server_that_nobody_vouches_for_is_refused_at_once(tmp_path: Path, trust: Trust, why: str) -> None:
    async def scenario() -> None:
        time = VirtualClock()
        tls = serving(OLD.sign("server", address=HOST), tmp_path)
        scripted = Scripted.saying(tls=tls)
        async with scripted as server, Client(server.config(trust=trust), Options(clock=time.clock)) as client:
            with pytest.raises(Untrusted, match=f"get nodes n1: {server.url} .*{why}"):
                await ask(client)
        assert (server.seen, time.slept) == ([], [])

    asyncio.run(scenario())


def test_a_server_is_believed_by_another_name_where_that_is_said(tmp_path: Path) -> None:
    async def scenario() -> None:
        tls = serving(OLD.sign("server", host="kubernetes"), tmp_path)
        scripted = Scripted.saying(OK, tls=tls)
        async with (
            scripted as server,
            Client(server.config(trust=Trust(Pem(OLD.pem), server_name="kubernetes"))) as client,
        ):
            assert await ask(client) == {"ok": 1}

    asyncio.run(scenario())


def test_anybody_is_believed_only_where_that_is_said(tmp_path: Path) -> None:
    async def scenario() -> None:
        tls = serving(OLD.sign("server", host="other"), tmp_path)
        async with Scripted.saying(OK, tls=tls) as server, Client(server.config(trust=Trust(insecure=True))) as client:
            assert await ask(client) == {"ok": 1}

    asyncio.run(scenario())


def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    async def scenario() -> None:
        tls = serving(OLD.sign("server", address=HOST), tmp_path, clients_of=OLD)
        jane, mallory = OLD.sign("jane"), NEW.sign("mallory")
        async with Scripted.saying(OK, tls=tls) as server:
            shows = Trust(Pem(OLD.pem), Pem(jane.certificate), Pem(jane.key))
            async with Client(server.config(trust=shows)) as client:
                assert await ask(client) == {"ok": 1}
            wrong = Trust(Pem(OLD.pem), Pem(mallory.certificate), Pem(mallory.key))
            async with Client(server.config(trust=wrong), Options(patience=Patience(budget=0))) as client:
                with pytest.raises(Unavailable):
                    await ask(client)

    asyncio.run(scenario())


def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    async def scenario() -> None:
        jane = OLD.sign("jane")
        status = {"clientCertificateData": jane.certificate.decode(), "clientKeyData": jane.key.decode()}
        version = "client.authentication.k8s.io/v1"
        answer = tmp_path / "answer.json"
        answer.write_text(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))
        source = f"print(open({str(answer)!r}).read())"
        plugin = ExecPlugin(Plugin(sys.executable, version, ("-S", "-c", source), dict(os.environ)))
        tls = serving(OLD.sign("server", address=HOST), tmp_path, clients_of=OLD)
        scripted = Scripted.saying(OK, tls=tls)
        async with scripted as server, Client(server.config(plugin, trust=Trust(Pem(OLD.pem)))) as client:
            assert await ask(client) == {"ok": 1}

    asyncio.run(scenario())


def test_an_authority_that_changes_is_picked_up_when_the_handshake_fails(tmp_path: Path) -> None:
    async def scenario() -> None:
        authority = tmp_path / "ca.crt"
        authority.write_bytes(OLD.pem)
        before = Scripted.saying(OK, tls=serving(OLD.sign("server", address=HOST), tmp_path))
        async with before as server, Client(server.config(trust=Trust(Pem(path=authority)))) as client:
            assert await ask(client) == {"ok": 1}
            await server._runner.cleanup()
            authority.write_bytes(NEW.pem)
            tls = serving(NEW.sign("server", address=HOST), tmp_path)
            async with Scripted.saying(OK, tls=tls, port=server.port):
                assert await ask(client) == {"ok": 1}

    asyncio.run(scenario())


def test_a_client_certificate_that_is_renewed_is_shown_on_new_connections(tmp_path: Path) -> None:
    async def scenario() -> None:
        certificate, key = OLD.sign("jane").write(tmp_path, "client")
        trust = Trust(Pem(OLD.pem), Pem(path=certificate), Pem(path=key))
        tls = serving(OLD.sign("server", address=HOST), tmp_path, clients_of=NEW)
        async with Scripted.saying(OK, tls=tls) as server:
            options = Options(patience=Patience(budget=0))
            async with Client(server.config(trust=trust), options) as client:
                with pytest.raises(Unavailable):
                    await ask(client)
                NEW.sign("jane").write(tmp_path, "client")
                assert await ask(client) == {"ok": 1}

    asyncio.run(scenario())


def test_a_write_that_may_have_arrived_is_not_repeated_for_a_new_certificate(tmp_path: Path) -> None:
    async def scenario() -> None:
        authority = tmp_path / "ca.crt"
        authority.write_bytes(OLD.pem)
        tls = serving(OLD.sign("server", address=HOST), tmp_path)
        trust = Trust(Pem(path=authority))
        async with Scripted.saying(OK, hangs_up(), tls=tls) as server, Client(server.config(trust=trust)) as client:
            await ask(client)
            authority.write_bytes(OLD.pem + NEW.pem)
            with pytest.raises(Unavailable):
                await client.create(kinds.NODES, {"metadata": {"name": "n1"}})
            assert len(server.seen) == 2

    asyncio.run(scenario())


def test_a_server_that_refuses_a_certificate_with_401_is_shown_the_renewed_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        certificate, key = OLD.sign("jane").write(tmp_path, "client")
        trust = Trust(Pem(OLD.pem), Pem(path=certificate), Pem(path=key))
        tls = serving(OLD.sign("server", address=HOST), tmp_path)
        refused = refuses(401, "Unauthorized")
        scripted = Scripted.saying(OK, refused, OK, refused, tls=tls)
        async with scripted as server, Client(server.config(trust=trust)) as client:
            await ask(client)
            OLD.sign("jane, renewed").write(tmp_path, "client")
            assert await ask(client) == {"ok": 1}
            with pytest.raises(Unauthorized):
                await ask(client)

    asyncio.run(scenario())


def test_files_are_looked_at_every_few_seconds_and_half_written_ones_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authority = tmp_path / "ca.crt"
    authority.write_bytes(OLD.pem)
    time = VirtualClock()
    contexts = Contexts(Trust(Pem(path=authority)), time.clock)
    first = contexts.current(Shown())
    authority.write_bytes(NEW.pem)
    assert contexts.current(Shown()) is first
    time.time += 11
    second = contexts.current(Shown())
    assert second is not first
    for half_written in (NEW.pem[:100], b""):
        authority.write_bytes(half_written)
        time.time += 11
        assert contexts.current(Shown()) is second
    assert caplog.text.count("the ones before are kept") == 2
    authority.write_bytes(OLD.pem)
    time.time += 11
    assert contexts.current(Shown()) is not second


def test_certificates_that_never_were_usable_are_told(tmp_path: Path) -> None:
    contexts = Contexts(Trust(Pem(path=tmp_path / "missing")), VirtualClock().clock)
    with pytest.raises(NoCredentials, match="the certificates cannot be used: No such file"):
        contexts.current(Shown())


def test_an_empty_authority_does_not_mean_everybody_the_system_trusts(tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    authority.touch()
    with pytest.raises(NoCredentials, match="the certificate authority is empty"):
        Contexts(Trust(Pem(path=authority)), VirtualClock().clock).current(Shown())


def test_watches_pass_through_tls_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        tls = serving(OLD.sign("server", address=HOST), tmp_path)
        lines = [b'{"type":"ADDED","object":{}}\n' * 500 for _ in range(20)]
        scripted = Scripted.saying(streams(lines), tls=tls)
        async with scripted as server, Client(server.config(trust=Trust(Pem(OLD.pem)))) as client:
            batches = [batch async for batch in client.watch_batches(kinds.PODS, resource_version="1")]
        assert sum(map(len, batches)) == 10_000

    asyncio.run(scenario())


@pytest.mark.parametrize("answered", [False, True])
def test_a_request_given_up_leaves_no_connection_behind(tmp_path: Path, answered: bool) -> None:
    """A loop that ends with one open would say so, of a connection that nobody has any more."""

    async def scenario() -> None:
        tls = serving(OLD.sign("server", address=HOST), tmp_path)
        never = asyncio.Event()

        async def silence(request: web.Request) -> web.StreamResponse:
            await never.wait()
            return web.Response()

        scripted = Scripted.saying(streams([b'{"half":'], until=never) if answered else silence, tls=tls)
        async with scripted as server:
            async with Client(server.config(trust=Trust(Pem(OLD.pem)))) as client:
                asked = asyncio.create_task(ask(client))
                while not server.seen:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.05)
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)
                made = list(client._transport._sockets)
            assert len(made) == 1
            assert made[0].fileno() == -1
            never.set()

    asyncio.run(scenario())
