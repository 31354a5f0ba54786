"""Lint rules over what says when nodes may go: budgets and windows of pools, their annotations, and budgets of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.api import documents, node_pools
from dovetail.api.disruption import pools
from dovetail.api.disruption.pools import PoolRead
from dovetail.api.disruption_budgets import Budget as PodBudget
from dovetail.api.documents import Document
from dovetail.api.fields import fields
from dovetail.api.world import World
from dovetail.core import timestamps
from dovetail.core.disruption import cron, timelines
from dovetail.core.disruption.budgets import Budget, allowance
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import Reason
from dovetail.core.errors import BadField, BadInput
from dovetail.core.pods import PodState
from dovetail.views.findings import Finding, Level, Rule

BUDGET: Final = Rule(
    "DV005",
    "budget-never-opens",
    "A disruption budget that never lets a node go",
    (Level.WARNING,),
    "a disruption budget whose schedule never comes or cannot be read, or that lets no node go at any time",
)
SETTING: Final = Rule(
    "DV012",
    "unreadable-disruption",
    "A disruption setting or annotation that cannot be read",
    (Level.ERROR,),
    "a budget, `consolidateAfter`, `consolidationPolicy` or annotation that cannot be read: the budget then lets "
    "no node go, the others hold as if they were not there",
)
SHUT: Final = Rule(
    "DV013",
    "pool-shut-for-a-week",
    "A pool that lets no node go for a reason, all week long",
    (Level.WARNING,),
    "budgets and windows that each open, and together let no node go for a reason in the week from today",
)
POD_BUDGET: Final = Rule(
    "DV014",
    "pods-never-let-go",
    "A PodDisruptionBudget that can never let a pod go",
    (Level.WARNING,),
    "a PodDisruptionBudget that can never let a pod go: `maxUnavailable` 0, `minAvailable` 100%, or as many as it "
    "covers",
)
TWO_BUDGETS: Final = Rule(
    "DV015",
    "two-pod-budgets",
    "Pods that two PodDisruptionBudgets cover: none can be evicted",
    (Level.WARNING,),
    "pods that two PodDisruptionBudgets cover, which no eviction moves",
)
MORE_RULES: Final = (SETTING, SHUT, POD_BUDGET, TWO_BUDGETS)
_BUDGETS: Final = "spec.disruption.budgets"
_WEEK: Final = 7 * 86400.0
#: A budget that is shut for longer than this is taken never to open.
_MONTH: Final = 31 * 86400.0
#: Any pool has more than one node in a hundred; a percentage of it is rounded up.
_NODES: Final = 100
_VOLUNTARY: Final = (Reason.EMPTY, Reason.DRIFTED, Reason.UNDERUTILIZED)


@dataclass(frozen=True, slots=True)
class _Pool:
    """A pool as it is written and as it was read, and the time it is looked at."""

    document: Document
    read: PoolRead
    now: float

    def finding(self, rule: Rule, path: str, told: str, fix: str, level: Level = Level.WARNING) -> Finding:
        return Finding(rule, level, documents.name_of(self.document.value), path, told, fix, self.document.place[0])


def pool(document: Document, now: float) -> Iterator[Finding]:
    """What is wrong with how a NodePool wants to be treated. One field is found fault with once."""
    value = document.value
    if not isinstance(value, Mapping) or value.get("kind") != node_pools.KIND:
        return
    try:
        about = _Pool(document, pools.read(fields(value)), now)
    except BadInput:
        return  # the whole object cannot be read, which is told elsewhere
    found = [*_budgets(about), *_settings(about)]
    yield from found
    if not found:
        yield from _shut(about)


# ---- budgets


def _budgets(about: _Pool) -> Iterator[Finding]:
    for number, one in enumerate(about.read.policy.budgets):
        place = f"{_BUDGETS}[{number}]"
        for path, told, fix in _never(one, about):
            yield about.finding(BUDGET, f"{place}.{path}" if path else place, told, fix)


def _never(one: Budget, about: _Pool) -> Iterator[tuple[str, str, str]]:
    """Where a budget has no time at which it lets a node go, what says so."""
    if one.problem:
        yield from _broken_schedule(one)
        return
    alone = PoolPolicy(about.read.policy.pool, budgets=(one,))
    spoken_of = next(reason for reason in pools.REASONS if one.concerns(reason))
    if _opens_for(alone, spoken_of, about.now, about.now + _MONTH):
        return
    reasons = "" if one.reasons is None else f" for {', '.join(sorted(one.reasons))}"
    if one.schedule is None:
        told = f"lets no node go, at any time{reasons}: nodes are never consolidated, nor replaced when they drift"
        yield "nodes", told, "give it a schedule and a duration, or let at least one node go"
    else:
        yield (
            "duration",
            f"is shut all the time{reasons}: no node ever goes",
            "make it shorter than the schedule's step",
        )


def _broken_schedule(one: Budget) -> Iterator[tuple[str, str, str]]:
    if one.problem.startswith("duration: "):
        yield "duration", one.problem.partition(": ")[2], "write hours and minutes, such as 8h or 1h30m"
    elif (one.schedule is None) != (one.duration is None):
        yield "", "has a schedule or a duration, but not both", "write both, or neither"
    elif one.schedule is not None:
        try:
            cron.parse(one.schedule)
        except BadInput as bad:
            yield "schedule", str(bad), "write five fields of cron"


def _opens_for(policy: PoolPolicy, reason: Reason, since: float, until: float) -> bool:
    moment: float | None = since
    while moment is not None:
        if allowance(policy.budgets, reason, _NODES, moment, policy.windows).count > 0:
            return True
        moment = timelines.changes(policy, reason, moment, until)
    return False


def _shut(about: _Pool) -> Iterator[Finding]:
    """A pool of which every budget opens by itself, and all of them together never."""
    policy = about.read.policy
    closed = [one for one in _VOLUNTARY if not _opens_for(policy, one, about.now, about.now + _WEEK)]
    if closed:
        since = timestamps.text(about.now)[:10]
        told = f"lets no node go for {', '.join(closed)} in the week from {since}"
        fix = f"see when it may: dovetail windows preview --nodepool {policy.name}"
        yield about.finding(SHUT, "spec.disruption", told, fix)


# ---- settings and annotations


def _settings(about: _Pool) -> Iterator[Finding]:
    told = {one.path for one in _budgets(about)}
    for problem in about.read.problems:
        path = _path(problem)
        if not any(one == path or one.startswith(f"{path}.") for one in told):
            wrong, _, advice = problem.problem.partition("; ")
            yield about.finding(SETTING, path, wrong, advice or _what_holds(path), Level.ERROR)


def _path(problem: BadField) -> str:
    return ".".join(problem.place.parts)


def _what_holds(path: str) -> str:
    if path.startswith(_BUDGETS):
        return "until then the budget lets no node go"
    return "until then what holds is what holds without it" if "annotations" in path else "mend the field"


# ---- pods


def pod_budgets(world: World) -> Iterator[Finding]:
    """PodDisruptionBudgets that hold the nodes of their pods for ever."""
    if world.gathered is None or not world.gathered.budgets:
        return
    listed = world.gathered.budgets
    covered = {id(one): 0 for one in listed}
    twice: dict[tuple[PodBudget, ...], str] = {}
    for pod in world.snapshot.pods:
        if pod.state in (PodState.DONE, PodState.GOING):
            continue
        pairs = dict(pod.shape.labels)
        mine = tuple(one for one in listed if one.namespace == pod.namespace and one.selector.matches(pairs))
        for one in mine:
            covered[id(one)] += 1
        if len(mine) > 1:
            twice.setdefault(mine, pod.key)
    for one in listed:
        yield from _stuck(one, covered[id(one)])
    for mine, key in twice.items():
        names = " and ".join(one.name for one in mine)
        told = f"covers {key} beside others ({names}): the API server refuses to evict such a pod"
        yield _of_budget(TWO_BUDGETS, mine[0], "spec.selector", told, "let one budget cover each pod")


def _stuck(one: PodBudget, pods: int) -> Iterator[Finding]:
    told, fix = "can never let a pod go: its nodes are never consolidated, and drained by force only", "let one pod go"
    if one.never:
        yield _of_budget(POD_BUDGET, one, "spec.minAvailable" if one.least else "spec.maxUnavailable", told, fix)
    elif isinstance(one.least, int) and 0 < pods <= one.least:
        told = f"wants {one.least} pods to be there and covers {pods}: none can ever go"
        yield _of_budget(POD_BUDGET, one, "spec.minAvailable", told, f"lower it to {pods - 1}, or run more pods")


def _of_budget(rule: Rule, one: PodBudget, path: str, told: str, fix: str) -> Finding:
    return Finding(rule, Level.WARNING, f"PodDisruptionBudget {one.namespace}/{one.name}", path, told, fix)
