"""Instances of Compute Engine through the real SDK: made once, told of as they are, removed with their disks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.clouds.gcp import gcp_orders
from tests.clouds.gcp.gcp_orders import BOOT, ZONE, order, sought
from tools.gcp_server import Fault, GcpServer, GcpWorld

from dovetail.clouds.gcp import identity, sdk
from dovetail.clouds.gcp.machines import GcpMachines, cloud, opened, reporting
from dovetail.clouds.gcp.machines.answers import Instance
from dovetail.clouds.machines import Machines, Underway
from dovetail.clouds.port import Misconfigured, NoCapacity, NotFound, Unavailable
from dovetail.core.machines import lifetimes
from dovetail.core.machines.infra_objects import State, token_of
from dovetail.core.machines.objects import Address

NOW = 1_800_000_000.0
ID = f"gce://p/{ZONE}/m"


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(gcp_server: GcpServer) -> Clock:
    held = Clock()
    gcp_server.reset(GcpWorld(clock=held))
    return held


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits between two looks at an operation."""
    monkeypatch.setattr(cloud, "POLL_SECONDS", 0.0)


def through(server: GcpServer, scenario: Callable[[Machines], Awaitable[None]]) -> None:
    async def run() -> None:
        async with gcp_orders.opened(server.url) as machines:
            await scenario(machines)

    asyncio.run(run())


async def removed(machines: Machines, name: str = "m", provider_id: str = "") -> int:
    """How often one had to ask."""
    for times in range(10):
        try:
            await machines.delete(sought(name, provider_id))
        except NotFound:
            return times
    raise AssertionError("it never went")


# ------------------------------------------------------------------------------------------------ making


def test_R9_what_is_made_says_who_and_where_it_is(gcp_server: GcpServer, clock: Clock):
    async def scenario(machines: Machines) -> None:
        made = await machines.create(order(publicIP=True, preemptible=True), BOOT)
        assert (made.provider_id, made.name, made.zone, made.created) == (ID, "m", ZONE, NOW)
        assert (made.state, made.said, made.interruptible) == (State.RUNNING, "RUNNING", True)
        assert made.addresses == (Address("InternalIP", "10.0.0.2"), Address("ExternalIP", "203.0.113.1"))
        assert machines.cloud == "gcp"

    through(gcp_server, scenario)
    (asked,) = (one for one in gcp_server.asked if one.call == "instances.insert")
    assert asked.query["requestId"]
    assert asked.body is not None
    assert asked.body["scheduling"]["automaticRestart"] is False


@pytest.mark.usefixtures("quick")
def test_R9_an_order_that_takes_a_while_is_underway_and_is_one_order(gcp_server: GcpServer, clock: Clock):
    world = gcp_server.world
    world.operation_seconds = 60.0

    async def scenario(machines: Machines) -> None:
        for _ in range(2):
            with pytest.raises(Underway, match="GCP is making instance m"):
                await machines.create(order(), BOOT)
            # It is being provisioned, and may still be refused.
            with pytest.raises(NotFound):
                await machines.find(sought())
        clock.now += 60
        assert (await machines.create(order(), BOOT)).provider_id == ID
        assert (await machines.find(sought())).provider_id == ID

    through(gcp_server, scenario)
    assert world.made == len(world.operations) == 1


@pytest.mark.usefixtures("quick")
def test_R9_another_process_finds_the_order_of_one_that_died(gcp_server: GcpServer, clock: Clock):
    gcp_server.world.operation_seconds = 60.0

    async def begun(machines: Machines) -> None:
        with pytest.raises(Underway):
            await machines.create(order(), BOOT)

    async def ended(machines: Machines) -> None:
        assert (await machines.create(order(), BOOT)).provider_id == ID

    through(gcp_server, begun)
    clock.now += 60
    through(gcp_server, ended)
    clock.now += 7200
    # By now nobody knows the request any more, but the name is taken by what it made.
    through(gcp_server, ended)
    assert gcp_server.world.made == 1


@pytest.mark.usefixtures("quick")
def test_R38_want_of_capacity_that_shows_late_is_heard_and_asked_again_anew(gcp_server: GcpServer, clock: Clock):
    world = gcp_server.world
    world.operation_seconds = 10.0
    world.sold_out.add("n2-standard-4")

    async def refused(machines: Machines) -> None:
        with pytest.raises(Underway):
            await machines.create(order(), BOOT)
        clock.now += 10
        with pytest.raises(NoCapacity, match="does not have enough resources"):
            await machines.create(order(), BOOT)

    async def heard_again(machines: Machines) -> None:
        # A process that died before it could write the refusal down hears of it: nothing is ordered anew.
        with pytest.raises(NoCapacity):
            await machines.create(order(), BOOT)
        assert len(world.orders) == 1

    async def served(machines: Machines) -> None:
        # The refusal is counted on the object; the old request would be answered with its old failure for an hour.
        second = replace(order(), attempt=1)
        with pytest.raises(Underway):
            await machines.create(second, BOOT)
        clock.now += 10
        await machines.create(second, BOOT)

    through(gcp_server, refused)
    through(gcp_server, heard_again)
    world.sold_out.clear()
    through(gcp_server, served)
    assert (world.made, len(world.orders)) == (1, 2)


@pytest.mark.usefixtures("quick")
def test_R38_an_operation_that_fails_in_a_way_that_passes_is_begun_anew(gcp_server: GcpServer, clock: Clock):
    gcp_server.faults.add(Fault("instances.insert", code="INTERNAL_ERROR"))

    async def scenario(machines: Machines) -> None:
        with pytest.raises(Unavailable):
            await machines.create(order(), BOOT)
        assert (await machines.create(order(), BOOT)).provider_id == ID

    through(gcp_server, scenario)
    assert gcp_server.world.made == 1


def test_R9_a_name_that_is_taken_by_somebody_else_is_not_taken_over(gcp_server: GcpServer):
    async def scenario(machines: Machines) -> None:
        await machines.create(order(), BOOT)
        other = replace(order(), token=token_of("another"))
        with pytest.raises(Misconfigured, match="not this Machine's"):
            await machines.create(other, BOOT)
        claimed = replace(sought(provider_id=ID), token=other.token, namespace="elsewhere")
        with pytest.raises(NotFound):
            await machines.find(claimed)
        with pytest.raises(NotFound):
            await machines.delete(claimed)

    through(gcp_server, scenario)
    assert len(gcp_server.world.running()) == 1


def test_a_disk_that_somebody_kept_under_the_name_is_in_the_way_and_said_so(gcp_server: GcpServer):
    async def scenario(machines: Machines) -> None:
        await machines.create(order(), BOOT)
        gcp_server.world.forget("m", keep_disks=True)
        with pytest.raises(Misconfigured, match="disks/m"):
            await machines.create(replace(order(), token=token_of("another")), BOOT)

    through(gcp_server, scenario)


def test_R9_an_instance_is_found_by_its_label_in_whatever_zone_it_stands(gcp_server: GcpServer):
    async def scenario(machines: Machines) -> None:
        await machines.create(order(zone="europe-west1-d"), BOOT)
        assert (await machines.find(sought())).zone == "europe-west1-d"

    through(gcp_server, scenario)


def test_a_machine_without_a_zone_stands_in_the_first_of_its_clusters_or_is_told_where_to_write_one(
    gcp_server: GcpServer,
):
    async def clusters(namespace: str, cluster: str) -> dict[str, object]:
        assert (namespace, cluster) == ("default", "c")
        return {"failureDomains": ["europe-west1-d", "europe-west1-c"]}

    async def scenario() -> None:
        async with opened("p", gcp_server.url, clusters) as machines:
            assert (await machines.create(order(zone=""), BOOT)).zone == "europe-west1-c"
        async with opened("p", gcp_server.url) as machines:
            with pytest.raises(Misconfigured, match="GCPMachine n: no zone is known; set failureDomain"):
                await machines.create(order("n", zone=""), BOOT)

    asyncio.run(scenario())


def test_R13_nothing_is_asked_before_the_order(gcp_server: GcpServer):
    async def scenario(machines: Machines) -> None:
        await machines.create(order(), BOOT)

    through(gcp_server, scenario)
    assert gcp_server.asked[0].call == "instances.insert"


# ------------------------------------------------------------------------------------------------ what becomes of it


def test_R12_a_preempted_instance_stops_is_found_stopped_and_is_never_started(gcp_server: GcpServer, clock: Clock):
    async def scenario(machines: Machines) -> None:
        made = await machines.create(order(provisioningModel="Spot"), BOOT)
        gcp_server.world.preempt("m")
        assert (await machines.find(sought(provider_id=made.provider_id))).state is State.STOPPING
        clock.now += 31
        stopped = await machines.find(sought(provider_id=made.provider_id))
        assert (stopped.state, stopped.said, stopped.interruptible) == (State.STOPPED, "TERMINATED", True)
        assert [one.said for one in await machines.instances("c")] == ["TERMINATED"]
        assert await removed(machines, provider_id=ID) == 1

    through(gcp_server, scenario)
    assert not gcp_server.calls("unknown")
    assert gcp_server.world.disks == {}


def test_R10_one_that_is_deleted_when_preempted_is_not_found(gcp_server: GcpServer, clock: Clock):
    async def scenario(machines: Machines) -> None:
        await machines.create(order(provisioningModel="Spot", instanceTerminationAction="DELETE"), BOOT)
        gcp_server.world.preempt("m")
        clock.now += 31
        with pytest.raises(NotFound):
            await machines.find(sought(provider_id=ID))

    through(gcp_server, scenario)
    assert gcp_server.world.disks == {}


def test_R24_a_preemptible_instance_ends_after_a_day_and_its_machine_leaves_before(gcp_server: GcpServer, clock: Clock):
    async def scenario(machines: Machines) -> None:
        asked = order("a", preemptible=True), order("b", provisioningModel="Spot")
        day, spot = [await machines.create(one, BOOT) for one in asked]
        # What is told of the instance is what the core needs to leave in time (R42).
        assert asked[0].wanted.lifetime == lifetimes.DAY
        assert asked[1].wanted.lifetime is None
        assert day.created == spot.created == NOW
        clock.now += 86400 - 60
        assert (await machines.find(sought("a"))).state is State.RUNNING
        clock.now += 120
        assert (await machines.find(sought("a"))).state is State.STOPPED
        assert (await machines.find(sought("b"))).state is State.RUNNING

    through(gcp_server, scenario)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("PROVISIONING", State.PENDING),
        ("STAGING", State.PENDING),
        ("RUNNING", State.RUNNING),
        ("PENDING_STOP", State.STOPPING),
        ("STOPPING", State.STOPPING),
        ("SUSPENDING", State.STOPPING),
        ("TERMINATED", State.STOPPED),
        ("SUSPENDED", State.STOPPED),
        ("DEPROVISIONING", State.GOING),
        ("REPAIRING", State.UNKNOWN),
        ("SOMETHING_NEW", State.UNKNOWN),
    ],
)
def test_every_state_has_a_meaning(status: str, state: State):
    told = reporting.found("p", Instance("m", "zones/z", status, creation_timestamp="nonsense"))
    assert (told.state, told.said, told.created) == (state, status, 0.0)


def test_R32_interruptible_is_the_instances_own_word(gcp_server: GcpServer):
    async def scenario(machines: Machines) -> None:
        await machines.create(order(preemptible=True), BOOT)
        gcp_server.world.instances[ZONE, "m"].body["scheduling"] = {}
        assert (await machines.find(sought(provider_id=ID))).interruptible is False

    through(gcp_server, scenario)


# ------------------------------------------------------------------------------------------------ removing


def test_an_instance_goes_with_all_its_disks_and_is_asked_to_once(gcp_server: GcpServer, clock: Clock):
    world = gcp_server.world

    async def scenario(machines: Machines) -> None:
        await machines.create(order(additionalDisks=[{}, {"deviceType": "local-ssd"}]), BOOT)
        assert len(world.disks) == 2
        world.operation_seconds = 20.0
        for _ in range(3):
            await machines.delete(sought(provider_id=ID))
        assert gcp_server.calls("instances.delete") == 1
        clock.now += 20
        assert await removed(machines, provider_id=ID) == 0

    through(gcp_server, scenario)
    assert world.disks == {}


def test_another_process_goes_on_deleting(gcp_server: GcpServer, clock: Clock):
    async def scenario(machines: Machines) -> None:
        if not gcp_server.world.made:
            await machines.create(order(), BOOT)
            gcp_server.world.operation_seconds = 20.0
        # Compute Engine says the instance is not ready to be deleted: it is being deleted.
        await machines.delete(sought(provider_id=ID))

    through(gcp_server, scenario)
    through(gcp_server, scenario)
    assert gcp_server.calls("instances.delete") == 2


def test_disks_that_somebody_kept_are_removed_too_but_not_those_somebody_uses(gcp_server: GcpServer):
    world = gcp_server.world

    async def scenario(machines: Machines) -> None:
        await machines.create(order(additionalDisks=[{}]), BOOT)
        world.forget("m", keep_disks=True)
        world.disks[ZONE, "m-1"]["users"] = ["…/instances/other"]
        assert await removed(machines, provider_id=ID) == 1

    through(gcp_server, scenario)
    assert list(world.disks) == [(ZONE, "m-1")]


@pytest.mark.usefixtures("quick")
def test_R9_an_order_that_cannot_be_seen_yet_is_waited_for_and_removed(gcp_server: GcpServer, clock: Clock):
    world = gcp_server.world
    world.operation_seconds, world.lag_seconds = 30.0, 10.0

    async def scenario(machines: Machines) -> None:
        with pytest.raises(Underway):
            await machines.create(order(), BOOT)
        await machines.delete(sought())
        clock.now += 15
        await machines.delete(sought())
        clock.now += 60
        assert await removed(machines) == 0

    through(gcp_server, scenario)
    assert world.instances == {}
    assert world.disks == {}


def test_a_delete_that_fails_says_why_and_is_tried_again(gcp_server: GcpServer):
    gcp_server.faults.add(Fault("instances.delete", code="INTERNAL_ERROR"))

    async def scenario(machines: Machines) -> None:
        await machines.create(order(), BOOT)
        await machines.delete(sought(provider_id=ID))
        with pytest.raises(Unavailable, match="delete instance m"):
            await machines.delete(sought(provider_id=ID))
        await removed(machines, provider_id=ID)

    through(gcp_server, scenario)
    assert gcp_server.world.instances == {}


def test_an_id_that_is_nobodys_is_not_found_and_does_not_keep_what_was_made(gcp_server: GcpServer):
    async def scenario(machines: Machines) -> None:
        await machines.create(order(), BOOT)
        with pytest.raises(NotFound):
            await machines.find(sought(provider_id="aws:///a/i-1"))
        await removed(machines, provider_id="aws:///a/i-1")

    through(gcp_server, scenario)
    assert gcp_server.world.instances == {}


def test_an_id_of_another_project_is_left_alone_and_said(gcp_server: GcpServer):
    async def scenario(machines: Machines) -> None:
        for call in (machines.find, machines.delete):
            with pytest.raises(Misconfigured, match="another project"):
                await call(sought(provider_id=f"gce://q/{ZONE}/m"))

    through(gcp_server, scenario)


def test_an_instance_of_the_provider_before_us_is_known_by_its_id_alone(gcp_server: GcpServer):
    async def scenario(machines: Machines) -> None:
        await machines.create(order(), BOOT)
        del gcp_server.world.instances[ZONE, "m"].body["labels"]["dovetail-machine"]
        assert (await machines.find(sought(provider_id=ID))).provider_id == ID
        assert await machines.instances("c") == ()
        await removed(machines, provider_id=ID)

    through(gcp_server, scenario)
    assert gcp_server.world.instances == {}


def test_an_instance_without_any_mark_is_neither_gone_nor_removed_though_its_id_is_on_record(gcp_server: GcpServer):
    told = "/theirs carries no mark of cluster c; put the label capg-cluster-c=owned on it, or correct spec.providerID"

    async def scenario(machines: Machines) -> None:
        for name in ("m", "theirs"):
            await machines.create(order(name), BOOT)
        held, claimed = gcp_server.world.instances[ZONE, "theirs"].body, sought(provider_id=f"gce://p/{ZONE}/theirs")
        held["labels"] = {"team": "somebody"}
        for call in (machines.find, *[machines.delete] * 5):
            with pytest.raises(Misconfigured, match=told):
                await call(claimed)
        held["labels"] = {"capg-cluster-d": "owned"}
        for call in (machines.find, machines.delete):
            with pytest.raises(NotFound):
                await call(claimed)
        held["labels"] = {"capg-cluster-c": "owned"}
        assert (await machines.find(claimed)).name == "theirs"

    through(gcp_server, scenario)
    assert [name for _, name in gcp_server.world.instances] == ["theirs"]


# ------------------------------------------------------------------------------------------------ opening


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "google.cloud", None)

    async def scenario() -> None:
        with pytest.raises(Misconfigured, match=r"install dovetail\[gcp\]"):
            async with opened("p", "http://127.0.0.1:1"):
                pass

    asyncio.run(scenario())


def test_without_credentials_one_sentence_says_where_they_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
):
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")

    async def scenario() -> None:
        with pytest.raises(Misconfigured) as told:
            async with opened("p"):
                pass
        assert str(told.value) == identity.NO_CREDENTIALS

    asyncio.run(scenario())


def test_without_a_project_one_sentence_asks_for_it(gcp_server: GcpServer):
    async def scenario() -> None:
        with pytest.raises(Misconfigured, match="GOOGLE_CLOUD_PROJECT"):
            async with opened("", gcp_server.url):
                pass

    asyncio.run(scenario())


def test_lists_are_read_to_their_last_page(gcp_server: GcpServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sdk, "_PAGE", 2)

    async def scenario(machines: Machines) -> None:
        assert isinstance(machines, GcpMachines)
        for number in range(5):
            await machines.create(order(f"m-{number}"), BOOT)
        assert len(await machines.instances("c")) == 5
        assert await machines.instances("Not.A.Label") == ()

    through(gcp_server, scenario)
