"""The options of `dovetail machines`: those every controller has, and what its cloud has to be told."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from dovetail.core import timestamps
from dovetail.core.errors import BadValue
from dovetail.settings import operator
from dovetail.settings.operator import Operator
from dovetail.settings.options import Chosen, Option, one_of

CLOUDS: Final = ("aws", "gcp", "azure", "sim")
CORES: Final = ("auto", "own", "upstream")
LEASE: Final = "dovetail-machines"
_LEASE_NAME: Final = "leader-election-name"
#: Of the controller's options, those that are about the process and not about what it does.
_OF_PROCESS: Final = (
    *("metrics-port", "health-probe-port", "bind-address", "kube-client-qps", "kube-client-burst"),
    *("disable-leader-election", "leader-election-namespace", "log-level", "log-format"),
)


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """What holds for one run. What is left out is found as every tool of the cloud finds it."""

    cloud: str
    core: str
    process: Operator
    region: str = ""
    project: str = ""
    subscription: str = ""
    endpoint: str = ""
    boot_seconds: float = 10.0


def lease_of(cloud: str) -> str:
    """One for each cloud: a process of another cloud is no replica of this one."""
    return f"{LEASE}-{cloud}"


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise BadValue(f"{text[:80]!r} is no whole address; write one such as http://127.0.0.1:4566")
    return text


PROCESS_OPTIONS: Final = (
    *(one for one in operator.OPTIONS if one.name in _OF_PROCESS),
    Option(_LEASE_NAME, "LEADER_ELECTION_NAME", str, f"which lease ({LEASE}-CLOUD)"),
)
OPTIONS: Final = (
    Option(
        "core",
        "CLUSTER_API_CORE",
        one_of(*CORES),
        "who looks after Machines, MachineSets and MachineHealthChecks: own, upstream (Cluster API's controllers), or "
        "auto, whichever is installed (auto)",
        "WHO",
    ),
    Option("aws-region", "AWS_REGION", str, "aws: which region (as every AWS tool finds it)", "NAME"),
    Option("gcp-project", "GOOGLE_CLOUD_PROJECT", str, "gcp: which project (as the credentials say)", "ID"),
    Option("azure-subscription", "AZURE_SUBSCRIPTION_ID", str, "azure: which subscription; there is no default", "ID"),
    Option("cloud-endpoint", "CLOUD_ENDPOINT", _url, "ask here instead of the cloud; for tests", "URL"),
    Option("boot-time", "BOOT_TIME", timestamps.duration, "sim: how long an instance takes to run (10s)"),
)


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("--cloud", choices=CLOUDS, required=True, help="whose machines; one process for each cloud")
    group = parser.add_argument_group("options", "each may also be set in the environment; the flag wins")
    group.add_argument("--kubeconfig", metavar="FILE", help="default: what kubectl would use, or the pod's account")
    group.add_argument("--context", metavar="NAME", help="which context of it")
    for one in (*OPTIONS, *PROCESS_OPTIONS):
        one.add_to(group)


def read(flags: Namespace, environment: Mapping[str, str] | None = None, on_terminal: bool = False) -> MachineSettings:
    """Settle every option; a bad one names the flag or variable it stands in."""
    found = os.environ if environment is None else environment
    option = Chosen(OPTIONS, flags, found)
    process = Chosen(PROCESS_OPTIONS, flags, found)
    subscription = option("azure-subscription", "")
    if flags.cloud == "azure" and not subscription:
        raise BadValue("which subscription are the machines in? `az account show --query id`").at(
            "--azure-subscription"
        )
    return MachineSettings(
        flags.cloud,
        option("core", CORES[0]),
        operator.process(process, flags, found, lease=lease_of(flags.cloud), on_terminal=on_terminal),
        region=option("aws-region", ""),
        project=option("gcp-project", ""),
        subscription=subscription,
        endpoint=option("cloud-endpoint", ""),
        boot_seconds=option("boot-time", 10.0),
    )
