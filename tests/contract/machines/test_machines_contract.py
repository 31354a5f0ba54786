"""What every cloud of single instances must do (R9–R12); the simulated one first, others join `WORLDS`."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

import pytest
from tests.contract.machines.worlds import NOW, World, simulated

from dovetail.clouds import port
from dovetail.clouds.machines import Lost, Machines, Sought, Underway, Undone, UserData, order_sent, refusal
from dovetail.clouds.sim.machines import CREATE, Fault, SimMachines
from dovetail.core.machines.infra_objects import Found, Kind, Market, Purchase, Sent, State, Wanted, token_of

BOOT = UserData(b"#cloud-config\n")
#: By name; one that needs a server is a fixture of that name in `conftest`.
WORLDS = ("sim", "aws", "azure", "gcp")


@pytest.fixture
def sim() -> World:
    return simulated()


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    found: World = request.getfixturevalue(request.param)
    return found


def order(world: World, name: str = "m", market: Market = Market.ON_DEMAND, cluster: str = "c") -> Purchase:
    return Purchase(name, token_of(f"uid-{name}"), cluster, name, world.wanted(market), "zone-a", False)


def simulated_order(wanted: Wanted | None = None) -> Purchase:
    return Purchase("m", token_of("uid-m"), "c", "m", wanted or Wanted("aws", "m5.large"), "zone-a", False)


def sought(name: str = "m", provider_id: str = "") -> Sought:
    return Sought(name, "c", token_of(f"uid-{name}"), provider_id)


def test_R9_the_same_order_twice_is_one_instance(world: World):
    async def scenario(cloud: Machines) -> None:
        first, second = await asyncio.gather(cloud.create(order(world), BOOT), cloud.create(order(world), BOOT))
        assert first.provider_id == second.provider_id
        assert len(await cloud.instances("c")) == 1

    world.run(scenario)


def test_R9_what_was_made_is_found_by_its_name_and_by_its_id(world: World):
    async def scenario(cloud: Machines) -> None:
        made = await cloud.create(order(world), BOOT)
        assert (await cloud.find(sought())).provider_id == made.provider_id
        assert (await cloud.find(sought(provider_id=made.provider_id))).name == "m"

    world.run(scenario)


def test_what_was_never_made_is_not_found_nor_removed(world: World):
    async def scenario(cloud: Machines) -> None:
        for call in (cloud.find, cloud.delete):
            with pytest.raises(port.NotFound):
                await call(sought())

    world.run(scenario)


def test_an_instance_of_another_object_of_the_same_name_is_not_found(world: World):
    async def scenario(cloud: Machines) -> None:
        await cloud.create(order(world), BOOT)
        with pytest.raises(port.NotFound):
            await cloud.find(replace(sought(), token=token_of("another")))

    world.run(scenario)


def test_R9_an_object_that_was_moved_keeps_its_instance_by_the_id_on_record(world: World):
    """`clusterctl move` and a restore from a backup make every object anew, with another uid."""

    async def scenario(cloud: Machines) -> None:
        made = await cloud.create(order(world), BOOT)
        moved = replace(sought(provider_id=made.provider_id), token=token_of("moved"))
        assert (await cloud.find(moved)).provider_id == made.provider_id
        for _ in range(20):
            with contextlib.suppress(port.NotFound):
                await cloud.delete(moved)
        assert await cloud.instances("c") == ()

    world.run(scenario)


def test_R9_the_id_of_another_machines_instance_is_nobodys_elses(world: World):
    """An id is only what somebody wrote: two objects with the same one are not two owners of one instance."""

    async def scenario(cloud: Machines) -> None:
        made = await cloud.create(order(world), BOOT)
        claimed = sought("thief", made.provider_id)
        for call in (cloud.find, cloud.delete):
            with pytest.raises(port.NotFound):
                await call(claimed)
        assert (await cloud.find(sought())).provider_id == made.provider_id

    world.run(scenario)


async def removed(cloud: Machines, one: Sought) -> None:
    """Asked until nothing is left of it."""
    for _ in range(20):
        try:
            await cloud.delete(one)
        except port.NotFound:
            return
    raise AssertionError("it never went")


def wrong_ids(world: World, name: str, other: Found) -> tuple[str, ...]:
    return "", "x", "kind://a/b/c", other.provider_id, *world.nobodys(name)


def test_R9_an_id_that_somebody_got_wrong_does_not_keep_what_was_made_from_being_removed(world: World):
    """It may be nonsense, of nothing, or of another machine's instance, which stays."""

    async def scenario(cloud: Machines) -> None:
        other = await cloud.create(order(world, "theirs"), BOOT)
        for number in range(len(wrong_ids(world, "", other))):
            name = f"m{number}"
            wrong = wrong_ids(world, name, other)[number]
            await cloud.create(order(world, name), BOOT)
            await removed(cloud, sought(name, wrong))
            assert [one.provider_id for one in await cloud.instances("c")] == [other.provider_id], wrong

    world.run(scenario)


def test_an_id_of_an_account_that_is_not_ours_is_said_once_what_was_made_is_removed(world: World):
    """Whether there is something under it nobody here can tell, so its object does not go."""
    if not world.foreign:
        return

    async def scenario(cloud: Machines) -> None:
        await cloud.create(order(world), BOOT)
        with pytest.raises(port.Misconfigured, match="is in another"):
            await removed(cloud, sought(provider_id=world.foreign))
        assert await cloud.instances("c") == ()

    world.run(scenario)


def test_a_removed_instance_is_gone_in_the_end_and_never_comes_back(world: World):
    async def scenario(cloud: Machines) -> None:
        made = await cloud.create(order(world), BOOT)
        gone = False
        for _ in range(20):
            try:
                await cloud.delete(sought(provider_id=made.provider_id))
            except port.NotFound:
                gone = True
        assert gone
        assert await cloud.instances("c") == ()

    world.run(scenario)


def test_R32_the_cloud_says_itself_whether_an_instance_may_be_taken_away(world: World):
    async def scenario(cloud: Machines) -> None:
        for market in world.markets:
            made = await cloud.create(order(world, f"m-{market}", market), BOOT)
            assert made.interruptible is market.is_interruptible

    world.run(scenario)


def test_only_the_clusters_own_instances_are_listed(world: World):
    async def scenario(cloud: Machines) -> None:
        await cloud.create(order(world, "a"), BOOT)
        await cloud.create(order(world, "b", cluster="d"), BOOT)
        assert [one.name for one in await cloud.instances("c")] == ["a"]

    world.run(scenario)


class Unwritten(Exception):
    """The record could not be written."""


def test_R9_an_order_is_on_record_before_it_is_sent_and_not_sent_without(world: World):
    async def unwritable() -> None:
        raise Unwritten

    async def scenario(cloud: Machines) -> None:
        seen: list[int] = []

        async def written() -> None:
            seen.append(len(await cloud.instances("c")))

        with pytest.raises(Unwritten):
            await cloud.create(order(world), BOOT, unwritable)
        assert await cloud.instances("c") == ()
        await cloud.create(order(world), BOOT, written)
        assert seen == [0]
        assert len(await cloud.instances("c")) == 1

    world.run(scenario)


def test_R10_an_order_that_was_taken_is_asked_about_and_never_sent_again(world: World):
    async def scenario(cloud: Machines) -> None:
        with pytest.raises(Lost):
            await cloud.create(replace(order(world), sent=Sent.TAKEN), BOOT)
        assert await cloud.instances("c") == ()
        made = await cloud.create(order(world), BOOT)
        again = await cloud.create(replace(order(world), sent=Sent.TAKEN), BOOT)
        assert again.provider_id == made.provider_id

    world.run(scenario)


# ------------------------------------------------------------------------------------------------ the simulated one


def test_an_answer_that_was_lost_leaves_one_instance():
    cloud = SimMachines("aws", lambda: NOW)
    cloud.fail(Fault(CREATE, port.Unavailable("timed out"), after=True))

    async def scenario() -> None:
        with pytest.raises(port.Unavailable):
            await cloud.create(simulated_order(), BOOT)
        await cloud.create(simulated_order(), BOOT)

    asyncio.run(scenario())
    assert cloud.made == 1


def test_a_bid_below_the_market_buys_nothing():
    cloud = SimMachines("aws", lambda: NOW, spot_prices={"m5.large": "0.05"})
    wanted = Wanted("aws", "m5.large", Market.SPOT, max_price="0.04")
    with pytest.raises(port.NoCapacity, match="below the spot price"):
        asyncio.run(cloud.create(simulated_order(wanted), BOOT))
    assert asyncio.run(cloud.create(simulated_order(replace(wanted, max_price="0.05")), BOOT))


def test_R29_a_deallocated_instance_keeps_what_costs_money_until_it_is_removed():
    cloud = SimMachines("azure", lambda: NOW, boot_seconds=0.0)

    async def scenario() -> None:
        made = await cloud.create(simulated_order(), BOOT)
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
        (Underway("x", 3.0), Kind.UNDERWAY, 3.0),
        (Undone("x"), Kind.TRANSIENT, None),
        (Lost("x"), Kind.LOST, None),
    ],
)
def test_R38_every_error_means_one_of_five_things(error: port.CloudError, kind: Kind, wait: float | None):
    found = refusal(error)
    assert (found.kind, found.message, found.wait) == (kind, "x", wait)


def test_R10_what_an_error_says_of_the_order():
    assert refusal(port.NoCapacity("x")).sent is refusal(Undone("x")).sent is Sent.NO
    assert refusal(Underway("x", taken=True)).sent is Sent.TAKEN
    assert refusal(Underway("x")).sent is refusal(port.Unavailable("x")).sent is None


def test_R10_a_plain_no_ends_the_first_order_and_says_nothing_of_one_before_it():
    assert refusal(port.Misconfigured("x"), Sent.NO).sent is Sent.NO
    assert refusal(port.Misconfigured("x"), Sent.UNHEARD).sent is refusal(port.Misconfigured("x")).sent is None
    for error in (port.Misconfigured("x"), port.NotFound("x")):
        with pytest.raises(port.CloudError), order_sent():
            raise error
        assert refusal(error, Sent.NO).sent is None


def test_user_data_is_never_shown():
    assert "secret" not in repr(UserData(b"secret"))
