"""The other clients' half of the Kubernetes benchmark; runs in an environment of its own, where they are installed.

`python bench/kube_peers.py CLIENT KUBECONFIG EVENTS` lists all pods into a dict by uid, as objects of the client's own,
then follows the watch for EVENTS events, and prints one JSON object. Each is used as its documentation shows. Standard
library and that client only: nothing of ours is installed there.
"""

import asyncio
import gc
import json
import re
import sys
import time
from pathlib import Path

PAGE = 500


def resident() -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found.group(1)) * 1024 / 1e6 if found else 0.0


class Kept:
    """Pods by uid, and how long it took to get there."""

    def __init__(self) -> None:
        gc.collect()
        self.pods: dict = {}
        self.before = resident()
        self.figures: dict = {}
        self._start = time.perf_counter()

    def listed(self) -> None:
        self.figures["list_seconds"] = time.perf_counter() - self._start
        gc.collect()
        self.figures["list_held"] = resident() - self.before
        self.figures["pods"] = len(self.pods)
        self._start = time.perf_counter()

    def watched(self, events: int) -> None:
        self.figures["watch_rate"] = events / (time.perf_counter() - self._start)


async def kubernetes_asyncio(kubeconfig: str, events: int) -> dict:
    from kubernetes_asyncio import client, config, watch

    await config.load_kube_config(kubeconfig)
    async with client.ApiClient() as session:
        api = client.CoreV1Api(session)
        kept, more = Kept(), None
        while True:
            page = await api.list_pod_for_all_namespaces(limit=PAGE, _continue=more)
            kept.pods.update((one.metadata.uid, one) for one in page.items)
            more = page.metadata._continue
            if not more:
                break
        version = page.metadata.resource_version
        kept.listed()
        seen = 0
        async with watch.Watch().stream(api.list_pod_for_all_namespaces, resource_version=version) as stream:
            async for event in stream:
                kept.pods[event["object"].metadata.uid] = event["object"]
                seen += 1
                if seen >= events:
                    break
        kept.watched(seen)
        return kept.figures


async def lightkube(kubeconfig: str, events: int) -> dict:
    from lightkube import AsyncClient, KubeConfig
    from lightkube.resources.core_v1 import Pod

    session = AsyncClient(config=KubeConfig.from_file(kubeconfig), trust_env=False)
    kept = Kept()
    found = session.list(Pod, namespace="*", chunk_size=PAGE)
    async for one in found:
        kept.pods[one.metadata.uid] = one
    version = found.resourceVersion
    kept.listed()
    seen = 0
    async for _, one in session.watch(Pod, namespace="*", resource_version=version):
        kept.pods[one.metadata.uid] = one
        seen += 1
        if seen >= events:
            break
    kept.watched(seen)
    return kept.figures


if __name__ == "__main__":
    chosen = {"kubernetes_asyncio": kubernetes_asyncio, "lightkube": lightkube}[sys.argv[1]]
    print(json.dumps(asyncio.run(chosen(sys.argv[2], int(sys.argv[3])))))
