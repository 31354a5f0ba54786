"""Every cloud in this list passes the whole suite."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.contract.cloud.bridge_worlds import BridgeWorld
from tests.contract.cloud.sim_worlds import CalmChaosWorld, SimWorld, SlowWorld
from tests.contract.cloud.worlds import World

WORLDS: dict[str, Callable[[], World]] = {
    "sim": SimWorld,
    "sim behind chaos": CalmChaosWorld,
    "sim that takes its time": SlowWorld,
    "machines of Cluster API": BridgeWorld,
}
#: Against the test server.
AWS = ("aws", "aws that takes its time")


@pytest.fixture(params=[*WORLDS, *AWS])
def world(request: pytest.FixtureRequest) -> World:
    if request.param not in AWS:
        return WORLDS[request.param]()
    from tests.contract.cloud.aws_worlds import AwsWorld

    server, account = request.getfixturevalue("aws_server"), request.getfixturevalue("aws_account")
    if request.param != AWS[0]:
        server.world.waits.shutdown = 0.02
    return AwsWorld(server, account)
