"""Commands: what a pass decides, and how one large what-if falls apart into independent commands.

A what-if about many nodes at once says where each pod goes. Two nodes whose pods share a new machine have to go
together; nodes that share none are independent, however many were asked about. So the nodes and the machines they need
are the two sides of a graph, and its connected parts are the commands. Within a command each node still knows which of
the machines *it* waits for, and may be drained as soon as those are up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from dovetail.core import labels
from dovetail.core.disruption.balanced import Score
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.history import Kind, Move
from dovetail.core.disruption.reasons import ConsolidationPolicy, Decision, Reason
from dovetail.core.disruption.refusals import counted, lasting, money
from dovetail.core.disruption.scenes import Scene
from dovetail.core.pods import Pod
from dovetail.core.scheduling.problem import Claim, Placed, Plan


@dataclass(frozen=True, slots=True)
class Group:
    """One independent part of a what-if: nodes, the machines they need, and where else their pods go."""

    names: tuple[str, ...]
    claims: tuple[Claim, ...] = ()
    placed: tuple[Placed, ...] = ()
    refused: tuple[Pod, ...] = ()
    #: For each node, the numbers of the claims it waits for.
    needs: tuple[tuple[int, ...], ...] = ()

    @property
    def plan(self) -> Plan:
        return Plan(self.claims, self.placed)


@dataclass(frozen=True, slots=True)
class Command:
    """Nodes to go, and what has to be there first. `replacements` are empty templates for a static pool.

    Money is in nanodollars: `saved` an hour, `cost` once; `payback` is in seconds.
    """

    reason: Reason
    decision: Decision
    candidates: tuple[Candidate, ...]
    group: Group
    replacements: tuple[Claim, ...] = ()
    #: Static pools: so many machines from the template of the candidate's pool.
    templates: int = 0
    saved: int = 0
    cost: int = 0
    payback: float = 0.0
    #: For how many seconds the saving is counted on, where its pools were wrong lately.
    horizon: float = inf
    #: Bounds the drain from when the candidates are deleted; None leaves what their claims say.
    grace: float | None = None
    why: str = ""
    #: What each Balanced pool made of it.
    votes: tuple[Score, ...] = ()
    at: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.candidates)

    @property
    def pools(self) -> tuple[str, ...]:
        return tuple(sorted({one.pool for one in self.candidates}))

    @property
    def disruption(self) -> float:
        return sum(one.cost for one in self.candidates)

    @property
    def evicted(self) -> tuple[Pod, ...]:
        return tuple(pod for one in self.candidates for pod in one.pods)

    @property
    def value(self) -> float:
        """Dollars an hour for each unit of disturbance."""
        return self.saved / self.disruption if self.candidates else 0.0

    @property
    def consolidation_type(self) -> str:
        if self.reason is Reason.EMPTY:
            return "empty"
        if self.reason is not Reason.UNDERUTILIZED:
            return ""
        return "multi" if len(self.candidates) > 1 else "single"

    @property
    def policy(self) -> ConsolidationPolicy | None:
        return self.candidates[0].policy.policy if self.reason is Reason.UNDERUTILIZED else None

    @property
    def score(self) -> float | None:
        """The least a Balanced pool made of it."""
        return min((vote.value for vote in self.votes), default=None)

    def of_node(self, name: str) -> str:
        """What happens to one node, as events say it."""
        if len(self.candidates) > 1:
            return f"{self.decision}: [{name}] (part of {len(self.candidates)}-node consolidation)"
        count = self.templates or len(self.replacements)
        return f"{self.decision}: [{name}]" + (f" -> [{counted(count, 'replacement')}]" if count else "")

    def needed(self, name: str) -> tuple[Claim, ...]:
        """The replacements one node waits for."""
        numbers = dict(zip(self.group.names, self.group.needs, strict=True)).get(name, ())
        return tuple(self.replacements[number] for number in numbers if number < len(self.replacements))

    def __str__(self) -> str:
        names = ", ".join(self.names)
        text = f"{self.decision}: nodepools=[{','.join(self.pools)}]: [{names}]"
        count = self.templates or len(self.replacements)
        if count:
            text += f" -> [{counted(count, 'replacement')}]"
        return f"{self.reason}/{text} (savings: ${self.saved / 1e9:.2f}/h)"

    @property
    def sentence(self) -> str:
        """What a person wants to know of it."""
        text = f"saves {money(self.saved)} an hour and evicts {counted(len(self.evicted), 'pod')}"
        if self.payback and self.payback != inf:
            text += f"; pays back in {lasting(self.payback)}"
        return text


def parts(scene: Scene, names: Iterable[str]) -> tuple[Group, ...]:
    """The independent parts of a question about these nodes; worked out once for each."""
    key = frozenset(names)
    answer = scene.answer(key)
    if answer.parts is None:
        answer.parts = split(answer.plan, key)
    return answer.parts


def split(plan: Plan, names: Iterable[str]) -> tuple[Group, ...]:
    """The independent parts of a what-if about these nodes, in the order of their first names."""
    ordered = sorted(names)
    if len(ordered) == 1:
        return (_alone(plan, ordered[0]),)
    parent = {name: name for name in ordered}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    users: list[list[str]] = []
    for claim in plan.claims:
        using = sorted({pod.node for pod in claim.pods if pod.node is not None and pod.node in parent})
        users.append(using)
        for one in using[1:]:
            first, other = sorted((root(using[0]), root(one)))
            parent[other] = first
    members: dict[str, list[str]] = {}
    for name in ordered:
        members.setdefault(root(name), []).append(name)
    belongs = {name: root(name) for name in ordered}
    return _grouped(plan, members, belongs, users)


def _alone(plan: Plan, name: str) -> Group:
    """All of a what-if about one node, but for pods that are somebody else's."""
    claims = tuple(claim for claim in plan.claims if any(pod.node == name for pod in claim.pods))
    placed = ((one, tuple([pod for pod in one.pods if pod.node == name])) for one in plan.placed)
    return Group(
        (name,),
        claims,
        tuple(one if len(pods) == len(one.pods) else Placed(one.node, pods) for one, pods in placed if pods),
        tuple(pod for answer in plan.refused for pod in answer.pods if pod.node == name),
        (tuple(range(len(claims))),),
    )


def _grouped(
    plan: Plan, members: Mapping[str, Sequence[str]], belongs: Mapping[str, str], users: Sequence[Sequence[str]]
) -> tuple[Group, ...]:
    claims: dict[str, list[tuple[Claim, Sequence[str]]]] = {first: [] for first in members}
    for claim, using in zip(plan.claims, users, strict=True):
        if using:
            claims[belongs[using[0]]].append((claim, using))
    placed: dict[str, list[Placed]] = {first: [] for first in members}
    for one in plan.placed:
        by_group: dict[str, list[Pod]] = {}
        for pod in one.pods:
            if pod.node is not None and pod.node in belongs:
                by_group.setdefault(belongs[pod.node], []).append(pod)
        for first, pods in by_group.items():
            placed[first].append(Placed(one.node, tuple(pods)))
    refused: dict[str, list[Pod]] = {first: [] for first in members}
    for answer in plan.refused:
        for pod in answer.pods:
            if pod.node is not None and pod.node in belongs:
                refused[belongs[pod.node]].append(pod)
    return tuple(
        Group(
            tuple(names),
            tuple(claim for claim, _ in claims[first]),
            tuple(placed[first]),
            tuple(refused[first]),
            tuple(tuple(number for number, (_, using) in enumerate(claims[first]) if name in using) for name in names),
        )
        for first, names in members.items()
    )


def remembered(command: Command, owners: Iterable[str], payback: float) -> Move | None:
    """What history keeps of a command; None of one that buys nothing."""
    if not command.replacements:
        return None
    added = frozenset(
        Kind(claim.pool.name, kind.name, capacity_type)
        for claim in command.replacements
        for kind in claim.types
        for capacity_type in _capacity_types(claim)
    )
    lasting = max(payback, 0.0 if command.payback == inf else command.payback)
    removed = frozenset(one.kind for one in command.candidates)
    return Move(frozenset(owners), removed, added, command.at, command.at + lasting)


def _capacity_types(claim: Claim) -> tuple[str, ...]:
    asked = claim.requirements.get(labels.CAPACITY_TYPE)
    return tuple(sorted(asked.values)) if asked is not None and not asked.complement else ("",)
