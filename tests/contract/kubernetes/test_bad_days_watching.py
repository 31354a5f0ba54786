"""Bad days of whoever follows a kind, on both servers: afterwards the store is what a fresh list is."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.kubernetes.bad_days import HOST, Line, asking, document, following, following_over_a_line
from tests.contract.kubernetes.callers import allow_reading, plugin, token_of
from tests.contract.kubernetes.custom import ANYTHING, install
from tests.contract.kubernetes.raw_api import LOOK_EVERY, PATIENCE, Api, Server
from tests.contract.kubernetes.things import config_map, crd, fresh

from dovetail.api.fields import Fields
from dovetail.api.kinds import CONFIG_MAPS, CRDS, Kind
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.clock import Clock
from dovetail.kube.decoding import Plain
from dovetail.kube.exec_plugin import GROUP, ExecPlugin, Plugin
from dovetail.kube.patches import MergePatch

RELICS = Kind("contract.test", "v1", "Relic", "relics", namespaced=True)


async def put(client: Client, namespace: str, *names: str, size: int = 1) -> None:
    for name in names:
        await client.create(CONFIG_MAPS, config_map(name, {"size": "x" * size}), namespace)


async def test_a_line_cut_mid_object_loses_and_doubles_nothing(server: Server, namespace: str) -> None:
    async with following_over_a_line(server, CONFIG_MAPS, namespace) as day:
        for name in ("a", "b", "c"):
            day.line.cut_in = 100_000
            await put(day.direct, namespace, name, size=300_000)
            await day.one.agrees(day.direct)
            assert day.line.cut_in is None, "the line was never cut"
        assert len(day.one.heard) == len(set(day.one.heard)) == len(day.one.store)
        assert day.one.reflector.counts.lists == 1


async def test_what_happened_while_the_line_was_down_is_told_once(server: Server, namespace: str) -> None:
    async with following_over_a_line(server, CONFIG_MAPS, namespace) as day:
        await put(day.direct, namespace, "goes", "changes", "stays")
        await day.one.agrees(day.direct)
        day.one.heard.clear()
        await day.line.down()
        await put(day.direct, namespace, "comes")
        await day.direct.delete(CONFIG_MAPS, "goes", namespace)
        await day.direct.patch(CONFIG_MAPS, "changes", MergePatch({"data": {"size": "2"}}), namespace)
        await day.line.mend()
        await day.one.agrees(day.direct)
        assert [name for name, _ in day.one.heard] == ["comes", "goes", "changes"]
        assert day.one.reflector.counts.lists == 1


async def test_a_server_that_restarts_without_its_history_is_listed_anew(server: Server, namespace: str) -> None:
    """A watch and a list in pages are under way when it goes; both versions are forgotten when it is back."""
    async with following_over_a_line(server, CONFIG_MAPS, namespace) as day:
        await put(day.direct, namespace, "a", "b", "c", "d", "e")
        await day.one.agrees(day.direct)
        listing = day.direct.pages(CONFIG_MAPS, namespace, limit=1)
        assert (await anext(listing)).first
        await day.line.down()
        await put(day.direct, namespace, "f")
        await day.direct.delete(CONFIG_MAPS, "a", namespace)
        await asyncio.to_thread(server.restart)
        await day.line.mend()
        await day.one.agrees(day.direct)
        assert day.one.reflector.counts.lists == 2
        assert await listed(listing) == sorted(day.one.versions)


async def listed(listing: Any) -> list[str]:
    """What the rest of a list brings; it must begin anew on the way."""
    names: list[str] = []
    began = 0
    async for page in listing:
        if page.first:
            names.clear()
            began += 1
        names += [one["metadata"]["name"] for one in page.items]
    assert began == 1
    return names


async def test_an_object_of_nearly_a_megabyte_and_a_half_is_followed(api: Api, namespace: str) -> None:
    """As large as etcd takes one."""
    await install(api, crd("relics", "Relic", ANYTHING))
    async with asking(document(api.server)) as client, following(client, RELICS, namespace) as one:
        relic = {"apiVersion": "contract.test/v1", "kind": "Relic", "metadata": {"name": "big"}, "say": "x" * 1_450_000}
        await client.create(RELICS, relic, namespace)
        await one.agrees(client)
        assert len(one.store.get("big", namespace).value.wire["say"]) == 1_450_000


async def test_an_object_that_cannot_be_read_is_left_out_and_the_rest_goes_on(server: Server, namespace: str) -> None:
    def picky(wire: Fields) -> Fields:
        if wire.map("data").text("size") == "xx":
            raise wire.map("data").bad("size", "is two")
        return wire

    async with asking(document(server)) as client, following(client, CONFIG_MAPS, namespace, Plain(picky)) as one:
        await put(client, namespace, "bad", size=2)
        await put(client, namespace, "good")
        await one.agrees(client, without="bad")
        assert list(one.reflector.refused) == [(namespace, "bad")]
        await client.patch(CONFIG_MAPS, "bad", MergePatch({"data": {"size": "x"}}), namespace)
        await one.agrees(client)
        assert one.reflector.refused == {}


async def test_a_kind_is_empty_until_its_definition_comes(api: Api, namespace: str) -> None:
    plural = fresh("later").replace("-", "")
    kind = Kind("contract.test", "v1", plural.capitalize(), plural, namespaced=True)
    thing = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": "first"}}
    async with asking(document(api.server)) as client, following(client, kind, namespace) as one:
        assert (one.reflector.served, len(one.store)) == (False, 0)
        await install(api, crd(plural, kind.name, ANYTHING))
        await client.create(kind, thing, namespace)
        await one.agrees(client)
        assert one.reflector.served
        await client.delete(CRDS, f"{plural}.contract.test")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_token_that_expires_mid_watch_is_replaced(
    server: Server, namespace: str, tmp_path: Path, version: str
) -> None:
    """The plugin has an old token first, both times: the server refuses it, and the plugin is asked once more."""
    hours = [0]
    clock = Clock(wall=lambda: time.time() + 3600 * hours[0])
    async with Line(server.url) as line, asking(document(server)) as direct:
        await allow_reading(direct, namespace)
        good = [await token_of(direct, namespace) for _ in range(2)]
        program = plugin(tmp_path, version, "old", good[0], "old-too", good[1])
        leading = config.from_document(line.through(document(server, token="unused")))
        who = ExecPlugin(Plugin(program, f"{GROUP}/{version}", env=os.environ), clock=clock)
        knowing = Client(replace(leading, credentials=who))
        async with knowing as client, following(client, CONFIG_MAPS, namespace) as one:
            await put(direct, namespace, "before")
            await one.agrees(direct)
            hours[0] = 3
            line.cut()
            await put(direct, namespace, "after")
            await one.agrees(direct)
            assert (tmp_path / "runs").read_text(encoding="utf-8").strip() == "4"
            assert one.reflector.counts.lists == 1


async def test_a_certificate_that_changes_is_believed_if_the_authority_is_the_same(
    server: Server, namespace: str
) -> None:
    async with following_over_a_line(server, CONFIG_MAPS, namespace) as day:
        before = await asyncio.to_thread(shown, server)
        server.reissue()
        async with asyncio.timeout(PATIENCE):
            while await asyncio.to_thread(shown, server) == before:
                await asyncio.sleep(LOOK_EVERY)
        day.line.cut()
        await put(day.direct, namespace, "a")
        await day.one.agrees(day.direct)
        assert day.one.reflector.counts.lists == 1


def shown(server: Server) -> str:
    return ssl.get_server_certificate((HOST, int(server.url.rsplit(":", 1)[1])))
