"""Runs the server until its standard input ends; lines are levers: `evict <machine>`, and `left`, which is answered
with the names of all there is."""

from __future__ import annotations

import asyncio
import sys

from tools.azure_server.server import AzureServer
from tools.azure_server.world import VM


async def serve() -> None:
    async with AzureServer() as azure:
        print(f"ready {azure.port} {azure.world.subscription}", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            verb, _, name = line.strip().partition(" ")
            if verb == "left":
                print(" ".join(azure.everything()), flush=True)
                continue
            known = verb == "evict" and name in azure.names(VM)
            if known:
                azure.world.evict(name)
            print("ok" if known else f"no such lever: {line.strip()}", flush=True)


if __name__ == "__main__":
    asyncio.run(serve())
