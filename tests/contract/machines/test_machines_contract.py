"""What every cloud of single instances must do (R9–R12); the simulated one first, others join `CLOUDS`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from dovetail.clouds import port
from dovetail.clouds.machines import Machines, Sought, UserData, refusal
from dovetail.clouds.sim.machines import CREATE, Fault, SimMachines
from dovetail.core.machines.infra_objects import Kind, Market, Purchase, State, Wanted, token_of

NOW = 1_800_000_000.0
BOOT = UserData(b"#cloud-config\n")
CLOUDS: dict[str, Callable[[str], Machines]] = {
    "sim": lambda cloud: SimMachines(cloud, lambda: NOW, boot_seconds=0.0),
}


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> Machines:
    return CLOUDS[request.param]("aws")


def order(name: str = "m", market: Market = Market.ON_DEMAND, cluster: str = "c") -> Purchase:
    return Purchase(name, token_of(f"uid-{name}"), cluster, name, Wanted("aws", "m5.large", market), "zone-a", False)


def sought(name: str = "m", provider_id: str = "") -> Sought:
    return Sought(name, "c", token_of(f"uid-{name}"), provider_id)


def test_R9_the_same_order_twice_is_one_instance(cloud: Machines):
    async def scenario() -> None:
        first, second = await asyncio.gather(cloud.create(order(), BOOT), cloud.create(order(), BOOT))
        assert first.provider_id == second.provider_id
        assert len(await cloud.instances("c")) == 1

    asyncio.run(scenario())


def test_R9_what_was_made_is_found_by_its_name_and_by_its_id(cloud: Machines):
    async def scenario() -> None:
        made = await cloud.create(order(), BOOT)
        assert (await cloud.find(sought())).provider_id == made.provider_id
        assert (await cloud.find(sought(provider_id=made.provider_id))).name == "m"

    asyncio.run(scenario())


def test_what_was_never_made_is_not_found_nor_removed(cloud: Machines):
    async def scenario() -> None:
        for call in (cloud.find, cloud.delete):
            with pytest.raises(port.NotFound):
                await call(sought())

    asyncio.run(scenario())


def test_an_instance_of_another_object_of_the_same_name_is_not_found(cloud: Machines):
    async def scenario() -> None:
        await cloud.create(order(), BOOT)
        with pytest.raises(port.NotFound):
            await cloud.find(replace(sought(), token=token_of("another")))

    asyncio.run(scenario())


def test_a_removed_instance_is_gone_in_the_end_and_never_comes_back(cloud: Machines):
    async def scenario() -> None:
        made = await cloud.create(order(), BOOT)
        gone = False
        for _ in range(20):
            try:
                await cloud.delete(sought(provider_id=made.provider_id))
            except port.NotFound:
                gone = True
        assert gone
        assert await cloud.instances("c") == ()

    asyncio.run(scenario())


@pytest.mark.parametrize("market", Market)
def test_R32_the_cloud_says_itself_whether_an_instance_may_be_taken_away(cloud: Machines, market: Market):
    async def scenario() -> None:
        made = await cloud.create(order(market=market), BOOT)
        assert made.interruptible is market.is_interruptible

    asyncio.run(scenario())


def test_only_the_clusters_own_instances_are_listed(cloud: Machines):
    async def scenario() -> None:
        await cloud.create(order("a"), BOOT)
        await cloud.create(order("b", cluster="d"), BOOT)
        assert [one.name for one in await cloud.instances("c")] == ["a"]

    asyncio.run(scenario())


# ------------------------------------------------------------------------------------------------ the simulated one


def test_an_answer_that_was_lost_leaves_one_instance():
    cloud = SimMachines("aws", lambda: NOW)
    cloud.fail(Fault(CREATE, port.Unavailable("timed out"), after=True))

    async def scenario() -> None:
        with pytest.raises(port.Unavailable):
            await cloud.create(order(), BOOT)
        await cloud.create(order(), BOOT)

    asyncio.run(scenario())
    assert cloud.made == 1


def test_a_bid_below_the_market_buys_nothing():
    cloud = SimMachines("aws", lambda: NOW, spot_prices={"m5.large": "0.05"})
    wanted = Wanted("aws", "m5.large", Market.SPOT, max_price="0.04")
    with pytest.raises(port.NoCapacity, match="below the spot price"):
        asyncio.run(cloud.create(replace(order(), wanted=wanted), BOOT))
    assert asyncio.run(cloud.create(replace(order(), wanted=replace(wanted, max_price="0.05")), BOOT))


def test_R29_a_deallocated_instance_keeps_what_costs_money_until_it_is_removed():
    cloud = SimMachines("azure", lambda: NOW, boot_seconds=0.0)

    async def scenario() -> None:
        made = await cloud.create(order(), BOOT)
        cloud.take_away("m", State.STOPPED, "deallocated")
        assert (await cloud.find(sought())).state is State.STOPPED
        assert cloud.parts[made.provider_id]
        await cloud.delete(sought())

    asyncio.run(scenario())
    assert cloud.parts == {}


@pytest.mark.parametrize(
    ("error", "kind", "wait"),
    [
        (port.NoCapacity("x"), Kind.CAPACITY, None),
        (port.QuotaExceeded("x"), Kind.CAPACITY, None),
        (port.Misconfigured("x"), Kind.PERSISTENT, None),
        (port.NotFound("x"), Kind.PERSISTENT, None),
        (port.Throttled("x", 9.0), Kind.TRANSIENT, 9.0),
        (port.Unavailable("x"), Kind.TRANSIENT, None),
    ],
)
def test_R38_every_error_means_one_of_three_things(error: port.CloudError, kind: Kind, wait: float | None):
    found = refusal(error)
    assert (found.kind, found.message, found.wait) == (kind, "x", wait)


def test_user_data_is_never_shown():
    assert "secret" not in repr(UserData(b"secret"))
