"""`plan --context`, `explain --context` and `dump`, against an embedded API server: nothing is ever written."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live import objects

from dovetail.api import kinds
from dovetail.api.crds.every import DEFINITIONS
from dovetail.apiserver.server import EmbeddedServer
from dovetail.kube.client import Client
from dovetail.kube.config import from_document

POOL = objects.pool()
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "acme-web", "namespace": "default", "labels": {"app": "acme"}},
    "spec": {"containers": [{"name": "c", "image": "acme/web", "resources": {"requests": {"cpu": "3"}}}]},
}


async def serve(path: Path, ready: threading.Event, end: asyncio.Event, writes: list[int]) -> None:
    async with EmbeddedServer() as server, Client(from_document(server.kubeconfig())) as client:
        for one in DEFINITIONS:
            await client.create(kinds.CRDS, one.manifest())
        await client.create(kinds.NODE_POOLS, POOL)
        await client.create(kinds.PODS, POD, "default")
        while not (await client.get(kinds.PODS, "acme-web", "default"))["status"].get("conditions"):
            await asyncio.sleep(0.01)  # until the scheduler has said that there is no place for it
        path.write_text(json.dumps(server.kubeconfig()))
        before = (await client.list(kinds.PODS)).resource_version
        ready.set()
        await end.wait()
        writes.append(int((await client.list(kinds.PODS)).resource_version) - int(before))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A kubeconfig for a cluster with one pool and one pod that waits; afterwards, that nothing was written to it."""
    path = tmp_path / "kubeconfig"
    ready, writes = threading.Event(), []
    loop = asyncio.new_event_loop()
    end = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(path, ready, end, writes),))
    thread.start()
    assert ready.wait(30)
    yield str(path)
    loop.call_soon_threadsafe(end.set)
    thread.join(30)
    loop.close()
    assert writes == [0]


def test_a_live_cluster_is_planned_as_its_files_would_be(dovetail, cluster):
    ran = dovetail("plan", "--kubeconfig", cluster, "--output", "json")
    assert ran.code == 0, ran.err
    (node,) = json.loads(ran.out)["nodes"]
    assert node["nodePool"] == "general"
    assert node["pods"] == ["default/acme-web"]


def test_files_on_top_of_a_live_cluster_are_a_what_if(dovetail, cluster, world):
    pool = json.loads(json.dumps(POOL))
    pool["spec"]["limits"] = {"cpu": "1"}
    ran = dovetail("plan", "--kubeconfig", cluster, "-f", world(pool), "--output", "json")
    assert ran.code == 3, ran.err
    assert json.loads(ran.out)["pending"][0]["pods"] == ["default/acme-web"]


def test_a_live_pod_is_explained(dovetail, cluster):
    ran = dovetail("explain", "pod", "acme-web", "--kubeconfig", cluster)
    assert ran.code == 0, ran.err
    assert "general" in ran.out


def test_a_live_cluster_is_decided_about_as_its_dump_is(dovetail, cluster, world):
    labels = {"karpenter.sh/nodepool": "general", "node.kubernetes.io/instance-type": "m-4x-amd64-linux"}
    empty = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "empty", "labels": labels}}
    flags = ("--now", "2026-11-16T12:00:00Z", "-o", "json", "-f", world(empty))
    ran = dovetail("consolidate", "--plan", "--kubeconfig", cluster, *flags)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["totals"]["nodes"] + json.loads(ran.out)["totals"]["stayingNodes"] == 1
    assert dovetail("dump", "--kubeconfig", cluster, "--to", "dump.json").code == 0
    assert dovetail("consolidate", "--plan", "-f", "dump.json", *flags).out == ran.out


def test_a_dump_reads_back_as_the_cluster_it_was_made_of(dovetail, cluster):
    assert dovetail("dump", "--kubeconfig", cluster, "--to", "world.json").code == 0
    live = dovetail("plan", "--kubeconfig", cluster, "--output", "json").out
    assert dovetail("plan", "-f", "world.json", "--output", "json").out == live
    assert Path("world.json").stat().st_mode & 0o077 == 0


def test_an_anonymous_dump_names_nobody_and_plans_the_same(dovetail, cluster):
    ran = dovetail("dump", "--kubeconfig", cluster, "--anonymize")
    assert ran.code == 0, ran.err
    assert "acme" not in ran.out
    Path("world.json").write_text(ran.out)
    planned = json.loads(dovetail("plan", "-f", "world.json", "--output", "json").out)
    live = json.loads(dovetail("plan", "--kubeconfig", cluster, "--output", "json").out)
    assert planned["totals"] == live["totals"]
    assert planned["nodes"][0]["instanceTypes"] == live["nodes"][0]["instanceTypes"]


def test_a_cluster_that_does_not_answer_is_told_of_in_a_sentence(dovetail, tmp_path):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "x", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "current-context": "x",
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    ran = dovetail("plan", "--kubeconfig", "kubeconfig")
    assert ran.code == 2
    assert "127.0.0.1:1" in ran.err
    assert "Traceback" not in ran.err
