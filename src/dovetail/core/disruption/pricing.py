"""What a planned claim would cost at worst, and which of its types are worth buying in place of what is there.

A claim leaves the choice among its types to the cloud, so a saving has to hold whichever is launched: a type is kept if
even its dearest row, of the kind of capacity that would be used, is cheaper than the ceiling. What is cut must leave
the claim as flexible as its pool asks (S4.5), and one that replaces spot by spot more flexible than that (S4.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.scheduling.problem import Choice, Claim

#: One spot node replaced by another needs this many cheaper types to choose from, or it is soon taken away again.
SPOT_TYPES: Final = 15


def worst_launch(kind: InstanceType, wanted: Requirements) -> int | None:
    """The dearest price of the capacity that would be used, reserved before spot before on-demand; None for none."""
    for capacity_type in labels.CAPACITY_TYPES:
        found = [row for row in kind.rows_for(wanted) if row.capacity_type == capacity_type]
        if found:
            prices = [row.price.nanodollars for row in found if row.price is not None]
            return max(prices) if len(prices) == len(found) else None
    return None


def allows(claim: Claim, capacity_type: str) -> bool:
    """Whether a claim may be launched as this kind of capacity by some type."""
    asked = claim.requirements.get(labels.CAPACITY_TYPE)
    if asked is not None and not asked.admits(capacity_type):
        return False
    return any(row.capacity_type == capacity_type for kind in claim.types for row in kind.rows_for(claim.requirements))


def narrowed(claim: Claim, types: Sequence[InstanceType], capacity_type: str | None = None) -> Claim | None:
    """The claim with these types only, and this kind of capacity if it is named; None if it cannot be launched so."""
    wanted = claim.requirements.without(labels.INSTANCE_TYPE)
    if capacity_type is not None:
        wanted &= Requirements([is_in(labels.CAPACITY_TYPE, capacity_type)])
    kept = [(found[0], one) for one in types if (found := one.rows_for(wanted))]
    if not kept:
        return None
    kept.sort(key=lambda pair: (pair[0].order, pair[1].name))
    named = is_in(labels.INSTANCE_TYPE, *(one.name for _, one in kept))
    before = claim.requirements.get(labels.INSTANCE_TYPE)
    if before is not None and before.min_values is not None:
        named = replace(named, min_values=before.min_values)
    row, cheapest = kept[0]
    return replace(
        claim,
        types=tuple(one for _, one in kept),
        requirements=wanted & Requirements([named]),
        choice=Choice(cheapest, row),
    )


# ---- flexibility


def min_values(claim: Claim) -> tuple[tuple[str, int], ...]:
    """What the pool asks for, even where the claim was planned with less: no node is given up for a stiffer one."""
    return tuple((one.key, one.min_values) for one in claim.pool.requirements if one.min_values is not None)


def reached(claim: Claim, key: str, types: Iterable[InstanceType]) -> int:
    """How many values of a label these types offer the claim."""
    chosen = tuple(types)
    if key == labels.INSTANCE_TYPE:
        return len(chosen)
    admitted = claim.requirements.get(key)
    found: set[str] = set()
    for kind in chosen:
        if key in (labels.ZONE, labels.CAPACITY_TYPE):
            values = {row.requirements.value(key) for row in kind.rows_for(claim.requirements)}
            found.update(value for value in values if value is not None)
        elif (offered := kind.requirements.get(key)) is not None and not offered.complement:
            found.update(value for value in offered.values if admitted is None or admitted.admits(value))
    return len(found)


def short_of(claim: Claim, types: Sequence[InstanceType]) -> Refusal | None:
    """Which minValues these types do not reach."""
    for key, wanted in min_values(claim):
        count = reached(claim, key, types)
        if count < wanted:
            text = f"Filtering by price: minValues of {key} is {wanted}, and only {count} are left"
            said = f"Filtering by price: minValues requirement is not met for label(s) (label(s)=[{key}])"
            return Refusal(Code.MIN_VALUES, text, said=said)
    return None


def _leading(claim: Claim) -> int:
    """How many of the cheapest types it takes to reach minValues."""
    for count in range(1, len(claim.types)):
        if short_of(claim, claim.types[:count]) is None:
            return count
    return len(claim.types)


# ---- filters


def cheaper_than(claim: Claim, ceiling: int, barred: frozenset[str] = frozenset()) -> Claim | Refusal:
    """The claim with the types that cost less than the ceiling however they are launched, if enough are left.

    A claim open to spot and on-demand is pinned to spot: should the market be empty, the old node is still there.
    """
    kept = []
    for kind in claim.types:
        cheapest = next(iter(kind.rows_for(claim.requirements)), None)
        if cheapest is not None and cheapest.price is not None and cheapest.price.nanodollars >= ceiling:
            break  # types stand in the order of their cheapest rows
        worst = worst_launch(kind, claim.requirements)
        if worst is not None and worst < ceiling and kind.name not in barred:
            kept.append(kind)
    if not kept:
        return Refusal(Code.NOT_CHEAPER, "Can't replace with a cheaper node")
    pinned = None
    if not claim.reservation_ids and allows(claim, labels.SPOT) and allows(claim, labels.ON_DEMAND):
        spot = [one for one in kept if _has_spot(one, claim.requirements)]
        pinned, kept = (labels.SPOT, spot) if spot else (None, kept)
    found = narrowed(claim, kept, pinned)
    if found is None:
        return Refusal(Code.NOT_CHEAPER, "Can't replace with a cheaper node")
    return short_of(found, found.types) or found


def _has_spot(kind: InstanceType, wanted: Requirements) -> bool:
    return any(row.capacity_type == labels.SPOT for row in kind.rows_for(wanted))


@dataclass(frozen=True, slots=True)
class SpotRule:
    """Whether spot may replace spot, and whether the choice has to be wide: where as many come as go, it is all about
    the price."""

    enabled: bool
    wide: bool


def spot_for_spot(claim: Claim, ceiling: int, rule: SpotRule, barred: frozenset[str] = frozenset()) -> Claim | Refusal:
    if not rule.enabled:
        text = "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
        return Refusal(Code.SPOT_GATE, text)
    pinned = narrowed(claim, claim.types, labels.SPOT)
    if pinned is None:
        return Refusal(Code.NOT_CHEAPER, "Can't replace with a cheaper node")
    found = cheaper_than(pinned, ceiling, barred)
    if isinstance(found, Refusal) or not rule.wide:
        return found
    if len(found.types) < SPOT_TYPES:
        text = (
            f"SpotToSpotConsolidation requires {SPOT_TYPES} cheaper instance type options than the current candidate "
        )
        return Refusal(Code.SPOT_FEW, f"{text}to consolidate, got {len(found.types)}")
    return narrowed(found, found.types[: max(SPOT_TYPES, _leading(found))]) or found


def shared_ceiling(claim: Claim, held: Iterable[tuple[InstanceType | None, Requirements]]) -> int | None:
    """Where a claim may become what one of several candidates is already: what that one costs at its cheapest.

    Buying the same again while giving it up would be pointless: giving up the others is then the better move.
    """
    names = {one.name for one in claim.types}
    found = []
    for kind, wanted in held:
        if kind is not None and kind.name in names:
            prices = [
                row.price.nanodollars
                for row in kind.offerings
                if row.price is not None and row.requirements.intersects(wanted)
            ]
            found += [min(prices)] if prices else []
    return min(found, default=None)


def price_of(claim: Claim) -> int:
    """What a claim would cost an hour as its cheapest choice; 0 where nobody knows."""
    price = claim.choice.offering.price
    return 0 if price is None else price.nanodollars
