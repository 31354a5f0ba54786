"""AWS in the contract suite: the real SDK against the test server.

The suite makes a world before there is an event loop, and changes node classes while one runs. So a class is looked at
in a thread of its own, and the client has connections for each loop, closed when the loop ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

from moto.ec2.models import ec2_backends
from tests.clouds.aws.classes import HOME, node_class
from tests.clouds.aws.selling import CLASS, region
from tests.clouds.aws.shop import SOON
from tools.aws_server import Account, AwsServer
from tools.aws_server.lives import everyone, is_live, life_of
from tools.aws_server.parameters import ACCOUNT

from dovetail.clouds.aws.access import Access
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.cloud import AwsCloud
from dovetail.clouds.aws.described import id_of
from dovetail.clouds.aws.instances import Windows
from dovetail.clouds.aws.options import Habits, Options
from dovetail.clouds.aws.region import Region, of_any_account
from dovetail.clouds.port import Cloud
from dovetail.core import labels
from dovetail.core.catalog.prices import NANO
from dovetail.core.instances import Instance, Option
from dovetail.core.nodepools import NodeClassRef


@cache
def sold() -> Region:
    return of_any_account(region())


class LoopedAws(Aws):
    """Connections that belong to the loop they are used in, and are closed with it. Nothing is asked twice."""

    def __init__(self, server: AwsServer) -> None:
        super().__init__(Access("us-east-1", server.url, attempts=1))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kept: asyncio.Task[None] | None = None

    async def _client(self, service: str) -> Any:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._clients, self._stack = loop, {}, AsyncExitStack()
            self._kept = loop.create_task(self._closed_at_the_end(self._stack))
        return await super()._client(service)

    @staticmethod
    async def _closed_at_the_end(stack: AsyncExitStack) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await stack.aclose()


def now_in_a_thread(work: Coroutine[Any, Any, Any]) -> None:
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, work).result()


class AwsWorld:
    """`tests.contract.cloud.worlds.World` of an account with one class."""

    def __init__(self, server: AwsServer, account: Account) -> None:
        self.server, self.account = server, account
        self.node_class: NodeClassRef = CLASS
        self.clouds: list[AwsCloud] = []
        self._foreign: dict[str, str] = {}
        self._generation = 1
        self.cloud: Cloud = self.another()
        self._price()

    def another(self) -> AwsCloud:
        habits = Habits(lambda: self.server.world.now, fleets=SOON, windows=Windows(SOON, SOON))
        options = Options(HOME, lambda: "1.35", probes=False)
        cloud = AwsCloud(LoopedAws(self.server), sold(), options, habits)
        self._resolve(cloud, node_class(self.account))
        self.clouds.append(cloud)
        return cloud

    def _resolve(self, cloud: AwsCloud, wire: dict[str, Any]) -> None:
        wire["metadata"]["generation"] = self._generation
        cloud.set_node_class(CLASS, wire)
        now_in_a_thread(cloud.node_classes.resolve(CLASS, wire, ()))

    def _price(self) -> None:
        """Have EC2 ask what the catalogue says."""
        world = self.server.world
        for name, rows in region().listing.offerings.items():
            for row in rows:
                if row.price is None or row.zone is None:
                    continue
                if row.capacity_type == labels.SPOT:
                    world.spot[name, row.zone] = row.price.nanodollars / NANO
                else:
                    world.on_demand[name] = row.price.nanodollars / NANO

    def sell_out(self, options: tuple[Option, ...]) -> None:
        for one in options:
            row = one.offering
            self.server.world.sell_out(row.capacity_type or "*", one.instance_type.name, row.zone or "*")

    def break_class(self) -> None:
        self._generation += 1
        for cloud in self.clouds:
            gone = [{"tags": {"note": "its subnets are gone"}}]
            self._resolve(cloud, node_class(self.account, subnetSelectorTerms=gone))

    def remove_class(self) -> None:
        for cloud in self.clouds:
            cloud.set_node_class(CLASS, None)

    def throttle(self) -> None:
        self.server.world.throttle("*")

    async def foreign(self, name: str) -> str:
        """Of another cluster in the same account, with a claim of the same name."""
        backend = ec2_backends[ACCOUNT][self.account.region]
        known = self._foreign.get(name)
        alive = known is not None and any(one.id == known and is_live(one) for one in everyone(backend))
        if known is None or not alive:
            zone = self.account.zones[0]
            told = {"karpenter.sh/nodeclaim": name, "karpenter.sh/nodepool": "general", "eks:eks-cluster-name": "other"}
            told["karpenter.k8s.aws/ec2nodeclass"] = "default"
            made = backend.run_instances(
                *(self.account.images["al2023", "x86_64"], 1, None, []),
                instance_type="m5.large",
                is_instance_type_default=False,
                subnet_id=self.account.subnets[zone],
                tags={"instance": told},
            )
            self._foreign[name] = made.instances[0].id
        return f"aws:///{self.account.zones[0]}/{self._foreign[name]}"

    async def boots(self, instance: Instance) -> str:
        backend = ec2_backends[ACCOUNT][self.account.region]
        (found,) = [one for one in everyone(backend) if one.id == id_of(instance.provider_id)]
        return str(life_of(found).boots)
