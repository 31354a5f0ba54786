"""`explain pod` and `explain node`: why a pod is where it is, or waits; what is on a node, and what room is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core import labels
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.refusals import Refusal
from dovetail.core.pods import Pod, PodState
from dovetail.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources
from dovetail.core.scheduling.problem import Claim, Refused
from dovetail.views import consolidation, consolidation_text, figures
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.plan import Ways, bar, claim_wire, refused_wire, requirements_wire, waiting_lines
from dovetail.views.table import Cell, Column, Row, facts, render

_FIRST: Final = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
_SHOWN_TYPES: Final = 8
_WAITING: Final = {
    PodState.WAITING: "is not planned: it is gated, awaits a preemption, or is a daemon's or a node's own",
    PodState.DONE: "is over, and takes no room",
}


@dataclass(frozen=True, slots=True)
class Removed:
    """How many of a pool's types each step took out, and how many were left."""

    types: int
    by_pool: int
    by_labels: int
    by_offerings: int
    by_resources: int
    left: int

    def lines(self) -> list[tuple[str, str]]:
        steps = (
            ("the pool's requirements", self.by_pool),
            ("labels and topology", self.by_labels),
            ("offerings", self.by_offerings),
            ("resources", self.by_resources),
        )
        return [(name, f"-{count}") for name, count in steps if count]


@dataclass(frozen=True, slots=True)
class PodPage:
    """A pod and its fate: one of a refusal, a claim, or a node, or none of them."""

    pod: Pod
    refused: Refused | None = None
    claim: Claim | None = None
    node: str | None = None
    removed: Removed | None = None


def pod_text(page: PodPage, paint: Paint = PLAIN) -> str:
    """The page for people."""
    pod = page.pod
    head = f"{paint(Style.NAME, pod.key)}  {_fate(page, paint)}\n"
    asks = [("asks for", str(pod.shape.requests))]
    asks += [("on a node with", str(pod.shape.selector))] if len(pod.shape.selector) else []
    asks += [("and one of", str(term)) for term in pod.shape.terms]
    asks += [("prefers", f"{one.term} (weight {one.weight})") for one in pod.shape.preferred if one.term]
    asks += [("spread by", f"{one.key}, skew at most {one.max_skew}") for one in pod.shape.spread]
    asks += [("volumes in", str(place)) for place in pod.shape.volumes.places]
    asks += [("priority", str(pod.shape.priority))] if pod.shape.priority else []
    parts = [head, facts(asks, paint, "  ")]
    if page.refused is not None:
        parts += ["\n", paint(Style.HEADING, "why it waits"), "\n", *list(waiting_lines([page.refused], paint))[1:]]
    if page.claim is not None:
        parts += ["\n", paint(Style.HEADING, "why this node"), "\n", _claim_text(page.claim, page.removed, paint)]
    return "".join(parts)


def _fate(page: PodPage, paint: Paint) -> str:
    if page.refused is not None:
        return paint(Style.BAD, "has to wait")
    if page.claim is not None:
        kind = page.claim.choice.instance_type.name
        return f"goes to {paint(Style.GOOD, page.claim.name)}, a new {kind}"
    if page.pod.state is PodState.WAITING and page.node is not None:
        return f"stays on {paint(Style.GOOD, page.node)} until that is gone: it may not be disrupted"
    if page.pod.state is PodState.GOING and page.node is not None:
        return f"is going from {paint(Style.GOOD, page.node)}, and takes room there until it is gone"
    if page.node is not None:
        verb = "runs on" if page.pod.state is PodState.BOUND else "goes to"
        return f"{verb} {paint(Style.GOOD, page.node)}, which is there"
    return _WAITING.get(page.pod.state, "is not planned")


def _claim_text(claim: Claim, removed: Removed | None, paint: Paint) -> str:
    row = claim.choice.offering
    kinds = [one.name for one in claim.types]
    more = f" and {len(kinds) - _SHOWN_TYPES} more" if len(kinds) > _SHOWN_TYPES else ""
    where = f"{row.zone or 'any zone'}, {row.capacity_type or 'any capacity type'}"
    lines = [
        ("pool", claim.pool.name),
        ("cheapest way", f"{claim.choice.instance_type.name} in {where} at {figures.price(row.price)} an hour"),
        ("types left", f"{len(kinds)}: {', '.join(kinds[:_SHOWN_TYPES])}{more}"),
    ]
    if removed is not None:
        lines.append(("types on offer", str(removed.types)))
        lines += [(f"  less, by {name}", count) for name, count in removed.lines()]
    others = len(claim.pods) - 1
    lines.append(("shares it with", f"{others} pod{'' if others == 1 else 's'}" if others else "nobody"))
    narrowed = claim.requirements.without(labels.INSTANCE_TYPE)
    lines += [("requires", str(one)) for one in sorted(narrowed, key=lambda one: one.key)]
    return facts(lines, paint, "  ")


def pod_wire(page: PodPage) -> dict[str, object]:
    """The documented JSON."""
    return {
        "pod": page.pod.key,
        "state": str(page.pod.state),
        "requests": page.pod.shape.requests.quantities(),
        "node": page.claim.name if page.claim is not None else page.node,
        "existing": page.node is not None,
        "claim": None if page.claim is None else claim_wire(page.claim, Ways()),
        "removed": None if page.removed is None else _removed_wire(page.removed),
        "waiting": None if page.refused is None else refused_wire(page.refused),
    }


def _removed_wire(removed: Removed) -> dict[str, int]:
    return {
        "types": removed.types,
        "byPool": removed.by_pool,
        "byLabels": removed.by_labels,
        "byOfferings": removed.by_offerings,
        "byResources": removed.by_resources,
        "left": removed.left,
    }


# ---- nodes


@dataclass(frozen=True, slots=True)
class Fate:
    """Why a node is still here, or the command by which it goes now. `also` is what a method that wants it says."""

    refusal: Refusal | None = None
    also: Refusal | None = None
    command: Command | None = None

    def lines(self) -> list[tuple[str, str]]:
        if self.command is not None:
            names = ", ".join(self.command.names)
            what = f"{self.command.reason}: {self.command.decision} {names}"
            return [("command", what), ("worth", consolidation_text.command_line(self.command))]
        found = [one for one in (self.refusal, self.also) if one is not None]
        lines = [(str(one.code), str(one)) for one in found]
        worth = sum(one.nanodollars for one in found[:1])
        return lines + (
            [("blocked", f"{figures.money(worth)} an hour, {figures.month(worth)} a month")] if worth else []
        )


@dataclass(frozen=True, slots=True)
class NodePage:
    """A node that is there or would be bought: what is on it, what comes, and what is left."""

    name: str
    existing: bool
    about: tuple[tuple[str, str], ...]
    allocatable: Resources
    requests: Resources
    running: Sequence[Pod] = ()
    coming: Sequence[Pod] = ()
    nanodollars: int | None = None
    claim: Claim | None = None
    fate: Fate | None = None

    @property
    def room(self) -> Resources:
        return Resources({name: max(0, amount - self.requests.of(name)) for name, amount in self.allocatable.items()})


def node_text(page: NodePage, width: int | None = None, paint: Paint = PLAIN) -> str:
    """The page for people."""
    kind = "is there" if page.existing else "would be bought"
    price = figures.UNPRICED if page.nanodollars is None else f"{figures.money(page.nanodollars)} an hour"
    parts = [
        f"{paint(Style.NAME, page.name)}  {kind}\n",
        facts([*page.about, ("price", price)], paint, "  "),
        f"\n{paint(Style.HEADING, 'room')}\n",
        _room(page, width, paint),
    ]
    for title, pods in (("pods on it", page.running), ("pods to come", page.coming)):
        if pods:
            parts += [f"\n{paint(Style.HEADING, f'{len(pods)} {title}')}\n", _pods(pods, width, paint)]
    if page.fate is not None and (lines := page.fate.lines()):
        title = "why it is still here" if page.fate.command is None else "it goes now"
        parts += [f"\n{paint(Style.HEADING, title)}\n", facts(lines, paint, "  ")]
    return "".join(parts)


def _room(page: NodePage, width: int | None, paint: Paint) -> str:
    names = [name for name in _FIRST if name in page.allocatable]
    names += sorted(name for name in page.allocatable if name not in _FIRST)
    columns = [
        Column("  RESOURCE"),
        Column("ALLOCATABLE", right=True),
        Column("ASKED", right=True, rank=1),
        Column("LEFT", right=True),
        Column("FULL", rank=1),
    ]
    rows: list[Row] = [
        [
            f"  {name}",
            *(figures.amount(name, one.of(name)) for one in (page.allocatable, page.requests, page.room)),
            bar(page.requests.of(name), page.allocatable.of(name)),
        ]
        for name in names
    ]
    return render(columns, rows, width, paint)


def _pods(pods: Sequence[Pod], width: int | None, paint: Paint) -> str:
    columns = [Column("  POD"), Column("CPU", right=True), Column("MEMORY", right=True), Column("OWNER", rank=1)]
    rows: list[Row] = [
        [
            f"  {pod.key}",
            *(figures.amount(name, pod.shape.requests.of(name)) for name in (CPU, MEMORY)),
            Cell(pod.owner or figures.NOTHING, Style.DIM),
        ]
        for pod in sorted(pods, key=lambda pod: pod.key)
    ]
    return render(columns, rows, width, paint)


def node_wire(page: NodePage) -> dict[str, object]:
    """The documented JSON."""
    return {
        "name": page.name,
        "existing": page.existing,
        "about": dict(page.about),
        "pricePerHour": None if page.nanodollars is None else figures.number(page.nanodollars),
        "allocatable": page.allocatable.quantities(),
        "requests": page.requests.quantities(),
        "room": page.room.quantities(),
        "running": [pod.key for pod in page.running],
        "coming": [pod.key for pod in page.coming],
        "instanceTypes": [] if page.claim is None else [one.name for one in page.claim.types],
        "requirements": [] if page.claim is None else requirements_wire(page.claim.requirements),
        **_fate_wire(page.fate or Fate()),
    }


def _fate_wire(fate: Fate) -> dict[str, object]:
    return {
        "staying": None if fate.refusal is None else consolidation.refusal_wire(fate.refusal),
        "also": None if fate.also is None else consolidation.refusal_wire(fate.also),
        "going": None if fate.command is None else consolidation.command_wire(fate.command),
    }
