"""The termination handler: how soon a notice is on the Node, whether a node is empty in time, and what waiting costs.

The handler is a process of its own, as it is on a node; its API server (with TLS) and metadata server are fakes in the
process that measures, on loopback. A notice is set at a random moment; the clock stops when the server has the taint.
What a poll may be late is taken off: with questions every two seconds a notice is two seconds old at worst before
anybody could know. Compute Engine's questions hang until there is an answer, so nothing is taken off there.

Thirty pods with a grace of 30 s, each of which takes five seconds to go, leave under a notice of half a minute; idle
figures are of a handler that has asked for a minute, and heard nothing.
"""

import asyncio
import random
import time
from typing import Final

from bench.handler_node import HandlerNode
from bench.report import Row, lower

NAME = "handler"
TRIALS: Final = 60
POLL: Final = 0.2
PODS: Final = 30
IDLE_SECONDS: Final = 60.0
#: From the start until everything has been loaded and asked once.
_SETTLE_SECONDS: Final = 5.0


def run() -> list[Row]:
    aws = asyncio.run(_delays("aws", POLL))
    gcp = asyncio.run(_delays("gcp", 0.0))
    emptied = asyncio.run(_emptied())
    costs = {cloud: asyncio.run(_idle(cloud)) for cloud in ("aws", "gcp", "azure")}
    return [
        lower("notice to taint, beyond the poll interval, p50", "s", _share(aws, 0.5)),
        lower("notice to taint, beyond the poll interval, p99", "s", _share(aws, 0.99), limit=1.0),
        lower("notice to taint, a question that hangs, p50", "s", _share(gcp, 0.5)),
        lower("notice to taint, a question that hangs, p99", "s", _share(gcp, 0.99), limit=1.0),
        lower(f"notice to the last of {PODS} pods gone, of 30 s", "s", emptied, limit=30.0),
        *(lower(f"memory, idle, {cloud}", "MB", cost[0], limit=40) for cloud, cost in costs.items()),
        *(lower(f"processor, idle, {cloud}", "%", cost[1], limit=0.1) for cloud, cost in costs.items()),
    ]


async def _delays(cloud: str, poll: float) -> list[float]:
    """How long each notice took, less one poll; below zero where the poll came early."""
    settings = {"CLOUD": cloud, **({"POLL_INTERVAL": f"{int(poll * 1000)}ms"} if poll else {})}
    chance = random.Random(1)
    found = []
    async with HandlerNode(cloud, **settings) as node:
        for _ in range(TRIALS):
            await asyncio.sleep(chance.random() * max(poll, 0.1))
            began = time.perf_counter()
            node.notice()
            await node.until(node.tainted)
            found.append(max(0.0, time.perf_counter() - began - poll))
            node.withdraw()
            await node.until(lambda: not node.tainted())
    return found


async def _emptied() -> float:
    async with HandlerNode("gcp", CLOUD="gcp") as node:
        node.pods(PODS, 30)
        kubelet = asyncio.create_task(node.play_kubelet(5.0))
        began = time.perf_counter()
        node.notice()
        await node.until(lambda: not node.left())
        seconds = time.perf_counter() - began
        kubelet.cancel()
    return seconds


async def _idle(cloud: str) -> tuple[float, float]:
    """Megabytes, and percent of a core."""
    async with HandlerNode(cloud, CLOUD=cloud) as node:
        await asyncio.sleep(_SETTLE_SECONDS)
        began, before = time.perf_counter(), node.cpu()
        await asyncio.sleep(IDLE_SECONDS)
        spent = (node.cpu() - before) / (time.perf_counter() - began)
        return node.resident(), spent * 100


def _share(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
