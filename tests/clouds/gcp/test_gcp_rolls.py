"""Who of many instances runs is one list, of which half is no list."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.clouds.gcp.gcp_orders import BOOT, ZONE, order, sought
from tools.gcp_server import Fault, GcpServer

from dovetail.clouds.gcp.client import Access, Gcp
from dovetail.clouds.gcp.machines import GcpMachines, rolls
from dovetail.clouds.machines import Sought
from dovetail.clouds.port import CloudError, Misconfigured, NotFound, Throttled, Unavailable
from dovetail.core.machines.infra_objects import State, token_of

COUNT = 5


def at(number: int) -> str:
    return f"gce://p/{ZONE}/m-{number}"


FLEET = tuple(sought(f"m-{number}", at(number)) for number in range(COUNT))
EVERYBODY = frozenset(at(number) for number in range(COUNT))


def shop(server: GcpServer, scenario: Callable[[GcpMachines], Awaitable[None]]) -> None:
    async def through() -> None:
        async with Gcp(Access("p", server.url)) as gcp:
            machines = GcpMachines(gcp)
            for number in range(COUNT):
                await machines.create(order(f"m-{number}", provisioningModel="Spot"), BOOT)
            server.asked.clear()
            await scenario(machines)

    asyncio.run(through())


def test_everybody_is_called_with_one_question_a_page(gcp_server: GcpServer, monkeypatch: pytest.MonkeyPatch):
    async def scenario(machines: GcpMachines) -> None:
        assert await machines.roll_call(FLEET) == EVERYBODY
        assert [one.call for one in gcp_server.asked] == ["instances.list"]
        monkeypatch.setattr(rolls, "PAGE", 2)
        assert await machines.roll_call(FLEET) == EVERYBODY
        assert len(gcp_server.asked) == 1 + 3

    shop(gcp_server, scenario)


def test_who_was_preempted_or_deleted_does_not_answer(gcp_server: GcpServer):
    async def scenario(machines: GcpMachines) -> None:
        gcp_server.world.preempt("m-1")
        gcp_server.world.forget("m-2")
        assert await machines.roll_call(FLEET) == EVERYBODY - {at(1), at(2)}
        assert (await machines.find(FLEET[1])).state is State.STOPPING
        with pytest.raises(NotFound):
            await machines.find(FLEET[2])

    shop(gcp_server, scenario)


def test_R10_whom_a_list_leaves_out_is_still_found_by_himself(gcp_server: GcpServer):
    async def scenario(machines: GcpMachines) -> None:
        del gcp_server.world.instances[ZONE, "m-0"].body["labels"]["capg-cluster-c"]
        assert at(0) not in await machines.roll_call(FLEET)
        assert (await machines.find(FLEET[0])).state is State.RUNNING

    shop(gcp_server, scenario)


def test_R9_an_instance_of_the_same_name_that_is_anothers_does_not_answer_for_him(gcp_server: GcpServer):
    async def scenario(machines: GcpMachines) -> None:
        other = replace(FLEET[0], name="other", token=token_of("other"))
        moved = replace(FLEET[1], token=token_of("moved"))
        assert await machines.roll_call((other, moved)) == {at(1)}

    shop(gcp_server, scenario)


def test_of_several_clusters_each_has_its_list_and_one_no_label_can_name_has_none(gcp_server: GcpServer):
    async def scenario(machines: GcpMachines) -> None:
        await machines.create(order("n", cluster="d"), BOOT)
        gcp_server.asked.clear()
        odd = Sought("o", "C" * 80, "t", f"gce://p/{ZONE}/m-1")
        second = replace(sought("n", f"gce://p/{ZONE}/n"), cluster="d")
        assert await machines.roll_call((FLEET[0], second, odd)) == {at(0), second.provider_id}
        assert len(gcp_server.asked) == 2

    shop(gcp_server, scenario)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault("instances.list", 503, skip=1), Unavailable),
        (Fault("instances.list", 0, skip=1), Unavailable),
        (Fault("instances.list", 200, text="[", skip=1), Unavailable),
        (Fault("instances.list", 502, text="<html>", skip=1), Unavailable),
        (
            Fault("instances.list", 200, text='{"items": {"zones/a": {"warning": {"code": "UNREACHABLE"}}}}'),
            Unavailable,
        ),
        (Fault("instances.list", 200, text='{"unreachables": ["zones/a"]}', skip=1), Unavailable),
        (Fault("instances.list", 403, "forbidden", "no"), Misconfigured),
    ],
)
def test_a_page_that_fails_half_way_fails_the_whole(
    gcp_server: GcpServer, monkeypatch: pytest.MonkeyPatch, fault: Fault, error: type[CloudError]
):
    monkeypatch.setattr(rolls, "PAGE", 2)

    async def scenario(machines: GcpMachines) -> None:
        gcp_server.faults.add(fault)
        with pytest.raises(error):
            await machines.roll_call(FLEET)
        assert await machines.roll_call(FLEET) == EVERYBODY

    shop(gcp_server, scenario)


def test_who_asks_too_often_is_told_how_long_to_wait(gcp_server: GcpServer):
    async def scenario(machines: GcpMachines) -> None:
        gcp_server.faults.add(Fault("instances.list", 429, "rateLimitExceeded", "slow", headers={"Retry-After": "40"}))
        with pytest.raises(Throttled) as caught:
            await machines.roll_call(FLEET)
        assert caught.value.wait == 40

    shop(gcp_server, scenario)


def test_only_the_fields_that_are_read_are_asked_for(gcp_server: GcpServer):
    async def scenario(machines: GcpMachines) -> None:
        await machines.roll_call(FLEET)
        assert gcp_server.asked[0].query["fields"].endswith("items/*/instances(name,zone,labels)")

    shop(gcp_server, scenario)
