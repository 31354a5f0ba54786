"""Every cloud in this list passes the whole suite."""

from __future__ import annotations

import pytest
from tests.contract.cloud.sim_worlds import CalmChaosWorld, SimWorld, SlowWorld
from tests.contract.cloud.worlds import World

WORLDS = {"sim": SimWorld, "sim behind chaos": CalmChaosWorld, "sim that takes its time": SlowWorld}


@pytest.fixture(params=list(WORLDS))
def world(request: pytest.FixtureRequest) -> World:
    return WORLDS[request.param]()
