"""`plan`: the nodes it would buy, the nodes that take pods, what waits and why, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.nodes import Node
from dovetail.core.requirements import Requirements
from dovetail.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, NOTHING, PODS, Resources, quantity_of
from dovetail.core.scheduling.problem import Claim, Placed, Plan, Refused
from dovetail.views import buffers, figures
from dovetail.views.buffers import BufferPlan
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.table import Cell, Column, Row, render

_BAR: Final = 8
_FULL, _EMPTY = "█", "·"
_CROWDED: Final = 0.85
_SHOWN_PODS: Final = 4
_FIRST: Final = (CPU, MEMORY)


@dataclass(frozen=True, slots=True)
class Planning:
    """A plan, what was on the nodes before it (requests by node name), and what it does for buffers."""

    plan: Plan
    used: Mapping[str, Resources]
    buffers: tuple[BufferPlan, ...] = ()

    @property
    def planned(self) -> int:
        bought = sum(len(one.pods) for one in self.plan.claims)
        return bought + sum(len(one.pods) for one in self.plan.placed)

    @property
    def waiting(self) -> int:
        return sum(len(one.pods) for one in self.plan.refused)


# ---- JSON


def wire(planning: Planning) -> dict[str, object]:
    """The documented JSON: docs/reference/plan.schema.json."""
    plan, known = planning.plan, Ways()
    return {
        "nodes": [
            *(claim_wire(one, known) for one in plan.claims),
            *(_placed_wire(one, planning.used.get(one.node.name, NOTHING)) for one in plan.placed),
        ],
        "pending": [refused_wire(one) for one in plan.refused],
        "buffers": [buffers.wire(one) for one in planning.buffers],
        "totals": {
            "newNodes": len(plan.claims),
            "existingNodes": len(plan.placed),
            "pods": planning.planned,
            "pendingPods": planning.waiting,
            "pricePerHour": figures.number(plan.nanodollars),
        },
    }


def claim_wire(claim: Claim, known: Ways) -> dict[str, object]:
    """A node to buy."""
    row, price = claim.choice.offering, claim.choice.offering.price
    names, zones, capacity_types = known.of(claim)
    return {
        "name": claim.name,
        "existing": False,
        "nodePool": claim.pool.name,
        "instanceType": claim.choice.instance_type.name,
        "instanceTypes": names,
        "zone": row.zone or claim.requirements.value(labels.ZONE),
        "zones": zones,
        "capacityType": row.capacity_type,
        "capacityTypes": capacity_types,
        "reservationID": claim.reservation_ids[0] if claim.reservation_ids else None,
        "requirements": requirements_wire(claim.requirements),
        "pricePerHour": None if price is None else figures.number(price.nanodollars),
        "priceSource": None if price is None else str(price.source.kind),
        "pods": [pod.key for pod in claim.pods],
        "requests": claim.requests.quantities(),
        "allocatable": claim.allocatable.quantities(),
        "diskSize": None if claim.disk is None else str(quantity_of(EPHEMERAL_STORAGE, claim.disk.size_bytes)),
    }


class Ways:
    """What claims may still become. Thousands of claims have few different answers, so each is worked out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Claim, tuple[list[str], list[str], list[str]]]] = {}

    def of(self, claim: Claim) -> tuple[list[str], list[str], list[str]]:
        """The types, zones and capacity types left."""
        key = (id(claim.types), id(claim.requirements))
        if key not in self._known:
            self._known[key] = (claim, _ways(claim))
        return self._known[key][1]


def _ways(claim: Claim) -> tuple[list[str], list[str], list[str]]:
    suiting: dict[int, bool] = {}
    zones, capacity_types = set(), set()
    for row in (row for one in claim.types for row in one.offerings if row.available):
        known = id(row.requirements)  # rows of one zone and capacity type share these
        if known not in suiting:
            suiting[known] = row.requirements.intersects(claim.requirements)
        if suiting[known]:
            zones.add(row.zone)
            capacity_types.add(row.capacity_type)
    return [one.name for one in claim.types], _sorted(zones), _sorted(capacity_types)


def _sorted(values: set[str | None]) -> list[str]:
    return sorted(one for one in values if one is not None)


def requirements_wire(wanted: Requirements) -> list[dict[str, object]]:
    """Requirements in the form of the API, by key."""
    found = []
    for one in sorted(wanted, key=lambda one: one.key):
        for operator, values in one.expressions():
            entry: dict[str, object] = {"key": one.key, "operator": str(operator), "values": list(values)}
            if one.min_values is not None:
                entry["minValues"] = one.min_values
            found.append(entry)
    return found


def _placed_wire(placed: Placed, used: Resources) -> dict[str, object]:
    """A node that is there; only what it is comes from its labels."""
    node = placed.node
    zone, capacity_type = node.labels.get(labels.ZONE), node.labels.get(labels.CAPACITY_TYPE)
    kind = node.labels.get(labels.INSTANCE_TYPE)
    return {
        "name": node.name,
        "existing": True,
        "nodePool": node.pool,
        "instanceType": kind,
        "instanceTypes": [] if kind is None else [kind],
        "zone": zone,
        "zones": [] if zone is None else [zone],
        "capacityType": capacity_type,
        "capacityTypes": [] if capacity_type is None else [capacity_type],
        "reservationID": _reservation(node),
        "requirements": [],
        "pricePerHour": None if node.nanodollars is None else figures.number(node.nanodollars),
        "priceSource": None,
        "pods": [pod.key for pod in placed.pods],
        "requests": total(placed, used).quantities(),
        "allocatable": node.allocatable.quantities(),
        "diskSize": None,
    }


def _reservation(node: Node) -> str | None:
    return next((value for key, value in sorted(node.labels.items()) if key.endswith("reservation-id")), None)


def total(placed: Placed, used: Resources) -> Resources:
    """What is asked of a node once the planned pods are on it."""
    return sum((pod.shape.requests for pod in placed.pods), used)


def refused_wire(refused: Refused) -> dict[str, object]:
    return {
        "pods": [pod.key for pod in refused.pods],
        "reason": refused.reason,
        "nearestMiss": refused.nearest_miss,
        "pools": [{"nodePool": one.pool, "code": str(one.code), "reason": one.reason} for one in refused.pools],
    }


# ---- for people


def text(planning: Planning, width: int | None = None, paint: Paint = PLAIN) -> str:
    """The plan for people."""
    plan = planning.plan
    parts = []
    if plan.claims:
        parts += [_heading(f"{_counted(len(plan.claims), 'node')} to buy", paint), _claims(plan.claims, width, paint)]
    if plan.placed:
        title = (
            f"{_counted(len(plan.placed), 'node')} already there {'takes' if len(plan.placed) == 1 else 'take'} pods"
        )
        parts += [_heading(title, paint), _placed(planning, width, paint)]
    if plan.refused:
        parts += [_heading(f"{_counted(planning.waiting, 'pod')} waiting", paint), *waiting_lines(plan.refused, paint)]
    if planning.buffers:
        title = f"{_counted(len(planning.buffers), 'buffer')} of spare capacity"
        parts += [_heading(title, paint), buffers.text(planning.buffers, width, paint)]
    parts.append(_heading("in all", paint) if parts else "")
    parts.append(f"  {summary(planning)}\n")
    return "".join(parts).lstrip("\n")


def _heading(title: str, paint: Paint) -> str:
    return f"\n{paint(Style.HEADING, title)}\n"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def summary(planning: Planning) -> str:
    """One line: pods, nodes, money."""
    plan = planning.plan
    placed = f"{_counted(planning.planned, 'pod')} placed"
    waiting = f", {planning.waiting:,} waiting" if planning.waiting else ""
    if not plan.claims:
        return f"{placed}{waiting}; nothing to buy"
    unpriced = sum(one.choice.offering.price is None for one in plan.claims)
    hourly = Price(plan.nanodollars, Source(SourceKind.LIVE))
    money = f"{figures.price(hourly)} an hour, {figures.monthly(hourly)} a month"
    missing = f", {_counted(unpriced, 'node')} unpriced" if unpriced else ""
    return f"{placed}{waiting}; {_counted(len(plan.claims), 'node')} to buy at {money}{missing}"


def _claims(claims: Sequence[Claim], width: int | None, paint: Paint) -> str:
    columns = [
        Column("  NODE"),
        Column("POOL", rank=3),
        Column("TYPE"),
        Column("ZONE", rank=1),
        Column("CAPACITY TYPE", rank=1),
        Column("$/H", right=True),
        Column("SOURCE", rank=4),
        Column("PODS", right=True),
        Column("CPU", rank=2),
        Column("MEMORY", rank=2),
    ]
    return render(columns, _folded(claims), width, paint)


def _folded(claims: Sequence[Claim]) -> Iterable[Row]:
    """Nodes that differ in nothing but their name are one line."""
    alike: dict[tuple[object, ...], list[Claim]] = {}
    for one in claims:
        row = one.choice.offering
        looks = (one.pool.name, one.choice.instance_type.name, row.zone, row.capacity_type, row.price, len(one.pods))
        alike.setdefault((*looks, one.requests), []).append(one)
    for group in alike.values():
        first = group[0]
        row, kind = first.choice.offering, first.choice.instance_type
        yield [
            f"  {first.name}" + (f" … ×{len(group)}" if len(group) > 1 else ""),
            first.pool.name,
            kind.name,
            row.zone or first.requirements.value(labels.ZONE) or "any",
            row.capacity_type or "any",
            Cell(figures.price(row.price), Style.DIM if row.price is None else None),
            str(row.price.source.kind) if row.price is not None else "",
            str(len(first.pods)),
            *(bar(first.requests.of(name), kind.allocatable.of(name)) for name in _FIRST),
        ]


def _placed(planning: Planning, width: int | None, paint: Paint) -> str:
    columns = [
        Column("  NODE"),
        Column("POOL", rank=3),
        Column("TYPE", rank=2),
        Column("NEW PODS", right=True),
        Column("CPU", rank=1),
        Column("MEMORY", rank=1),
        Column("PODS", rank=2),
    ]
    rows: list[Row] = []
    for one in planning.plan.placed:
        asked, room = total(one, planning.used.get(one.node.name, NOTHING)), one.node.allocatable
        bars = [bar(asked.of(name), room.of(name)) for name in (*_FIRST, PODS)]
        kind = one.node.labels.get(labels.INSTANCE_TYPE, "")
        rows.append([f"  {one.node.name}", one.node.pool or figures.NOTHING, kind, str(len(one.pods)), *bars])
    return render(columns, rows, width, paint)


def bar(asked: int, room: int) -> Cell:
    """How full, as a bar and a share."""
    if room <= 0:
        return Cell(figures.NOTHING)
    share = asked / room
    filled = min(_BAR, round(share * _BAR))
    style = Style.GOOD if share >= _CROWDED else None
    return Cell(f"{_FULL * filled}{_EMPTY * (_BAR - filled)} {share:4.0%}", style)


def waiting_lines(refused: Iterable[Refused], paint: Paint) -> Iterable[str]:
    """Each reason once, with who waits for it."""
    alike: dict[tuple[object, ...], list[Refused]] = {}
    for one in refused:
        alike.setdefault((one.reason, one.nearest_miss, one.pools), []).append(one)
    for group in alike.values():
        keys = [pod.key for one in group for pod in one.pods]
        first = group[0]
        yield f"  {paint(Style.NAME, _names(keys))}\n"
        yield f"    {paint(Style.BAD, first.reason)}\n"
        if first.nearest_miss:
            yield f"    {paint(Style.NOTABLE, 'nearest miss:')} {first.nearest_miss}\n"
        for pool in first.pools[1:]:
            yield paint(Style.DIM, f"    {pool.pool}: {pool.reason}") + "\n"


def _names(keys: Sequence[str]) -> str:
    shown = ", ".join(keys[:_SHOWN_PODS])
    return f"{shown} and {len(keys) - _SHOWN_PODS:,} more" if len(keys) > _SHOWN_PODS else shown
