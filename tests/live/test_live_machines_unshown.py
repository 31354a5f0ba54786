"""An instance that was ordered and cannot be seen yet when its Machine is deleted is removed when it shows (R9, R10).

Its order is on record, its id is not: the answer was lost, or nobody lived to hear it. The object stays until all that
was ordered would have shown, and a row of faults does not keep a cloud busy (R38).
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from tests.live import aws_time, virtual_time
from tests.live.dying import After, watched
from tests.live.live_azure_machines import LiveAzure
from tests.live.live_ec2_machines import LiveEc2
from tests.live.live_gcp_machines import LiveGcp
from tests.live.live_machines import LiveMachines
from tests.live.test_live_cluster_api import live
from tests.live.test_live_machines_lost import SPOT, is_ordered
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse
from tools.gcp_server import Fault as GcpFault
from tools.gcp_server import GcpServer

from dovetail.api import kinds
from dovetail.clouds import port
from dovetail.clouds.machines import Machines, Underway, UserData
from dovetail.clouds.sim.machines import CREATE, Fault
from dovetail.core.machines.effects import Buy, Effect
from dovetail.core.machines.infra_objects import Purchase

BOOT = UserData(b"#cloud-config\n")


class Clouds:
    def __init__(self, server: AwsServer, account: Account, gcp: GcpServer) -> None:
        self.server, self.account, self.gcp = server, account, gcp

    def run(self, cloud: str, scenario: Any) -> None:
        started = virtual_time.run if cloud in ("sim", "azure") else aws_time.run

        async def through() -> None:
            await scenario(self._made(cloud))

        started(through())

    def _made(self, cloud: str) -> LiveMachines:
        match cloud:
            case "aws":
                return LiveEc2(self.server, self.account)
            case "gcp":
                return LiveGcp(self.gcp)
            case "azure":
                return LiveAzure()
        return LiveMachines()

    def hide(self, cloud: str, one: LiveMachines) -> None:
        """From now on what is made is not shown for half a minute, and the answer to the next order is lost."""
        lost = port.Unavailable("the answer was lost")
        match cloud:
            case "aws":
                self.server.world.waits.seen = 30.0
                self.server.world.lose_answer("RunInstances", 2)
            case "gcp":
                self.gcp.world.lag_seconds, self.gcp.world.operation_seconds = 30.0, 1.0
                self.gcp.faults.add(GcpFault("instances.insert", status=0, after=True, times=2))
            case _:
                one.cloud.lag_seconds = 30.0
                one.cloud.fail(Fault(CREATE, lost, after=True))


@pytest.fixture
def clouds(aws_server: AwsServer, aws_account: Account, gcp_server: GcpServer) -> Clouds:
    return Clouds(aws_server, aws_account, gcp_server)


class Dying(After):
    """Ends the process when an order is on record, and keeps what would have been sent."""

    def __init__(self) -> None:
        super().__init__(is_ordered)
        self.orders: list[Purchase] = []

    def __call__(self, effect: Effect, after: bool) -> None:
        if isinstance(effect, Buy) and not after:
            self.orders.append(effect.purchase)
        super().__call__(effect, after)


def deleted(one: LiveMachines) -> None:
    """Somebody deletes everything, while no process is there."""
    one.delete(kinds.MACHINE_SETS, "s")
    for kind in (kinds.MACHINES, one.infra):
        for held in one.all(kind):
            one.delete(kind, held["metadata"]["name"])


async def left(one: LiveMachines) -> None:
    """Nothing is left, neither of objects nor in the cloud."""
    await one.until(lambda: one.is_empty() and not one.all(kinds.MACHINE_SETS), 600)
    await one.settle(60)
    assert one.cloud.running == ()


@pytest.mark.parametrize("cloud", list(SPOT))
def test_R9_an_order_that_arrives_when_its_machine_is_being_deleted_is_removed(clouds: Clouds, cloud: str):
    """The process was killed while the order was on its way."""
    killer = Dying()

    async def scenario(one: LiveMachines) -> None:
        one.boundary = killer
        async with one, watched(one, lambda: deleted(one)):
            before: Machines = one.cloud
            one.workers(1, spot=SPOT[cloud])
            await one.until(lambda: killer.where)
            await one.settle(40)
            assert one.bought == []
            with contextlib.suppress(Underway):
                await before.create(killer.orders[0], BOOT)
            await left(one)
            assert len(one.bought) == 1

    clouds.run(cloud, scenario)


@pytest.mark.parametrize("cloud", ["sim", "aws", "gcp"])
def test_R9_an_answer_that_was_lost_leaves_nothing_where_the_machine_is_deleted_before_it_shows(
    clouds: Clouds, cloud: str
):
    """By a process that has been at it for long, which would believe that there is nothing."""

    async def scenario(one: LiveMachines) -> None:
        async with one:
            one.workers(1, spot=SPOT[cloud])
            await one.until(lambda: one.running() == 1)
            await one.settle(600)
            clouds.hide(cloud, one)
            one.scale(2)
            await one.until(lambda: len(set(one.bought)) == 2)
            one.delete(kinds.MACHINE_SETS, "s")
            await left(one)

    clouds.run(cloud, scenario)


def test_R9_a_no_to_an_order_that_was_sent_twice_leaves_nothing_where_its_machine_is_deleted_at_once(clouds: Clouds):
    """The first time it was carried out, and its answer lost; then the credentials were over."""

    async def scenario(one: LiveMachines) -> None:
        world = clouds.server.world
        async with one:
            one.workers(1, spot=SPOT["aws"])
            await one.until(lambda: one.running() == 1)
            await one.settle(600)
            world.waits.seen = 30.0
            world.lose_answer("RunInstances")
            world.fail("RunInstances", Refuse("RequestExpired", "Request has expired.", 400))
            one.scale(2)
            await one.until(lambda: "Failed" in one.phases())
            one.delete(kinds.MACHINE_SETS, "s")
            await left(one)
            assert len(set(one.bought)) == 2

    clouds.run("aws", scenario)


def test_R38_a_cloud_that_goes_on_failing_is_asked_less_and_less_and_heard_when_it_is_well():
    async def scenario(one: LiveMachines) -> None:
        one.cloud.fail(*(Fault(CREATE, port.Unavailable("InternalError")) for _ in range(15)))
        one.workers(1)
        await one.settle(3000)
        assert one.running() == 0
        await one.until(lambda: one.running() == 1, 600)
        assert [call for call, _ in one.cloud.calls].count(CREATE) == 16
        (machine,) = one.all(kinds.AWS_MACHINES)
        assert not [key for key in machine["metadata"].get("annotations") or {} if key.startswith("dovetail.dev/")]

    live(scenario)


def test_R38_an_order_that_is_refused_plainly_keeps_no_object_waiting():
    async def scenario(one: LiveMachines) -> None:
        # After the order is on record, which before it would not be.
        one.cloud.fail(Fault(CREATE, port.Misconfigured("there is no such image"), after=True))
        one.workers(1)
        await one.until(lambda: one.phases() == ["Failed"])
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(one.is_empty, 45)

    live(scenario)


def test_R9_nothing_is_ordered_for_an_object_that_is_deleted_while_its_order_is_made_ready():
    async def scenario(one: LiveMachines) -> None:
        def boundary(effect: Effect, after: bool) -> None:
            if isinstance(effect, Buy) and not after and one.find(one.infra, effect.infra.name):
                deleted(one)
                one.controller.stores.learn(one.infra, one.get(one.infra, effect.infra.name))

        one.controller.hands.boundary = boundary
        one.workers(1)
        await one.until(one.machines)
        await left(one)
        assert one.bought == []

    live(scenario)
