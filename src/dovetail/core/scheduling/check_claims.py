"""What must hold of the claims of a plan: each for itself, and all of a pool or a reservation together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import inf

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.requirements import Requirements
from dovetail.core.resources import EPHEMERAL_STORAGE, NOTHING
from dovetail.core.scheduling.check_spots import Launch, Spot, Violation, covers, usable
from dovetail.core.scheduling.problem import Claim, Plan, Problem

NODES = "nodes"


def claim_violations(problem: Problem, spot: Spot, claim: Claim) -> Iterator[Violation]:
    """One claim: its pool, its types, its choice, and what the API object says."""
    yield from _pool(problem, claim)
    yield from _types(problem, spot, claim)
    yield from _choice(spot, claim)
    yield from _requirements(problem, spot, claim)
    yield from _min_values(problem, claim)
    yield from _disk(problem, claim)
    asked = sum((pod.shape.requests for pod in claim.pods), NOTHING)
    if any(claim.requests.of(name) < amount for name, amount in asked.items()):
        yield Violation("requests", f"{claim.name} says it asks for {claim.requests}, its pods for {asked}")


def _pool(problem: Problem, claim: Claim) -> Iterator[Violation]:
    if claim.pool not in problem.snapshot.pools:
        yield Violation("unknown-pool", f"{claim.name} is of pool {claim.pool.name}, which is not there")
    elif not usable(problem, claim.pool):
        yield Violation("unusable-pool", f"{claim.name} is of pool {claim.pool.name}, which cannot be used")
    if not claim.pods:
        yield Violation("no-pods", f"{claim.name} is bought for nobody")


def _types(problem: Problem, spot: Spot, claim: Claim) -> Iterator[Violation]:
    catalog = problem.catalogs.get(claim.pool.name)
    known = catalog.types if catalog else {}
    names = [kind.name for kind in claim.types]
    if len(set(names)) != len(names):
        yield Violation("types-twice", f"{claim.name} lists a type twice: {names}")
    if len(names) > problem.options.max_types:
        yield Violation("too-many-types", f"{claim.name} lists {len(names)} types, {problem.options.max_types} may be")
    launchable = {one.instance_type.name for one in spot.launches}
    for kind in claim.types:
        if known.get(kind.name) != kind:
            yield Violation("unknown-type", f"{claim.name} lists {kind.name}, which its pool does not offer")
        if kind.name not in launchable:
            yield Violation("dead-type", f"{claim.name} lists {kind.name}, which it could not be launched as")
    prices = [_cheapest(spot.launches, kind) for kind in claim.types]
    if prices != sorted(prices):
        yield Violation("types-order", f"{claim.name} does not list its types cheapest first: {names}")


def _cheapest(launches: tuple[Launch, ...], kind: InstanceType) -> float:
    rows = (one.offering for one in launches if one.instance_type.name == kind.name)
    return min((_amount(row) for row in rows), default=inf)


def _amount(row: Offering) -> float:
    return inf if row.price is None else row.price.nanodollars


def _choice(spot: Spot, claim: Claim) -> Iterator[Violation]:
    chosen = (claim.choice.instance_type, claim.choice.offering)
    if chosen not in [(one.instance_type, one.offering) for one in spot.launches]:
        yield Violation("choice", f"{claim.name} chooses a row of {chosen[0].name} it could not be launched by")
    elif _amount(chosen[1]) > min(_amount(one.offering) for one in spot.launches):
        yield Violation("choice-price", f"{claim.name} chooses {chosen[0].name}, which is not its cheapest way")


def _requirements(problem: Problem, spot: Spot, claim: Claim) -> Iterator[Violation]:
    said, template = claim.requirements, claim.pool.template
    if said.is_contradictory:
        yield Violation("contradiction", f"{claim.name} requires what nothing can be: {said}")
    loose = [one for one in template if not covers(replace(one, min_values=None), said.get(one.key))]
    if loose:
        yield Violation("wider-than-pool", f"{claim.name} is less strict than its pool in {loose[0]}")
    if not template.compatible(said, problem.options.well_known | {labels.HOSTNAME} | _reservation_keys(said)):
        yield Violation("foreign-key", f"{claim.name} requires a label its pool says nothing of: {said}")
    if said.mentions(labels.HOSTNAME):
        yield Violation("hostname", f"{claim.name} requires a hostname")
    names, types = said.get(labels.INSTANCE_TYPE), frozenset(kind.name for kind in claim.types)
    if names is None or names.complement or names.absent or names.values != types:
        yield Violation("instance-types", f"{claim.name} requires {names}, but lists {sorted(types)}")
    kinds = said.get(labels.CAPACITY_TYPE)
    sold = frozenset(one.offering.capacity_type or "" for one in spot.launches)
    if "" not in sold and (kinds is None or kinds.complement or kinds.absent or kinds.values != sold):
        yield Violation("capacity-types", f"{claim.name} requires {kinds}, but is sold as {sorted(sold)}")


def _reservation_keys(said: Requirements) -> frozenset[str]:
    return frozenset(one.key for one in said if one.key.endswith("reservation-id"))


def _disk(problem: Problem, claim: Claim) -> Iterator[Violation]:
    """A disk grows only where the pool's may, and no further than the cloud sells."""
    growth = problem.options.growing.get(claim.pool.name)
    if claim.disk is not None and (growth is None or EPHEMERAL_STORAGE in (claim.pool.limits or {})):
        yield Violation("disk", f"{claim.name} wants a larger disk, and those of {claim.pool.name} do not grow")
    elif claim.disk is not None and growth is not None and claim.disk.size_bytes > growth.largest_bytes:
        yield Violation("disk", f"{claim.name} wants a disk of {claim.disk.size_bytes}, larger than there is")


# ---- minValues


def _min_values(problem: Problem, claim: Claim) -> Iterator[Violation]:
    """Under Strict each key reaches the pool's number; otherwise the number the claim itself promises."""
    policy = claim.pool.min_values_policy or problem.options.min_values
    relaxed = False
    for one in claim.pool.template:
        if one.min_values is None:
            continue
        reached = _distinct(claim, one.key)
        said = claim.requirements.get(one.key)
        promised = None if said is None else said.min_values
        relaxed = relaxed or promised is None or promised < one.min_values
        if policy is MinValuesPolicy.STRICT and reached < one.min_values:
            yield Violation("min-values", f"{claim.name} reaches {reached} values of {one.key}, not {one.min_values}")
        elif promised is not None and reached < promised:
            yield Violation("min-values", f"{claim.name} promises {promised} values of {one.key}, reaches {reached}")
    if relaxed and policy is MinValuesPolicy.STRICT:
        yield Violation("min-values", f"{claim.name} carries smaller minValues than its pool")
    if relaxed != claim.min_values_relaxed:
        yield Violation("min-values-flag", f"{claim.name} says min_values_relaxed={claim.min_values_relaxed}")


def _distinct(claim: Claim, key: str) -> int:
    """Values of a key among the types, of those the claim still admits."""
    said = claim.requirements.get(key)
    found: set[str] = set()
    for kind in claim.types:
        one = kind.requirements.get(key)
        if one is not None and not one.complement:
            found |= {value for value in one.values if said is None or said.admits(value)}
    return len(found)


# ---- limits


def limit_violations(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """However the claims of a pool are launched, what its nodes have together stays within its limits.

    Nodes that leave do not count. A pool that is over a limit already buys nothing more, whatever the claim adds.
    """
    for pool in problem.snapshot.pools:
        claims = [claim for claim in plan.claims if claim.pool.name == pool.name]
        if pool.limits is None or not claims:
            continue
        used = Counter({NODES: len(claims)})
        for node in problem.snapshot.nodes:
            if node.pool == pool.name and not node.leaving:
                used[NODES] += 1
                used.update({name: amount for name, amount in node.capacity.items() if name != NODES})
        for claim in claims:
            used.update({name: _most(claim, name) for name in pool.limits if name != NODES})
        for name, limit in pool.limits.items():
            if used[name] > limit:
                yield Violation("limits", f"{pool.name} may come to {used[name]} of {name}, its limit is {limit}")


def _most(claim: Claim, name: str) -> int:
    return max((kind.capacity.of(name) for kind in claim.types), default=0)


# ---- reservations


def reservation_violations(problem: Problem, plan: Plan, spots: Iterable[Spot]) -> Iterator[Violation]:
    """No reservation is planned into more often than it has room, in whatever order the claims are launched.

    A claim may be launched into any of the reservations it names. It is safe iff the others cannot fill all of
    them, which is a matching of the others to the room in those reservations.
    """
    room = reservation_room(problem)
    held: dict[str, frozenset[str]] = {}
    for spot in spots:
        if spot.claim is None:
            continue
        yield from _named(problem, spot, spot.claim)
        if spot.claim.reservation_ids:
            held[spot.name] = frozenset(spot.claim.reservation_ids)
    for name, mine in held.items():
        others = [theirs & mine for other, theirs in held.items() if other != name and theirs & mine]
        if _matched(others, room) >= sum(room.get(one, 0) for one in mine):
            yield Violation("reservations", f"{name} may find the reservations {sorted(mine)} full")
    by_row = Counter(
        (claim.choice.instance_type.name, claim.choice.offering) for claim in plan.claims if _counted(claim)
    )
    for (kind, row), often in by_row.items():
        if row.count is not None and often > row.count:
            yield Violation("reservations", f"{kind} in {row.zone} is chosen {often} times, {row.count} are left")


def _counted(claim: Claim) -> bool:
    return claim.choice.offering.count is not None


def _named(problem: Problem, spot: Spot, claim: Claim) -> Iterator[Violation]:
    """A claim is launched into a reservation only if it says so, and can use each it names."""
    mine = frozenset(claim.reservation_ids)
    rows = [one.offering for one in spot.launches if one.offering.capacity_type == labels.RESERVED]
    if rows and not problem.options.reserved_capacity:
        yield Violation("reservations-off", f"{claim.name} may be launched into a reservation, which is switched off")
        return
    behind = [frozenset(one.id for one in row.reservations) for row in rows]
    if any(not ids & mine for ids in behind):
        yield Violation("reservation-unnamed", f"{claim.name} may be launched into a reservation it does not name")
    if mine - frozenset().union(*behind):
        yield Violation("reservation-unusable", f"{claim.name} names reservations it cannot use: {sorted(mine)}")
    if mine and len(rows) != len(spot.launches):
        yield Violation("reservation-mixed", f"{claim.name} holds reservations, yet may be bought at the market")


def reservation_room(problem: Problem) -> Mapping[str, int]:
    """What is left in each reservation: the least that any row, of any pool, says."""
    room: dict[str, int] = {}
    for catalog in problem.catalogs.values():
        for kind in catalog.types.values():
            for one in (one for row in kind.offerings for one in row.reservations):
                room[one.id] = min(one.available, room.get(one.id, one.available))
    return room


def _matched(wishes: list[frozenset[str]], room: Mapping[str, int]) -> int:
    """How many of the wishes can be granted at once: augmenting paths, as in every textbook."""
    slots: dict[str, list[int]] = {}

    def grant(wish: int, tried: set[str]) -> bool:
        for one in wishes[wish]:
            if one in tried:
                continue
            tried.add(one)
            taken = slots.setdefault(one, [])
            if len(taken) < room.get(one, 0):
                taken.append(wish)
                return True
            for place, other in enumerate(taken):
                if grant(other, tried):
                    taken[place] = wish
                    return True
        return False

    return sum(grant(wish, set()) for wish in range(len(wishes)))
