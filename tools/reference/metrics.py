"""Tables of metrics, from what is declared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dovetail.clouds.sim.cloud import SimCloud
from dovetail.clouds.sim.market import SimMarket
from dovetail.controllers import declared, node_gauges, transitions, web
from dovetail.controllers.controller import Choices, Controller
from dovetail.controllers.metrics import Family, Metrics
from dovetail.controllers.node_api import Nodes
from dovetail.controllers.solving import Aside
from dovetail.controllers.telling import Telling
from dovetail.core.disruption.facts import Gates
from dovetail.handler import telling as handler
from dovetail.kube.client import Client
from dovetail.kube.config import ClusterConfig
from dovetail.kube.events import Recorder

from . import marks

EVERY: Final = Gates(node_repair=True, writes_deletion_cost=True)
#: Standing for the labels every series of a node has.
OF_NODES: Final = "*those of a node*"


def of_controller() -> str:
    """Every metric of a controller with everything switched on, by name."""
    metrics = declared.declare(Metrics())
    web.declare_process(metrics)
    client = Client(ClusterConfig("https://127.0.0.1"))
    cloud = SimCloud(SimMarket(), Nodes(client, ""))
    Controller(
        client, cloud, Telling(Recorder(client), metrics), Aside(), Choices(buffers=True, static=True, gates=EVERY)
    )
    return table(metrics.families())


def of_handler() -> str:
    return table(handler.Telling().metrics.families())


def table(families: Iterable[Family]) -> str:
    """By name; families of several kinds of object that differ in the kind alone are one row."""
    rows = dict.fromkeys(_row(one) for one in sorted(families, key=lambda one: one.name))
    return marks.table(("metric", "kind", "labels", "means"), list(rows))


def _row(one: Family) -> tuple[str, ...]:
    name, meaning = one.name, one.help
    for kind in transitions.KINDS:
        if name.startswith(f"operator_{kind}_"):
            name = name.replace(f"_{kind}_", "_KIND_", 1)
            meaning = meaning.replace(f"{kind}s", "objects").replace(f"each {kind}", "each object")
            meaning = meaning.replace(f"a {kind}", "an object")
    return f"`{name}`", one.kind, _labels(one), meaning


def _labels(one: Family) -> str:
    of_node = (*node_gauges.KNOWN.values(), "node_name", "phase", "managed")
    if one.labels[: len(of_node)] == of_node:
        return ", ".join([OF_NODES, *(f"`{name}`" for name in one.labels[len(of_node) :])])
    return ", ".join(f"`{name}`" for name in one.labels)
