"""The clouds of the machines benchmark: simulated ones within the process, and three fakes on loopback that the real
SDKs are pointed at. Instances of the fakes are made in half a second and run half a second later, or as near as a fake
can do that."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from bench.machines_cluster import Shop
from dovetail.api import kinds

SIM: Final = Shop(
    "sim",
    (kinds.AWS_MACHINES, kinds.AWS_TEMPLATES, kinds.AWS_CLUSTERS),
    {"instanceType": "m5.large"},
    {"spotMarketOptions": {}},
    {"region": "eu-west-1"},
    environment={"BOOT_TIME": "200ms"},
)
_REGION: Final = "us-east-1"
_ZONE: Final = f"{_REGION}a"
_GROUP: Final = "bench"
#: Virtual machines in one page of a list of all.
_AZURE_PAGE: Final = 200


def opened(cloud: str) -> AbstractContextManager[Shop]:
    """A cloud by its name, for as long as it is needed."""
    return _SHOPS[cloud]()


@contextmanager
def _sim() -> Iterator[Shop]:
    yield SIM


@contextmanager
def _gcp() -> Iterator[Shop]:
    from tools.gcp_server import GcpServer, GcpWorld

    with GcpServer(GcpWorld(operation_seconds=0.5, boot_seconds=0.5)) as server:
        yield Shop(
            "gcp",
            (kinds.GCP_MACHINES, kinds.GCP_TEMPLATES, kinds.GCP_CLUSTERS),
            {"instanceType": "n2-standard-4", "image": "projects/images/global/images/node-1"},
            {"provisioningModel": "Spot"},
            {"project": "p", "region": "europe-west1"},
            zone="europe-west1-b",
            environment={"CLOUD_ENDPOINT": server.url, "GOOGLE_CLOUD_PROJECT": "p"},
            lose=server.world.forget,
        )


@contextmanager
def _aws() -> Iterator[Shop]:
    from tools.aws_server import AwsServer

    from bench.aws_world import ENVIRONMENT

    with AwsServer(0) as server:
        account = server.furnished(_REGION)
        server.world.waits.boot = 0.5
        subnet, image = account.subnets[_ZONE], account.images["al2023", "x86_64"]
        yield Shop(
            "aws",
            (kinds.AWS_MACHINES, kinds.AWS_TEMPLATES, kinds.AWS_CLUSTERS),
            {"instanceType": "m5.large", "ami": {"id": image}, "subnet": {"id": subnet}},
            {"spotMarketOptions": {}},
            {"region": _REGION},
            zone=_ZONE,
            environment={**ENVIRONMENT, "CLOUD_ENDPOINT": server.url, "AWS_REGION": _REGION},
            lose=_lose_on_aws,
        )


def _lose_on_aws(name: str) -> None:
    from moto.ec2.models import ec2_backends
    from tools.aws_server.instances import view
    from tools.aws_server.lives import end, everyone
    from tools.aws_server.parameters import ACCOUNT

    for one in everyone(ec2_backends[ACCOUNT][_REGION]):
        if {"Key": "Name", "Value": name} in view(one)["Tags"]:
            end(one)


@contextmanager
def _azure() -> Iterator[Shop]:
    disk = {"osType": "Linux", "diskSizeGB": 30, "managedDisk": {"storageAccountType": "Premium_LRS"}}
    image = {"computeGallery": {"gallery": "ClusterAPI", "name": "node", "version": "1.34.0"}}
    with _azure_server() as (url, subscription, evict):
        yield Shop(
            "azure",
            (kinds.AZURE_MACHINES, kinds.AZURE_TEMPLATES, kinds.AZURE_CLUSTERS),
            {"vmSize": "Standard_D2s_v5", "osDisk": disk, "image": image, "sshPublicKey": ""},
            {"spotVMOptions": {}},
            {"location": "westeurope", "resourceGroup": _GROUP, "subscriptionID": subscription},
            environment={"CLOUD_ENDPOINT": url, "AZURE_SUBSCRIPTION_ID": subscription},
            lose=evict,
        )


@contextmanager
def _azure_server() -> Iterator[tuple[str, str, Callable[[str], object]]]:
    """In a loop of its own, beside whoever measures."""
    from tools.azure_server import AzureServer

    async def serve() -> None:
        async with AzureServer() as server:
            server.page, server.world.waits.make = _AZURE_PAGE, 0.5
            loop = asyncio.get_running_loop()
            evict = server.world.evict
            told.append((server.url, server.world.subscription, lambda name: loop.call_soon_threadsafe(evict, name)))
            up.set()
            await asyncio.to_thread(over.wait)

    told: list[tuple[str, str, Callable[[str], object]]] = []
    up, over = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="azure server", daemon=True)
    thread.start()
    assert up.wait(60), "the Azure server did not come up"
    try:
        yield told[0]
    finally:
        over.set()
        thread.join(10)


_SHOPS: Final[dict[str, Callable[[], AbstractContextManager[Shop]]]] = {
    "sim": _sim,
    "gcp": _gcp,
    "aws": _aws,
    "azure": _azure,
}
