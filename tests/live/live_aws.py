"""A whole cluster on AWS in this process: the embedded API server, the real SDK against the test server, machines that
join when they run, and the controller under test, all in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any, Self

from tests.clouds.aws.classes import HOME, node_class
from tests.clouds.aws.orders import kinds as sold_kinds
from tests.clouds.aws.selling import region
from tests.live import objects
from tests.live.aws_time import AwsLoop, HeldAws
from tests.live.live import SOON, Live, here, solve_here
from tools.aws_server import Account, AwsServer
from tools.aws_server.kubelets import Joined, provider_id

from dovetail.api import kinds
from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.cloud import AwsCloud
from dovetail.clouds.aws.options import Habits, Options
from dovetail.clouds.aws.region import of_any_account
from dovetail.controllers import declared
from dovetail.controllers.aws_metrics import AwsMetrics
from dovetail.controllers.controller import Choices, Controller
from dovetail.controllers.dry_run import ReadOnly
from dovetail.controllers.measuring import Measuring
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.telling import Telling
from dovetail.core import labels
from dovetail.core.catalog.prices import NANO
from dovetail.core.scheduling.problem import Options as Planning
from dovetail.kube.client import Client
from dovetail.kube.events import Recorder

Object = dict[str, Any]
REF = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
#: What pools here buy: enough to choose from, and quick to plan with.
TYPES = ("m5.large", "m5.xlarge", "m5.2xlarge", "c5.large", "c5.xlarge", "c5.2xlarge", "r7i.large")
KUBELET_SECONDS = 1.0
KNOWING = Planning(well_known=labels.WELL_KNOWN | aws_labels.DIALECT.well_known)


def needs(key: str, *values: str) -> Object:
    return {"key": key, "operator": "In", "values": list(values)}


def pool(*more: Object, capacity: tuple[str, ...] = (labels.ON_DEMAND,), **spec: Any) -> Object:
    wanted = [needs(labels.INSTANCE_TYPE, *TYPES), needs(labels.CAPACITY_TYPE, *capacity), *more]
    return objects.pool(nodeClassRef=REF, requirements=[*objects.LINUX, *wanted], **spec)


class LiveAws(Live):
    """One cluster and its account. Machines boot for five seconds."""

    provider = "aws"

    def __init__(
        self, server: AwsServer, account: Account, choices: Choices | None = None, *, pool_: Object | None = None
    ) -> None:
        super().__init__(replace(choices or Choices(window=SOON), options=KNOWING), pool=pool_ or pool())
        self.aws_server, self.account = server, account
        loop = asyncio.get_running_loop()
        assert isinstance(loop, AwsLoop)
        server.world.clock = loop.date
        server.world.waits.boot = 5.0
        server.world.waits.shutdown = 3.0
        self.joined = Joined(lambda node: self.put(kinds.NODES, node), self._lost)
        self._price()

    def _price(self) -> None:
        """Have EC2 ask what the catalogue says."""
        world = self.aws_server.world
        for name in TYPES:
            for row in sold_kinds()[name].offerings:
                if row.price is not None and row.zone is not None:
                    amount = row.price.nanodollars / NANO
                    if row.capacity_type == labels.SPOT:
                        world.spot[name, row.zone] = amount
                    else:
                        world.on_demand[name] = amount

    def furnish(self) -> None:
        made = node_class(self.account)
        self.put(kinds.EC2_NODE_CLASSES, {"metadata": {"name": "default"}, "spec": made["spec"]})

    async def __aenter__(self) -> Self:
        # The last to be closed, as everybody asks it.
        self.aws = await self._opened.enter_async_context(HeldAws(self.aws_server.url))
        kubelets = asyncio.create_task(self._kubelets(), name="kubelets")
        self._opened.callback(kubelets.cancel)
        return await super().__aenter__()

    async def _kubelets(self) -> None:
        while True:
            await asyncio.sleep(KUBELET_SECONDS)
            self.joined.look()

    def _lost(self, name: str) -> None:
        """A kubelet has stopped, and its Node control plane notices."""
        with contextlib.suppress(Exception):
            said = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
            self.edit(kinds.NODES, name, {"status": {"conditions": [said]}}, subresource="status")

    # ---- the process

    def build(self, client: Client | None = None, **changed: Any) -> Controller:
        mine = client or self.client
        if self.choices.dry_run:
            mine = ReadOnly(mine)
        now = self.world.now
        self.metrics = declared.declare(Metrics())
        options = Options(HOME, lambda: "1.35", isolated=True, read_only=self.choices.dry_run)
        aws = changed.pop("aws", self.aws)
        self.cloud = AwsCloud(aws, of_any_account(region()), options, Habits(now), AwsMetrics(self.metrics))
        clock = self.world.clock()
        telling = Telling(Recorder(mine, "test", clock=clock), self.metrics)
        return Controller(mine, self.cloud, telling, solve_here, self.choices, clock, here, **changed)

    async def acting(self, controller: Controller) -> None:
        cloud = self.cloud
        try:
            async with asyncio.TaskGroup() as group:
                if self.discovers:
                    group.create_task(cloud.run(), name="aws")
                group.create_task(Measuring(controller.cluster, cloud.market.saw_memory).run(), name="memory")
                await controller.run()
        finally:
            await cloud.close()

    #: Whether types and prices are asked for; a test that is not about them saves itself a second.
    discovers = False

    # ---- what there is

    def machines(self) -> set[str]:
        """Provider ids of all that are paid for."""
        return {provider_id(one) for one in self.joined.machines()}

    def claimed(self) -> set[str]:
        return {(one.get("status") or {}).get("providerID", "") for one in self.claims()}

    def is_whole(self) -> bool:
        """Claims, Nodes and machines are the same, one each, and every pod runs."""
        nodes = {one["spec"]["providerID"] for one in self.nodes()}
        return self.machines() == self.claimed() == nodes and len(self.running()) == len(self.all(kinds.PODS))
