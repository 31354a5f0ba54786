"""The simulated cloud: what its Nodes look like, and that dying at any moment loses no machine and buys none twice."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from tests.contract.cloud.sim_worlds import CLASS, READY, MemoryNodes, SimWorld
from tests.contract.cloud.worlds import claim, order

from dovetail.clouds.kwok.types_file import parse_types_file
from dovetail.clouds.port import CloudError, Misconfigured, NoCapacity, NotFound, Unavailable
from dovetail.clouds.sim.cloud import Habits, SimCloud
from dovetail.clouds.sim.market import SimMarket
from dovetail.core import labels
from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.conditions import Condition, Status
from dovetail.core.instances import Instance
from dovetail.core.nodeclaims import LAUNCHED, REGISTERED, NodeClaim

NAME = "general-a1b2c"
SPOT = OfferingKey("m-4x-amd64-linux", "test-zone-a", "spot")
HELD = OfferingKey("m-4x-amd64-linux", "test-zone-a", "reserved")


class Clock:
    """Time that moves when told to, and wakes who sleeps."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            sleeper = asyncio.get_running_loop().create_future()
            self._sleepers.append((self.now + seconds, sleeper))
            await sleeper

    async def forward(self, seconds: float) -> None:
        await settled()
        self.now += seconds
        for until, sleeper in self._sleepers:
            if until <= self.now and not sleeper.done():
                sleeper.set_result(None)
        await settled()

    @property
    def habits(self) -> Habits:
        return Habits(now=lambda: self.now, sleep=self.sleep)


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def delayed(cloud: Any, seconds: str) -> None:
    cloud.set_node_class(CLASS, {**READY, "spec": {"nodeRegistrationDelay": seconds}})


def launched(bought: NodeClaim, instance: Instance, **more: Any) -> NodeClaim:
    """The claim as it is written down after a launch."""
    told = {**instance.labels, **bought.meta.labels}
    meta = replace(bought.meta, labels=MappingProxyType(told), annotations=instance.annotations)
    return replace(
        bought,
        meta=meta,
        provider_id=instance.provider_id,
        capacity=instance.capacity,
        allocatable=instance.allocatable,
        conditions=(Condition(LAUNCHED, Status.TRUE),),
        **more,
    )


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario()

    asyncio.run(whole())


# ---- what a Node looks like


def test_a_node_looks_as_the_kwok_provider_makes_it() -> None:
    """§6."""

    async def scenario() -> None:
        world = SimWorld()
        wanted = order(world, wanted={labels.INSTANCE_TYPE: "m-4x-amd64-linux", labels.CAPACITY_TYPE: "on-demand"})
        await world.cloud.launch(wanted)
        (node,) = world.api.bodies.values()
        assert node["metadata"]["name"] == NAME
        assert node["metadata"]["labels"] == {
            "karpenter.kwok.sh/instance-cpu": "4",
            "karpenter.kwok.sh/instance-family": "m",
            "karpenter.kwok.sh/instance-memory": "32Gi",
            "karpenter.kwok.sh/instance-size": "4",
            "karpenter.kwok.sh/kwoknodeclass": "default",
            "karpenter.sh/capacity-type": "on-demand",
            "karpenter.sh/nodepool": "general",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": NAME,
            "kubernetes.io/os": "linux",
            "kwok-partition": "a",
            "kwok.x-k8s.io/node": "fake",
            "node.kubernetes.io/instance-type": "m-4x-amd64-linux",
            "topology.kubernetes.io/zone": "test-zone-a",
            "eks-node-viewer/instance-price": "0.134360",
        }
        assert node["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"
        assert node["spec"] == {
            "providerID": f"kwok://{NAME}",
            "taints": [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}],
        }
        assert node["status"] == {
            "phase": "Pending",
            "capacity": {"cpu": "4", "ephemeral-storage": "20Gi", "memory": "32Gi", "pods": "64"},
            "allocatable": {"cpu": "3900m", "ephemeral-storage": "20Gi", "memory": "32758Mi", "pods": "64"},
        }

    run(scenario)


def test_a_type_of_several_systems_becomes_a_node_of_the_one_that_is_wanted() -> None:
    text = """[{"name": "a.large", "architecture": "amd64", "operatingSystems": ["linux", "windows"],
      "resources": {"cpu": "1", "memory": "1Gi"}, "offerings": [{"Price": 0.1, "Requirements": [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]}]}]}]"""

    async def scenario() -> None:
        world = SimWorld(SimMarket(parse_types_file(text, "types.json")))
        instance = await world.cloud.launch(order(world, wanted={labels.OS: "windows"}))
        assert instance.labels[labels.OS] == "windows"
        assert instance.labels["karpenter.kwok.sh/instance-size"] == "large"

    run(scenario)


def test_what_a_types_file_calls_unavailable_is_not_for_sale() -> None:
    rows = ",".join(
        f"""{{"Price": {price}, "Available": {available}, "Requirements": [
        {{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}},
        {{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["{zone}"]}}]}}"""
        for price, available, zone in ((0.1, "false", "y"), (0.2, "true", "z"))
    )
    text = f"""[{{"name": "a", "architecture": "amd64", "operatingSystems": ["linux"],
      "resources": {{"cpu": "1", "memory": "1Gi"}}, "offerings": [{rows}]}}]"""

    async def scenario() -> None:
        world = SimWorld(SimMarket(parse_types_file(text, "types.json")))
        assert (await world.cloud.launch(order(world))).labels[labels.ZONE] == "z"
        with pytest.raises(NoCapacity):
            await world.cloud.launch(order(world, "other", {labels.ZONE: "y"}))

    run(scenario)


# ---- node classes


@pytest.mark.parametrize(
    ("wire", "error"),
    [
        (None, NoCapacity),
        ({"metadata": {"name": "default", "deletionTimestamp": "2026-01-01T00:00:00Z"}}, NoCapacity),
        ({**READY, "spec": {"nodeRegistrationDelay": "soon"}}, Misconfigured),
        ({**READY, "spec": {"nodeRegistrationDelay": 5}}, Misconfigured),
        ({**READY, "spec": "nothing"}, Misconfigured),
        ({"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}, Misconfigured),
    ],
)
def test_a_class_that_cannot_be_launched_with_says_why(wire: Any, error: type[CloudError]) -> None:
    async def scenario() -> None:
        world = SimWorld()
        world.cloud.set_node_class(CLASS, wire)
        with pytest.raises(error, match="KWOKNodeClass default"):
            await world.cloud.launch(order(world))
        assert not world.api.held

    run(scenario)


def test_a_class_without_status_is_ready() -> None:
    async def scenario() -> None:
        world = SimWorld()
        world.cloud.set_node_class(CLASS, {"metadata": {"name": "default"}})
        await world.cloud.launch(order(world))

    run(scenario)


# ---- writing it down


def test_a_machine_takes_one_write_and_no_reading() -> None:
    async def scenario() -> None:
        world = SimWorld()
        await world.cloud.launch(order(world))
        assert world.api.calls == ["create"]

    run(scenario)


def test_a_sale_is_undone_when_its_node_cannot_be_written() -> None:
    async def scenario() -> None:
        world = SimWorld(SimMarket(stock={SPOT: 1}))
        only = order(world, wanted={labels.INSTANCE_TYPE: SPOT.instance_type, labels.ZONE: "test-zone-a"})
        world.api.before.append(Unavailable("the API server is away"))
        with pytest.raises(Unavailable):
            await world.cloud.launch(only)
        assert world.market.stock[SPOT] == 1
        await world.cloud.launch(only)
        assert world.market.stock[SPOT] == 0

    run(scenario)


def test_a_node_that_was_written_though_nobody_heard_so_is_found_and_counted_once() -> None:
    async def scenario() -> None:
        world = SimWorld(SimMarket(stock={SPOT: 2}))
        only = order(world, wanted={labels.INSTANCE_TYPE: SPOT.instance_type, labels.ZONE: "test-zone-a"})
        world.api.after.append(Unavailable("the answer was lost"))
        with pytest.raises(Unavailable):
            await world.cloud.launch(only)
        instance = await world.cloud.launch(only)
        assert instance.labels[labels.CAPACITY_TYPE] == "spot"
        assert len(world.api.held) == 1
        assert world.market.stock[SPOT] == 1

    run(scenario)


def test_a_node_of_that_name_that_is_no_machine_of_ours_is_neither_taken_nor_deleted() -> None:
    async def scenario() -> None:
        world = SimWorld(SimMarket(stock={SPOT: 1}))
        await world.foreign(NAME)
        with pytest.raises(CloudError, match=f"a Node named {NAME} is there already"):
            await world.cloud.launch(order(world))
        with pytest.raises(NotFound):
            await world.cloud.terminate(claim(world))
        assert world.api.held[NAME].provider_id == f"aws:///a/{NAME}"
        assert not world.market.ledger

    run(scenario)


def test_labels_written_before_a_crash_bind_the_launch_after_it() -> None:
    """Labels of a claim are never taken back, so a Node must not disagree with them."""

    async def scenario() -> None:
        world = SimWorld()
        wanted = order(world, most=40)
        chosen = wanted.options[17]
        told = {
            labels.INSTANCE_TYPE: chosen.instance_type.name,
            labels.ZONE: chosen.offering.zone or "",
            labels.CAPACITY_TYPE: chosen.offering.capacity_type or "",
        }
        meta = replace(wanted.claim.meta, labels=MappingProxyType({**wanted.claim.meta.labels, **told}))
        bound = replace(wanted, claim=replace(wanted.claim, meta=meta))
        instance = await world.cloud.launch(bound)
        assert {key: instance.labels[key] for key in told} == told
        other = replace(bound.claim, meta=replace(meta, name="other"))
        with pytest.raises(NoCapacity, match="agrees with the labels"):
            await world.cloud.launch(replace(bound, claim=other, options=wanted.options[:17]))

    run(scenario)


def test_a_walk_along_thousands_of_sold_out_offerings_names_one_shortage_for_a_zone() -> None:
    async def scenario() -> None:
        world = SimWorld()
        wanted = order(world, wanted={labels.ZONE: "test-zone-a"}, most=10_000)
        assert len(wanted.options) > 50
        empty = Shortage(zone="test-zone-a")
        world.market.run_out(empty)
        with pytest.raises(NoCapacity) as caught:
            await world.cloud.launch(wanted)
        assert caught.value.shortages == (empty,)
        assert world.api.calls == ["get"]
        world.market.recover(empty)
        await world.cloud.launch(wanted)

    run(scenario)


# ---- joining later


def test_a_node_joins_after_its_class_says() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        delayed(world.cloud, "1m")
        instance = await world.cloud.launch(order(world))
        assert (await world.cloud.launch(order(world))).provider_id == instance.provider_id
        assert [one.provider_id for one in await world.cloud.instances()] == [instance.provider_id]
        assert (await world.cloud.get(instance.provider_id)).labels == instance.labels
        await clock.forward(59.0)
        assert not world.api.held
        await clock.forward(1.0)
        assert list(world.api.held) == [NAME]
        assert (await world.cloud.get(instance.provider_id)).labels == instance.labels
        assert len(await world.cloud.instances()) == 1

    run(scenario)


def test_a_node_that_could_not_join_tries_again() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        delayed(world.cloud, "5s")
        await world.cloud.launch(order(world))
        world.api.before += [Unavailable("away"), Unavailable("still away")]
        for _ in range(3):
            assert not world.api.held
            await clock.forward(5.0)
        assert list(world.api.held) == [NAME]

    run(scenario)


def test_a_machine_returned_before_it_joined_never_does() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(SimMarket(stock={SPOT: 1}), habits=clock.habits)
        delayed(world.cloud, "5s")
        wanted = order(world, wanted={labels.INSTANCE_TYPE: SPOT.instance_type, labels.ZONE: "test-zone-a"})
        bought = launched(wanted.claim, await world.cloud.launch(wanted))
        with pytest.raises(NotFound):
            await world.cloud.terminate(bought)
        await clock.forward(10.0)
        assert not world.api.held
        assert await world.cloud.instances() == ()
        assert world.market.stock[SPOT] == 1

    run(scenario)


def test_a_join_under_way_while_the_machine_is_returned_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        clock = Clock()
        gate = asyncio.Event()

        class Slow(MemoryNodes):
            async def create(self, body: dict[str, Any]) -> Any:
                await gate.wait()
                return await super().create(body)

        world = SimWorld(api=Slow(), habits=clock.habits)
        delayed(world.cloud, "5s")
        bought = launched(order(world).claim, await world.cloud.launch(order(world)))
        await clock.forward(5.0)
        ending = asyncio.create_task(world.cloud.terminate(bought))
        await settled()
        gate.set()
        with pytest.raises(NotFound):
            await ending
        assert not world.api.held

    run(scenario)


def test_a_node_joins_after_a_restart_of_dovetail_when_it_would_have_without() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        delayed(world.cloud, "1m")
        instance = await world.cloud.launch(order(world))
        bought = launched(order(world).claim, instance)
        await clock.forward(40.0)
        after = SimWorld(api=world.api, habits=clock.habits)
        after.cloud.resume([bought])
        assert (await after.cloud.get(instance.provider_id)).claim == NAME
        await clock.forward(19.0)
        assert not world.api.held
        await clock.forward(1.0)
        node = world.api.held[NAME]
        assert (node.capacity, node.allocatable) == (instance.capacity, instance.allocatable)
        assert instance.labels.items() <= node.meta.labels.items()
        assert [one.provider_id for one in await after.cloud.instances()] == [instance.provider_id]

    run(scenario)


def test_claims_that_need_no_node_get_none_after_a_restart() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        delayed(world.cloud, "1m")
        one = launched(order(world).claim, await world.cloud.launch(order(world)))
        after = SimWorld(api=MemoryNodes(), habits=clock.habits)
        leaving = replace(one, meta=replace(one.meta, deleting=clock.now))
        joined = replace(one, conditions=(Condition(REGISTERED, Status.TRUE),))
        foreign = replace(one, provider_id="aws:///a/b")
        unreadable = replace(one, meta=replace(one.meta, annotations={"karpenter.kwok.sh/joins-at": "soon"}))
        after.cloud.resume([leaving, joined, foreign, unreadable, claim(after, "not-launched")])
        await clock.forward(3600.0)
        assert not after.api.held

    run(scenario)


def test_a_machine_held_back_for_ever_is_there_and_never_joins() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        assert isinstance(world.cloud, SimCloud)
        world.cloud.hold_back(NAME, math.inf)
        instance = await world.cloud.launch(order(world))
        await clock.forward(1e6)
        assert not world.api.held
        assert (await world.cloud.get(instance.provider_id)).provider_id == instance.provider_id
        with pytest.raises(Unavailable):
            await world.cloud.reboot(launched(order(world).claim, instance), "one")

    run(scenario)


# ---- what is sold


def test_a_restart_knows_what_is_sold_whatever_the_market_was_told_before() -> None:
    async def scenario() -> None:
        def market() -> SimMarket:
            return SimMarket(stock={SPOT: 3}, reservations=[Reservation("r-1", *_place(HELD), 2, 2)])

        world = SimWorld(market())
        bought = []
        for name, kind in (("one", "spot"), ("two", "spot"), ("three", "reserved")):
            wanted = order(world, name, {labels.INSTANCE_TYPE: SPOT.instance_type, labels.CAPACITY_TYPE: kind})
            wanted = replace(wanted, options=wanted.options[:1])
            bought.append(launched(wanted.claim, await world.cloud.launch(wanted)))
        after = SimWorld(market(), world.api)
        for _ in range(2):  # a lease lost and won again resumes the same market
            after.cloud.resume(bought)
            assert after.market.stock[SPOT] == 1
            assert _left(after.market) == 1
        after.cloud.resume(bought[:1])
        assert after.market.stock[SPOT] == 2
        assert _left(after.market) == 2

    run(scenario)


def _place(key: OfferingKey) -> tuple[str, str]:
    return key.instance_type, key.zone or ""


def _left(market: SimMarket) -> int | None:
    (row,) = [row for row in market._rows_for(None)[HELD.instance_type] if row.reservations]
    return row.count


def test_what_a_machine_held_is_there_for_others_once_it_is_returned() -> None:
    async def scenario() -> None:
        world = SimWorld(SimMarket(reservations=[Reservation("r-1", *_place(HELD), 1, 1)]))
        wanted = order(world, wanted={labels.CAPACITY_TYPE: "reserved"})
        instance = await world.cloud.launch(wanted)
        assert instance.labels["karpenter.kwok.sh/reservation-id"] == "r-1"
        assert _left(world.market) == 0
        with pytest.raises(NoCapacity):
            await world.cloud.launch(replace(wanted, claim=claim(world, "other")))
        with pytest.raises(NotFound):
            await world.cloud.terminate(claim(world))
        assert _left(world.market) == 1
        await world.cloud.launch(replace(wanted, claim=claim(world, "other")))

    run(scenario)


def test_a_claim_may_name_the_reservation_it_wants() -> None:
    async def scenario() -> None:
        both = [Reservation(f"r-{n}", *_place(HELD), n, n) for n in (1, 9)]
        world = SimWorld(SimMarket(reservations=both))
        wanted = order(world, wanted={"karpenter.kwok.sh/reservation-id": "r-1", labels.CAPACITY_TYPE: "reserved"})
        instance = await world.cloud.launch(wanted)
        assert instance.labels["karpenter.kwok.sh/reservation-id"] == "r-1"
        with pytest.raises(NoCapacity) as caught:
            await world.cloud.launch(replace(wanted, claim=replace(wanted.claim, meta=claim(world, "other").meta)))
        assert [one.reservation_id for one in caught.value.shortages] == ["r-1"]

    run(scenario)


# ---- the end


def test_a_draining_node_is_a_machine_that_is_still_there() -> None:
    """A Node that is not ready must be drained like any other; the peer takes it for gone."""

    async def scenario() -> None:
        world = SimWorld()
        instance = await world.cloud.launch(order(world))
        world.api.finalize(NAME)
        await world.api.delete(NAME, world.api.held[NAME].meta.uid)
        assert (await world.cloud.get(instance.provider_id)).leaving
        with pytest.raises(NotFound):
            await world.cloud.terminate(launched(order(world).claim, instance))
        with pytest.raises(NotFound):
            await world.cloud.get(instance.provider_id)
        assert await world.cloud.instances() == ()
        assert NAME in world.api.held  # until its finalizer is taken off

    run(scenario)


def test_a_machine_takes_as_long_to_go_as_it_is_told_to() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=replace(clock.habits, shutdown=30.0))
        bought = launched(order(world).claim, await world.cloud.launch(order(world)))
        world.api.finalize(NAME)
        await world.cloud.terminate(bought)
        await clock.forward(29.0)
        await world.cloud.terminate(bought)
        assert [one.leaving for one in await world.cloud.instances()] == [True]
        await clock.forward(1.0)
        with pytest.raises(NotFound):
            await world.cloud.terminate(bought)
        assert await world.cloud.instances() == ()

    run(scenario)


def test_machines_of_the_kwok_provider_itself_are_known_and_returned() -> None:
    """Whoever changes over keeps the nodes there are, and the provider names them otherwise."""

    async def scenario() -> None:
        world = SimWorld()
        told = {labels.HOSTNAME: NAME, labels.NODEPOOL: "general", "kwok-partition": "a"}
        node = {"metadata": {"name": "happy-bell-7", "labels": told}, "spec": {"providerID": "kwok://happy-bell-7"}}
        await world.api.create(node)
        (seen,) = await world.cloud.instances()
        assert (seen.claim, seen.pool) == (NAME, "general")
        with pytest.raises(NotFound):
            await world.cloud.terminate(claim(world, provider_id="kwok://happy-bell-7"))
        assert not world.api.held

    run(scenario)


def test_nothing_is_remembered_of_machines_that_are_gone() -> None:
    async def scenario() -> None:
        world = SimWorld()
        cloud = world.cloud
        assert isinstance(cloud, SimCloud)
        for number in range(3):
            await cloud.launch(order(world, f"m-{number}"))
            with pytest.raises(NotFound):
                await cloud.terminate(claim(world, f"m-{number}"))
        await cloud.instances()
        held = (cloud._gone_at, cloud._promised, cloud._held_back, cloud.market.ledger, cloud._turns)
        assert [len(one) for one in held] == [0] * 5

    run(scenario)


def test_a_notice_of_interruption_is_heard() -> None:
    world = SimWorld(habits=Clock().habits)
    assert isinstance(world.cloud, SimCloud)
    heard: list[Any] = []
    world.cloud.on_notice(heard.append)
    world.cloud.interrupt("kwok://a", 120.0)
    assert [(one.provider_id, one.reason, one.ends) for one in heard] == [("kwok://a", "SpotInterruption", 1_000_120.0)]
