"""`kill -9` at every boundary of a launch and a termination on AWS: nothing leaks, nothing is bought twice.

A boundary is the moment after a write to the API server or to AWS, and the one before the first. The machine of a fleet
whose answer the dead process never used is found by its token or its tags, or collected.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.live.aws_time import HeldAws, run
from tests.live.killing import Killed, Mortal, was_killed
from tests.live.live import is_true
from tests.live.live_aws import LiveAws
from tools.aws_server import Account, AwsServer

from dovetail.api import kinds
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.client import Answer

#: As many as the life has, rounded up; `test_every_boundary_is_tried` keeps it honest.
BOUNDARIES = 26
#: From here on everything may be over before anybody notices that the process is dead.
END = 16
_READS = ("Describe", "Get", "List", "Receive")


class MortalAws(HeldAws):
    """AWS as the same process sees it: each write is a boundary, and none gets through after death."""

    def __init__(self, url: str, shared: HeldAws, mortal: Mortal) -> None:
        super().__init__(url)
        self._shared, self._mortal = shared, mortal

    async def _client(self, service: str) -> Any:
        """Connections are nobody's memory, and take a while to make."""
        return await self._shared._client(service)

    async def _once(self, call: Call, request: Answer, end: float) -> Answer:
        if self._mortal.dead:
            raise Killed
        if call.name.startswith(_READS) or request.get("DryRun"):
            return await super()._once(call, request, end)
        if not self._mortal.crossed:
            self._mortal._cross("before anything")
        try:
            return await super()._once(call, request, end)
        finally:
            self._mortal._cross(call.name)


class Doomed(LiveAws):
    """A cluster whose second controller dies at a boundary; whoever finds it dead starts another."""

    def __init__(self, server: AwsServer, account: Account, at: int | None) -> None:
        super().__init__(server, account)
        self._at, self.deaths = at, 0

    async def doom(self) -> None:
        """From here on the process may die."""
        await self.stop()
        self.first = Mortal(self.client, self._at)
        await self._started(self.first)

    async def _started(self, mortal: Mortal) -> None:
        client: Any = mortal
        aws = MortalAws(self.aws_server.url, self.aws, mortal)
        self.controller = self.build(client, aws=aws)
        self._task = asyncio.create_task(self.acting(self.controller), name="controller")

    async def check(self) -> None:
        if was_killed(self._task):
            self.deaths += 1
            await self._started(Mortal(self.client))

    async def passed(self, seconds: float) -> None:
        """Let time pass, whoever dies in it."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        await self.until(lambda: loop.time() >= until, 2 * seconds)


def life(server: AwsServer, account: Account, at: int | None) -> tuple[int, list[str]]:
    async def scenario() -> tuple[int, list[str]]:
        async with Doomed(server, account, at) as live:
            await live.until(lambda: is_true(live.get(kinds.NODE_POOLS, "general"), "Ready"))
            await live.doom()
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1 and live.is_whole() and len(live.ready()) == 1, 400)
            await live.passed(130)
            assert live.is_whole()
            assert len(live.machines()) == 1, "a machine was bought twice"
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.until(lambda: not (live.claims() or live.nodes() or live.machines()), 600)
            return live.deaths, live.first.crossed

    return run(scenario())


def test_every_boundary_is_tried(aws_server: AwsServer, aws_account: Account):
    deaths, crossed = life(aws_server, aws_account, None)
    assert not deaths
    assert len(crossed) <= BOUNDARIES, f"raise BOUNDARIES to {len(crossed)}: {crossed}"
    assert {"CreateFleet", "TerminateInstances", "create nodeclaims.karpenter.sh", "patch nodes"} <= set(crossed)


@pytest.mark.parametrize("at", range(BOUNDARIES))
def test_killed_at_any_boundary_it_comes_to_the_same_end(at: int, aws_server: AwsServer, aws_account: Account):
    deaths, crossed = life(aws_server, aws_account, at)
    assert deaths == 1 or len(crossed) > END or len(crossed) <= at, "nobody was killed"
