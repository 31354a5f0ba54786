"""The demo finds out when it did not come out as it must."""

from __future__ import annotations

import asyncio
import logging

from dovetail.api import kinds
from dovetail.apiserver.writes import Deletion
from dovetail.demo.judge import Judge
from dovetail.demo.witness import Bought
from dovetail.demo.world import World

ZONE = "us-east-1b"


def test_what_is_left_lost_or_bought_where_nothing_is_sold_is_found():
    async def scenario() -> list[str]:
        async with World() as world:
            judge = Judge(world)
            assert not await judge.verdict()
            judge.close_zone(ZONE)
            world.witness.bought["a"] = Bought("a", "m5.large", ZONE, "spot", 0, 1)
            judge.guard("web", 1, 1)
            a_machine_goes_with_its_pod(world)
            try:
                raise KeyError("fault")
            except KeyError:
                logging.getLogger("dovetail.controllers").exception("a loop broke")
            return await judge.verdict()

    assert asyncio.run(scenario()) == [
        "us-east-1b was sold out, and sold",
        "0 pods of web ran where 1 must",
        "pods were lost: web-1",
        "machines bought: 1, returned: 0",
        "a fault of dovetail's own was logged: a loop broke (KeyError)",
    ]


def a_machine_goes_with_its_pod(world: World) -> None:
    world.store.create(kinds.NODES, {"metadata": {"name": "n"}})
    spec = {"nodeName": "n", "containers": [{"name": "main", "image": "web:1"}]}
    pod = {"metadata": {"name": "web-1", "labels": {"app": "web"}}, "spec": spec}
    made = world.store.create(kinds.PODS, pod, "default")
    world.store.update(kinds.PODS, {**made, "status": {"phase": "Running"}}, subresource="status")
    world.store.delete(kinds.NODES, "n", "", Deletion())
