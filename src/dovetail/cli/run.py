"""`dovetail run`: the controller, on a real cluster."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import ArgumentParser, Namespace
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final

from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.core.errors import BadInput
from dovetail.settings import aws, operator

if TYPE_CHECKING:
    from dovetail.api.scheduler_config import Defaults
    from dovetail.cli.places import Place, Run
    from dovetail.controllers.controller import Choices
    from dovetail.kube.config import ClusterConfig

CLOUDS: Final = ("kwok", "aws", "cluster-api")
EXAMPLES: Final = (
    ("dovetail run --cloud kwok --kubeconfig first.kubeconfig", "simulated machines, on a cluster to try things on"),
    ("dovetail run --cloud aws --cluster-name prod --dry-run", "decide and tell, but change nothing"),
    ("dovetail run --cloud aws --cluster-name prod --interruption-queue prod", "buy on EC2"),
)
NOTES: Final = """\
It runs until it is told to stop (SIGTERM or Ctrl-C), gives its lease back and exits with 0. `dovetail install` puts it
into a cluster."""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--cloud", choices=CLOUDS, default=CLOUDS[0], help="whose machines (default kwok)")
    operator.add_flags(parser)
    aws.add_flags(parser)


def run(flags: Namespace, console: Console) -> int:
    from dovetail.cli.ending import until_told
    from dovetail.controllers import logs
    from dovetail.kube import config

    chosen = operator.read(flags, on_terminal=sys.stdout.isatty())
    logs.set_up(chosen.log_level, chosen.log_format, sys.stdout)
    cluster = config.load(chosen.kubeconfig, chosen.context, os.environ)
    for warning in cluster.warnings:
        console.note(warning)
    asyncio.run(until_told(lambda: _operate(flags, chosen, console, cluster)))
    return Exit.OK


async def _operate(flags: Namespace, chosen: operator.Operator, console: Console, cluster: ClusterConfig) -> None:
    from dovetail.cli.places import Run
    from dovetail.controllers import declared, web
    from dovetail.controllers.metrics import Metrics
    from dovetail.kube.client import Client
    from dovetail.kube.fairness import Limits
    from dovetail.kube.transport import Options

    metrics = declared.declare(Metrics())
    web.declare_process(metrics)
    limits = Limits(rate=float(chosen.qps), burst=chosen.burst)
    async with Client(cluster, Options(limits=limits)) as client:
        one = Run(flags, chosen, console, cluster, client, metrics)
        async with _opened(one) as place, asyncio.TaskGroup() as group:
            group.create_task(_replica(one, place))
            group.create_task(place.beside())


def _opened(run: Run) -> AbstractAsyncContextManager[Place]:
    """The cloud that was chosen; only its own modules are read."""
    if run.flags.cloud == "aws":
        from dovetail.cli import place_aws

        return place_aws.opened(run)
    if run.flags.cloud == "cluster-api":
        from dovetail.cli import place_cluster_api

        return place_cluster_api.opened(run)
    from dovetail.cli import place_kwok

    return place_kwok.opened(run)


async def _replica(run: Run, place: Place) -> None:
    from dovetail.controllers.operator import Replica
    from dovetail.kube.lease import Terms

    chosen, choices = run.chosen, _choices(run.chosen, place, run.console)
    # A dry run writes nothing, so it needs no lease and takes nobody else's.
    elected = chosen.leader_election and not chosen.dry_run
    terms = Terms(chosen.lease_namespace, name=chosen.lease_name) if elected else None
    await Replica(
        run.client,
        lambda may_act: place.actor(choices, may_act),
        run.metrics,
        terms,
        chosen.bind,
        chosen.metrics_port,
        chosen.health_port,
    ).run()


def _choices(chosen: operator.Operator, place: Place, console: Console) -> Choices:
    from dovetail.controllers.batching import Window
    from dovetail.controllers.controller import Choices
    from dovetail.core import labels
    from dovetail.core.disruption.facts import Gates
    from dovetail.core.scheduling.problem import Options
    from dovetail.settings import NODE_OVERLAY

    gate = console.settings.gate
    known = labels.WELL_KNOWN | place.well_known
    return Choices(
        window=Window(chosen.batch_idle, chosen.batch_max),
        options=Options(chosen.preferences, chosen.min_values, gate("ReservedCapacity"), well_known=known),
        spread=_spread(chosen.scheduler_config),
        overlays=gate(NODE_OVERLAY),
        buffers=gate("CapacityBuffer"),
        static=gate("StaticCapacity"),
        gates=Gates(
            node_repair=gate("NodeRepair"),
            spot_to_spot=gate("SpotToSpotConsolidation"),
            terminate_first_drift=gate("TerminateFirstDrift"),
            terminate_first_repair=gate("TerminateFirstRepair"),
            writes_deletion_cost=gate("PodDeletionCostManagement"),
            staggered_expiry=chosen.staggered_expiry,
        ),
        legacy_repair=chosen.legacy_repair,
        disruption_budgets=chosen.disruption_budget,
        region=place.region,
        dry_run=chosen.dry_run,
        observe=chosen.observe,
        freeze=True,
    )


def _spread(text: str) -> Defaults:
    """Default constraints: the YAML itself, or the file it is in."""
    from dovetail.api import scheduler_config

    if not text:
        return scheduler_config.NO_DEFAULTS
    if ":" in text and not os.path.exists(text):
        return scheduler_config.read(text, "scheduler-config")
    try:
        with open(text, encoding="utf-8") as file:
            return scheduler_config.read(file.read(), text)
    except OSError as problem:
        raise BadInput(f"scheduler-config: {text[:80]}: {problem.strerror}") from None
