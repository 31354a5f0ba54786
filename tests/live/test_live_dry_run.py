"""A dry run decides everything and changes nothing."""

from __future__ import annotations

import logging

import pytest
from tests.live import objects
from tests.live.live import SOON, Live
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.controller import Choices

OURS = (kinds.NODE_POOLS, kinds.NODE_CLAIMS, kinds.NODES, kinds.KWOK_NODE_CLASSES, kinds.NODE_OVERLAYS)


def test_what_would_be_ordered_is_told_once_and_nothing_is_written(caplog: pytest.LogCaptureFixture):
    async def scenario() -> None:
        async with Live(Choices(window=SOON, dry_run=True, static=True)) as live:
            live.put(kinds.NODE_POOLS, objects.pool("fixed", replicas=1))
            before = {kind: [one["metadata"]["resourceVersion"] for one in live.all(kind)] for kind in OURS}
            live.pods(3)
            await live.settle(120)
            assert {kind: [one["metadata"]["resourceVersion"] for one in live.all(kind)] for kind in OURS} == before
            assert not live.reasons(), "events are writes too"
            assert live.value("dry_run_effects_total", effect="create") == 2, (
                "one for the pods, one for the static pool"
            )

    with caplog.at_level(logging.INFO, "dovetail"):
        run(scenario())
    assert any(one.startswith("would order a node for pool general with cpu 3") for one in caplog.messages)
    assert any(one.startswith("would tell Pod web-") and "should schedule on" in one for one in caplog.messages)


def test_beside_a_cluster_at_work_it_only_watches():
    async def scenario() -> None:
        live = Live()
        async with live:
            live.pods(2)
            await live.until(lambda: len(live.running()) == 2 and live.ready())
            await live.settle(30)
            await live.stop()
            live.choices = Choices(window=SOON, dry_run=True)
            await live.start()
            name = live.claim()["metadata"]["name"]
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: live.value("dry_run_effects_total", effect="delete"))
            await live.settle(60)
            assert name in live.names()
            assert "deletionTimestamp" not in live.node()["metadata"]
            assert len(live.running()) == 2

    run(scenario())
