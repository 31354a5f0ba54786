"""`kill -9` at every write of a command: nothing leaks, no mark stays, every pod has its place.

Each life is one command: a node swapped for a smaller one, two swapped for one, one that is empty taken away, one that
has drifted replaced. It is lived once undisturbed, which tells how many writes it takes; then once for each of them,
with the process killed there and another started in its place. Each must come to the same end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from tests.live.killing import Mortal, was_killed
from tests.live.live import Live, condition, is_true
from tests.live.objects import Object
from tests.live.test_live_disruption import TYPE, eager, oversized, scale, tainted, up
from tests.live.test_live_drift import drifting, of_team, relabel
from tests.live.virtual_time import run

from dovetail.api import kinds

LARGE = "c-8x-amd64-linux"
#: Longer than anybody waits before asking whose a machine is (`leftovers.STRAY_SECONDS`).
AFTERWARDS = 45.0
#: What every command that moves a pod writes.
MOVES = {"patch nodes", "patch nodeclaims.karpenter.sh status", "delete nodeclaims.karpenter.sh", "evict pods"}


@dataclass(frozen=True)
class Life:
    """One command. `writes` is how many it takes, rounded up; `test_every_write_is_tried` keeps it honest."""

    name: str
    pool: Callable[[], Object]
    #: Brings the cluster to where the command is decided next.
    begin: Callable[[Live], Awaitable[None]]
    #: Whether the command is over and done with.
    is_over: Callable[[Live], bool]
    nodes: int
    pods: int
    writes: int
    kinds: frozenset[str] = frozenset({*MOVES, "create nodeclaims.karpenter.sh"})


async def too_large(live: Live) -> None:
    await oversized(live)


async def two_for_one(live: Live) -> None:
    """Two nodes, each too small for the other's pod, and a large one that became cheaper than both."""
    for number, name in enumerate(("web", "more"), 1):
        live.pods(1, name, cpu="2500m")
        await up(live, number, nodes=number)
    live.market.reprice(lambda key, price: price * 3 // 4 if key.instance_type == LARGE else price)


async def nobody_left(live: Live) -> None:
    live.pods(1)
    await up(live, 1)
    scale(live, 0)
    await live.until(lambda: not live.all(kinds.PODS))


async def drifted(live: Live) -> None:
    live.pods(1)
    await up(live, 1)
    relabel(live, "blue")


def types(live: Live) -> list[str]:
    return [one["metadata"]["labels"][TYPE] for one in live.nodes()]


LIVES = (
    Life("one for one", eager, too_large, lambda live: types(live) == ["c-2x-amd64-linux"], 1, 1, 23),
    Life("two for one", eager, two_for_one, lambda live: types(live) == [LARGE], 1, 2, 37),
    Life("empty", eager, nobody_left, lambda live: not live.nodes(), 0, 0, 14, frozenset(MOVES - {"evict pods"})),
    Life("drifted", lambda: drifting({"nodes": "1"}), drifted, lambda live: len(of_team(live, "blue")) == 1, 1, 1, 26),
)


class Doomed(Live):
    """A cluster whose second controller dies at a boundary; whoever finds it dead starts another."""

    def __init__(self, pool: Object, at: int | None) -> None:
        super().__init__(pool=pool)
        self._at, self.deaths, self.first = at, 0, Mortal(None)  # type: ignore[arg-type]

    async def doom(self) -> None:
        """From here on the process may die."""
        await self.stop()
        self.first = Mortal(self.client, self._at)
        await self._started(self.first)

    async def _started(self, client: object) -> None:
        self.controller = self.build(client)  # type: ignore[arg-type]
        self._task = asyncio.create_task(self.controller.run(), name="controller")

    async def check(self) -> None:
        if was_killed(self._task):
            self.deaths += 1
            await self._started(self.client)


def lived(life: Life, at: int | None) -> tuple[int, list[str]]:
    async def scenario() -> tuple[int, list[str]]:
        async with Doomed(life.pool(), at) as live:
            await life.begin(live)
            await live.doom()
            await live.until(lambda: len(live.claims()) == len(live.nodes()) == life.nodes and life.is_over(live), 600)
            await live.until(lambda: len(live.running()) == life.pods and len(live.ready()) == life.nodes, 600)
            loop = asyncio.get_running_loop()
            until = loop.time() + AFTERWARDS
            await live.until(lambda: loop.time() >= until, 200)
            assert_whole(live, life)
            return live.deaths, live.first.crossed

    return run(scenario())


def assert_whole(live: Live, life: Life) -> None:
    """As many claims as Nodes and machines, of the right kind and without a mark; the pods run."""
    assert len(live.claims()) == len(live.nodes()) == len(live.market.ledger) == life.nodes
    assert life.is_over(live)
    assert not tainted(live)
    assert not any("dovetail.dev/goes-soon" in str(one["spec"].get("taints")) for one in live.nodes())
    for claim in live.claims():
        assert is_true(claim, "Ready")
        assert condition(claim, "DisruptionReason") is None
    assert len(live.running()) == len(live.all(kinds.PODS)) == life.pods


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.name)
def test_every_write_is_tried(life: Life):
    deaths, crossed = lived(life, None)
    assert not deaths
    assert len(crossed) <= life.writes, f"raise it to {len(crossed)}: {crossed}"
    assert life.writes - len(crossed) <= 4, f"lower it to {len(crossed)}: {crossed}"
    assert life.kinds <= set(crossed)


@pytest.mark.parametrize(
    ("life", "at"), [pytest.param(life, at, id=f"{life.name}-{at}") for life in LIVES for at in range(life.writes)]
)
def test_killed_at_any_write_of_a_command_it_comes_to_the_same_end(life: Life, at: int):
    deaths, crossed = lived(life, at)
    assert deaths == 1 or len(crossed) <= at, "nobody was killed"
