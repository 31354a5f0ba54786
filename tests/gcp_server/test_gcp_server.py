"""The test server keeps Compute Engine's own rules, so that what passes here is not refused there."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import uuid
from typing import Any

import pytest
from tests.clouds.gcp.gcp_orders import BOOT, ZONE, order
from tools.gcp_server import GcpServer, GcpWorld
from tools.gcp_server.refusals import Refused
from tools.gcp_server.server import fits

from dovetail.clouds.gcp.machines import bodies, opened
from dovetail.clouds.gcp.machines.homes import Home

HOME = Home("p")


def body(**spec: Any) -> dict[str, Any]:
    return bodies.instance(order(**spec), BOOT, HOME)


def requested() -> str:
    return str(uuid.uuid4())


def test_a_request_id_is_one_operation_for_an_hour_and_a_name_is_one_instance():
    now = [0.0]
    world = GcpWorld(clock=lambda: now[0])
    known = requested()
    first = world.insert(ZONE, body(), known)
    assert world.insert(ZONE, body(), known)["name"] == first["name"]
    with pytest.raises(Refused, match="already exists") as told:
        world.insert(ZONE, body(), requested())
    assert (told.value.status, told.value.reason) == (409, "alreadyExists")
    now[0] = 3601.0
    with pytest.raises(Refused, match="already exists"):
        world.insert(ZONE, body(), known)


@pytest.mark.parametrize("known", ["not-a-uuid", "00000000-0000-0000-0000-000000000000"])
def test_a_request_id_must_be_one(known: str):
    with pytest.raises(Refused, match="requestId"):
        GcpWorld().insert(ZONE, body(), known)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"scheduling": {"preemptible": True}}, "automaticRestart"),
        ({"scheduling": {"provisioningModel": "SPOT", "automaticRestart": True}}, "automaticRestart"),
        (
            {"scheduling": {"preemptible": True, "automaticRestart": False, "onHostMaintenance": "MIGRATE"}},
            "onHostMaintenance",
        ),
        ({"scheduling": {"instanceTerminationAction": "DELETE"}}, "instanceTerminationAction"),
        ({"scheduling": {"maxRunDuration": {"seconds": "60"}}}, "maxRunDuration"),
        ({"name": "a.b"}, "name"),
        ({"labels": {"A": "b"}}, "labels"),
        ({"tags": {"items": ["a.b"]}}, "tags"),
        ({"disks": []}, "disks"),
        ({"networkInterfaces": []}, "networkInterfaces"),
    ],
)
def test_R22_what_compute_engine_refuses_is_refused(change: dict[str, Any], named: str):
    with pytest.raises(Refused, match=named):
        GcpWorld().insert(ZONE, body() | change, "")


def test_filters_are_read():
    one = {"status": "RUNNING", "labels": {"a-b": "c"}}
    assert fits(one, 'labels.a-b = "c"')
    assert fits(one, '(labels.a-b:*) (status != "DONE")')
    assert not fits(one, 'labels.a-b = "d"')
    assert not fits(one, "labels.other:*")
    assert not fits(one, 'status != "RUNNING"')


def test_as_a_process_it_is_told_by_lines():
    started = [sys.executable, "-m", "tools.gcp_server"]
    with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline().removeprefix("ready "))

        async def buy() -> None:
            async with opened("p", f"http://127.0.0.1:{port}") as machines:
                assert await machines.instances("c") == ()

        asyncio.run(buy())
        process.stdin.write("sold-out n2-standard-4\nfail instances.insert 503\npreempt nobody\nwhat\n")
        process.stdin.close()
        answers = [line.partition(":")[0].strip() for line in process.stdout]
        assert answers == ["ok", "ok", "cannot", "cannot"]
    assert process.returncode == 0


def test_it_can_be_made_as_new(gcp_server: GcpServer):
    gcp_server.world.insert(ZONE, body(), "")
    gcp_server.reset()
    assert gcp_server.world.listed() == []
