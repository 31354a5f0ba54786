"""`plan --diff`: two plans, in nodes, dollars and pods that end up elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.scheduling.problem import Claim, Plan
from dovetail.views import figures
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.plan import Planning
from dovetail.views.table import Cell, Column, Row, render

_SHOWN: Final = 20
WAITS: Final = "waits"
GONE: Final = "not there"
#: What tells nodes to buy apart when two plans are compared: pool, type, zone, capacity type.
Kind = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class PodMove:
    """A pod whose place is another: a node there is, the kind of node it is bought, or none."""

    pod: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PlanDifference:
    before: Planning
    after: Planning
    nodes: tuple[tuple[Kind, int, int], ...]
    moved: tuple[PodMove, ...]

    @property
    def nanodollars(self) -> int:
        return self.after.plan.nanodollars - self.before.plan.nanodollars

    @property
    def is_empty(self) -> bool:
        return not self.nodes and not self.moved


def compare(before: Planning, after: Planning) -> PlanDifference:
    """What changes from one plan to the other. Nodes to buy have no names yet, so they are compared by kind."""
    old, new = (Counter(_kind(one) for one in each.plan.claims) for each in (before, after))
    kinds = sorted(old.keys() | new.keys())
    nodes = tuple((kind, old[kind], new[kind]) for kind in kinds if old[kind] != new[kind])
    was, now = _places(before.plan), _places(after.plan)
    moved = [PodMove(pod, was.get(pod, GONE), now.get(pod, GONE)) for pod in sorted(was.keys() | now.keys())]
    return PlanDifference(before, after, nodes, tuple(one for one in moved if one.before != one.after))


def _kind(claim: Claim) -> Kind:
    row = claim.choice.offering
    return (claim.pool.name, claim.choice.instance_type.name, row.zone or "any", row.capacity_type or "any")


def _places(plan: Plan) -> Mapping[str, str]:
    found = {pod.key: one.node.name for one in plan.placed for pod in one.pods}
    for one in plan.claims:
        place = " ".join(_kind(one))
        found.update({pod.key: place for pod in one.pods})
    return found | {pod.key: WAITS for one in plan.refused for pod in one.pods}


def wire(found: PlanDifference) -> dict[str, object]:
    """The documented JSON."""
    return {
        "nodes": [
            {
                "nodePool": kind[0],
                "instanceType": kind[1],
                "zone": kind[2],
                "capacityType": kind[3],
                "before": before,
                "after": after,
            }
            for kind, before, after in found.nodes
        ],
        "moved": [{"pod": one.pod, "before": one.before, "after": one.after} for one in found.moved],
        "totals": {
            "newNodes": _pair(len(found.before.plan.claims), len(found.after.plan.claims)),
            "pods": _pair(found.before.planned, found.after.planned),
            "pendingPods": _pair(found.before.waiting, found.after.waiting),
            "pricePerHour": {
                "before": figures.number(found.before.plan.nanodollars),
                "after": figures.number(found.after.plan.nanodollars),
                "by": figures.number(found.nanodollars),
            },
        },
    }


def _pair(before: int, after: int) -> dict[str, object]:
    return {"before": before, "after": after, "by": after - before}


def text(found: PlanDifference, width: int | None = None, paint: Paint = PLAIN) -> str:
    """The differences for people."""
    if found.is_empty:
        return "no differences\n"
    parts = []
    if found.nodes:
        columns = [
            Column("TYPE"),
            Column("POOL", rank=2),
            Column("ZONE", rank=1),
            Column("CAPACITY TYPE", rank=1),
            Column("BEFORE", right=True),
            Column("AFTER", right=True),
            Column("BY", right=True),
        ]
        rows: list[Row] = [
            [kind[1], kind[0], kind[2], kind[3], str(old), str(new), _signed(new - old)]
            for kind, old, new in found.nodes
        ]
        parts.append(render(columns, rows, width, paint))
    if found.moved:
        parts.append(f"\n{paint(Style.HEADING, f'{len(found.moved):,} pods go elsewhere')}\n")
        moves: list[Row] = [[f"  {one.pod}", one.before, one.after] for one in found.moved[:_SHOWN]]
        parts.append(render([Column("  POD"), Column("BEFORE"), Column("AFTER")], moves, width, paint))
        if len(found.moved) > _SHOWN:
            parts.append(
                paint(Style.DIM, f"  and {len(found.moved) - _SHOWN:,} more; --output json has them all") + "\n"
            )
    parts.append(f"\n{_totals(found, paint)}\n")
    return "".join(parts).lstrip("\n")


def _signed(by: int) -> Cell:
    return Cell(f"{by:+d}", Style.BAD if by > 0 else Style.GOOD)


def _totals(found: PlanDifference, paint: Paint) -> str:
    source = Source(SourceKind.LIVE)
    prices = [Price(each.plan.nanodollars, source) for each in (found.before, found.after)]
    by = found.nanodollars
    style = Style.BAD if by > 0 else Style.GOOD if by < 0 else None
    change = paint(style, ("+" if by > 0 else "") + figures.money(by))
    nodes = f"{len(found.before.plan.claims)} → {len(found.after.plan.claims)} nodes"
    waiting = f"{found.before.waiting} → {found.after.waiting} pods waiting"
    hourly, monthly = " → ".join(map(figures.price, prices)), " → ".join(map(figures.monthly, prices))
    return f"{nodes}; {waiting}; {hourly} an hour ({change}), {monthly} a month"
