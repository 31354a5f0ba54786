"""What disruption remembers outlives the process: whoever starts next reads it off the claims (S4.4)."""

from __future__ import annotations

from tests.live import objects
from tests.live.live import Live
from tests.live.test_live_disruption import ON_DEMAND, TYPE, eager, oversized, told, up
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.core import labels
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.disruption.recalling import FAILED, NOTE

A, B = "c-2x-amd64-linux", "s-2x-amd64-linux"
SPOT_OR_NOT = {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ["spot", "on-demand"]}
CHEAP, DEAR = 100_000_000, 2_000_000_000


def either() -> objects.Object:
    """A pool that consolidates, of two types of the same size."""
    pool = eager()
    types = {"key": TYPE, "operator": "In", "values": [A, B]}
    pool["spec"]["template"]["spec"]["requirements"] = [*objects.LINUX, ON_DEMAND, types]
    return pool


def make_dear(live: Live, dear: str) -> None:
    """One of the two costs much, the other little."""
    prices = {A: CHEAP, B: CHEAP, dear: DEAR}
    live.market.reprice(lambda key, nanodollars: prices.get(key.instance_type, nanodollars))


def type_of(live: Live) -> str:
    return str(live.node()["metadata"]["labels"][TYPE])


async def moved_from_a_to_b(live: Live) -> None:
    """A pod that ran on A was moved to B, since A became dear; then A is cheap again, and B is dear."""
    live.pods(1)
    await up(live, 1)
    assert type_of(live) == A
    make_dear(live, A)
    await live.until(lambda: len(live.claims()) == len(live.nodes()) == 1 and type_of(live) == B, 300)
    await up(live, 1)
    assert NOTE in live.claim()["metadata"]["annotations"]
    make_dear(live, B)


def test_a_move_back_within_the_payback_time_is_refused_after_a_restart():
    async def scenario() -> None:
        async with Live(pool=either()) as live:
            await moved_from_a_to_b(live)
            await live.restart()
            await live.settle(600)
            assert type_of(live) == B
            assert any("its pods were moved away from there lately" in one for one in told(live, "Unconsolidatable"))
            await live.until(lambda: len(live.nodes()) == 1 and type_of(live) == A, 3600)

    run(scenario())


def test_without_the_note_the_pod_would_have_been_moved_back():
    async def scenario() -> None:
        async with Live(pool=either()) as live:
            await moved_from_a_to_b(live)
            await live.stop()
            name = live.claim()["metadata"]["name"]
            live.edit(kinds.NODE_CLAIMS, name, {"metadata": {"annotations": {NOTE: None}}})
            await live.start()
            await live.until(lambda: len(live.nodes()) == 1 and type_of(live) == A, 300)

    run(scenario())


def test_a_note_somebody_spoiled_ends_nothing():
    async def scenario() -> None:
        async with Live(pool=either()) as live:
            await moved_from_a_to_b(live)
            await live.stop()
            name = live.claim()["metadata"]["name"]
            live.edit(kinds.NODE_CLAIMS, name, {"metadata": {"annotations": {NOTE: '{"at":[]}', FAILED: ",, x ,"}}})
            await live.start()
            await live.until(lambda: len(live.nodes()) == 1 and type_of(live) == A, 300)

    run(scenario())


def test_a_replacement_that_failed_is_still_known_after_a_restart():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            old = await oversized(live)
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "2h"}})
            await live.until(lambda: len(live.claims()) == 2, 90)
            await live.until(lambda: live.names() == {old} and FAILED in live.claim()["metadata"]["annotations"], 1200)
            failed = live.controller.disrupting.loop.memory.attempts["general"]
            await live.restart()
            await live.settle(5)
            known = live.controller.disrupting.loop.memory.attempts["general"]
            assert [one.ok for one in known] == [one.ok for one in failed] == [False]
            assert abs(known[0].at - failed[0].at) <= 1

    run(scenario())


def test_spot_that_was_short_is_not_trusted_sooner_for_a_restart():
    async def scenario() -> None:
        pool = eager()
        pool["spec"]["template"]["spec"]["requirements"] = [*objects.LINUX, SPOT_OR_NOT]
        none = Shortage(capacity_type=labels.SPOT)
        async with Live(pool=pool) as live:
            live.market.run_out(none)
            live.pods(1)
            await up(live, 1)
            assert live.node()["metadata"]["labels"][labels.CAPACITY_TYPE] == labels.ON_DEMAND
            live.market.recover(none)
            await live.restart()
            await live.settle(800)
            assert live.node()["metadata"]["labels"][labels.CAPACITY_TYPE] == labels.ON_DEMAND
            await live.until(
                lambda: (
                    len(live.nodes()) == 1 and live.node()["metadata"]["labels"][labels.CAPACITY_TYPE] == labels.SPOT
                ),
                600,
            )

    run(scenario())
