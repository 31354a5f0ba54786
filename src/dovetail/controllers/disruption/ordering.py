"""Replacements: ordered as provisioning orders, and saying what they are for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from dovetail.api.pod_stream import PodRecord
from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.draining import FINISHED
from dovetail.controllers.provisioning import create_of, template_of
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.recalling import NOTE
from dovetail.core.effects import Count, Create, Step
from dovetail.core.lifecycle import ordering, pools
from dovetail.core.lifecycle.ordering import Wanted
from dovetail.core.lifecycle.pools import PoolRecord
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.pods import TIED_TO_NODE, Pod
from dovetail.core.scheduling.problem import Claim

#: The claims in whose place a claim was ordered.
REPLACES: Final = "dovetail.dev/replaces"


class Unordered(Exception):
    """A replacement that could not be ordered, in a sentence."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """One machine to order: as it was planned, or, for a static pool, as its template says."""

    pool: str
    claim: Claim | None = None

    @property
    def pods(self) -> tuple[Pod, ...]:
        return () if self.claim is None else self.claim.pods


def wanted(command: Command) -> Iterator[Replacement]:
    for claim in command.replacements:
        yield Replacement(claim.pool.name, claim)
    for _ in range(command.templates):
        yield Replacement(command.candidates[0].pool)


@dataclass(frozen=True, slots=True)
class About:
    """What a replacement says it was ordered for, and what of that is to be remembered."""

    command: Command
    note: str = ""

    @property
    def annotations(self) -> dict[str, str]:
        names = ",".join(one.claim.name for one in self.command.candidates)
        return {REPLACES: names, **({NOTE: self.note} if self.note else {})}


async def ordered(planned: Replacement, about: About, cluster: Cluster, hands: Hands) -> str:
    """Write one down, and return its name."""
    record = cluster.pool(planned.pool)
    if record is None or record.problem or record.meta.deleting is not None:
        raise Unordered(f"NodePool {planned.pool} is gone, or cannot be used")
    over = pools.exceeded(record, cluster.held(record.name))
    if over:
        raise Unordered(f"NodePool {planned.pool}: {over}")
    answer = await hands.create(_create(record, planned, about, cluster.scope.well_known))
    if answer is None:
        raise Unordered("nothing is ordered in a dry run")
    cluster.learn_claim(answer, new=True)
    relaxed = "true" if planned.claim is not None and planned.claim.min_values_relaxed else "false"
    created = {"reason": str(about.command.reason).lower(), "nodepool": record.name, "min_values_relaxed": relaxed}
    await hands.perform(Step((Count("nodeclaims_created_total", created),)))
    return str(answer["metadata"]["name"])


def _create(record: PoolRecord, planned: Replacement, about: About, well_known: frozenset[str]) -> Create:
    if planned.claim is None:
        made = Create(ordering.ordered(template_of(record, well_known), Wanted(), ""), f"{record.name}-")
    else:
        made = create_of(record, planned.claim, well_known)
    meta = made.claim.meta
    notes = MappingProxyType({**meta.annotations, **about.annotations})
    return replace(made, claim=replace(made.claim, meta=replace(meta, annotations=notes)))


def replaced_by(claim: NodeClaim) -> tuple[str, ...]:
    """The claims in whose place this one was ordered; none for one that was ordered for pods that waited."""
    return tuple(one for one in claim.meta.annotations.get(REPLACES, "").split(",") if one)


def holds(pod: PodRecord) -> bool:
    """Whether a pod would have to go elsewhere if its node went."""
    return pod.phase not in FINISHED and pod.owner.kind not in TIED_TO_NODE
