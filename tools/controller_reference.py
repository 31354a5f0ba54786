"""`python -m tools.controller_reference`: the table of metrics in docs/reference/controller.md, from what is declared.

Events and conditions are described by hand in the same page; a test compares them with the source.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from dovetail.clouds.sim.cloud import SimCloud
from dovetail.clouds.sim.market import SimMarket
from dovetail.controllers import declared, node_gauges, transitions, web
from dovetail.controllers.controller import Choices, Controller
from dovetail.controllers.metrics import Family, Metrics
from dovetail.controllers.node_api import Nodes
from dovetail.controllers.solving import Aside
from dovetail.controllers.telling import Telling
from dovetail.core.disruption.facts import Gates
from dovetail.kube.client import Client
from dovetail.kube.config import ClusterConfig
from dovetail.kube.events import Recorder

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "controller.md"
BEGIN, END = "<!-- metrics: python -m tools.controller_reference -->\n", "<!-- end of metrics -->\n"
EVERY = Gates(node_repair=True, writes_deletion_cost=True)
#: Standing for the labels every series of a node has.
OF_NODES = "*those of a node*"


def families() -> list[Family]:
    """Every metric of a controller with everything switched on, by name."""
    metrics = declared.declare(Metrics())
    web.declare_process(metrics)
    client = Client(ClusterConfig("https://127.0.0.1"))
    cloud = SimCloud(SimMarket(), Nodes(client, ""))
    Controller(
        client, cloud, Telling(Recorder(client), metrics), Aside(), Choices(buffers=True, static=True, gates=EVERY)
    )
    return sorted(metrics.families(), key=lambda one: one.name)


def table(every: Iterable[Family]) -> str:
    rows = {_row(one): None for one in every}
    return "".join(("| metric | kind | labels | means |\n|---|---|---|---|\n", *rows))


def _row(one: Family) -> str:
    name, meaning = one.name, one.help
    for kind in transitions.KINDS:
        if name.startswith(f"operator_{kind}_"):
            name = name.replace(f"_{kind}_", "_KIND_", 1)
            meaning = meaning.replace(f"{kind}s", "objects").replace(f"each {kind}", "each object")
            meaning = meaning.replace(f"a {kind}", "an object")
    return f"| `{name}` | {one.kind} | {_labels(one)} | {meaning} |\n"


def _labels(one: Family) -> str:
    of_node = (*node_gauges.KNOWN.values(), "node_name", "phase", "managed")
    if one.labels[: len(of_node)] == of_node:
        return ", ".join([OF_NODES, *(f"`{name}`" for name in one.labels[len(of_node) :])])
    return ", ".join(f"`{name}`" for name in one.labels)


def page(text: str) -> str:
    """The page with its table as it should be."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{table(families())}\n{END}{rest.split(END)[1]}"


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
