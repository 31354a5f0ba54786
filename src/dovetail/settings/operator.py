"""The options of the controller, under the names Karpenter's chart sets: a flag wins over the environment (§5.1)."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeVar

from dovetail.core import timestamps
from dovetail.core.disruption import budgets
from dovetail.core.disruption.budgets import Budget
from dovetail.core.errors import BadValue
from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.scheduling.problem import PreferencePolicy
from dovetail.settings.options import LEVELS, Chosen, Option, port, switch

E = TypeVar("E", bound=StrEnum)
LEASE: Final = "karpenter-leader-election"
_LOOPBACK: Final = "127.0.0.1"
_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104  (only inside a pod, where the kubelet has to reach the probes)
_NAMESPACE_FILE: Final = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"


@dataclass(frozen=True, slots=True)
class Operator:
    """What holds for one run of the controller."""

    kubeconfig: str | None = None
    context: str | None = None
    metrics_port: int = 8080
    health_port: int = 8081
    bind: str = _LOOPBACK
    qps: int = 200
    burst: int = 300
    leader_election: bool = True
    lease_name: str = LEASE
    lease_namespace: str = ""
    log_level: str = "info"
    log_format: str = "json"
    batch_idle: float = 1.0
    batch_max: float = 10.0
    preferences: PreferencePolicy = PreferencePolicy.RESPECT
    min_values: MinValuesPolicy = MinValuesPolicy.STRICT
    scheduler_config: str = ""
    types_file: str = ""
    cluster_name: str = ""
    own_kubelets: bool = False
    observe: bool = True
    disruption_budget: tuple[Budget, ...] = ()
    legacy_repair: bool = False
    staggered_expiry: bool = False
    dry_run: bool = False


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) == int(text)):
        raise BadValue(f"{text[:40]!r} is not a whole number above 0")
    return int(text)


def _level(text: str) -> str:
    if text.lower() not in LEVELS:
        raise BadValue(f"{text[:40]!r} is no level; use debug, info, warn or error")
    return text.lower()


def _format(text: str) -> str:
    if text not in ("json", "console"):
        raise BadValue(f"{text[:40]!r} is neither json nor console")
    return text


def _kubelets(text: str) -> bool:
    """Whether they are our own."""
    if text not in ("internal", "external"):
        raise BadValue(f"{text[:40]!r} is neither internal nor external")
    return text == "internal"


def _preferences(text: str) -> PreferencePolicy:
    return _one_of(PreferencePolicy, text)


def _min_values(text: str) -> MinValuesPolicy:
    return _one_of(MinValuesPolicy, text)


def _one_of(choices: type[E], text: str) -> E:
    try:
        return choices(text)
    except ValueError:
        raise BadValue(f"{text[:40]!r} is neither {' nor '.join(choices)}") from None


OPTIONS: Final = (
    Option("metrics-port", "METRICS_PORT", port, "where /metrics is served (8080; 0 for nowhere)", "PORT"),
    Option("health-probe-port", "HEALTH_PROBE_PORT", port, "where /healthz and /readyz are (8081; 0 for nowhere)"),
    Option(
        "bind-address", "BIND_ADDRESS", str, "for metrics and probes; loopback, unless run inside a cluster", "HOST"
    ),
    Option("kube-client-qps", "KUBE_CLIENT_QPS", _count, "requests a second to the API server (200)"),
    Option("kube-client-burst", "KUBE_CLIENT_BURST", _count, "and so many at once (300)"),
    Option("disable-leader-election", "DISABLE_LEADER_ELECTION", switch, "act without a lease (false)"),
    Option("leader-election-name", "LEADER_ELECTION_NAME", str, f"which lease ({LEASE})"),
    Option("leader-election-namespace", "LEADER_ELECTION_NAMESPACE", str, "where it is (the namespace run in)"),
    Option("log-level", "LOG_LEVEL", _level, "debug, info, warn or error (info)", "LEVEL"),
    Option("log-format", "LOG_FORMAT", _format, "json or console (console on a terminal)", "FORMAT"),
    Option("batch-idle-duration", "BATCH_IDLE_DURATION", timestamps.duration, "a batch ends when nothing came (1s)"),
    Option("batch-max-duration", "BATCH_MAX_DURATION", timestamps.duration, "and after so long at the latest (10s)"),
    Option("preference-policy", "PREFERENCE_POLICY", _preferences, "Respect or Ignore"),
    Option("min-values-policy", "MIN_VALUES_POLICY", _min_values, "Strict or BestEffort"),
    Option("scheduler-config", "SCHEDULER_CONFIG", str, "default spread constraints: a file, or the YAML itself"),
    Option("instance-types-file-path", "INSTANCE_TYPES_FILE_PATH", str, "kwok: the types there are", "FILE"),
    Option("kubelets", "KUBELETS", _kubelets, "kwok: who plays kubelet, external (a kwok controller) or internal"),
    Option(
        "disable-cluster-state-observability",
        "DISABLE_CLUSTER_STATE_OBSERVABILITY",
        switch,
        "no series for each node and pod (false)",
    ),
    Option("legacy-node-repair", "LEGACY_NODE_REPAIR", switch, "repair without budgets, as before 1.15 (false)"),
    Option(
        "staggered-expiry",
        "STAGGERED_EXPIRY",
        switch,
        "replace nodes that are too old within budgets, the oldest first, instead of deleting them at once (false)",
    ),
    Option(
        "disruption-budget",
        "DISRUPTION_BUDGET",
        budgets.of_cluster,
        "what all pools together may lose at once, such as `10%; Drifted: 5` (no limit)",
        "BUDGETS",
    ),
    Option("cluster-name", "CLUSTER_NAME", str, "what this cluster is called in logs and tags"),
)


def add_flags(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("options", "each may also be set in the environment; the flag wins")
    group.add_argument("--kubeconfig", metavar="FILE", help="default: what kubectl would use, or the pod's account")
    group.add_argument("--context", metavar="NAME", help="which context of it")
    group.add_argument("--dry-run", action="store_true", help="decide and tell, but change nothing")
    for one in OPTIONS:
        one.add_to(group)


def read(flags: Namespace, environment: Mapping[str, str] | None = None, on_terminal: bool = False) -> Operator:
    """Settle every option; a bad one names the flag or variable it stands in."""
    found = os.environ if environment is None else environment
    option = Chosen(OPTIONS, flags, found)
    return replace(
        process(option, flags, found, on_terminal=on_terminal),
        batch_idle=option("batch-idle-duration", 1.0),
        batch_max=option("batch-max-duration", 10.0),
        preferences=option("preference-policy", PreferencePolicy.RESPECT),
        min_values=option("min-values-policy", MinValuesPolicy.STRICT),
        scheduler_config=option("scheduler-config", ""),
        types_file=option("instance-types-file-path", ""),
        cluster_name=option("cluster-name", ""),
        own_kubelets=option("kubelets", False),
        legacy_repair=option("legacy-node-repair", False),
        staggered_expiry=option("staggered-expiry", False),
        disruption_budget=option("disruption-budget", ()),
        observe=not option("disable-cluster-state-observability", False),
        dry_run=bool(flags.dry_run),
    )


def process(
    option: Chosen, flags: Namespace, found: Mapping[str, str], *, lease: str = LEASE, on_terminal: bool = False
) -> Operator:
    """What holds for the process itself, whatever it does."""
    inside = bool(found.get("KUBERNETES_SERVICE_HOST")) and not flags.kubeconfig and not found.get("KUBECONFIG")
    return Operator(
        kubeconfig=flags.kubeconfig,
        context=flags.context,
        metrics_port=option("metrics-port", 8080),
        health_port=option("health-probe-port", 8081),
        bind=option("bind-address", _EVERYWHERE if inside else _LOOPBACK),
        qps=option("kube-client-qps", 200),
        burst=option("kube-client-burst", 300),
        leader_election=not option("disable-leader-election", False),
        lease_name=option("leader-election-name", lease),
        lease_namespace=option("leader-election-namespace", "") or found.get("SYSTEM_NAMESPACE") or _namespace(),
        log_level=option("log-level", "info"),
        log_format=option("log-format", "console" if on_terminal else "json"),
    )


def _namespace() -> str:
    """The namespace of the pod this runs in, or where such things usually run."""
    try:
        with open(_NAMESPACE_FILE, encoding="utf-8") as file:
            return file.read().strip() or "kube-system"
    except OSError:
        return "kube-system"
