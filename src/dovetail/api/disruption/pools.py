"""How a NodePool wants its nodes to be treated: `spec.disruption` and the annotations that say more.

Nothing here refuses a pool. A budget that cannot be read is kept with its problem, and then allows nothing for the
reasons it names; a setting that cannot be read becomes the one that does least. Whatever is wrong is named with its
field, for the pool's condition, for `lint` and for a command's errors alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from dovetail.api.disruption import zones
from dovetail.api.fields import Fields, fields, kind_of, near, shown
from dovetail.api.live import pools as live_pools
from dovetail.core import conditions, timestamps
from dovetail.core.conditions import Status
from dovetail.core.disruption import budgets, policies
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import BUDGETED, ConsolidationPolicy, Reason
from dovetail.core.errors import BadField, BadInput, BadValue
from dovetail.core.lifecycle import hashes
from dovetail.core.lifecycle.pools import REGISTRATION_HEALTHY, PoolRecord
from dovetail.core.nodepools import NodePool

NEVER: Final = "Never"
_SPEC: Final = "spec"
_DISRUPTION: Final = "disruption"
_BUDGETS: Final = "budgets"
_KNOWN: Final = ("consolidateAfter", "consolidationPolicy", _BUDGETS)
_OF_A_BUDGET: Final = ("nodes", "reasons", "schedule", "duration")
#: The reasons a budget may name; expiry has no budget of its own.
REASONS: Final[tuple[Reason, ...]] = tuple(one for one in BUDGETED if one is not Reason.EXPIRED)


@dataclass(frozen=True, slots=True)
class PoolRead:
    """A pool's policy, and what of its settings cannot be read, by field."""

    policy: PoolPolicy
    problems: tuple[BadField, ...] = ()

    @property
    def sentence(self) -> str:
        """All problems as one text for a condition; "" where there are none."""
        return "; ".join(f"{'.'.join(one.place.parts)}: {one.problem}" for one in self.problems)


def read(wire: Fields, pool: NodePool | None = None) -> PoolRead:
    """The policy of a NodePool as it is written. `pool` is what planning knows of it, if that is more."""
    return of_record(live_pools.read(wire), pool)


def of_record(record: PoolRecord, pool: NodePool | None = None) -> PoolRead:
    """The policy of a pool that was read from a live cluster."""
    problems: list[BadField] = []
    said = policies.said(record.meta.annotations, zones.named)
    problems += (BadValue(why).at("metadata", "annotations", key) for key, why in said.problems)
    spec = _settings(record.disruption, problems)
    policy = PoolPolicy(
        pool=pool or record.pool,
        consolidate_after=_after(spec, problems),
        policy=_policy(spec, problems),
        budgets=_budgets(spec, problems),
        template_hash="" if record.problem else hashes.pool_hash(record.template),
        hash_version=hashes.VERSION,
        healthy=_health(record),
        deleting=record.meta.deleting is not None,
    )
    return PoolRead(said.applied(policy), tuple(problems))


def _health(record: PoolRecord) -> bool | None:
    held = conditions.found(record.conditions, REGISTRATION_HEALTHY)
    if held is None or held.status is Status.UNKNOWN:
        return None
    return held.status is Status.TRUE


def _settings(held: Mapping[str, object], problems: list[BadField]) -> Fields:
    """`spec.disruption`, an empty map where it is left out or is none."""
    try:
        found = fields(held, _SPEC).map(_DISRUPTION)
    except BadField as bad:
        problems.append(bad)
        return Fields({_BUDGETS: bad.problem}, (_SPEC, _DISRUPTION))
    unknown = (str(key) for key in found.wire if key not in _KNOWN)
    problems += (found.bad(key, f"unknown key; {near(key, _KNOWN)}") for key in unknown)
    return found


def _after(spec: Fields, problems: list[BadField]) -> float | None:
    """`consolidateAfter` in seconds; None is Never, also for what nobody can read."""
    try:
        text = spec.text("consolidateAfter")
        if text is None:
            return 0.0
        return None if text == NEVER else timestamps.duration(text)
    except BadInput as bad:
        problems.append(bad if isinstance(bad, BadField) else spec.bad("consolidateAfter", str(bad)))
        return None


def _policy(spec: Fields, problems: list[BadField]) -> ConsolidationPolicy:
    """`consolidationPolicy`; one nobody can read lets only empty nodes go."""
    try:
        text = spec.text("consolidationPolicy")
        return ConsolidationPolicy.WHEN_UNDERUTILIZED if text is None else ConsolidationPolicy(text)
    except BadField as bad:
        problems.append(bad)
    except ValueError:
        told = f"{shown(text)} is no policy; {near(str(text), ConsolidationPolicy)}"
        problems.append(spec.bad("consolidationPolicy", told))
    return ConsolidationPolicy.WHEN_EMPTY


# ---- budgets


def _budgets(spec: Fields, problems: list[BadField]) -> tuple[Budget, ...]:
    listed = spec.wire.get(_BUDGETS)
    if listed is None:
        return budgets.DEFAULT
    if not isinstance(listed, list | tuple):
        bad = spec.bad(_BUDGETS, f"expected a list, got {kind_of(listed)}")
        problems.append(bad)
        return (Budget(problem=bad.problem),)
    found = []
    for number, one in enumerate(listed):
        budget, bads = _budget(one, (*spec.path, f"{_BUDGETS}[{number}]"))
        problems += bads
        found.append(budget)
    return tuple(found)


def _budget(wire: object, path: tuple[str, ...]) -> tuple[Budget, tuple[BadField, ...]]:
    """One budget and what is wrong with it; with something wrong it says so itself, and allows nothing."""
    problems: list[BadField] = []
    try:
        held = fields(wire, *path)
        reasons = _reasons(held, problems)
        made = Budget(
            _text(held.only(_OF_A_BUDGET), "nodes", problems) or "10%",
            reasons,
            _text(held, "schedule", problems),
            _duration(held, problems),
        )
    except BadField as bad:
        return Budget(problem=bad.problem), (bad,)
    if problems:
        told = "; ".join(f"{one.place.parts[-1]}: {one.problem}" for one in problems)
        return replace(made, problem=told), tuple(problems)
    why = budgets.problem_of(made)
    return (made, ()) if why is None else (replace(made, problem=why), (BadValue(why).at(*path),))


def _text(held: Fields, name: str, problems: list[BadField]) -> str | None:
    try:
        return held.text(name)
    except BadField as bad:
        problems.append(bad)
        return None


def _duration(held: Fields, problems: list[BadField]) -> float | None:
    text = _text(held, "duration", problems)
    if text is None:
        return None
    try:
        return timestamps.duration(text)
    except BadInput as bad:
        problems.append(held.bad("duration", str(bad)))
        return None


def _reasons(held: Fields, problems: list[BadField]) -> frozenset[Reason] | None:
    """The reasons a budget names; all of them where it names none, and where one of them is none."""
    listed = held.wire.get("reasons")
    if listed is None or listed in ([], ()):
        return None
    if not isinstance(listed, list | tuple):
        problems.append(held.bad("reasons", f"expected a list, got {kind_of(listed)}"))
        return None
    known = {str(one): one for one in REASONS}
    wrong = [one for one in listed if not isinstance(one, str) or one not in known]
    if wrong:
        told = near(wrong[0], known) if isinstance(wrong[0], str) else f"use one of {', '.join(sorted(known))}"
        problems.append(held.bad("reasons", f"{shown(wrong[0])} is no reason; {told}"))
        return None
    return frozenset(known[one] for one in listed)
