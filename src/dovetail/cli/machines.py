"""`dovetail machines`: Cluster API's infrastructure machines of one cloud, on a real cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.core.errors import BadInput
from dovetail.settings import machines as settings

if TYPE_CHECKING:
    from dovetail.controllers.cluster_api.process import MachineProcess
    from dovetail.kube.client import Client
    from dovetail.kube.config import ClusterConfig
    from dovetail.settings.machines import MachineSettings

_log: Final = logging.getLogger("dovetail.cli.machines")
EXAMPLES: Final = (
    ("dovetail machines --cloud aws --aws-region eu-west-1", "AWSMachines, with whichever core is installed"),
    ("dovetail machines --cloud gcp --core upstream", "GCPMachines; Cluster API's controllers do the rest"),
    ("dovetail machines --cloud azure --azure-subscription ID", "AzureMachines"),
    ("dovetail machines --cloud sim --core own", "no cloud: instances in memory, to try things on"),
)
NOTES: Final = """\
One process looks after one cloud; for two clouds run two. It runs until it is told to stop (SIGTERM or Ctrl-C), gives
its lease back and exits with 0. `dovetail install --machines CLOUD` puts it into a cluster."""


def configure(parser: ArgumentParser) -> None:
    settings.add_flags(parser)


def run(flags: Namespace, console: Console) -> int:
    from dovetail.cli.ending import until_told
    from dovetail.controllers import logs
    from dovetail.kube import config

    chosen = settings.read(flags, on_terminal=sys.stdout.isatty())
    process = chosen.process
    logs.set_up(process.log_level, process.log_format, sys.stdout)
    cluster = config.load(process.kubeconfig, process.context, os.environ)
    for warning in cluster.warnings:
        console.note(warning)
    asyncio.run(until_told(lambda: _operate(chosen, cluster)))
    return Exit.OK


async def _operate(chosen: MachineSettings, cluster: ClusterConfig) -> None:
    from dovetail.cli import machine_clouds
    from dovetail.controllers import web
    from dovetail.controllers.cluster_api import gauges, switch
    from dovetail.controllers.cluster_api.process import MachineProcess
    from dovetail.controllers.metrics import Metrics
    from dovetail.kube.client import Client
    from dovetail.kube.errors import KubeError
    from dovetail.kube.fairness import Limits
    from dovetail.kube.transport import Options

    metrics = gauges.declare(Metrics())
    web.declare_process(metrics)
    limits = Limits(rate=float(chosen.process.qps), burst=chosen.process.burst)
    wanted = {"own": switch.Core.OURS, "upstream": switch.Core.UPSTREAM}.get(chosen.core)
    async with Client(cluster, Options(limits=limits, user_agent="dovetail-machines")) as client:
        try:
            core = await switch.settled(client, wanted)
        except KubeError as problem:
            raise BadInput(f"the cluster could not be asked whose core runs: {problem}") from None
        async with machine_clouds.opened(chosen, client) as found, asyncio.TaskGroup() as group:
            _log.info("machines of %s; the core is %s", chosen.cloud, core)
            process = MachineProcess(client, found.clouds, core, metrics)
            group.create_task(_replica(chosen, client, process))
            group.create_task(process.watch_core())
            group.create_task(found.beside())


async def _replica(chosen: MachineSettings, client: Client, process: MachineProcess) -> None:
    from dovetail.controllers.operator import Replica
    from dovetail.kube.lease import Terms

    said = chosen.process
    terms = Terms(said.lease_namespace, name=said.lease_name) if said.leader_election else None
    await Replica(client, process.actor, process.metrics, terms, said.bind, said.metrics_port, said.health_port).run()
