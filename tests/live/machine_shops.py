"""Clouds for `dovetail machines` to buy from, in real time: test servers on loopback behind the real SDKs, or simulated
ones inside the process itself. A shop says what a machine looks like there, and takes one away when asked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.aws_plugin import CREDENTIALS
from tools.aws_server import Account, AwsServer
from tools.gcp_server import GcpServer, GcpWorld

from dovetail.api import kinds
from dovetail.api.kinds import Kind

Object = dict[str, Any]


@dataclass(frozen=True)
class Shop:
    """`cloud` is whose machines; `runs_as` what the process is told. A shop that takes nothing away leaves that to the
    process. `left` are the names of all that costs money."""

    cloud: str
    runs_as: str
    kinds: tuple[Kind, Kind, Kind]
    machine: Object
    spot: Object
    cluster: Object
    zone: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    take_away: Callable[[str], None] | None = None
    left: Callable[[], list[str]] = list


AWS = (kinds.AWS_MACHINES, kinds.AWS_TEMPLATES, kinds.AWS_CLUSTERS)
GCP = (kinds.GCP_MACHINES, kinds.GCP_TEMPLATES, kinds.GCP_CLUSTERS)
AZURE = (kinds.AZURE_MACHINES, kinds.AZURE_TEMPLATES, kinds.AZURE_CLUSTERS)


def simulated() -> Shop:
    bid = {"spotMarketOptions": {"maxPrice": "0.10"}}
    return Shop("aws", "sim", AWS, {"instanceType": "m5.large"}, bid, {"region": "eu-west-1"})


def on_aws(server: AwsServer, account: Account) -> Shop:
    from tests.live.live_ec2_machines import Ec2Cloud, left_on_ec2

    machine = {
        "instanceType": "m5.large",
        "ami": {"id": account.images["al2023", "x86_64"]},
        "subnet": {"id": account.subnets["us-east-1a"]},
    }
    where = {**CREDENTIALS, "CLOUD_ENDPOINT": server.url, "AWS_REGION": "us-east-1"}
    taken = Ec2Cloud.take_away
    return Shop(
        *("aws", "aws", AWS, machine, {"spotMarketOptions": {}}, {"region": "us-east-1"}),
        environment=where,
        take_away=lambda name: taken(None, name),  # type: ignore[arg-type]
        left=left_on_ec2,
    )


def on_gcp(server: GcpServer) -> Shop:
    from tests.clouds.gcp.gcp_orders import LEAST, ZONE

    server.reset(GcpWorld(operation_seconds=0.5, boot_seconds=0.5))
    where = {"CLOUD_ENDPOINT": server.url, "GOOGLE_CLOUD_PROJECT": "p"}
    network = {"project": "p", "region": ZONE.rpartition("-")[0]}
    spot = {"provisioningModel": "Spot"}
    return Shop(
        "gcp",
        "gcp",
        GCP,
        LEAST,
        spot,
        network,
        zone=ZONE,
        environment=where,
        take_away=lambda name: server.world.preempt(name),
        left=lambda: sorted({name for _, name in (*server.world.instances, *server.world.disks)}),
    )


@contextmanager
def on_azure() -> Iterator[Shop]:
    """The server is a process, since it wants a loop of its own."""
    from tests.clouds.azure.azure_orders import CLUSTER, SPEC

    command = [sys.executable, "-m", "tools.azure_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        _, port, subscription = server.stdout.readline().split()
        said, heard = server.stdin, server.stdout

        def take_away(name: str) -> None:
            said.write(f"evict {name}\n")
            said.flush()
            assert heard.readline().strip() == "ok"

        def left() -> list[str]:
            said.write("left\n")
            said.flush()
            return heard.readline().split()

        where = {"CLOUD_ENDPOINT": f"http://127.0.0.1:{port}", "AZURE_SUBSCRIPTION_ID": subscription}
        spot = {"spotVMOptions": {}}
        yield Shop("azure", "azure", AZURE, SPEC, spot, CLUSTER, environment=where, take_away=take_away, left=left)
        said.close()
