"""Reflector, client and a server that misbehaves on purpose, over TLS: the store ends up as the server is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.kube.scripted import at_length

from dovetail.api.kinds import CONFIG_MAPS, NODE_CLAIMS, PODS
from dovetail.apiserver.server import EmbeddedServer
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.decoding import WHOLE
from dovetail.kube.lease import Elector, Terms
from dovetail.kube.pod_store import PodStore
from dovetail.kube.retry import Patience
from dovetail.kube.store import Store
from dovetail.kube.tls import Pem, Trust
from dovetail.kube.watch import Options, Reflector

QUICK = Options(patience=Patience(first=0.01, longest=0.05), page=2)


def configured(server: EmbeddedServer, name: str, **data: str) -> None:
    known = server.store.find(CONFIG_MAPS, name, "default")
    about = {"name": name, "namespace": "default"}
    if known is None:
        server.store.create(CONFIG_MAPS, {"metadata": about, "data": data}, "default")
    else:
        server.store.update(CONFIG_MAPS, {**known, "data": data})


def content(server: EmbeddedServer) -> dict[tuple[str, str], str]:
    found = server.store.list(CONFIG_MAPS)
    return {
        (one["metadata"]["namespace"], one["metadata"]["name"]): one["metadata"]["resourceVersion"] for one in found
    }


class Seen:
    def __init__(self, server: EmbeddedServer, client: Client) -> None:
        self.server = server
        self.store: Store[Any] = Store()
        self.reflector = Reflector(client, CONFIG_MAPS, WHOLE, self.store, QUICK)

    async def agree(self) -> None:
        """Wait until the store is what the server is."""
        while {one.key: str(one.version) for one in self.store} != content(self.server):
            await asyncio.sleep(0.005)


@asynccontextmanager
async def seen() -> AsyncIterator[Seen]:
    async with EmbeddedServer() as server:
        for name in "abc":
            configured(server, name)
        async with Client(config.from_document(server.kubeconfig())) as client:
            one = Seen(server, client)
            task = asyncio.create_task(one.reflector.run())
            await one.reflector.synced.wait()
            yield one
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@at_length
async def test_pages_and_changes_arrive() -> None:
    async with seen() as one:
        await one.agree()
        configured(one.server, "d")
        configured(one.server, "a", key="value")
        one.server.store.delete(CONFIG_MAPS, "b", "default")
        await one.agree()
        assert one.reflector.counts.lists == 1


@at_length
async def test_cut_watches_lose_and_double_nothing() -> None:
    async with seen() as one:
        heard: list[tuple[str, int]] = []
        one.store.listen(lambda old, new: heard.append(((new or old).key[1], (new or old).version)))
        for number in range(5):
            configured(one.server, "a", key=str(number))
            one.server.faults.cut_watches()
            configured(one.server, f"n{number}")
            await one.agree()
        assert len(heard) == len(set(heard)) == 10
        assert one.reflector.counts.lists == 1


@at_length
async def test_an_outage_in_which_history_is_forgotten_ends_in_agreement() -> None:
    async with seen() as one:
        await one.server.faults.begin_outage()
        configured(one.server, "d")
        one.server.store.delete(CONFIG_MAPS, "a", "default")
        one.server.faults.expire_history()
        await asyncio.sleep(0.1)
        assert one.store.get("a", "default") is not None
        await one.server.faults.end_outage()
        await one.agree()
        assert one.reflector.counts.lists == 2


@at_length
async def test_busy_broken_and_silent_answers_end_in_agreement() -> None:
    async with seen() as one:
        faults = one.server.faults
        faults.answer(429, 2)
        faults.answer(500, 2)
        faults.reset(2)
        faults.answer(410)
        faults.cut_after = 10
        configured(one.server, "d")
        faults.cut_watches()
        await one.agree()
        configured(one.server, "e")
        await one.agree()
        assert faults.refused >= 6
        assert one.reflector.counts.lists == 2


@at_length
async def test_a_new_authority_is_believed_once_its_file_says_so() -> None:
    async with EmbeddedServer() as server:
        configured(server, "a")
        with TemporaryDirectory() as directory:
            authority = Path(directory, "ca.crt")
            authority.write_bytes(server.authority)
            trust = Trust(Pem(path=authority))
            async with Client(replace(config.from_document(server.kubeconfig()), trust=trust)) as client:
                one = Seen(server, client)
                task = asyncio.create_task(one.reflector.run())
                await one.agree()
                server.faults.reissue_certificate(new_authority=True)
                configured(server, "b")
                while not one.reflector.trouble:
                    server.faults.cut_watches()  # again and again: a connection from before may be used once more
                    await asyncio.sleep(0.005)
                authority.write_bytes(server.authority)
                await one.agree()
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


@at_length
async def test_a_replayed_change_is_not_believed() -> None:
    async with seen() as one:
        configured(one.server, "a", key="1")
        configured(one.server, "a", key="2")
        await one.agree()
        one.server.faults.replay(CONFIG_MAPS, "a", "default", back=2)
        configured(one.server, "z")
        await one.agree()
        assert one.reflector.counts.stale == 1


@at_length
async def test_a_kind_whose_definition_is_missing_is_empty_and_in_sync() -> None:
    async with EmbeddedServer() as server, Client(config.from_document(server.kubeconfig())) as client:
        reflector = Reflector(client, NODE_CLAIMS, WHOLE, Store[Any](), QUICK)
        task = asyncio.create_task(reflector.run())
        await reflector.synced.wait()
        assert not reflector.served
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@at_length
async def test_pods_of_a_server_are_records() -> None:
    async with EmbeddedServer() as server, Client(config.from_document(server.kubeconfig())) as client:
        spec = {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
        for number in range(3):
            server.store.create(PODS, {"metadata": {"name": f"web-{number}"}, "spec": spec}, "default")
        store = PodStore()
        task = asyncio.create_task(Reflector(client, PODS, store.codec, store, QUICK).run())
        while len(store) < 3:
            await asyncio.sleep(0.005)
        assert len(store.reader.forms) == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@at_length
async def test_a_lease_is_taken_and_given_back_on_a_server() -> None:
    async with EmbeddedServer() as server, Client(config.from_document(server.kubeconfig())) as client:
        one, other = (Elector(client, Terms("kube-system", name)) for name in ("one_1", "other_2"))
        first = asyncio.create_task(one.run())
        await one.leading.wait()
        second = asyncio.create_task(other.run())
        await asyncio.sleep(0.1)
        assert not other.leading.is_set()
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        third = Elector(client, Terms("kube-system", "third_3"))
        task = asyncio.create_task(third.run())
        await third.leading.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
