"""`consolidate --plan`: what would go now and in which order, what it saves, and why everything else stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf

from dovetail.core import labels, timestamps
from dovetail.core.catalog.prices import HOURS_PER_MONTH
from dovetail.core.disruption.blocking import Cause
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.rollouts import Rollout
from dovetail.core.nodes import Node
from dovetail.core.scheduling.problem import Claim
from dovetail.views import figures
from dovetail.views.plan import Ways, claim_wire


@dataclass(frozen=True, slots=True)
class Compared:
    """What would be done if moves had to pay back within `payback` seconds; 0 is without the rule."""

    payback: float
    decided: Decided


@dataclass(frozen=True, slots=True)
class Page:
    """A decision, the nodes it was made about, and what other payback times would have made of it."""

    now: float
    decided: Decided
    nodes: Mapping[str, Node]
    compared: tuple[Compared, ...] = ()
    #: Pools that are being renewed.
    rollouts: tuple[Rollout, ...] = ()

    @property
    def staying(self) -> tuple[tuple[str, Refusal], ...]:
        """Nodes of ours that stay, the dearest to keep first."""
        ours = ((name, one) for name, one in self.decided.refusals.items() if one.code is not Code.UNMANAGED)
        return tuple(sorted(ours, key=lambda pair: (-pair[1].nanodollars, pair[0])))

    @property
    def alien(self) -> int:
        return sum(one.code is Code.UNMANAGED for one in self.decided.refusals.values())


class Names:
    """Names for nodes that would be bought: commands are planned apart, and each begins to count anew."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def of(self, claim: Claim) -> str:
        self._given[claim.pool.name] += 1
        return f"{claim.pool.name}-new-{self._given[claim.pool.name]}"


@dataclass(frozen=True, slots=True)
class Totals:
    commands: int
    nodes: int
    replacements: int
    evictions: int
    saved: int
    blocked: int


def totals(decided: Decided) -> Totals:
    commands = decided.commands
    return Totals(
        len(commands),
        sum(len(one.candidates) for one in commands),
        sum(_replacements(one) for one in commands),
        sum(len(one.evicted) for one in commands),
        sum(one.saved for one in commands),
        sum(one.nanodollars for one in decided.blocked),
    )


def _replacements(command: Command) -> int:
    return command.templates or len(command.replacements)


def causes(decided: Decided) -> tuple[Cause, ...]:
    """The causes that keep nodes of ours."""
    return tuple(one for one in decided.blocked if one.code is not Code.UNMANAGED)


# ---- JSON


def wire(page: Page) -> dict[str, object]:
    """The documented JSON: docs/reference/consolidate.schema.json."""
    known, names = Ways(), Names()
    return {
        "now": timestamps.text(page.now),
        "commands": [_command_wire(at, one, known, names) for at, one in enumerate(page.decided.commands, 1)],
        "staying": [_staying_wire(name, one, page) for name, one in page.staying],
        "blocked": [_cause_wire(one) for one in causes(page.decided)],
        "rollouts": [_rollout_wire(one) for one in page.rollouts],
        "payback": [_compared_wire(one) for one in page.compared],
        "totals": {**_totals_wire(totals(page.decided)), "stayingNodes": len(page.staying), "foreignNodes": page.alien},
    }


def _totals_wire(found: Totals) -> dict[str, object]:
    return {
        "commands": found.commands,
        "nodes": found.nodes,
        "replacements": found.replacements,
        "evictions": found.evictions,
        **_money_wire("savings", found.saved),
        **_money_wire("blocked", found.blocked),
    }


def _money_wire(name: str, nanodollars: int) -> dict[str, float]:
    month = figures.number(nanodollars * HOURS_PER_MONTH)
    return {f"{name}PerHour": figures.number(nanodollars), f"{name}PerMonth": round(month, 2)}


def command_wire(command: Command) -> dict[str, object]:
    """One command, as `explain node` shows it too."""
    return _command_wire(1, command, Ways(), Names())


def _command_wire(number: int, command: Command, known: Ways, names: Names) -> dict[str, object]:
    return {
        "number": number,
        "reason": str(command.reason),
        "decision": str(command.decision),
        "nodes": [_candidate_wire(one) for one in command.candidates],
        "replacements": [{**claim_wire(one, known), "name": names.of(one)} for one in command.replacements],
        "templates": command.templates,
        "takenBy": [
            {"node": one.node.name, "pods": [pod.key for pod in one.pods]} for one in command.group.placed if one.pods
        ],
        "evictions": len(command.evicted),
        **_money_wire("savings", command.saved),
        "cost": figures.number(command.cost),
        "paybackSeconds": None if isinf(command.payback) else round(command.payback, 1),
        "why": command.why,
    }


def _candidate_wire(one: Candidate) -> dict[str, object]:
    price = None if one.price is None else figures.number(one.price)
    return {"name": one.name, **_place_wire(one.node), "pricePerHour": price, "pods": [pod.key for pod in one.pods]}


def _place_wire(node: Node | None) -> dict[str, str | None]:
    pairs = {} if node is None else node.labels
    return {
        "nodePool": pairs.get(labels.NODEPOOL),
        "instanceType": pairs.get(labels.INSTANCE_TYPE),
        "zone": pairs.get(labels.ZONE),
        "capacityType": pairs.get(labels.CAPACITY_TYPE),
    }


def _staying_wire(name: str, refusal: Refusal, page: Page) -> dict[str, object]:
    node = page.nodes.get(name)
    also = page.decided.method_refusals.get(name)
    price = None if node is None or node.nanodollars is None else figures.number(node.nanodollars)
    return {
        "name": name,
        **_place_wire(node),
        "pricePerHour": price,
        **refusal_wire(refusal),
        "also": None if also is None else refusal_wire(also),
    }


def refusal_wire(refusal: Refusal) -> dict[str, object]:
    """Why a node stays: the value the event and the metric carry, too."""
    return {
        "code": str(refusal.code),
        "reason": str(refusal),
        "pods": list(refusal.pods),
        "blockedPerHour": figures.number(refusal.nanodollars),
    }


def _cause_wire(cause: Cause) -> dict[str, object]:
    return {"code": str(cause.code), "nodes": cause.nodes, **_money_wire("blocked", cause.nanodollars)}


def _rollout_wire(one: Rollout) -> dict[str, object]:
    return {
        "nodePool": one.pool,
        "total": one.total,
        "done": one.done,
        "going": one.going,
        "wave": min(one.wave + 1, one.waves),
        "waves": one.waves,
        "etaSeconds": None if one.eta_seconds is None else round(one.eta_seconds),
        "doubleRunning": figures.number(one.double_running),
        "stoppedBecause": one.stopped_because,
        "failed": list(one.failed),
    }


def _compared_wire(one: Compared) -> dict[str, object]:
    return {"payback": f"{one.payback:.0f}s", **_totals_wire(totals(one.decided))}
