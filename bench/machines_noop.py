"""An infrastructure provider that buys nothing: the least that Cluster API's contract asks of one, as a process.

Every machine is given a provider id and said to be ready at once, in two writes; so is its cluster. There are no
finalizers, conditions, addresses or events. It is started with the kubeconfig of `dovetail machines`, by whose account
its writes are counted.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Final

from bench.machines_cluster import NAMESPACE
from bench.machines_shops import SIM
from dovetail.api.kinds import Kind
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.errors import KubeError
from dovetail.kube.patches import MergePatch

_UP: Final = {"status": {"ready": True, "initialization": {"provisioned": True}}}
_HOURS: Final = 3 * 3600.0
#: As many requests at once as ours has.
_AT_ONCE: Final = 10


class Provider:
    """Follows both kinds; what is up already is left alone."""

    def __init__(self, client: Client) -> None:
        self._client, self._room, self._known = client, asyncio.Semaphore(_AT_ONCE), set[str]()
        self._tasks = set[asyncio.Task[None]]()

    async def follow(self, kind: Kind) -> None:
        while True:
            listed = await self._client.list(kind, NAMESPACE)
            for one in listed.items:
                self._see(kind, one)
            try:
                async for batch in self._client.watch_batches(
                    kind, NAMESPACE, resource_version=listed.resource_version, timeout=_HOURS, bookmarks=False
                ):
                    for line in batch:
                        self._see(kind, json.loads(line)["object"])
            except KubeError as failed:
                print(f"no-op: the watch of {kind.plural} broke off: {failed}", file=sys.stderr)

    def _see(self, kind: Kind, one: Mapping[str, Any]) -> None:
        about = one["metadata"]
        key = f"{kind.name}/{about['name']}"
        if key in self._known or not about.get("ownerReferences"):
            return  # Cluster API says whose it is, and then it may be made
        self._known.add(key)
        task = asyncio.create_task(self._made(kind, about["name"]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _made(self, kind: Kind, name: str) -> None:
        async with self._room:
            if kind is SIM.kinds[0]:
                named = MergePatch({"spec": {"providerID": f"none:///{name}"}})
                await self._client.patch(kind, name, named, NAMESPACE)
            await self._client.patch(kind, name, MergePatch(_UP), NAMESPACE, subresource="status")


async def _healthy(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    await writer.drain()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(_healthy, "127.0.0.1", int(os.environ["HEALTH_PROBE_PORT"]))
    async with server, Client(config.load(os.environ["KUBECONFIG"], None, {})) as client:
        provider = Provider(client)
        await asyncio.gather(provider.follow(SIM.kinds[0]), provider.follow(SIM.kinds[2]))


if __name__ == "__main__":
    asyncio.run(main())
