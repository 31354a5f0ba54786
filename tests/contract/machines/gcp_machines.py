"""Compute Engine in the contract suite of single instances: the real SDK against the test server."""

from __future__ import annotations

from tests.clouds.gcp.gcp_orders import on
from tests.contract.machines.worlds import World
from tools.gcp_server import GcpServer

from dovetail.clouds.gcp.machines import opened
from dovetail.core.machines.infra_objects import Market


def gcp_world(server: GcpServer) -> World:
    return World(lambda: opened("p", server.url), on, tuple(Market), nobodys, "gce://q/zone-a/m")


def nobodys(name: str) -> tuple[str, ...]:
    return "gce://p/zone-a/other", f"gce://p/zone-b/{name}"
