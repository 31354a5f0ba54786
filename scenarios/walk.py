"""A walk through the catalogue and a plan: `make demo-plan`. No network, cluster or account is needed.

Each step prints the command or the call it makes, and then what comes of it.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from dovetail.api import manifests
from dovetail.clouds import load
from dovetail.clouds.listed import ListedMarket
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.shortages import BELIEVED_SECONDS, Shortage
from dovetail.core.nodepools import NodePool
from dovetail.main import main
from dovetail.views import figures
from dovetail.views.paint import Paint, Style
from dovetail.views.table import Cell, Column, render

ROOT = Path(__file__).resolve().parent.parent
WORLD = Path("scenarios/catalog")
SHOP = Path("scenarios/plan")
TYPE, ZONE = "m6i.4xlarge", "us-east-1d"
PENDING = 3


def say(paint: Paint, title: str, text: str) -> None:
    print(f"\n{paint(Style.NOTABLE, '━━ ' + title)}")
    print(f"{text}\n")


def command(paint: Paint, line: str, expected: int = 0) -> None:
    """Print a command as one would type it, and run it."""
    print(paint(Style.GOOD, f"$ {line}"), flush=True)
    code = main(shlex.split(line)[1:])
    if code != expected:
        raise SystemExit(f"the walk stopped: {line!r} exited with {code}")
    print(flush=True)


def the_cheapest(paint: Paint) -> None:
    say(paint, "What can be bought", "The cheapest types with exactly 4 vCPUs, of all that EC2 lists in us-east-1.")
    chosen = "--selector karpenter.k8s.aws/instance-cpu=4 --sort price --limit 6"
    command(paint, f"dovetail catalog list --cloud aws {chosen}")
    print("Every price has a source and an age: `bundled` prices are a dated list, `modelled` ones a stated guess.")


def why_so_much_room(paint: Paint) -> None:
    say(
        paint,
        "Why a node has the room it has",
        "What pods may use of an m6i.4xlarge, term by term, with the rule behind each.",
    )
    command(paint, f"dovetail explain type {TYPE} --cloud aws")


def what_the_user_knows(paint: Paint) -> None:
    text = (
        f"An InstanceType ({WORLD}/instance-type.yaml) and a NodeOverlay ({WORLD}/overlay.yaml) say so. The same sum:"
    )
    say(paint, "What you know better", text)
    command(paint, f"dovetail explain type {TYPE} -f {WORLD}/instance-type.yaml -f {WORLD}/overlay.yaml")


def out_of_stock(paint: Paint) -> None:
    text = (
        f"The cloud refuses a spot {TYPE} in {ZONE}: insufficient capacity. One row of the catalogue flips, for "
        f"{BELIEVED_SECONDS:.0f} s,\nand comes back by itself. Time is an argument here, so nobody has to wait."
    )
    say(paint, "When a market is empty", text)
    pool = pools()["batch"]
    cache = CatalogCache(ListedMarket(load.load("aws")), region="us-east-1")
    rows = []
    for seconds, event in (
        (0.0, ""),
        (60.0, "refused"),
        (60.0 + BELIEVED_SECONDS - 1, ""),
        (60.0 + BELIEVED_SECONDS, ""),
    ):
        if event:
            built = cache.mark(Shortage(TYPE, ZONE, "spot"), seconds)
            event = f"{event}: {built} of {len(cache.catalog(pool, seconds))} types built again"
        found = cache.catalog(pool, seconds).types[TYPE]
        best = found.cheapest
        assert best is not None
        rows.append([f"{seconds:.0f} s", _state(found.offerings), f"{figures.price(best.price)} in {best.zone}", event])
    columns = [Column("TIME", right=True), Column(f"SPOT IN {ZONE}"), Column("CHEAPEST NOW"), Column("WHAT HAPPENED")]
    print(render(columns, rows, None, paint))


def _state(offerings: Iterable[Offering]) -> Cell:
    (row,) = (row for row in offerings if (row.zone, row.capacity_type) == (ZONE, "spot"))
    return Cell("available", Style.GOOD) if row.available else Cell("sold out", Style.BAD)


def shared_by_identity(paint: Paint) -> None:
    text = f"Pools of one node class share their specs: not equal copies, the same objects ({WORLD}/pools.yaml)."
    say(paint, "Nothing is copied", text)
    cache = CatalogCache(ListedMarket(load.load("aws")), region="us-east-1")
    seen = {name: cache.catalog(pool, 0.0) for name, pool in pools().items()}
    web = seen["web"].types
    rows = []
    for name, catalog in seen.items():
        shared = sum(catalog.types[one].spec is web[one].spec for one in web)
        room = catalog.types[TYPE].capacity.quantities()["pods"]
        rows.append([name, str(len(catalog)), str(shared), f"{room} pods on {TYPE}"])
    columns = [Column("POOL"), Column("TYPES", right=True), Column("SPECS SHARED WITH web", right=True), Column("")]
    print(render(columns, rows, None, paint))
    print("`dense` allows more pods on a node, so its nodes leave other room and its specs are its own.")


def pools() -> dict[str, NodePool]:
    text = (ROOT / WORLD / "pools.yaml").read_text(encoding="utf-8")
    return {pool.name: pool for pool in manifests.read([("pools.yaml", text)]).pools}


def your_prices(paint: Paint) -> None:
    text = f"A contract is a file ({WORLD}/prices.csv): prices, discounts, extras, finite commitments."
    say(paint, "Your prices", text)
    command(paint, f"dovetail catalog import {WORLD}/prices.csv")
    chosen = "-l 'node.kubernetes.io/instance-type in (m5.4xlarge, m6i.4xlarge)'"
    command(paint, f"dovetail catalog list --cloud aws {chosen}")


def other_clouds(paint: Paint) -> None:
    say(paint, "Other clouds", "The same questions for Azure, Google Cloud and the simulated machines of kwok.")
    command(
        paint, "dovetail catalog list --cloud azure --selector karpenter.azure.com/sku-cpu=4 --sort price --limit 3"
    )
    command(
        paint, "dovetail catalog list --cloud gcp --selector karpenter.k8s.gcp/instance-cpu=4 --sort price --limit 3"
    )
    command(
        paint, "dovetail catalog list --cloud kwok --selector karpenter.kwok.sh/instance-cpu=4 --sort price --limit 3"
    )


def a_plan(paint: Paint) -> None:
    text = f"Manifests in, nodes out ({SHOP}): what to buy, what is used, what waits and why."
    say(paint, "What would be bought for these pods", text)
    command(paint, f"dovetail plan -f {SHOP}", PENDING)
    command(paint, f"dovetail explain pod db-0 -f {SHOP}/shop.yaml")
    say(paint, "What if", "The same shop with spot machines allowed: nodes, dollars, and pods that end up elsewhere.")
    change = "nodepool/general.requirements[karpenter.sh/capacity-type]=[spot, on-demand]"
    command(paint, f"dovetail plan -f {SHOP}/shop.yaml --diff {SHOP}/shop.yaml --with '{change}'")


def where_next(paint: Paint) -> None:
    say(
        paint,
        "Where to go next",
        "  docs/tutorial/read-the-catalog.md   the same at your own pace\n"
        "  docs/tutorial/plan-a-cluster.md     a plan for your own pods\n"
        "  docs/howto/import-prices.md         your contract's prices\n"
        "  docs/reference/cli.md               every verb, flag, exit code and JSON field\n"
        "  dovetail explain type --help        try it on a type of yours",
    )


STEPS = (
    the_cheapest,
    why_so_much_room,
    what_the_user_knows,
    out_of_stock,
    shared_by_identity,
    your_prices,
    other_clouds,
    a_plan,
    where_next,
)


def walk() -> int:
    paint = Paint(sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="dovetail-walk-") as home:
        os.environ["DOVETAIL_HOME"] = home  # the walk imports prices; they must not stay with whoever watches
        for step in STEPS:
            step(paint)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(walk())
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
