"""What disruption remembers, written on claims, so that a process that starts knows what the last one knew.

Nothing is kept beside the cluster, and next to nothing is written for it alone:

    moves, returns to spot   on the machines a move bought, in the write that orders them (`NOTE`)
    replacements that failed on the claim that had to stay, with the write that takes its marks off (`FAILED`)
    spot that was short      nowhere: whoever was bought on demand though spot would have done says it by being there

A note lives as long as the claim it stands on: once that is gone, so is whatever could be moved back. What a note says
is bounded (`MOST`); of a move of more owners than that, some may be moved back too early after a restart. A note nobody
can read is as good as none: it is a memory, and an annotation anybody may write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from types import MappingProxyType
from typing import Any, Final

from dovetail.core import labels, timestamps
from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.disruption import returning
from dovetail.core.disruption.facts import Machine, World
from dovetail.core.disruption.history import Attempt, Attempts, History, Kind, Move, attempted
from dovetail.core.disruption.spot_market import STEADY_SECONDS, Batch
from dovetail.core.errors import BadInput
from dovetail.core.nodeclaims import NodeClaim

NOTE: Final = "dovetail.dev/moved"
FAILED: Final = "dovetail.dev/replacement-failed"
#: So many owners, and kinds of machines, are named at the most.
MOST: Final = 100
#: So many failures of one claim's replacements.
FAILURES: Final = 4
_Kinds = dict[str, dict[str, list[str]]]


@dataclass(frozen=True, slots=True)
class Note:
    """What is remembered of one command: its move, and how many nodes of each pool it returned to spot."""

    move: Move
    returned: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


# ---- on what was bought


def written(note: Note) -> str:
    move = note.move
    body: dict[str, Any] = {
        "at": move.at,
        "until": move.until,
        "owners": sorted(move.owners)[:MOST],
        "removed": _grouped(move.removed),
        "added": _grouped(move.added),
    }
    if note.returned:
        body["returned"] = dict(note.returned)
    return json.dumps(body, separators=(",", ":"), sort_keys=True)


def read(text: str) -> Note | None:
    """None for what is none of ours, or was spoiled."""
    try:
        body = json.loads(text)
        move = Move(
            frozenset(str(one) for one in body["owners"]),
            _kinds(body["removed"]),
            _kinds(body["added"]),
            float(body["at"]),
            float(body["until"]),
        )
        returned = {str(pool): int(count) for pool, count in body.get("returned", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    return Note(move, MappingProxyType(returned)) if isfinite(move.at) and isfinite(move.until) else None


def _grouped(every: Iterable[Kind]) -> _Kinds:
    """By pool and capacity type, which many have in common."""
    found: _Kinds = {}
    for one in islice(sorted(every), MOST):
        found.setdefault(one.pool, {}).setdefault(one.capacity_type, []).append(one.instance_type)
    return found


def _kinds(wire: _Kinds) -> frozenset[Kind]:
    return frozenset(
        Kind(str(pool), str(name), str(capacity_type))
        for pool, some in wire.items()
        for capacity_type, names in some.items()
        for name in names
    )


def notes(claims: Iterable[NodeClaim]) -> tuple[Note, ...]:
    """Every note once, oldest first; several machines of one command say the same."""
    texts = {text for claim in claims if (text := claim.meta.annotations.get(NOTE))}
    found = [note for text in sorted(texts) if (note := read(text)) is not None]
    return tuple(sorted(found, key=lambda note: note.move.at))


def history_of(every: Sequence[Note], now: float) -> History:
    # One from the future comes from a clock that was wrong, or from somebody else; nothing is barred by it for ever.
    return History(tuple(note.move for note in every if note.move.until > now >= note.move.at))


def returned_of(every: Sequence[Note], pauses: Mapping[str, float], now: float) -> dict[str, Batch]:
    """What was returned to spot of each pool in a pause that may not be over."""
    found: dict[str, Batch] = {}
    for note in every:
        at = note.move.at
        for pool, count in note.returned.items():
            known, pause = found.get(pool), pauses.get(pool, 0.0)
            goes_on = known is not None and at - known.since < pause
            found[pool] = Batch(known.since, known.count + count) if known and goes_on else Batch(at, count)
    return {pool: batch for pool, batch in found.items() if 0 <= now - batch.since < pauses.get(pool, 0.0)}


# ---- on what stayed


def failed_again(text: str, pool: str, at: float) -> str:
    """What a claim says whose replacement, of this pool, failed once more; the last few are enough."""
    mine = f"{pool} {timestamps.text(at)}"
    others = [one for one in text.split(",") if one and one != mine]
    return ",".join([*others, mine][-FAILURES:])


def attempts_of(claims: Iterable[NodeClaim]) -> Attempts:
    """The failures of each pool, oldest first. What came up needs no note: it is there to be seen."""
    known = sorted(one for claim in claims for one in _failures(claim.meta.annotations.get(FAILED, "")))
    found: Attempts = {}
    for at, pool in known:
        found = attempted(found, pool, Attempt(at, ok=False))
    return found


def _failures(text: str) -> Iterable[tuple[float, str]]:
    for one in text.split(",")[-FAILURES:]:
        pool, _, when = one.strip().partition(" ")
        try:
            at = timestamps.seconds(when)
        except BadInput:
            continue
        yield at, pool


# ---- on nothing


def back_of(world: World) -> dict[OfferingKey, float]:
    """Spot that was short lately, and since when it may be there again: since a machine was bought that fell back."""
    found: dict[OfferingKey, float] = {}
    for machine in world.machines.values():
        claim = machine.claim
        if claim is not None and 0 <= world.now - claim.meta.created < STEADY_SECONDS:
            for key in _missed(machine, claim, world):
                found[key] = max(found.get(key, 0.0), claim.meta.created)
    return found


def _missed(machine: Machine, claim: NodeClaim, world: World) -> Iterable[OfferingKey]:
    catalog = world.problem.catalogs.get(claim.pool or "")
    if catalog is None or not returning.is_fallback(machine, world):
        return
    asked = claim.requirements.get(labels.INSTANCE_TYPE)
    for kind in catalog.types.values():
        if asked is None or asked.admits(kind.name):
            for row in kind.rows_for(claim.requirements):
                if row.capacity_type == labels.SPOT:
                    yield OfferingKey(kind.name, row.zone, labels.SPOT)
