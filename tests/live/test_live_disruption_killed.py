"""`kill -9` at every write of a command: nothing leaks, no mark stays, every pod has its place.

A node too large for its pod is replaced by a smaller one. That is lived once undisturbed, which tells how many writes
it takes; then once for each of them, with the process killed there and another started in its place. Each must come to
the same end.
"""

from __future__ import annotations

import asyncio

import pytest
from tests.live.killing import Killed, Mortal
from tests.live.live import Live, condition, is_true
from tests.live.test_live_disruption import TYPE, eager, oversized, tainted
from tests.live.virtual_time import run

from dovetail.api import kinds

#: As many as the command has, rounded up; `test_every_write_is_tried` keeps it honest.
BOUNDARIES = 22


class Doomed(Live):
    """A cluster whose second controller dies at a boundary; whoever finds it dead starts another."""

    def __init__(self, at: int | None) -> None:
        super().__init__(pool=eager())
        self._at, self.deaths, self.first = at, 0, None

    async def doom(self) -> None:
        """From here on the process may die."""
        await self.stop()
        self.first = Mortal(self.client, self._at)
        await self._started(self.first)

    async def _started(self, client: object) -> None:
        self.controller = self.build(client)  # type: ignore[arg-type]
        self._task = asyncio.create_task(self.controller.run(), name="controller")

    async def check(self) -> None:
        if self._task is None or not self._task.done():
            return
        died = self._task.exception()
        assert isinstance(died, BaseExceptionGroup), died
        assert died.split(Killed)[1] is None, "it died of something else"
        self.deaths += 1
        await self._started(self.client)


def life(at: int | None) -> tuple[int, list[str]]:
    async def scenario() -> tuple[int, list[str]]:
        async with Doomed(at) as live:
            old = await oversized(live)
            await live.doom()
            await live.until(lambda: old not in live.names() and len(live.running()) == len(live.ready()) == 1, 600)
            loop = asyncio.get_running_loop()
            until = loop.time() + 100
            await live.until(lambda: loop.time() >= until, 200)
            assert_whole(live)
            return live.deaths, live.first.crossed

    return run(scenario())


def assert_whole(live: Live) -> None:
    """One claim, one Node, one machine, of the right size and without a mark; the pod runs."""
    assert len(live.claims()) == len(live.nodes()) == len(live.market.ledger) == 1
    assert live.node()["metadata"]["labels"][TYPE] == "c-2x-amd64-linux"
    assert is_true(live.claim(), "Ready")
    assert not tainted(live)
    assert condition(live.claim(), "DisruptionReason") is None
    assert len(live.running()) == len(live.all(kinds.PODS)) == 1


def test_every_write_is_tried():
    deaths, crossed = life(None)
    assert not deaths
    assert len(crossed) <= BOUNDARIES, f"raise BOUNDARIES to {len(crossed)}: {crossed}"
    wanted = {"patch nodes", "patch nodeclaims.karpenter.sh status", "create nodeclaims.karpenter.sh"}
    assert wanted | {"delete nodeclaims.karpenter.sh", "evict pods"} <= set(crossed)


@pytest.mark.parametrize("at", range(BOUNDARIES))
def test_killed_at_any_write_of_a_command_it_comes_to_the_same_end(at: int):
    deaths, crossed = life(at)
    assert deaths == 1 or len(crossed) <= at, "nobody was killed"
