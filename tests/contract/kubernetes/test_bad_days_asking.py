"""Bad days of whoever asks, on both servers: refusals told apart, ways in, and two who want the same lease."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.kubernetes.bad_days import Line, asking, document
from tests.contract.kubernetes.callers import allow_reading, plugin, token_of
from tests.contract.kubernetes.raw_api import LOOK_EVERY, PATIENCE, Server
from tests.contract.kubernetes.things import config_map, disruption_budget, pod

from dovetail.api.kinds import CONFIG_MAPS, DISRUPTION_BUDGETS, NAMESPACES, PODS
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.clock import Clock
from dovetail.kube.errors import AlreadyExists, Conflict, Invalid, KubeError, NotFound, TooManyRequests, UnknownKind
from dovetail.kube.exec_plugin import GROUP
from dovetail.kube.lease import Elector, Terms
from dovetail.kube.patches import Apply, JsonPatch, MergePatch

Ask = Callable[[Client, str, dict[str, Any]], Awaitable[object]]
OTHER = "00000000-0000-0000-0000-000000000000"
TEST = {"op": "test", "path": "/data/a", "value": "2"}


def merged(**metadata: str) -> Ask:
    patch = MergePatch({"metadata": metadata, "data": {"a": "3"}})
    return lambda client, namespace, _: client.patch(CONFIG_MAPS, "one", patch, namespace)


REFUSED: list[tuple[str, type[KubeError], Ask]] = [
    (
        "made twice",
        AlreadyExists,
        lambda client, namespace, _: client.create(CONFIG_MAPS, config_map("one"), namespace),
    ),
    ("an old version", Conflict, lambda client, _, old: client.replace(CONFIG_MAPS, old)),
    ("a merge into an old version", Conflict, merged(resourceVersion="1")),
    ("a merge into another object", Conflict, merged(uid=OTHER)),
    ("a test that fails", Invalid, lambda c, namespace, _: c.patch(CONFIG_MAPS, "one", JsonPatch([TEST]), namespace)),
    ("another object's end", Conflict, lambda c, namespace, _: c.delete(CONFIG_MAPS, "one", namespace, uid=OTHER)),
    ("nothing there", NotFound, lambda client, namespace, _: client.get(CONFIG_MAPS, "two", namespace)),
    ("no such kind", UnknownKind, lambda client, _, __: client.raw("GET", "/apis/contract.test/v7/things")),
    ("a bad name", Invalid, lambda client, namespace, _: client.create(CONFIG_MAPS, config_map("A b"), namespace)),
    (
        "a field of somebody else",
        Conflict,
        lambda c, namespace, old: c.patch(CONFIG_MAPS, "one", Apply(applied("3"), "other"), namespace),
    ),
]


def applied(value: str) -> dict[str, Any]:
    return config_map("one", {"a": value})


@pytest.mark.parametrize(("error", "ask"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_every_refusal_is_told_apart(server: Server, namespace: str, error: type[KubeError], ask: Ask) -> None:
    async with asking(document(server)) as client:
        old = await client.patch(CONFIG_MAPS, "one", Apply(applied("0"), "first"), namespace)
        new = await client.patch(CONFIG_MAPS, "one", Apply(applied("1"), "first"), namespace)
        with pytest.raises(error) as caught:
            await ask(client, namespace, old)
        assert type(caught.value) is error
        assert await client.get(CONFIG_MAPS, "one", namespace) == new


async def test_a_field_of_somebody_else_can_be_taken_by_force(server: Server, namespace: str) -> None:
    async with asking(document(server)) as client:
        await client.patch(CONFIG_MAPS, "one", Apply(applied("0"), "first"), namespace)
        taken = await client.patch(CONFIG_MAPS, "one", Apply(applied("1"), "other", force=True), namespace)
        assert taken["data"] == {"a": "1"}


async def test_a_budget_in_an_evictions_way_is_no_busy_server(server: Server, namespace: str) -> None:
    labels = {"app": "web"}
    async with asking(document(server)) as client:
        await client.create(DISRUPTION_BUDGETS, disruption_budget("web", labels, maxUnavailable=0), namespace)
        made = await client.create(PODS, pod("web", labels), namespace)
        await client.patch(PODS, "web", MergePatch(running()), namespace, subresource="status")
        await eventually(lambda: budget_counts(client, namespace))
        with pytest.raises(TooManyRequests) as caught:
            await client.evict("web", namespace, uid=made["metadata"]["uid"])
        assert caught.value.by_disruption_budget
        await client.delete(DISRUPTION_BUDGETS, "web", namespace)
        with pytest.raises(Conflict):
            await client.evict("web", namespace, uid=OTHER)
        await eventually(lambda: evicted(client, namespace, made["metadata"]["uid"]))


def running() -> dict[str, Any]:
    return {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


async def budget_counts(client: Client, namespace: str) -> bool:
    found = await client.get(DISRUPTION_BUDGETS, "web", namespace)
    return bool((found.get("status") or {}).get("currentHealthy"))


async def evicted(client: Client, namespace: str, uid: str) -> bool:
    """The budget is gone for whoever asks, and a moment later for whoever decides about evictions."""
    try:
        await client.evict("web", namespace, uid=uid, grace=0)
    except TooManyRequests:
        return False
    return True


async def eventually(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await true():
            await asyncio.sleep(LOOK_EVERY)


# ---- ways in


def files(server: Server, directory: Path) -> dict[str, Any]:
    """The kubeconfig with whatever stands in it written to files beside it, named as seen from there."""
    found = document(server)
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    for part in (cluster, user):
        for name in [name for name in part if name.endswith("-data")]:
            file = directory / f"{name}.pem"
            file.write_bytes(base64.b64decode(part.pop(name)))
            part[name.removesuffix("-data")] = file.name
    if "token" in user:
        (directory / "token").write_text(user.pop("token") + "\n", encoding="utf-8")
        user["tokenFile"] = "token"
    return found


async def test_what_stands_in_the_kubeconfig_may_stand_in_files(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps(files(server, tmp_path)), encoding="utf-8")
    async with Client(config.load(None, None, {"KUBECONFIG": f"{tmp_path / 'missing'}:{path}"})) as client:
        assert await client.get(NAMESPACES, "default")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_plugin_opens_the_door(server: Server, namespace: str, tmp_path: Path, version: str) -> None:
    async with asking(document(server)) as direct:
        await allow_reading(direct, namespace)
        program = plugin(tmp_path, version, await token_of(direct, namespace))
    called = {"apiVersion": f"{GROUP}/{version}", "command": program, "interactiveMode": "Never"}
    async with asking(document(server, exec=called)) as client:
        found = await client.list(CONFIG_MAPS, namespace)
        assert found.resource_version


# ---- the lease


def electors(*clients: Client, namespace: str) -> Iterator[Elector]:
    """Replicas whose clocks are hours apart."""
    for number, client in enumerate(clients):
        hours = 5.0 * 3600 * number
        terms = Terms(namespace, f"replica_{number}", duration=1.0, deadline=0.6, retry=0.1)
        yield Elector(client, terms, clock=Clock(wall=lambda hours=hours: time.time() + hours))


async def test_of_two_that_race_one_leads_and_one_cut_off_stops_before_the_other_begins(
    server: Server, namespace: str
) -> None:
    async with Line(server.url) as one, Line(server.url) as two:
        lines = (one, two)
        async with asking(one.through(document(server))) as left, asking(two.through(document(server))) as right:
            replicas = list(electors(left, right, namespace=namespace))
            tasks = [asyncio.create_task(replica.run()) for replica in replicas]
            try:
                first = await leader(replicas)
                await lines[replicas.index(first)].down()
                assert await leader(replicas, but=first) is not first
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


async def leader(replicas: list[Elector], but: Elector | None = None) -> Elector:
    """Who leads; at no moment until then do two."""
    async with asyncio.timeout(PATIENCE):
        while True:
            leading = [replica for replica in replicas if replica.holds()]
            assert len(leading) <= 1, "two act at once"
            if leading and leading[0] is not but:
                return leading[0]
            await asyncio.sleep(0.005)
