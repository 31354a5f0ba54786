"""The two API servers in the Kubernetes benchmark: how fast they start, what they weigh, how fast they tell.

`python -m bench.kube_servers NAME [ARGUMENT …]` prints one JSON object; the names are the functions below. How fast a
server tells its history is measured from another process (`kube_ours.replayed_rate`), which says how busy it was: a
reader with time to spare waits for the server.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench import kube_world, measure
from bench.report import ROOT

NODES, PODS = 1_000, 10_000
TOLD: Final = 4_000
_AT_ONCE: Final = 16
Figures = dict[str, float]


def _pod(number: int) -> dict[str, Any]:
    """A pod as a client sends one: no ids, no status, and nothing for a scheduler to do."""
    found = kube_world.pod(number, 0)
    about = {key: found["metadata"][key] for key in ("name", "labels", "annotations")}
    spec = {key: value for key, value in found["spec"].items() if key not in ("nodeName", "priority")}
    spec["schedulingGates"] = [{"name": "bench.example/wait"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**about, "namespace": "default"}, "spec": spec}


def _node(number: int) -> dict[str, Any]:
    found = kube_world.node(number, 0)
    about = {key: found["metadata"][key] for key in ("name", "labels", "annotations")}
    return {"apiVersion": "v1", "kind": "Node", "metadata": about, "spec": found["spec"], "status": found["status"]}


# ---- embedded


def embedded_start() -> Figures:
    """From nothing, imports included, to the first answer over TLS."""
    return asyncio.run(_embedded_start())


async def _embedded_start() -> Figures:
    start = time.perf_counter()
    from dovetail.apiserver.server import EmbeddedServer

    async with EmbeddedServer() as server:
        served = time.perf_counter() - start
        from dovetail.kube import config
        from dovetail.kube.client import Client

        again = time.perf_counter()
        async with Client(config.from_document(server.kubeconfig())) as client:
            await client.raw("GET", "/version")
        return {"seconds": served + time.perf_counter() - again}


def embedded_memory() -> Figures:
    """The whole process, with a cluster in it."""
    from dovetail.api import kinds
    from dovetail.apiserver.server import EmbeddedServer

    store = EmbeddedServer().store
    for number in range(NODES):
        store.create(kinds.NODES, _node(number))
    for number in range(PODS):
        store.create(kinds.PODS, _pod(number), "default")
    return {"rss": measure.resident()}


def embedded_told() -> Figures:
    return asyncio.run(_embedded_told())


async def _embedded_told() -> Figures:
    from dovetail.api import kinds
    from dovetail.apiserver.server import EmbeddedServer, Options
    from dovetail.apiserver.storage import Bounds

    async with EmbeddedServer(Options(bounds=Bounds(changes=2 * TOLD, size=2**30))) as server:
        version = server.store.list(kinds.NAMESPACES)[-1]["metadata"]["resourceVersion"]
        for number in range(TOLD):
            server.store.create(kinds.PODS, _pod(number), "default")
        return await _told(json.dumps(server.kubeconfig()), version)


async def _told(kubeconfig: str, version: str) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kubeconfig.json")
        path.write_text(kubeconfig, encoding="utf-8")
        command = [sys.executable, "-m", "bench.kube_ours", "replayed_rate", str(path), version, str(TOLD)]
        reader = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=subprocess.PIPE)
        answer, _ = await reader.communicate()
    return dict(json.loads(answer))


# ---- real


def real() -> Figures:
    """A compiled control plane: from its first process to all of them ready, and how fast it tells."""
    from tools.control_plane.find import find
    from tools.control_plane.start import ControlPlane

    programs = find(os.environ)
    start = time.perf_counter()
    with ControlPlane(programs) as control_plane:
        ready = time.perf_counter() - start
        figures = asyncio.run(_real_told(control_plane.kubeconfig))
    return {"seconds": ready, **figures}


async def _real_told(kubeconfig: Path) -> Figures:
    from dovetail.api import kinds
    from dovetail.kube import config
    from dovetail.kube.client import Client
    from dovetail.kube.errors import KubeError

    async with Client(config.load(str(kubeconfig), None, {})) as client:
        while True:  # the namespace has its account a moment after the control plane is ready
            try:
                await client.get(kinds.SERVICE_ACCOUNTS, "default", "default")
                break
            except KubeError:
                await asyncio.sleep(0.2)
        version = (await client.list(kinds.PODS)).resource_version
        turns = asyncio.Semaphore(_AT_ONCE)

        async def create(number: int) -> None:
            async with turns:
                await client.create(kinds.PODS, _pod(number))

        async with asyncio.TaskGroup() as group:
            for number in range(TOLD):
                group.create_task(create(number))
    return await _told(kubeconfig.read_text(encoding="utf-8"), version)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
