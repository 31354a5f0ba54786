"""`dovetail handler`: what runs on a node that its cloud may take away.

Everything is imported when it is needed and no sooner: one such process runs on every interruptible node there is.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.settings import handler as settings

if TYPE_CHECKING:
    from dovetail.handler.process import Choices
    from dovetail.kube.config import ClusterConfig

EXAMPLES: Final = (
    ('dovetail handler --node-name "$NODE_NAME"', "in a pod, on the cloud the Node names"),
    ("dovetail handler --node-name n1 --cloud gcp --dry-run", "see notices, change nothing"),
    ("dovetail handler --node-name n1 --on-rebalance drain", "leave before the interruption comes"),
    ("dovetail handler --node-name n1 --cloud aws --metadata-url http://127.0.0.1:1338", "against a mock, from a desk"),
)
NOTES: Final = """\
It runs until it is told to stop (SIGTERM or Ctrl-C) and exits with 0. `dovetail install --handler` puts it on every
node with the label cluster.x-k8s.io/interruptible."""


def configure(parser: ArgumentParser) -> None:
    settings.add_flags(parser)


def run(flags: Namespace, console: Console) -> int:
    chosen = settings.read(flags, on_terminal=sys.stdout.isatty())
    from dovetail.handler import lean

    lean.load()  # before anything else loads the HTTP client
    import asyncio

    from dovetail.controllers import logs
    from dovetail.kube import config

    logs.set_up(chosen.log_level, chosen.log_format, sys.stdout)
    cluster = config.load(chosen.kubeconfig, chosen.context, os.environ)
    for warning in cluster.warnings:
        console.note(warning)
    asyncio.run(_until_told(_choices(chosen), cluster))
    return Exit.OK


async def _until_told(choices: Choices, cluster: ClusterConfig) -> None:
    from dovetail.cli import ending
    from dovetail.handler.process import Process
    from dovetail.kube.client import Client
    from dovetail.kube.transport import Options

    async with Client(cluster, Options(user_agent="dovetail-handler")) as client:
        await ending.until_told(Process(client, choices).run)


def _choices(chosen: settings.Settings) -> Choices:
    from dovetail.handler.process import Choices

    return Choices(
        chosen.node,
        chosen.cloud,
        chosen.metadata_url,
        poll=chosen.poll,
        reserve=chosen.reserve,
        max_age=chosen.max_age,
        events=chosen.events,
        bind=chosen.bind,
        port=chosen.port or -1,
        own_pod=chosen.own_pod,
        policy=chosen.policy,
    )
