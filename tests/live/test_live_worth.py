"""What is worth a move when spot replaces spot, and by the Balanced policy (S4.3)."""

from __future__ import annotations

import pytest
from tests.live import objects
from tests.live.live import SOON, Live
from tests.live.test_live_disruption import ON_DEMAND, TYPE, eager, scale, told, up
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.controller import Choices
from dovetail.core import labels
from dovetail.core.disruption.facts import Gates
from dovetail.core.disruption.pricing import SPOT_TYPES

SPOT = {"key": labels.CAPACITY_TYPE, "operator": "In", "values": [labels.SPOT]}
A, B = "c-2x-amd64-linux", "s-2x-amd64-linux"


def all_spot() -> objects.Object:
    pool = eager()
    pool["spec"]["template"]["spec"]["requirements"] = [*objects.LINUX, SPOT]
    return pool


async def small_on_large(live: Live, cpu: str) -> str:
    """A small pod on a spot node that was bought for a large one beside it; the type of the node."""
    live.pods(1, "large", cpu=cpu)
    await up(live, 1)
    live.pods(1, "small", cpu="100m", memory="64Mi")
    await up(live, 2)
    scale(live, 0, "large")
    await live.until(lambda: len(live.all(kinds.PODS)) == 1)
    node = live.node()["metadata"]["labels"]
    assert node[labels.CAPACITY_TYPE] == labels.SPOT
    return str(node[TYPE])


def test_spot_replaces_spot_where_there_is_much_to_choose_from():
    async def scenario() -> None:
        async with Live(Choices(window=SOON, gates=Gates(spot_to_spot=True)), pool=all_spot()) as live:
            before = await small_on_large(live, cpu="50")
            await live.until(lambda: len(live.claims()) == len(live.nodes()) == 1 and before != live_type(live), 300)
            await up(live, 1)
            assert live.node()["metadata"]["labels"][labels.CAPACITY_TYPE] == labels.SPOT
            (wanted,) = (one for one in live.claim()["spec"]["requirements"] if one["key"] == TYPE)
            assert len(wanted["values"]) >= SPOT_TYPES, "a narrow choice is interrupted sooner"
            after = live.names()
            await live.settle(300)
            assert live.names() == after, "it does not walk down the prices"

    run(scenario())


def live_type(live: Live) -> str:
    return str(live.node()["metadata"]["labels"][TYPE])


def test_spot_stays_where_few_types_would_be_cheaper():
    async def scenario() -> None:
        async with Live(Choices(window=SOON, gates=Gates(spot_to_spot=True)), pool=all_spot()) as live:
            before = await small_on_large(live, cpu="3")
            await live.settle(200)
            assert live_type(live) == before
            (sentence,) = told(live, "Unconsolidatable")
            assert f"requires {SPOT_TYPES} cheaper instance type options" in sentence

    run(scenario())


def test_spot_stays_where_nobody_allowed_it_and_says_so():
    async def scenario() -> None:
        async with Live(pool=all_spot()) as live:
            before = await small_on_large(live, cpu="50")
            await live.settle(200)
            assert live_type(live) == before
            (sentence,) = told(live, "Unconsolidatable")
            assert "SpotToSpotConsolidation is disabled" in sentence

    run(scenario())


def of_two_types(policy: str) -> objects.Object:
    pool = eager(consolidationPolicy=policy)
    types = {"key": TYPE, "operator": "In", "values": [A, B]}
    pool["spec"]["template"]["spec"]["requirements"] = [*objects.LINUX, ON_DEMAND, types]
    return pool


@pytest.mark.parametrize(
    ("policy", "cents", "moves"),
    [("Balanced", 75, False), ("Balanced", 40, True), ("WhenEmptyOrUnderutilized", 75, True)],
)
def test_balanced_moves_a_whole_pool_only_for_half_of_its_price(policy: str, cents: int, moves: bool):
    async def scenario() -> None:
        async with Live(pool=of_two_types(policy)) as live:
            live.market.reprice(lambda key, price: {A: 10**9, B: 2 * 10**9}.get(key.instance_type, price))
            live.pods(1)
            await up(live, 1)
            assert live_type(live) == A
            live.market.reprice(lambda key, price: cents * 10**7 if key.instance_type == B else price)
            await live.settle(250)
            assert live_type(live) == (B if moves else A)
            scored = {one["reason"] for one in live.events() if "score" in one["message"].lower()}
            assert bool(scored) == (policy == "Balanced"), live.reasons()

    run(scenario())


def test_balanced_takes_an_empty_node_away():
    async def scenario() -> None:
        async with Live(pool=eager(consolidationPolicy="Balanced")) as live:
            live.pods(1)
            await up(live, 1)
            scale(live, 0)
            await live.until(lambda: not live.claims() and not live.nodes(), 200)
            assert not live.market.ledger

    run(scenario())
