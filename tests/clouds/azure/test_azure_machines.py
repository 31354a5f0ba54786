"""One AzureMachine, one virtual machine, with the real SDK: made, looked at, taken away, removed (R9–R13, R26–R32)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.clouds.azure.azure_orders import BOOT, GROUP, SIZE, Shop, order, shop, sought
from tools.azure_server.world import ADDRESS, DISK, NIC, VM, Failing

from dovetail.clouds import port
from dovetail.clouds.azure.machines import tags
from dovetail.clouds.machines import Underway
from dovetail.core.machines.infra_objects import Found, State, token_of

RICH = {
    "allocatePublicIP": True,
    "dataDisks": [{"nameSuffix": "data", "diskSizeGB": 10}],
    "networkInterfaces": [{}, {}],
    "spotVMOptions": {},
}
MARK = token_of("uid-m")[:10]


def run(scenario: Callable[[Shop], Awaitable[None]]) -> None:
    async def through() -> None:
        async with shop() as one:
            await scenario(one)

    asyncio.run(through())


def posted(one: Shop) -> list[str]:
    return [asked.path for asked in one.server.asked if asked.method in ("POST", "PATCH")]


# ------------------------------------------------------------------------------------------------ made


def test_a_machine_is_made_with_its_parts_and_says_where_it_is_reached():
    async def scenario(one: Shop) -> None:
        made = await one.made(order(zone="2", **RICH))
        found = await one.machines.find(sought(provider_id=made.provider_id))
        assert found.state is State.RUNNING
        assert (found.zone, found.interruptible, found.said) == ("2", True, "running")
        assert found.created == pytest.approx(one.time.now)
        kinds = [each.type for each in found.addresses]
        assert kinds == ["InternalDNS", "InternalIP", "InternalIP", "ExternalIP"]
        expected = {"os", "data", "nic-0", "nic-1", "ip"}
        assert set(one.server.everything()) == {"m", *(f"m-{MARK}-{part}" for part in expected)}

    run(scenario)


def test_R13_nothing_is_verified_first_and_R12_nothing_but_the_machine_and_its_parts_is_written():
    async def scenario(one: Shop) -> None:
        await one.made(order())
        assert [asked.path.split("/")[-2] for asked in one.server.writes()] == ["networkInterfaces", "virtualMachines"]
        assert not any("skus" in asked.path or "usages" in asked.path for asked in one.server.asked)

    run(scenario)


def test_R32_whether_it_may_be_taken_away_is_azures_word():
    async def scenario(one: Shop) -> None:
        made = await one.made(order())
        assert made.interruptible is False
        one.server.world.named(VM, "m").properties["priority"] = "Spot"
        assert (await one.machines.find(sought())).interruptible is True

    run(scenario)


def test_a_machine_nobody_is_to_log_in_to_has_a_key_nobody_has():
    async def scenario(one: Shop) -> None:
        await one.made(order("a"))
        await one.made(order("b"))
        sent = [
            asked.body["properties"]["osProfile"] for asked in one.server.writes() if "/virtualMachines/" in asked.path
        ]
        keys = {each["linuxConfiguration"]["ssh"]["publicKeys"][0]["keyData"] for each in sent}
        assert len(keys) == 2
        assert all(each.startswith("ssh-ed25519 ") for each in keys)

    run(scenario)


def test_a_name_azure_does_not_take_is_refused_before_any_call():
    async def scenario(one: Shop) -> None:
        for bad in ("m" * 65, "m_m", "m-"):
            with pytest.raises(port.Misconfigured, match=r"metadata\.name"):
                await one.machines.create(replace(order(), name=bad), BOOT)
        assert one.server.asked == []

    run(scenario)


def test_a_cluster_nobody_knows_is_waited_for():
    async def scenario(one: Shop) -> None:
        one.spec = None
        with pytest.raises(port.Unavailable, match="Cluster c has no AzureCluster"):
            await one.machines.create(order(), BOOT)
        assert one.server.asked == []

    run(scenario)


# ------------------------------------------------------------------------------------------------ what takes time


def test_R9_what_azure_is_still_doing_is_found_by_a_new_process_and_not_begun_again():
    async def scenario(one: Shop) -> None:
        one.server.world.waits.make = 60.0
        with pytest.raises(Underway):
            await one.machines.create(order(), BOOT)
        one.machines = one.process()
        with pytest.raises(port.NotFound):
            await one.machines.find(sought())
        with pytest.raises(Underway):
            await one.machines.create(order(), BOOT)
        await one.time.sleep(60.0)
        assert (await one.machines.find(sought())).state is State.RUNNING
        assert len(one.server.world.made) == 1
        assert len(one.server.writes()) == 2

    run(scenario)


def test_a_machine_that_has_its_room_is_told_of_while_it_starts():
    async def scenario(one: Shop) -> None:
        one.server.world.waits.make, one.server.world.waits.allocate = 60.0, 10.0
        with pytest.raises(Underway):
            await one.machines.create(order(), BOOT)
        await one.time.sleep(10.0)
        found = await one.machines.find(sought())
        assert (found.state, found.said) == (State.PENDING, "Creating")

    run(scenario)


def test_parts_of_the_network_are_waited_for_and_a_machine_is_never_given_half_of_one():
    async def scenario(one: Shop) -> None:
        one.server.world.waits.network = 3.0
        assert await one.made(order(allocatePublicIP=True))
        one.server.world.waits.network = 30.0
        with pytest.raises(Underway, match="network interface"):
            await one.machines.create(order("n"), BOOT)
        assert one.server.names(VM) == ["m"]

    run(scenario)


@pytest.mark.parametrize("takes_along", [True, False])
@pytest.mark.parametrize("code", ["AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest"])
def test_R38_want_of_room_that_shows_late_is_heard_and_what_was_begun_is_removed(code: str, takes_along: bool):
    async def scenario(one: Shop) -> None:
        one.server.world.takes_along = takes_along
        one.server.world.waits.make = one.server.world.waits.remove = 20.0
        one.server.world.failing[SIZE] = Failing(code, "There is no room.")
        with pytest.raises(port.NoCapacity, match=f"{code}.*There is no room"):
            await one.made(order(spotVMOptions={}))
        assert one.server.world.named(VM, "m").state == "Deleting"
        one.server.world.failing.clear()
        made = await one.made(order(spotVMOptions={}))
        assert (await one.machines.find(sought(provider_id=made.provider_id))).state is State.RUNNING
        assert one.server.names(VM) == ["m"]
        await one.gone(made)
        assert one.server.everything() == []

    run(scenario)


def test_a_new_process_hears_why_a_machine_failed_and_removes_what_is_left_of_it():
    async def scenario(one: Shop) -> None:
        one.server.world.waits.make = 20.0
        one.server.world.failing[SIZE] = Failing("ImageNotFound", "No such image.")
        with pytest.raises(Underway):
            await one.machines.create(order(), BOOT)
        await one.time.sleep(20.0)
        one.machines = one.process()
        with pytest.raises(port.Misconfigured, match="ImageNotFound"):
            await one.machines.create(order(), BOOT)
        await one.gone()
        assert one.server.everything() == []

    run(scenario)


# ------------------------------------------------------------------------------------------------ whose it is


def test_R9_a_machine_that_was_made_before_is_adopted_by_its_token():
    async def scenario(one: Shop) -> None:
        first = await one.made(order())
        one.machines = one.process()
        second = await one.made(order())
        assert second.provider_id == first.provider_id
        assert second.addresses == first.addresses
        assert len(one.server.world.made) == 1

    run(scenario)


def test_a_machine_of_somebody_elses_with_our_name_is_neither_changed_nor_removed():
    async def scenario(one: Shop) -> None:
        theirs = await one.made(order())
        mine = replace(order(), token=token_of("mine"))
        with pytest.raises(port.Misconfigured, match="virtual machine m of somebody else's"):
            await one.machines.create(mine, BOOT)
        for id_ in ("", theirs.provider_id):
            with pytest.raises(port.NotFound):
                await one.machines.delete(replace(sought(provider_id=id_), token=mine.token, namespace="elsewhere"))
        assert (await one.machines.find(sought())).state is State.RUNNING

    run(scenario)


def test_a_machine_without_a_token_is_ours_only_if_its_id_is_on_record():
    async def scenario(one: Shop) -> None:
        made = await one.made(order())
        del one.server.world.named(VM, "m").wire["tags"][tags.TOKEN]
        assert (await one.machines.find(sought(provider_id=made.provider_id))).state is State.RUNNING
        with pytest.raises(port.NotFound):
            await one.machines.find(sought())

    run(scenario)


def test_a_machine_of_another_cluster_is_not_removed_though_its_id_is_on_record():
    async def scenario(one: Shop) -> None:
        made = await one.made(order(cluster="d"))
        del one.server.world.named(VM, "m").wire["tags"][tags.TOKEN]
        for call in (one.machines.find, one.machines.delete):
            with pytest.raises(port.NotFound):
                await call(sought("other", provider_id=made.provider_id))
        assert one.server.world.named(VM, "m")

    run(scenario)


def test_a_machine_without_any_mark_is_neither_gone_nor_removed_though_its_id_is_on_record():
    told = r"/theirs carries no mark of cluster c; put the tag \S+_cluster_c=owned on it, or correct spec\.providerID"

    async def scenario(one: Shop) -> None:
        await one.made(order())
        theirs = await one.made(order("theirs"))
        wire, asked = one.server.world.named(VM, "theirs").wire, sought(provider_id=theirs.provider_id)
        wire["tags"] = {"team": "somebody"}
        for call in (one.machines.find, *[one.machines.delete] * 5):
            with pytest.raises(port.Misconfigured, match=told):
                await call(asked)
        assert one.server.names(VM) == ["theirs"]
        assert not [name for name in one.server.names(NIC) if name.startswith("m-")], "what was ours is left"
        wire["tags"][tags.cluster_tag("c")] = tags.OWNED
        assert (await one.machines.find(asked)).state is State.RUNNING
        await one.gone(theirs)
        assert one.server.names(VM) == []

    run(scenario)


def test_a_machine_whose_tags_somebody_took_off_is_said_to_be_kept_and_not_to_be_going():
    async def scenario(one: Shop) -> None:
        made = await one.made(order())
        one.server.world.named(VM, "m").wire["tags"] = {}
        for cluster, whose in (("c", "cluster c; put the tag"), ("", "any cluster; correct spec")):
            for call in (one.machines.find, one.machines.delete):
                with pytest.raises(port.Misconfigured, match=whose):
                    await call(sought(provider_id=made.provider_id, cluster=cluster))
        assert one.server.names(VM) == ["m"]

    run(scenario)


def test_lists_have_pages_and_only_the_clusters_own():
    async def scenario(one: Shop) -> None:
        for number in range(7):
            await one.made(order(f"m{number}", cluster="c" if number % 2 else "d"))
        assert [each.name for each in await one.machines.instances("c")] == ["m1", "m3", "m5"]

    run(scenario)


# ------------------------------------------------------------------------------------------------ taken away


def test_R12_R29_a_deallocated_machine_is_told_of_never_started_and_removed_with_all_it_has():
    async def scenario(one: Shop) -> None:
        made = await one.made(order(**RICH))
        one.server.world.evict("m")
        found = await one.machines.find(sought(provider_id=made.provider_id))
        assert (found.state, found.said, found.interruptible) == (State.STOPPED, "deallocated", True)
        assert len(one.server.everything()) == 6
        one.server.world.takes_along = False
        await one.gone(made)
        assert one.server.everything() == []
        assert posted(one) == []

    run(scenario)


def test_R10_R27_a_machine_with_the_policy_delete_is_gone_and_what_it_left_is_removed():
    async def scenario(one: Shop) -> None:
        made = await one.made(order(**RICH | {"spotVMOptions": {"evictionPolicy": "Delete"}}))
        one.server.world.takes_along = False
        one.server.world.evict("m")
        with pytest.raises(port.NotFound):
            await one.machines.find(sought(provider_id=made.provider_id))
        assert len(one.server.everything()) == 5
        await one.gone(made)
        assert one.server.everything() == []

    run(scenario)


POWERS = [
    ("Succeeded", "stopped", State.STOPPED, "stopped"),
    ("Succeeded", "deallocating", State.STOPPING, "deallocating"),
    ("Updating", "running", State.RUNNING, "running"),
    ("Failed", "running", State.RUNNING, "running"),
    ("Failed", "", State.STOPPED, "Failed (Failed)"),
    ("Succeeded", "", State.UNKNOWN, "Succeeded"),
    ("Succeeded", "unheard-of", State.UNKNOWN, "unheard-of"),
    ("Deleting", "running", State.GOING, "Deleting"),
]


@pytest.mark.parametrize(("provisioning", "power", "state", "said"), POWERS)
def test_R29_both_words_azure_has_for_a_machine_are_read_together(
    provisioning: str, power: str, state: State, said: str
):
    async def scenario(one: Shop) -> None:
        made = await one.made(order())
        vm = one.server.world.named(VM, "m")
        vm.properties["provisioningState"], vm.power = provisioning, power
        found = await one.machines.find(sought(provider_id=made.provider_id))
        assert (found.state, found.said) == (state, said)

    run(scenario)


# ------------------------------------------------------------------------------------------------ removed


def test_a_machine_is_removed_by_force_and_once():
    async def scenario(one: Shop) -> None:
        made = await one.made(order())
        one.server.world.waits.remove = 60.0
        await one.gone(made)
        removed = [asked for asked in one.server.asked if asked.method == "DELETE"]
        assert [asked.query.get("forceDeletion") for asked in removed] == ["true"]

    run(scenario)


def test_an_interface_that_is_kept_for_its_machine_is_removed_when_it_is_let_go():
    async def scenario(one: Shop) -> None:
        made = await one.made(order(allocatePublicIP=True))
        one.server.world.takes_along, one.server.world.reserves = False, 180.0
        assert await one.gone(made) > 30
        assert one.server.everything() == []

    run(scenario)


def test_what_was_made_for_a_machine_that_never_came_is_finished_or_removed():
    async def scenario(one: Shop) -> None:
        one.server.world.sold_out[SIZE] = ("SkuNotAvailable", "The requested size is not available.")
        for _ in range(2):
            with pytest.raises(port.NoCapacity, match="SkuNotAvailable"):
                await one.made(order(allocatePublicIP=True))
        assert (len(one.server.names(NIC)), len(one.server.names(ADDRESS)), one.server.names(VM)) == (1, 1, [])
        await one.gone()
        assert one.server.everything() == []
        with pytest.raises(port.NoCapacity):
            await one.made(order(allocatePublicIP=True))
        one.server.world.sold_out.clear()
        assert await one.made(order(allocatePublicIP=True))
        assert (len(one.server.names(NIC)), len(one.server.names(DISK)), len(one.server.names(VM))) == (1, 1, 1)

    run(scenario)


@pytest.mark.parametrize("had_id", [True, False])
def test_a_machine_whose_cluster_is_gone_is_found_by_its_token_and_removed(had_id: bool):
    async def scenario(one: Shop) -> None:
        made = await one.made(order())
        one.spec = None
        found = await one.machines.find(replace(sought(), cluster=""))
        assert found.provider_id == made.provider_id
        one.server.world.takes_along = False
        await one.gone(made if had_id else None)
        assert one.server.everything() == []

    run(scenario)


@pytest.mark.parametrize("known", [True, False])
def test_an_id_in_a_group_that_is_not_there_hides_neither_the_machine_nor_its_parts(known: bool):
    async def scenario(one: Shop) -> None:
        made = await one.made(order(allocatePublicIP=True))
        one.server.world.takes_along = False
        one.server.world.no_groups.add("elsewhere")
        if not known:
            one.spec = {"location": 7}
        await one.gone(replace(made, provider_id=made.provider_id.replace(GROUP.lower(), "elsewhere")))
        assert one.server.everything() == []

    run(scenario)


def test_R28_a_bid_below_the_market_buys_nothing():
    async def scenario(one: Shop) -> None:
        one.server.world.spot_prices[SIZE] = 0.05
        with pytest.raises(port.NoCapacity, match=r"raise spotVMOptions\.maxPrice"):
            await one.made(order(spotVMOptions={"maxPrice": "0.04"}))
        assert isinstance(await one.made(order(spotVMOptions={"maxPrice": "0.05"})), Found)
        assert isinstance(await one.made(order("n", spotVMOptions={})), Found)

    run(scenario)


def test_a_resource_group_that_is_not_there_is_said():
    async def scenario(one: Shop) -> None:
        one.server.world.no_groups.add(GROUP.lower())
        with pytest.raises(port.NotFound, match="ResourceGroupNotFound"):
            await one.made(order())
        with pytest.raises(port.NotFound):
            await one.machines.delete(sought())

    run(scenario)
