"""What people and dashboards hear of disruption: events and metrics under the peer's names, and dollars blocked.

A refusal is told when it is another one than was told last of the same node, and a few at a time: what does not change
is not worth repeating, and a thousand nodes that may not go for one reason are one fact.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

from dovetail.controllers.disruption.draining import disrupted_labels, snake_case
from dovetail.controllers.disruption.ordering import Replacement
from dovetail.controllers.metrics import Metrics
from dovetail.core import labels
from dovetail.core.disruption import repairing
from dovetail.core.disruption.budgets import Allowance
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import Machine, World
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.reasons import BUDGETED, ConsolidationPolicy, Decision, Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.stages import ledger, standings
from dovetail.core.disruption.validation import Again
from dovetail.core.effects import Count, Observe, Ref, Say
from dovetail.core.nodeclaims import NodeClaim

#: So many nodes are told of in one pass; the others in the passes after it.
TOLD_AT_ONCE: Final = 25
_PREFIX: Final = "voluntary_disruption_"
_DECISION: Final = ("decision", "reason", "consolidation_type")
#: What no single method took: looking at the nodes all of them choose from.
_ALL: Final = "all"
_TYPES: Final = {Reason.EMPTY.lower(): "empty"}
_ILL: Final = frozenset({"nodepool", "capacity_type", "termination_mode"})
#: What became of a move, and why one was given up at the second look.
_APPROVED, _REJECTED = "approved", "rejected"
_WHY: Final[Mapping[Code, str]] = MappingProxyType({Code.BUDGET: "budget", Code.CHURN: "churn"})
_SCORES: Final = (0.1, 0.25, 0.33, 0.5, 1.0, 2.0, 5.0, 10.0)
#: What every node goes through, and what passes by itself: seen on the node, and nothing to be told.
_PASSING: Final = frozenset(
    {
        *(Code.NO_NODE, Code.NOT_REGISTERED, Code.NOT_INITIALIZED, Code.NOMINATED),
        *(Code.DELETING, Code.REBOOTING),
    }
)


class Ears(Protocol):
    def say(self, event: Say) -> None: ...
    def count(self, one: Count) -> None: ...
    def observe(self, one: Observe) -> None: ...


def declare(metrics: Metrics) -> None:
    counter, histogram = metrics.counter, metrics.histogram
    counter(f"{_PREFIX}decisions_total", "Commands that were started.", *_DECISION)
    counter(f"{_PREFIX}decisions_by_nodepool_total", "Commands that were started, by pool.", *_DECISION, "nodepool")
    counter(f"{_PREFIX}queue_failures_total", "Commands that failed and were undone.", *_DECISION)
    counter(f"{_PREFIX}failed_validations_total", "Nodes that were spared at a second look.", "consolidation_type")
    counter(f"{_PREFIX}consolidation_timeouts_total", "Always 0: every node is judged.", "consolidation_type")
    first = ("nodepool", "reason", "terminate_first_reason")
    counter(f"{_PREFIX}terminate_first_decisions_total", "Nodes given up before their replacement.", *first)
    moved = ("decision", "nodepool", "policy")
    counter("consolidation_moves_total", "Commands that save money.", *moved)
    histogram("consolidation_score", "What the Balanced policy made of them.", *moved, buckets=_SCORES)
    histogram(
        f"{_PREFIX}decision_evaluation_duration_seconds",
        "How long each method took in one pass; all: what they share.",
        *_DECISION[1:],
    )


@dataclass(slots=True)
class _Told:
    refusal: Refusal
    at: float


@dataclass(slots=True)
class Teller:
    ears: Ears
    #: The uid of a pool, for events about it.
    uid_of: Callable[[str], str] = lambda pool: ""
    #: The uid of a claim, likewise.
    claim_uid: Callable[[str], str] = lambda claim: ""
    now: Callable[[], float] = time.time
    _told: dict[tuple[str, bool], _Told] = field(default_factory=dict)
    #: By pool, what its budgets keep it from now.
    _closed: dict[str, frozenset[str]] = field(default_factory=dict)
    #: What was decided last, and from what.
    decided: Decided | None = None
    world: World | None = None

    # ---- what was decided

    def passed(self, world: World, decided: Decided, seconds: float) -> bool:
        """A pass is over; whether something is left to be told."""
        self.world, self.decided = world, decided
        self._tell_pools(world)
        self._took(decided, seconds)
        refusals = [((name, True), one) for name, one in decided.method_refusals.items()]
        refusals += [((name, False), one) for name, one in decided.refusals.items()]
        known = {key for key, _ in refusals}
        for key in [key for key in self._told if key not in known]:
            del self._told[key]
        left = TOLD_AT_ONCE
        for key, refusal in refusals:
            if not self._is_news(key, refusal):
                continue
            if not left:
                return True
            left -= 1
            self._told[key] = _Told(refusal, self.now())
            self._refused(world.machines.get(key[0]), refusal)
        return False

    def _took(self, decided: Decided, seconds: float) -> None:
        """What each method took, and beside them what they all begin with: together a pass."""
        shared = max(0.0, seconds - sum(decided.spent.values()))
        spent = {_ALL: shared} | {reason.lower(): one for reason, one in decided.spent.items()}
        for reason, one in spent.items():
            labels = {"reason": reason, "consolidation_type": _TYPES.get(reason, "")}
            self.ears.observe(Observe(f"{_PREFIX}decision_evaluation_duration_seconds", one, labels))

    def _tell_pools(self, world: World) -> None:
        """Pools whose budgets let nobody go, told when that turns."""
        held, counts = ledger(world), standings(world)
        for name in world.pools:
            closed = [reason for reason in BUDGETED if held.allowance(name, reason).count == 0]
            texts = {_closed(reason, held.allowance(name, reason)) for reason in closed if name in counts}
            about = Ref("NodePool", name, self.uid_of(name))
            for text in sorted(texts - self._closed.get(name, frozenset())):
                self.ears.say(Say(about, "DisruptionBlocked", text, dedupe=(name, text), quiet_seconds=60.0))
            self._closed[name] = frozenset(texts)

    def _is_news(self, key: tuple[str, bool], refusal: Refusal) -> bool:
        """Prices and counts in a sentence change all the time: the same cause again is told after a while only."""
        if refusal.code in _PASSING:
            return False
        known = self._told.get(key)
        if known is None or known.refusal.code is not refusal.code:
            return refusal.event is not None
        if known.refusal == refusal or refusal.event is None:
            return False
        return self.now() - known.at >= refusal.quiet_seconds

    def _refused(self, machine: Machine | None, refusal: Refusal) -> None:
        if machine is None or refusal.event is None:
            return
        text, abouts = refusal.message, list(_about(machine.claim, machine))
        pool = machine.labels.get(labels.NODEPOOL)
        if refusal.code is Code.BREAKER and pool:
            abouts.append(Ref("NodePool", pool, self.uid_of(pool)))
        for about in abouts:
            self.ears.say(Say(about, refusal.event, text, dedupe=(about.kind, about.name, text)))
        if refusal.code is Code.BALANCED and pool:
            self.ears.count(Count("consolidation_moves_total", _moved(_REJECTED, pool, ConsolidationPolicy.BALANCED)))

    def judged_again(self, command: Command, again: Again) -> None:
        """A command was looked at a second time, and some of it will not be done."""
        for names, refusal in again.refusals:
            kind = {"consolidation_type": command.consolidation_type}
            self.ears.count(Count(f"{_PREFIX}failed_validations_total", kind, len(names)))
            for one in command.candidates:
                if one.name in names:
                    why = (
                        f"{_WHY.get(refusal.code, 'scheduling')} (savings: ${command.saved / 1e9:.2f}); {refusal.text}"
                    )
                    text = f"Consolidation rejected: {command.of_node(one.name)}, reason: {why}"
                    for about in _about(one.claim, one.machine):
                        self.ears.say(Say(about, "ConsolidationRejected", text, dedupe=(about.kind, about.name, text)))

    # ---- what becomes of commands

    def started(self, command: Command) -> None:
        told = _labels(command)
        self.ears.count(Count(f"{_PREFIX}decisions_total", told))
        for pool in command.pools:
            self.ears.count(Count(f"{_PREFIX}decisions_by_nodepool_total", {**told, "nodepool": pool}))
        if command.policy is not None:
            policies = {one.pool: one.policy.policy for one in command.candidates}
            for pool, policy in sorted(policies.items()):
                self.ears.count(Count("consolidation_moves_total", _moved(_APPROVED, pool, policy)))
            for vote in command.votes:
                moved = _moved(_APPROVED, vote.pool, ConsolidationPolicy.BALANCED)
                self.ears.observe(Observe("consolidation_score", vote.value, moved))
        self._approved(command)
        if command.decision is Decision.TERMINATE_FIRST:
            first = {"nodepool": command.pools[0], "reason": told["reason"], "terminate_first_reason": command.why}
            self.ears.count(Count(f"{_PREFIX}terminate_first_decisions_total", first))

    def _approved(self, command: Command) -> None:
        """Nodes that are replaced to save money; and what the Balanced policy thought of it, on the pool where several
        go together."""
        if command.policy is None:
            return
        for one in command.candidates if command.decision is Decision.REPLACE else ():
            text = f"Consolidation candidate: {command.of_node(one.name)} (savings: ${command.saved / 1e9:.2f})"
            for about in _about(one.claim, one.machine):
                self.ears.say(Say(about, "ConsolidationCandidate", text, dedupe=(about.kind, about.name, text)))
        nodes = [about for one in command.candidates for about in _about(one.claim, one.machine)]
        for vote in command.votes:
            pool = [Ref("NodePool", vote.pool, self.uid_of(vote.pool))]
            for about in pool if len(command.candidates) > 1 else nodes:
                said = vote.approved
                self.ears.say(Say(about, "ConsolidationApproved", said, dedupe=(about.kind, about.name, said)))

    def launching(self, command: Command, name: str, planned: Replacement) -> None:
        text = f"Launching NodeClaim: {_titled(command)}"
        self.ears.say(Say(self._claim(name), "DisruptionLaunching", text, dedupe=(name,)))

    def waiting(self, command: Command, name: str) -> None:
        text = "Waiting on readiness to continue disruption"
        self.ears.say(Say(self._claim(name), "DisruptionWaitingReadiness", text, dedupe=(name,)))

    def _claim(self, name: str) -> Ref:
        """`kubectl describe` looks for events by uid."""
        return Ref("NodeClaim", name, self.claim_uid(name))

    def drained(self, command: Command, name: str, claim: NodeClaim) -> None:
        machine = next(one.machine for one in command.candidates if one.name == name)
        for about in _about(claim, machine):
            text = f"Disrupting {about.kind}: {_titled(command)}; {command.sentence}"
            self.ears.say(Say(about, "DisruptionTerminating", text, dedupe=(about.kind, about.name)))
        if command.reason is Reason.UNHEALTHY and self.world is not None:
            self._count_ill(claim, machine, command, self.world)

    def _count_ill(self, claim: NodeClaim, machine: Machine, command: Command, world: World) -> None:
        ill = repairing.diagnosed(machine, world)
        told = {key: value for key, value in disrupted_labels(claim, command).items() if key in _ILL}
        condition = "" if ill is None else snake_case(ill.condition)
        told |= {"condition": condition, "image_id": claim.image_id}
        self.ears.count(Count("nodeclaims_unhealthy_disrupted_total", told))

    def failed(self, command: Command, why: str, given_back: int) -> None:
        self.ears.count(Count(f"{_PREFIX}queue_failures_total", _labels(command)))
        back = f"; {given_back} replacements are given back" if given_back else ""
        text = f"Disruption was undone: {why}{back}"
        for one in command.candidates:
            for about in _about(one.claim, one.machine):
                self.ears.say(Say(about, "DisruptionBlocked", text, warning=True, dedupe=(about.kind, about.name, why)))


def _labels(command: Command) -> dict[str, str]:
    reason = str(command.reason).lower()
    return {
        "decision": str(command.decision),
        "reason": reason,
        "consolidation_type": command.consolidation_type,
    }


def _moved(decision: str, pool: str, policy: ConsolidationPolicy) -> dict[str, str]:
    return {"decision": decision, "nodepool": pool, "policy": str(policy)}


def _closed(reason: Reason, allowance: Allowance) -> str:
    return f"No allowed disruptions for disruption reason {reason} due to blocking budget: {allowance}"


def _titled(command: Command) -> str:
    return str(command.reason)


def _about(claim: NodeClaim | None, machine: Machine) -> Iterator[Ref]:
    if machine.node is not None:
        yield Ref("Node", machine.node.name, machine.node.meta.uid)
    if claim is not None:
        yield Ref("NodeClaim", claim.name, claim.meta.uid)
