"""Machines that run, kept true: tags, labels of those that lost their reservation, blocks that are about to end.

    tags        once a machine's Node is known: Name, its claim and its cluster, as far as they are missing; at most one
                call a second, as the peer does
    labels      a machine whose reservation ended, was cancelled or let go of it runs on, on demand: its claim and its
                Node say `reserved` no longer (S3.9)
    blocks      EC2 takes the machines of a capacity block back half an hour before its end; ten minutes before that
                they are told to go
    checks      what EC2's own checks say (`statuses`)

`Upkeep.tend` is asked from time to time, by one process only. What is all right already is remembered, so when nothing
changes, and nobody has a reservation, only the checks are asked for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.described import Machine, id_of
from dovetail.clouds.aws.instances import Instances
from dovetail.clouds.aws.reserved_rows import BLOCK_LEAD_SECONDS
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK
from dovetail.clouds.aws.statuses import Checks, nobody
from dovetail.clouds.port import CloudError, NotFound, Notice, Tended
from dovetail.core import labels
from dovetail.core.lifecycle import interruption
from dovetail.core.nodeclaims import NodeClaim

SECONDS: Final = 60.0
#: When EC2 begins to take the machines of a block back.
RECLAIMED_SECONDS: Final = 30 * 60.0
#: CreateTags are a second apart, and other things wait meanwhile.
TAGS_APART: Final = 1.0
TAGS_AT_ONCE: Final = 30
#: What a machine that is in no reservation must not say.
_LOST: Final[Mapping[str, str | None]] = {
    labels.CAPACITY_TYPE: labels.ON_DEMAND,
    aws_labels.RESERVATION_ID: None,
    aws_labels.RESERVATION_TYPE: None,
    aws_labels.RESERVATION_INTERRUPTIBLE: None,
}


@dataclass(frozen=True, slots=True)
class Habits:
    """`counted` hears of machines that are unwell. `read_only`: no tags. `left_alone`: none for this machine, for now.
    `now` is in seconds since 1970."""

    counted: Callable[[str], None] = nobody
    read_only: bool = False
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    left_alone: Callable[[str], bool] = lambda provider_id: False


@dataclass(slots=True)
class _Round:
    """One look at everything: claims by instance id, and what came of it."""

    claims: Mapping[str, NodeClaim]
    found: dict[str, Machine] = field(default_factory=dict)
    labels: dict[str, Mapping[str, str | None]] = field(default_factory=dict)
    notes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    problems: list[CloudError] = field(default_factory=list)
    again: float = SECONDS


class Upkeep:
    """`clouds.port.Keeper` for EC2."""

    def __init__(self, aws: Aws, instances: Instances, cluster: str, habits: Habits | None = None) -> None:
        self._aws, self._instances, self._cluster = aws, instances, cluster
        self._habits = habits or Habits()
        self._checks = Checks(aws, self._habits.now, self._habits.counted)
        self._tagged: set[str] = set()
        self._placed: set[str] = set()
        self._ends: dict[str, float] = {}
        self._warned: dict[str, float] = {}

    async def tend(self, claims: Sequence[NodeClaim]) -> Tended:
        one = _Round(_by_instance(claims))
        self._tagged &= one.claims.keys()
        self._placed &= one.claims.keys()
        self._warned = {name: end for name, end in self._warned.items() if name in one.claims}
        await self._blocks(one)
        await self._health(one)
        await self._look(one)
        self._relabel(one)
        await self._tag(one)
        return Tended(one.labels, tuple(one.notices), one.again, tuple(one.problems), one.notes)

    # ---- looking

    async def _look(self, one: _Round) -> None:
        """At those machines only of which something is to be known."""
        wanted = [
            name
            for name, claim in one.claims.items()
            if _is_reserved(claim) or self._is_untagged(name, claim) or self._is_unplaced(name, claim)
        ]
        answers = await asyncio.gather(*(self._instances.get(name) for name in wanted), return_exceptions=True)
        for name, answer in zip(wanted, answers, strict=True):
            match answer:
                case Machine():
                    one.found[name] = answer
                case NotFound():
                    pass
                case CloudError():
                    one.problems.append(answer)
                case BaseException():
                    raise answer
        one.problems[:] = _distinct(one.problems)

    # ---- labels

    def _relabel(self, one: _Round) -> None:
        for name, machine in one.found.items():
            claim = one.claims[name]
            if _is_reserved(claim) and machine.capacity_type == labels.ON_DEMAND and not machine.is_leaving:
                one.labels[claim.name] = _LOST
            if self._is_unplaced(name, claim):
                self._placed.add(name)
                if machine.partition:
                    told = {aws_labels.PLACEMENT_GROUP_PARTITION: str(machine.partition)}
                    one.labels[claim.name] = {**one.labels.get(claim.name, {}), **told}

    def _is_unplaced(self, name: str, claim: NodeClaim) -> bool:
        """Whether its machine stands in a placement group, and nobody has said in which part of it: where a claim asks
        for none, EC2 chooses."""
        told = claim.meta.labels
        known = name in self._placed or aws_labels.PLACEMENT_GROUP_PARTITION in told
        return bool(claim.node_name) and bool(told.get(aws_labels.PLACEMENT_GROUP_ID)) and not known

    # ---- tags

    def _is_untagged(self, name: str, claim: NodeClaim) -> bool:
        noted = claim.meta.annotations.get(tags.TAGGED) == "true" and tags.CLUSTER_TAGGED in claim.meta.annotations
        known = noted or name in self._tagged or self._habits.left_alone(claim.provider_id)
        return bool(claim.node_name) and not known and not self._habits.read_only

    async def _tag(self, one: _Round) -> None:
        due = [name for name in one.found if self._is_untagged(name, one.claims[name])]
        calls_made = 0
        for name in due:
            missing = self._missing(one.found[name], one.claims[name])
            if missing:
                if calls_made == TAGS_AT_ONCE:
                    one.again = min(one.again, TAGS_APART)
                    return
                if calls_made:
                    await self._habits.sleep(TAGS_APART)
                calls_made += 1
                try:
                    await self._instances.tag(name, missing)
                except NotFound:
                    continue
                except CloudError as failed:
                    one.problems.append(failed)
                    return
            self._tagged.add(name)
            one.notes[one.claims[name].name] = {tags.TAGGED: "true", tags.CLUSTER_TAGGED: "true"}

    def _missing(self, machine: Machine, claim: NodeClaim) -> dict[str, str]:
        """A user's own tags stay as they are."""
        wanted = {tags.NAME: claim.node_name, tags.NODE_CLAIM: claim.name, tags.CLUSTER: self._cluster}
        return {key: value for key, value in wanted.items() if key not in machine.tags}

    # ---- capacity blocks

    async def _blocks(self, one: _Round) -> None:
        """Of blocks with machines of ours EC2 is asked, since a block may be extended; one that it does not tell of
        ends when it last said so."""
        held = {name: block for name, claim in one.claims.items() if (block := _block(claim))}
        if not held:
            self._ends.clear()
            return
        try:
            await self._asked(sorted(set(held.values())))
        except CloudError as failed:
            one.problems.append(failed)
        now = self._habits.now()
        for name, block in held.items():
            end = self._ends.get(block)
            if end is None:
                continue
            begins = end - BLOCK_LEAD_SECONDS
            if now < begins:
                one.again = max(1.0, min(one.again, begins - now))
            elif self._warned.get(name) != end:
                self._warned[name] = end
                one.notices.append(Notice(one.claims[name].provider_id, interruption.EXPIRING, end - RECLAIMED_SECONDS))

    async def _asked(self, blocks: list[str]) -> None:
        """EC2 refuses the whole question for one block it does not know; the others are then asked for one by one."""
        try:
            found = await self._aws.all(calls.DESCRIBE_RESERVATIONS, CapacityReservationIds=blocks)
        except NotFound:
            if len(blocks) > 1:
                for block in blocks:
                    await self._asked([block])
            return
        for wire in found:
            if isinstance(end := wire.get("EndDate"), datetime):
                self._ends[str(wire["CapacityReservationId"])] = end.timestamp()

    # ---- checks

    async def _health(self, one: _Round) -> None:
        try:
            one.notices += await self._checks.look({name: claim.provider_id for name, claim in one.claims.items()})
        except CloudError as failed:
            one.problems.append(failed)


def _by_instance(claims: Iterable[NodeClaim]) -> dict[str, NodeClaim]:
    """Those that have a machine of EC2's and keep it."""
    found: dict[str, NodeClaim] = {}
    for claim in claims:
        if claim.provider_id and not claim.is_deleting:
            try:
                found[id_of(claim.provider_id)] = claim
            except NotFound:
                continue
    return found


def _is_reserved(claim: NodeClaim) -> bool:
    return claim.meta.labels.get(labels.CAPACITY_TYPE) == labels.RESERVED


def _block(claim: NodeClaim) -> str:
    """The capacity block a claim's machine runs in, "" for none."""
    told = claim.meta.labels
    is_block = _is_reserved(claim) and told.get(aws_labels.RESERVATION_TYPE) == CAPACITY_BLOCK
    return told.get(aws_labels.RESERVATION_ID, "") if is_block else ""


def _distinct(problems: Iterable[CloudError]) -> list[CloudError]:
    """One look that fails fails for all who share it."""
    return list({str(one): one for one in problems}.values())
