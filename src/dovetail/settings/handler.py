"""The options of the termination handler: a flag wins over its variable in the environment.

This module is loaded on every node, so it knows nothing of the controller's options and what they bring with them.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from dovetail.core import timestamps
from dovetail.core.errors import BadValue
from dovetail.core.handler.notices import Kind
from dovetail.core.handler.policy import EFFECTS, NO_SCHEDULE, RESPONSES, Policy, Response
from dovetail.settings.options import LEVELS, TRUE, Chosen, Option, one_of, port, switch

PORT: Final = 9810
CLOUDS: Final = ("auto", "aws", "gcp", "azure")
METADATA_URL: Final = "http://169.254.169.254"
_RESPONSES: Final = {one.name.lower(): one for one in Response}


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for one run of the handler. None is whatever suits the cloud."""

    node: str
    cloud: str = ""
    metadata_url: str = METADATA_URL
    poll: float | None = None
    reserve: float | None = None
    max_age: float = 0.0
    events: bool = True
    bind: str = "127.0.0.1"
    port: int = PORT
    own_pod: str = ""
    log_level: str = "info"
    log_format: str = "json"
    kubeconfig: str | None = None
    context: str | None = None
    policy: Policy = field(default_factory=Policy)


def _response(text: str) -> Response:
    return _RESPONSES[one_of(*_RESPONSES)(text)]


def _share(text: str) -> float:
    """`0.5` or `50%`."""
    number = text.removesuffix("%")
    plain = number.isascii() and len(number) < 20 and number.replace(".", "", 1).isdigit()
    share = float(number) / (100 if text.endswith("%") else 1) if plain else -1.0
    if not 0 <= share <= 1:
        raise BadValue(f"{text[:40]!r} is not a share; write 0.5 or 50%")
    return share


def _poll(text: str) -> float:
    seconds = timestamps.duration(text)
    if not 0.1 <= seconds <= 300:
        raise BadValue(f"{text[:40]!r} is out of bounds; between 100ms and 5m is possible")
    return seconds


def _url(text: str) -> str:
    if not text.startswith("http://") or any(char.isspace() for char in text) or not _names_a_server(text):
        raise BadValue(f"{text[:60]!r} is no address of a metadata server, such as {METADATA_URL}")
    return text


def _names_a_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _told(kind: Kind) -> str:
    return f"ignore, mark or drain ({RESPONSES[kind].name.lower()})"


OPTIONS: Final = (
    Option("node-name", "NODE_NAME", str, "the node this runs on", "NAME"),
    Option("cloud", "CLOUD", one_of(*CLOUDS), "aws, gcp or azure (auto: read off the Node's provider ID)", "CLOUD"),
    Option("metadata-url", "METADATA_URL", _url, f"where the metadata server is ({METADATA_URL})", "URL"),
    Option("poll-interval", "POLL_INTERVAL", _poll, "how often it is asked (aws 2s, azure 1s; gcp waits 60s)"),
    Option("on-preempt", "ON_PREEMPT", _response, f"interruption, preemption: {_told(Kind.PREEMPT)}"),
    Option("on-rebalance", "ON_REBALANCE", _response, f"a recommendation to leave: {_told(Kind.REBALANCE)}"),
    Option("on-maintenance", "ON_MAINTENANCE", _response, f"stop, reboot, redeploy: {_told(Kind.MAINTENANCE)}"),
    Option("on-freeze", "ON_FREEZE", _response, f"live migration: {_told(Kind.FREEZE)}"),
    Option("on-age-limit", "ON_AGE_LIMIT", _response, f"--max-age is nearly over: {_told(Kind.AGE_LIMIT)}"),
    Option("max-age", "MAX_AGE", timestamps.duration, "leave before the machine has run for so long (0s: never)"),
    Option("maintenance-lead", "MAINTENANCE_LEAD", timestamps.duration, "act on maintenance so long ahead (15m)"),
    Option("reserve", "RESERVE", timestamps.duration, "of the notice, left over at the end (aws 10s, others 5s)"),
    Option("force-after", "FORCE_AFTER", _share, "heed disruption budgets for this share of the time (0.5)", "SHARE"),
    Option("pod-grace", "POD_GRACE", timestamps.duration, "no pod gets more grace than this (its own)"),
    Option("taint-effect", "TAINT_EFFECT", one_of(*EFFECTS), f"of the taint on the node ({NO_SCHEDULE})", "EFFECT"),
    Option("out-of-service-taint", "OUT_OF_SERVICE_TAINT", switch, "put it on an empty node, for volumes (false)"),
    Option("delete-machine", "DELETE_MACHINE", switch, "delete the node's Machine at once (false)"),
    Option("acknowledge", "ACKNOWLEDGE", switch, "azure: say so when the node is empty (true)"),
    Option("emit-events", "EMIT_EVENTS", switch, "write events on the Node (true)"),
    Option("bind-address", "BIND_ADDRESS", str, "where probes and metrics are served (127.0.0.1)", "HOST"),
    Option("metrics-port", "METRICS_PORT", port, f"/healthz, /livez and /metrics ({PORT}; 0 for nowhere)", "PORT"),
    Option("log-level", "LOG_LEVEL", one_of(*LEVELS), "debug, info, warn or error (info)", "LEVEL"),
    Option("log-format", "LOG_FORMAT", one_of("json", "console"), "json or console (console on a terminal)", "FORMAT"),
)


def add_flags(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("options", "each may also be set in the environment; the flag wins")
    group.add_argument("--kubeconfig", metavar="FILE", help="default: what kubectl would use, or the pod's account")
    group.add_argument("--context", metavar="NAME", help="which context of it")
    group.add_argument("--dry-run", action="store_true", help="listen and tell, but change nothing (DRY_RUN)")
    for one in OPTIONS:
        one.add_to(group)


def read(flags: Namespace, environment: Mapping[str, str] | None = None, on_terminal: bool = False) -> Settings:
    """Settle every option; a bad one names the flag or variable it stands in."""
    found = os.environ if environment is None else environment
    option = Chosen(OPTIONS, flags, found)
    node = option("node-name", "")
    if not node:
        raise BadValue("which node is this? A DaemonSet sets NODE_NAME from spec.nodeName").at("--node-name")
    cloud = option("cloud", "auto")
    pod, namespace = found.get("POD_NAME", ""), found.get("POD_NAMESPACE", "")
    dry = bool(flags.dry_run) or found.get("DRY_RUN", "").lower() in TRUE
    return Settings(
        node,
        cloud="" if cloud == "auto" else cloud,
        metadata_url=option("metadata-url", METADATA_URL),
        poll=option("poll-interval", None),
        reserve=option("reserve", None),
        max_age=option("max-age", 0.0),
        events=option("emit-events", True) and not dry,
        bind=option("bind-address", "127.0.0.1"),
        port=option("metrics-port", PORT),
        own_pod=f"{namespace}/{pod}" if pod and namespace else "",
        log_level=option("log-level", "info"),
        log_format=option("log-format", "console" if on_terminal else "json"),
        kubeconfig=flags.kubeconfig,
        context=flags.context,
        policy=_policy(option, dry),
    )


def _policy(option: Chosen, dry_run: bool) -> Policy:
    usual = Policy()
    return Policy(
        responses={kind: option(f"on-{kind.value}", RESPONSES[kind]) for kind in Kind},
        force_after=option("force-after", usual.force_after),
        pod_grace=option("pod-grace", None),
        lead=option("maintenance-lead", usual.lead),
        taint_effect=option("taint-effect", usual.taint_effect),
        out_of_service=option("out-of-service-taint", usual.out_of_service),
        delete_machine=option("delete-machine", usual.delete_machine),
        acknowledge=option("acknowledge", usual.acknowledge),
        dry_run=dry_run,
    )
