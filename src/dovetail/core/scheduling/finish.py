"""From a packed board to a plan: the types a claim may become, in order of price, and what its API object will say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.pods import Pod, Shape
from dovetail.core.requirements import Requirement, Requirements, is_in
from dovetail.core.resources import EPHEMERAL_STORAGE, Resources
from dovetail.core.scheduling.board import Board, ClaimBin
from dovetail.core.scheduling.disks import GrownDisk
from dovetail.core.scheduling.explain import refusal
from dovetail.core.scheduling.families import Terms
from dovetail.core.scheduling.flexibility import MinValues, fewest, mask_of, met, reached
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.problem import Choice, Claim, Placed, Plan, Refused
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Ticket


@dataclass(frozen=True, slots=True)
class _Options:
    """What claims with the same labels and types have in common."""

    types: tuple[InstanceType, ...]
    choice: Choice
    requirements: Requirements
    #: What daemons take on every one of the types.
    overhead: Resources
    #: Whether fewer values are left open than the pool asks for.
    relaxed: bool


#: How many sets of types are remembered for one state.
_MOST_KEPT: Final = 1024


class _Finisher:
    def __init__(self, board: Board) -> None:
        self.board = board
        self._disks: dict[tuple[int, int], GrownDisk | None] = {}
        self._options: dict[tuple[int, State, int, str | None, MinValues], _Options | None] = {}

    def claim(self, bin_: ClaimBin, name: str) -> Claim | None:
        index = self.board.index(bin_.pool)
        limit = self.board.limits[bin_.pool]
        types = bin_.types if limit is None else limit.settle(bin_.number, bin_.types)
        held = self.board.reservations.held.get(bin_.number)
        key = (bin_.pool, bin_.state, types, held, bin_.min_values)
        if key not in self._options:
            self._options[key] = self._looked_up(bin_, index, types, held)
        found = self._options[key]
        if found is None:
            return None
        names = self.board.names
        requests = Resources([(names[column], amount) for column, amount in enumerate(bin_.used) if amount])
        return Claim(
            name,
            index.pool,
            tuple(bin_.pods),
            found.requirements,
            found.types,
            found.choice,
            requests + found.overhead,
            (held,) if held is not None else (),
            found.relaxed,
            self._disk(index, found, types, requests),
        )

    def _looked_up(self, bin_: ClaimBin, index: PoolIndex, types: int, held: str | None) -> _Options | None:
        """What claims like this one have in common; kept with the state where only labels and types bear on it."""
        if bin_.min_values:
            return self._made(bin_, index, types, held)
        kept = bin_.state.launches
        found = kept.get((types, held))
        if not isinstance(found, _Options):
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            found = kept[types, held] = self._made(bin_, index, types, held)
        return found

    def _disk(self, index: PoolIndex, found: _Options, types: int, requests: Resources) -> GrownDisk | None:
        """The disk that holds what the pods ask for, and what daemons take on any of the types (S2.12)."""
        growth = index.growth
        if growth is None:
            return None
        asked = requests.of(EPHEMERAL_STORAGE)
        sums = (taken.of(EPHEMERAL_STORAGE) for taken, having in index.daemon_sums if having & types)
        wanted = asked + max(sums, default=0)
        if not wanted:
            return None
        known = (id(found), wanted)
        if known not in self._disks:
            size = growth.needed(found.types, wanted)
            kind = found.choice.instance_type
            self._disks[known] = None if size is None else GrownDisk(size, growth.room_on(kind, size))
        return self._disks[known]

    def _made(self, bin_: ClaimBin, index: PoolIndex, types: int, held: str | None) -> _Options | None:
        ranked = self._reserved(bin_, index, types, held) if held else self._ranked(bin_, index, types)
        most = self.board.compiled.options.max_types
        kept = ranked[:most] if len(ranked) > most else ranked
        promised, relaxed = bin_.min_values, bin_.relaxed
        if promised:
            kept = _flexible(index, bin_, ranked, most)
            policy = index.pool.min_values_policy or self.board.compiled.options.min_values
            if not kept and policy is MinValuesPolicy.BEST_EFFORT:
                kept = ranked[:most]
                counts = reached(index, bin_.state, mask_of(one for one, _ in kept), promised, bin_.reserved)
                promised, relaxed = tuple((key, min(wanted, counts[key])) for key, wanted in promised), True
        if not kept:
            return None
        chosen = tuple([index.types[position] for position, _ in kept])
        rows = self._rows(bin_, index, kept) if not held else [kept[0][1]]
        capacity_types = {row.capacity_type for row in rows if row.capacity_type is not None}
        narrowed = [Requirement(labels.INSTANCE_TYPE, frozenset([index.names[position] for position, _ in kept]))]
        if capacity_types:
            narrowed.append(is_in(labels.CAPACITY_TYPE, *capacity_types))
        if held:
            named = (one for _, row in kept for one in row.requirements if one.key != labels.INSTANCE_TYPE)
            narrowed += [is_in(one.key, held) for one in named if held in one.values]
        requirements = (bin_.state.labels & Requirements(narrowed)).without(labels.HOSTNAME)
        if relaxed:
            requirements = _promising(requirements, promised)
        choice = Choice(chosen[0], kept[0][1])
        return _Options(chosen, choice, requirements, _least_overhead(index, types), relaxed)

    def _ranked(self, bin_: ClaimBin, index: PoolIndex, types: int) -> list[tuple[int, Offering]]:
        return [entry for entry in index.ranking(bin_.state.slots) if types >> entry[0] & 1]

    def _reserved(self, bin_: ClaimBin, index: PoolIndex, types: int, held: str) -> list[tuple[int, Offering]]:
        """The rows of the one reservation the claim holds."""
        rows = self.board.reservations.rows_of(bin_.pool, held, bin_.state, types)
        found = [(one.type_bit.bit_length() - 1, one.row) for one in rows]
        return sorted(found, key=lambda entry: (entry[1].order, index.types[entry[0]].name))

    def _rows(self, bin_: ClaimBin, index: PoolIndex, kept: list[tuple[int, Offering]]) -> list[Offering]:
        """One row per capacity type the kept types can be bought as."""
        wanted = 0
        for position, _ in kept:
            wanted |= 1 << position
        found: dict[str | None, Offering] = {}
        for number, slot in enumerate(index.slots):
            if bin_.state.slots >> number & 1 and slot.types & wanted:
                capacity_type = slot.requirements.value(labels.CAPACITY_TYPE)
                if capacity_type not in found:
                    found[capacity_type] = Offering(slot.requirements, None, capacity_type, None)
        return list(found.values())


def _promising(requirements: Requirements, reached: MinValues) -> Requirements:
    """The same requirements with the minValues that could be had, in place of those the pool would like."""
    counts = dict(reached)
    return Requirements(
        one if one.min_values is None else replace(one, min_values=counts.get(one.key) or None) for one in requirements
    )


def _flexible(
    index: PoolIndex, bin_: ClaimBin, ranked: list[tuple[int, Offering]], most: int
) -> list[tuple[int, Offering]]:
    """The cheapest types that keep minValues when the list is cut (S4.7); empty where it cannot be kept.

    Where the cheapest alone are not varied enough, each key first gets the cheapest type of every value it needs.
    """
    needed: set[int] = set()
    for key, wanted in bin_.min_values if len(ranked) > most else ():
        reach = 0
        for position, _ in ranked:
            if reach >= wanted:
                break
            mask = mask_of(needed | {position})
            count = reached(index, bin_.state, mask, ((key, wanted),), bin_.reserved)[key]
            if count > reach:
                needed.add(position)
                reach = count
    if len(needed) > most:  # each key for itself takes too many; perhaps types that serve several do
        needed = set(fewest(index, bin_.state, [position for position, _ in ranked], bin_.min_values, bin_.reserved))
    others = [position for position, _ in ranked if position not in needed]
    chosen = needed.union(others[: max(0, most - len(needed))])
    if len(chosen) > most or not met(index, bin_.state, mask_of(chosen), bin_.min_values, bin_.reserved):
        return []
    return [entry for entry in ranked if entry[0] in chosen]


def _least_overhead(index: PoolIndex, types: int) -> Resources:
    """What daemons take on every one of these types."""
    sums = [taken for taken, having in index.daemon_sums if having & types]
    if not sums:
        return Resources()
    names = set.intersection(*(set(one) for one in sums))
    return Resources({name: min(one[name] for one in sums) for name in sorted(names)})


def finished(board: Board, refused: list[tuple[Shape, list[Pod]]], ticket_of: Callable[[Terms, Shape], Ticket]) -> Plan:
    """The plan, in a fixed order: claims as they were opened, nodes by name, refusals as the pods were queued."""
    finisher = _Finisher(board)
    claims: list[Claim] = []
    dropped: list[tuple[Shape, list[Pod]]] = []
    for bin_ in board.claims:
        claim = finisher.claim(bin_, f"{board.index(bin_.pool).pool.name}-{len(claims) + 1}")
        if claim is not None:
            claims.append(claim)
        else:
            dropped += [(pod.shape, [pod]) for pod in bin_.pods]
    nodes = board.compiled.table.nodes
    placed = [Placed(nodes[number], tuple(pods)) for number, pods in sorted(board.placed.items())]
    reasons: list[Refused] = [refusal(board, shape, tuple(pods), ticket_of) for shape, pods in (*refused, *dropped)]
    return Plan(tuple(claims), tuple(placed), tuple(reasons))
