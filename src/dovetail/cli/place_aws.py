"""`dovetail run --cloud aws`: a kubeconfig, AWS credentials and a node class are all it needs, and it says which of
them is missing."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from dovetail.cli.places import Run
from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws import opening
from dovetail.clouds.aws.access import Access
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.cloud import AwsCloud
from dovetail.clouds.aws.intervals import Intervals
from dovetail.clouds.aws.options import Options
from dovetail.clouds.aws.parse import RULES
from dovetail.clouds.aws.region import Region
from dovetail.controllers.aws_metrics import AwsMetrics, declare_ages, declare_user_data
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.density import KUBERNETES_DENSITY, ByInterface
from dovetail.core.catalog.overhead import FlatOverhead
from dovetail.core.errors import BadInput
from dovetail.settings import aws as settings
from dovetail.settings.aws import AwsSettings

if TYPE_CHECKING:
    from fractions import Fraction

    from dovetail.controllers.cluster import Cluster
    from dovetail.controllers.controller import Choices
    from dovetail.controllers.operator import Actor
    from dovetail.controllers.surroundings import NameServer, Version
    from dovetail.kube.config import ClusterConfig
    from dovetail.settings import Settings

#: How the tools of EKS call a context: by the cluster's ARN, or eksctl's way.
_CONTEXTS: Final = (
    re.compile(r"arn:[^:]*:eks:[^:]*:[0-9]*:cluster/(?P<name>[0-9A-Za-z_-]+)", re.ASCII),
    re.compile(r"[^@]+@(?P<name>[0-9A-Za-z_-]+)\.[a-z0-9-]+\.eksctl\.io", re.ASCII),
)
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AwsPlace:
    """`cli.places.Place`; connections outlive every term, what is known of the account does not."""

    run: Run
    aws: Aws
    sold: Region
    options: Options
    ears: AwsMetrics
    version: Version
    name_server: NameServer

    @property
    def region(self) -> str:
        return self.sold.name

    @property
    def well_known(self) -> frozenset[str]:
        return aws_labels.DIALECT.well_known

    def actor(self, choices: Choices, may_act: Callable[[], bool]) -> Actor:
        from dovetail.controllers.controller import Controller
        from dovetail.controllers.dry_run import ReadOnly
        from dovetail.controllers.measuring import Measuring
        from dovetail.controllers.offering_gauges import OfferingGauges
        from dovetail.controllers.shifting import ShiftEvents
        from dovetail.controllers.solving import Aside
        from dovetail.controllers.telling import Telling
        from dovetail.kube.events import Recorder

        client = ReadOnly(self.run.client) if choices.dry_run else self.run.client
        cloud = AwsCloud(self.aws, self.sold, self.options, ears=self.ears)
        declare_ages(self.run.metrics, lambda: cloud.discovery.freshness.ages(time.time()).items())
        controller = Controller(client, cloud, Telling(Recorder(client), self.run.metrics), Aside(), choices)
        controller.hands.may_act = may_act
        measuring = Measuring(controller.cluster, cloud.market.saw_memory)
        declare_user_data(self.run.metrics, cloud.node_classes.resolver.user_data_sizes)
        OfferingGauges(controller.cluster, controller.catalogs, controller.now).declare(self.run.metrics)
        cloud.on_shift(ShiftEvents(controller.cluster, controller.telling.say))

        async def run() -> None:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(cloud.run(), name="aws")
                    group.create_task(measuring.run(), name="memory of nodes")
                    group.create_task(_told_of_classes(controller.cluster), name="node classes there are")
                    await controller.run()
            finally:
                await cloud.close()

        return run, lambda: controller.cluster.is_ready

    async def beside(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.version.run(), name="version of Kubernetes")
            group.create_task(self.name_server.run(), name="name server")


@asynccontextmanager
async def opened(run: Run) -> AsyncIterator[AwsPlace]:
    """Raises BadInput, in a sentence, with what is missing."""
    from dovetail.controllers.surroundings import NameServer, Version

    said = settings.read(run.flags)
    home = Home(_cluster_name(run), said.cluster_endpoint, said.cluster_authority or _authority(run.cluster))
    ears, version, name_server = AwsMetrics(run.metrics), Version(run.client), NameServer(run.client)
    async with Aws(Access(region=said.region), ears) as aws:
        sold = await opening.opened(aws)
        await version.look()
        await name_server.look()
        around = Surroundings(lambda: version.text, lambda: name_server.text)
        options = options_of(said, home, run.console.settings, around, run.chosen.dry_run)
        yield AwsPlace(run, aws, sold, options, ears, version, name_server)


async def _told_of_classes(cluster: Cluster) -> None:
    """Say it where the one thing is missing that AWS cannot be asked for."""
    await cluster.synced()
    if not any(len(store) for store in cluster.classes.values()):
        _log.warning("there is no EC2NodeClass, so nothing can be bought; apply one, and a NodePool that names it")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of the cluster at any time: its version of Kubernetes, and where its name server is."""

    kubernetes: Callable[[], str]
    name_server: Callable[[], str]


def options_of(said: AwsSettings, home: Home, shared: Settings, around: Surroundings, dry_run: bool) -> Options:
    """What was said, as the cloud takes it. Classes are looked at no oftener for a shorter interval."""
    usual = Intervals()
    return Options(
        home,
        around.kubernetes,
        node_rules(said, shared.vm_memory_overhead),
        queue=said.queue,
        isolated=said.isolated,
        probes=said.dry_runs,
        reserved=shared.gate("ReservedCapacity"),
        read_only=dry_run,
        zonal_shift=said.zonal_shift,
        name_server=around.name_server,
        reboots=said.reboots,
        formulas=said.formulas,
        intervals=Intervals(
            images=max(said.image_seconds, usual.images),
            subnets=max(said.subnet_seconds, usual.subnets),
            groups=max(said.group_seconds, usual.groups),
        ),
    )


def node_rules(said: AwsSettings, overhead: Fraction | None) -> NodeRules:
    """How nodes are set up where a class does not say."""
    density = ByInterface(said.reserved_interfaces, said.prefix_delegation) if said.by_interface else KUBERNETES_DENSITY
    rules = replace(RULES, density=density)
    return rules if overhead is None else replace(rules, vm_overhead=FlatOverhead(overhead))


def _cluster_name(run: Run) -> str:
    """As it was said, or as the kubeconfig of an EKS cluster has it."""
    from dovetail.kube import kubeconfig

    if run.chosen.cluster_name:
        return run.chosen.cluster_name
    files = kubeconfig.files_of(run.chosen.kubeconfig, os.environ)
    context = kubeconfig.chosen(kubeconfig.merged(files), run.chosen.context).context if files else ""
    found = next((match for one in _CONTEXTS if (match := one.fullmatch(context)) is not None), None)
    if found is None:
        raise BadInput(
            "the cluster's name, which machines are tagged with, is not known; set --cluster-name, or CLUSTER_NAME"
        )
    return found["name"]


def _authority(cluster: ClusterConfig) -> str:
    """What the kubeconfig trusts the cluster by, "" where that is the system's own list."""
    pem = cluster.trust.authority
    try:
        return base64.b64encode(pem.read()).decode() if pem is not None else ""
    except OSError:
        return ""
