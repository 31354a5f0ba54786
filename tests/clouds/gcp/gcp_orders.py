"""Orders for instances of Compute Engine, everything boring filled in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dovetail.api import kinds
from dovetail.api.cluster_api.infra_reading import infra_machine
from dovetail.api.fields import fields
from dovetail.clouds.gcp.client import Access, Gcp
from dovetail.clouds.gcp.machines import GcpMachines
from dovetail.clouds.machines import Machines, Sought, UserData
from dovetail.core.machines.infra_objects import Market, Purchase, Wanted, token_of

BOOT = UserData(b"#cloud-config\n")
IMAGE = "projects/images/global/images/node-1"
LEAST = {"instanceType": "n2-standard-4", "image": IMAGE}
ZONE = "europe-west1-b"
ON = {
    Market.ON_DEMAND: {},
    Market.PREEMPTIBLE: {"preemptible": True},
    Market.SPOT: {"provisioningModel": "Spot"},
}


def wanted(**spec: Any) -> Wanted:
    """As it is read of an object."""
    wire = {"metadata": {"name": "m"}, "spec": {key: one for key, one in (LEAST | spec).items() if one is not None}}
    return infra_machine(kinds.GCP_MACHINES, fields(wire)).wanted


def on(market: Market) -> Wanted:
    return wanted(**ON[market])


def order(name: str = "m", zone: str = ZONE, cluster: str = "c", **spec: Any) -> Purchase:
    return Purchase(name, token_of(f"uid-{name}"), cluster, name, wanted(**spec), zone, False, "default")


def sought(name: str = "m", provider_id: str = "") -> Sought:
    return Sought(name, "c", token_of(f"uid-{name}"), provider_id, "default")


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Machines]:
    """As a controller has them, but with the SDK in this process: one of its own takes seconds to start."""
    async with Gcp(Access("p", url)) as gcp:
        yield GcpMachines(gcp)
