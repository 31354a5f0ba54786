"""Bad days of Compute Engine, through the real SDK: each is an error a loop can act on, and no fault makes a second
instance (R9, R38)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from tests.clouds.gcp.gcp_orders import BOOT, opened, order, sought
from tools.gcp_server import Fault, GcpServer

from dovetail.clouds import port
from dovetail.clouds.gcp.client import Access, Gcp
from dovetail.clouds.gcp.machines import GcpMachines, cloud
from dovetail.clouds.machines import Machines, refusal
from dovetail.clouds.port import CloudError
from dovetail.core.machines.infra_objects import Sent

HANGS_UP, HTML = {"status": 0}, {"status": 200, "text": "<html>a proxy of somebody's</html>"}


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 401, "reason": "authError", "times": 9}, port.Misconfigured),
        ({"status": 403, "reason": "forbidden"}, port.Misconfigured),
        ({"status": 403, "reason": "quotaExceeded"}, port.QuotaExceeded),
        ({"status": 429, "reason": "rateLimitExceeded"}, port.Throttled),
        ({"status": 400, "reason": "invalid"}, port.Misconfigured),
        ({"status": 404, "reason": "notFound"}, port.Misconfigured),
        ({"status": 503, "reason": "ZONE_RESOURCE_POOL_EXHAUSTED"}, port.NoCapacity),
        ({"status": 500}, port.Unavailable),
        ({"status": 503, "text": "<html>no backend</html>"}, port.Unavailable),
        (HANGS_UP, port.Unavailable),
        (HTML, port.Unavailable),
        ({"code": "ZONE_RESOURCE_POOL_EXHAUSTED"}, port.NoCapacity),
        ({"code": "QUOTA_EXCEEDED"}, port.QuotaExceeded),
        ({"code": "INTERNAL_ERROR"}, port.Unavailable),
        ({"code": "RESOURCE_NOT_FOUND"}, port.Misconfigured),
    ],
)
def test_R38_an_order_that_is_refused_is_refused_with_what_it_means(
    gcp_server: GcpServer, fault: dict[str, Any], error: type[CloudError]
):
    gcp_server.faults.add(Fault("instances.insert", **fault))

    async def scenario() -> None:
        async with opened(gcp_server.url) as machines:
            with pytest.raises(error) as told:
                await machines.create(order(), BOOT)
            assert "http://" not in str(told.value)
            assert "cloud-config" not in str(told.value)

    asyncio.run(scenario())
    assert gcp_server.world.listed() == []


@pytest.mark.parametrize(("call", "known"), [("instances.insert", Sent.NO), ("operations.get", None)])
def test_R10_only_a_no_to_the_order_itself_says_that_nothing_was_ordered(
    gcp_server: GcpServer, call: str, known: Sent | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cloud, "POLL_SECONDS", 0.0)
    gcp_server.world.operation_seconds = 60.0
    gcp_server.faults.add(Fault(call, 403, "forbidden"))

    async def scenario() -> None:
        async with opened(gcp_server.url) as machines:
            with pytest.raises(port.Misconfigured) as told:
                await machines.create(order(), BOOT)
            assert refusal(told.value, Sent.NO).sent is known

    asyncio.run(scenario())


@pytest.mark.parametrize("fault", [HANGS_UP, HTML, {"status": 500}, {"status": 503}, {"status": 429}])
@pytest.mark.parametrize("call", ["instances.insert", "operations.get", "instances.get", "instances.list"])
def test_R9_an_answer_that_is_lost_is_asked_for_again_and_leaves_one_instance(
    gcp_server: GcpServer, call: str, fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cloud, "POLL_SECONDS", 0.0)
    gcp_server.faults.add(Fault(call, after=True, **fault))

    async def scenario() -> None:
        async with opened(gcp_server.url) as machines:
            for _ in range(3):
                with contextlib.suppress(port.Unavailable, port.Throttled):
                    await machines.create(order(), BOOT)
                with contextlib.suppress(port.Unavailable, port.Throttled):
                    await machines.find(sought())
            assert (await machines.create(order(), BOOT)).name == "m"

    asyncio.run(scenario())
    assert (gcp_server.world.made, len(gcp_server.world.instances)) == (1, 1)


@pytest.mark.parametrize("fault", [HANGS_UP, HTML, {"status": 500}, {"status": 429}])
@pytest.mark.parametrize("call", ["instances.get", "instances.delete", "operations.list", "disks.list"])
@pytest.mark.parametrize("after", [False, True])
def test_a_removal_goes_on_after_any_fault_and_is_over_only_when_nothing_is_left(
    gcp_server: GcpServer, call: str, fault: dict[str, Any], after: bool
):
    async def scenario() -> None:
        async with opened(gcp_server.url) as machines:
            made = await machines.create(order(), BOOT)
            gcp_server.faults.add(Fault(call, after=after, **fault))
            # Without an id on record too, where orders under way are looked for.
            known = "" if call == "operations.list" else made.provider_id
            with pytest.raises(port.NotFound):
                await persistent(machines, known)

    async def persistent(machines: Machines, known: str) -> None:
        for _ in range(6):
            with contextlib.suppress(port.Unavailable, port.Throttled):
                await machines.delete(sought(provider_id=known))

    asyncio.run(scenario())
    assert (gcp_server.world.instances, gcp_server.world.disks) == ({}, {})


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_R10_a_cloud_that_cannot_be_asked_is_never_taken_for_one_that_has_nothing(gcp_server: GcpServer, status: int):
    async def scenario() -> None:
        async with opened(gcp_server.url) as machines:
            for known in ("", "gce://p/europe-west1-b/m"):
                for call in (machines.find, machines.delete):
                    gcp_server.faults.add(Fault("", status, "", times=9))
                    with pytest.raises(CloudError) as told:
                        await call(sought(provider_id=known))
                    assert not isinstance(told.value, port.NotFound)
                    gcp_server.faults.clear()

    asyncio.run(scenario())


def test_an_answer_that_takes_too_long_is_none_and_the_order_is_found_again(gcp_server: GcpServer):
    gcp_server.faults.add(Fault("instances.insert", seconds=0.15, after=True))

    async def scenario() -> None:
        async with Gcp(Access("p", gcp_server.url, seconds=0.05)) as gcp:
            with pytest.raises(port.Unavailable, match="did not answer"):
                await GcpMachines(gcp).create(order(), BOOT)
        await asyncio.sleep(0.15)
        async with opened(gcp_server.url) as machines:
            await machines.create(order(), BOOT)

    asyncio.run(scenario())
    assert gcp_server.world.made == 1


def test_nobody_listens_at_the_endpoint():
    async def scenario() -> None:
        async with opened("http://127.0.0.1:9") as machines:
            with pytest.raises(port.Unavailable, match="ConnectionError"):
                await machines.find(sought())

    asyncio.run(scenario())


def test_no_more_than_a_few_calls_are_made_at_a_time(gcp_server: GcpServer):
    at_once: list[int] = []
    under_way = 0
    answer = gcp_server.answer

    def counted(*asked: Any) -> Any:
        nonlocal under_way
        under_way += 1
        at_once.append(under_way)
        try:
            return answer(*asked)
        finally:
            under_way -= 1

    async def scenario() -> None:
        async with Gcp(Access("p", gcp_server.url, threads=3)) as gcp:
            machines = GcpMachines(gcp)
            await asyncio.gather(*(machines.create(order(f"m-{number}"), BOOT) for number in range(12)))

    gcp_server.answer = counted  # type: ignore[method-assign]
    try:
        asyncio.run(scenario())
    finally:
        del gcp_server.answer
    assert max(at_once) <= 3
    assert gcp_server.world.made == 12
