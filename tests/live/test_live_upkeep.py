"""Machines nobody claims are returned, and never because somebody did not look properly."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.live import objects
from tests.live.live import Live
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.api.crds.every import of_cloud
from dovetail.core.lifecycle import upkeep

#: More than the cluster's patience with a definition that is gone, and rounds enough.
LONG = 900.0


def lose_claims(live: Live) -> None:
    """Claims that are gone from one moment to the next, as after a restore: no finalizer was heard."""
    for name in live.names():
        live.edit(kinds.NODE_CLAIMS, name, {"metadata": {"finalizers": None}})
        live.delete(kinds.NODE_CLAIMS, name)


def unowned(live: Live) -> None:
    """What a restored cluster's Nodes look like: nobody collects them with their claims."""
    for one in live.nodes():
        live.edit(kinds.NODES, one["metadata"]["name"], {"metadata": {"ownerReferences": None}})


async def grown(live: Live, count: int) -> None:
    """So many machines, one pod each."""
    anti = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    live.pods(count, affinity=anti)
    await live.until(lambda: len(live.ready()) == count and len(live.running()) == count)


def test_while_claims_are_not_served_every_machine_stays():
    async def scenario() -> None:
        async with Live() as live:
            await grown(live, 3)
            unowned(live)
            definition = next(one for one in of_cloud("kwok") if one.manifest()["spec"]["names"]["kind"] == "NodeClaim")
            lose_claims(live)
            live.delete(kinds.CRDS, definition.manifest()["metadata"]["name"])
            await live.until(lambda: not live.controller.cluster.sees(kinds.NODE_CLAIMS), LONG)
            await live.settle(LONG)
            assert not live.controller.cluster.claims
            assert len(live.nodes()) == 3
            live.put(kinds.CRDS, definition.manifest())
            await live.until(lambda: not live.nodes(), LONG)

    run(scenario())


def test_a_machine_whose_claim_cannot_be_read_stays():
    async def scenario() -> None:
        async with Live() as live:
            await grown(live, 1)
            name = live.claim()["metadata"]["name"]
            unowned(live)
            lose_claims(live)
            live.put_raw(kinds.NODE_CLAIMS, {**objects.claim(name), "spec": {"requirements": [{"key": 7}]}})
            await live.settle(LONG)
            assert [one["metadata"]["name"] for one in live.nodes()] == [name]

    run(scenario())


def test_many_machines_that_lose_their_claims_at_once_are_kept_for_a_while_and_told_of(
    caplog: pytest.LogCaptureFixture,
):
    async def scenario() -> None:
        async with Live() as live:
            await grown(live, 8)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            unowned(live)
            lose_claims(live)
            await live.settle(upkeep.MISTAKE_SECONDS - 30)
            assert len(live.nodes()) == 8
            (told,) = [one for one in caplog.records if "looks like a mistake" in one.getMessage()]
            assert told.levelno == logging.ERROR
            assert told.getMessage().startswith("8 of 8 machines have no NodeClaim")
            left: list[Any] = []
            while live.nodes():
                left.append(len(live.nodes()))
                await live.settle(120)
            assert 3 in left, "five go in a round"

    run(scenario())


def test_a_few_machines_without_claims_are_returned_in_the_next_round():
    async def scenario() -> None:
        async with Live() as live:
            await grown(live, 2)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            unowned(live)
            lose_claims(live)
            await live.until(lambda: not live.nodes() and not live.market.ledger, 200)

    run(scenario())
