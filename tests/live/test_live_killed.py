"""`kill -9` at every boundary of a provision-and-terminate run: nothing leaks, nothing is bought twice, no pod is lost.

The life below is lived once undisturbed, which tells how many boundaries it has; then once for each of them, with the
process killed there and another started in its place. Each must come to the same end as the first.
"""

from __future__ import annotations

import asyncio

import pytest
from tests.live.killing import Mortal, was_killed
from tests.live.live import Live, is_true
from tests.live.virtual_time import run

from dovetail.api import kinds

APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}
#: As many as the life has, rounded up; `test_every_boundary_is_tried` keeps it honest.
BOUNDARIES = 42
#: From here on everything may be over before anybody notices that the process is dead.
END = 36


class Doomed(Live):
    """A cluster whose first controller dies at a boundary; whoever finds it dead starts another."""

    def __init__(self, at: int | None) -> None:
        super().__init__()
        self._at, self.deaths = at, 0

    async def start(self) -> None:
        mortal = Mortal(self.client, self._at if not self.deaths else None)
        if not self.deaths:
            self.first = mortal
        self.controller = self.build(mortal)  # type: ignore[arg-type]
        self._task = asyncio.create_task(self.controller.run(), name="controller")

    async def settled(self, seconds: float = 5.0) -> None:
        """Let time pass, whoever dies in it."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        await self.until(lambda: loop.time() >= until)

    async def check(self) -> None:
        """Put another process in the place of one that died."""
        if was_killed(self._task):
            self.deaths += 1
            await self.start()


async def lived(live: Doomed) -> tuple[int, int]:
    """Two pods that may not share a node come up, one node is taken away, everything is taken away."""
    live.pods(2, affinity=APART)
    await live.until(lambda: len(live.running()) == 2 and len(live.ready()) == 2)
    await live.settled()
    bought = len(live.claims())
    assert_whole(live)
    taken = live.claims()[0]["metadata"]["name"]
    live.delete(kinds.NODE_CLAIMS, taken)
    await live.until(lambda: taken not in live.names() and len(live.running()) == len(live.ready()) == 2)
    await live.settled()
    assert_whole(live)
    live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
    for one in live.claims():
        live.delete(kinds.NODE_CLAIMS, one["metadata"]["name"])
    await live.until(lambda: not live.claims() and not live.nodes(), 200)
    assert not live.market.ledger, "a machine is still paid for"
    return bought, live.deaths


def assert_whole(live: Live) -> None:
    """Claims, Nodes and machines are the same, one each; every pod runs."""
    claims = {one["status"]["providerID"] for one in live.claims()}
    assert claims == {one["spec"]["providerID"] for one in live.nodes()}
    assert {f"kwok://{name}" for name in live.market.ledger} == claims
    assert len(live.running()) == len(live.all(kinds.PODS)) == 2
    assert all(is_true(one, "Ready") for one in live.claims())


def life(at: int | None) -> tuple[int, int, list[str]]:
    async def scenario() -> tuple[int, int, list[str]]:
        async with Doomed(at) as live:
            bought, deaths = await lived(live)
            return bought, deaths, live.first.crossed

    return run(scenario())


def test_every_boundary_is_tried():
    bought, deaths, crossed = life(None)
    assert (bought, deaths) == (2, 0)
    assert BOUNDARIES - 4 <= len(crossed) <= BOUNDARIES, f"set BOUNDARIES to {len(crossed)}"
    assert {"create nodeclaims.karpenter.sh", "create nodes", "delete nodes", "evict pods"} <= set(crossed)


@pytest.mark.parametrize("at", range(BOUNDARIES))
def test_killed_at_any_boundary_it_comes_to_the_same_end(at: int):
    bought, deaths, crossed = life(at)
    assert bought == 2, "a machine was bought twice"
    assert deaths == 1 or len(crossed) > END, "nobody was killed"
