"""One node for the handler's benchmark: an API server and a metadata server in this process, the handler in its own.

The kubelet here ends a pod some seconds after it was asked to go, and at the end of its grace at the latest.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

from tools.metadata_server.server import FakeMetadata

from dovetail.api import kinds
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.apiserver.writes import Deletion, MergePatch
from dovetail.core import timestamps
from dovetail.core.handler import marks

NODE = "spot-1"
PROVIDERS = {
    "aws": "aws:///us-east-1a/i-1",
    "gcp": "gce://p/z/spot-1",
    "azure": "azure:///subscriptions/s/virtualMachines/spot-1",
}


class HandlerNode:
    """The handler runs for as long as the block does."""

    def __init__(self, cloud: str, **settings: str) -> None:
        self.cloud, self.settings = cloud, settings
        self._opened = AsyncExitStack()
        self._written = asyncio.Event()

    async def __aenter__(self) -> Self:
        opened = self._opened
        self.server = await opened.enter_async_context(EmbeddedServer(Options(controllers=False)))
        self.store = self.server.store
        self.store.storage.listeners.append(lambda kind, change: self._written.set())
        self.metadata = await opened.enter_async_context(FakeMetadata())
        self.metadata.azure.name = NODE
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
        self.store.create(kinds.NODES, {**node, "spec": {"providerID": PROVIDERS[self.cloud]}}, "")
        directory = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        (directory / "kubeconfig").write_text(json.dumps(self.server.kubeconfig()))
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "dovetail.main", "handler"),
            env={
                **os.environ,
                "NODE_NAME": NODE,
                "KUBECONFIG": str(directory / "kubeconfig"),
                "METADATA_URL": self.metadata.url,
                "METRICS_PORT": "0",
                **self.settings,
            },
            stdout=subprocess.DEVNULL,
        )
        await self.until(lambda: len(self.metadata.asked) > 2)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.process.terminate()
        await self.process.wait()
        await self._opened.aclose()

    async def until(self, true: Callable[[], object], seconds: float = 120.0) -> None:
        async with asyncio.timeout(seconds):
            while not true():
                self._written.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._written.wait(), 0.02)

    def notice(self) -> None:
        if self.cloud == "aws":
            ends = timestamps.text(time.time() + 120)
            self.metadata.aws.notices["spot/instance-action"] = f'{{"action": "terminate", "time": "{ends}"}}'
        else:
            self.metadata.gcp.set("instance/preempted", "TRUE")

    def withdraw(self) -> None:
        self.metadata.aws.notices.clear()
        self.metadata.gcp.set("instance/preempted", "FALSE")

    def tainted(self) -> bool:
        taints = self.store.get(kinds.NODES, NODE, "")["spec"].get("taints") or ()
        return any(one["key"] == marks.TAINT for one in taints)

    # ---- pods

    def pods(self, count: int, grace: int) -> None:
        for number in range(count):
            container = {"name": "main", "image": "app:1"}
            spec = {"nodeName": NODE, "containers": [container], "terminationGracePeriodSeconds": grace}
            about = {"name": f"web-{number}", "namespace": "default", "labels": {"app": "web"}}
            self.store.create(
                kinds.PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}, "default"
            )
            running = MergePatch({"status": {"phase": "Running"}})
            self.store.patch(kinds.PODS, f"web-{number}", running, "default", subresource="status")

    def left(self) -> list[dict[str, Any]]:
        return list(self.store.list(kinds.PODS))

    async def play_kubelet(self, takes: float) -> None:
        asked: dict[str, float] = {}
        while True:
            for pod in self.left():
                about = pod["metadata"]
                if "deletionTimestamp" not in about:
                    continue
                began = asked.setdefault(about["uid"], time.time())
                if time.time() >= min(timestamps.seconds(about["deletionTimestamp"]), began + takes):
                    with contextlib.suppress(ApiError):
                        self.store.delete(kinds.PODS, about["name"], "default", Deletion(grace=0))
            await asyncio.sleep(0.05)

    # ---- what it costs

    def resident(self) -> float:
        """Megabytes."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu(self) -> float:
        """Seconds of processor time so far, to the nanosecond: `stat` counts in hundredths of a second."""
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9
