"""Consolidation: whether giving nodes up saves money, and whether it saves enough to be worth the trouble.

`eligible` says who takes part at all. `judged` takes one independent part of a what-if and says what to do with it: a
command with the machines that would be bought, cut down to those that surely save money, or the reason why not. The
rules after the price are asked in the order of what they cost people: Balanced, thresholds, payback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType

from dovetail.core import labels
from dovetail.core.disruption import balanced, costs, payback, pricing, returning
from dovetail.core.disruption.balanced import Totals
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command, Group, remembered
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.history import Move
from dovetail.core.disruption.payback import Evicted
from dovetail.core.disruption.policies import PAYBACK_SECONDS
from dovetail.core.disruption.pricing import SpotRule
from dovetail.core.disruption.reasons import ConsolidationPolicy, Decision, Reason
from dovetail.core.disruption.refusals import Code, Refusal, counted, lasting, listed, money
from dovetail.core.disruption.scenes import Settled
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod
from dovetail.core.requirements import Requirements
from dovetail.core.resources import NOTHING
from dovetail.core.scheduling.problem import Claim


@dataclass(frozen=True, slots=True)
class Setting:
    """What judging needs beside the what-if."""

    world: World
    totals: Mapping[str, Totals] = field(default_factory=lambda: MappingProxyType({}))
    #: What emptying a node costs, by its name, once somebody asked: sets of nodes share most of theirs.
    known: dict[str, tuple[Candidate, int]] = field(default_factory=dict, compare=False)
    #: For how many seconds a saving is counted on, of the pools that were wrong lately.
    horizons: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def emptying(self, one: Candidate) -> int:
        found = self.known.get(one.name)
        if found is None or found[0] is not one:
            found = self.known[one.name] = (one, emptying_cost(one, self.world))
        return found[1]

    def totals_for(self, one: Candidate) -> Totals | None:
        """What its pool costs altogether, where its policy asks."""
        return self.totals.get(one.pool) if one.policy.policy is ConsolidationPolicy.BALANCED else None


def eligible(one: Candidate) -> Refusal | None:
    """Why a candidate takes no part in consolidation; empty nodes are Emptiness' business."""
    policy = one.policy
    if policy.is_static:
        return Refusal(Code.STATIC, f"NodePool {policy.name} is static")
    if one.instance_type is None:
        said = f'Instance Type "{one.kind.instance_type}" not found'
        text = f"instance type {one.kind.instance_type or '(no label)'} is not known"
        return Refusal(Code.UNKNOWN_TYPE, text, said=said)
    if not one.capacity_type:
        return _unlabelled(Code.NO_CAPACITY_TYPE, labels.CAPACITY_TYPE)
    if not one.node.labels.get(labels.ZONE):
        return _unlabelled(Code.NO_ZONE, labels.ZONE)
    if policy.consolidate_after is None:
        said = f'NodePool "{policy.name}" has consolidation disabled'
        return Refusal(Code.NEVER, f"NodePool {policy.name} has consolidation disabled", said=said)
    if policy.policy is ConsolidationPolicy.WHEN_EMPTY:
        said = f'NodePool "{policy.name}" has consolidation policy WhenEmpty, but node is not empty'
        return Refusal(Code.ONLY_EMPTY, f"NodePool {policy.name} has non-empty consolidation disabled", said=said)
    if not one.is_consolidatable:
        return Refusal(Code.TOO_SOON, f"pods came or went less than {policy.consolidate_after:.0f} s ago")
    if one.awaited:
        return Refusal(Code.EXPECTED, f"pods are on their way: {listed(pod.key for pod in one.awaited)}")
    return None


def totals(world: World, settled: Settled, candidates: Mapping[str, Candidate]) -> Mapping[str, Totals]:
    """What each pool costs and what disturbing all of it would be: all its nodes, whether or not they may go."""
    found: dict[str, Totals] = {}
    if not any(one.policy is ConsolidationPolicy.BALANCED for one in world.pools.values()):
        return found
    for name, node in settled.nodes.items():
        if node.pool is None or name not in world.machines:
            continue
        known = candidates.get(name)
        if known is not None:
            price, cost = known.nanodollars, known.cost
        else:
            price, cost = _price(node, world), costs.reschedule_cost(_moving(settled, name), world)
        sums = found.get(node.pool, Totals())
        found[node.pool] = Totals(sums.nanodollars + price, sums.disruption + cost)
    return found


def _price(node: Node, world: World) -> int:
    catalog = world.problem.catalogs.get(node.pool or "")
    kind = None if catalog is None else catalog.types.get(node.labels.get(labels.INSTANCE_TYPE, ""))
    row = costs.row_of(kind, node.labels)
    return 0 if row is None or row.price is None else row.price.nanodollars


def _moving(settled: Settled, name: str) -> Iterable[Pod]:
    return (pod for pod in settled.residents.get(name, ()) if pod.moves)


def _unlabelled(code: Code, key: str) -> Refusal:
    return Refusal(code, f"node doesn't have the {key} label", said=f'Node does not have label "{key}"')


def judged(group: Group, candidates: Sequence[Candidate], setting: Setting) -> Command | Refusal:
    """A command for one independent part of a what-if, or why it is not worth it."""
    if group.refused:
        return _unschedulable(group)
    if not group.claims:
        return _worth(group, candidates, (), setting)
    if len(group.claims) > len(candidates):
        count = counted(len(group.claims), "node")
        text = f"Can't remove without creating {count}"
        pods = tuple(pod.key for claim in group.claims for pod in claim.pods)
        said = f"Can't remove without creating {len(group.claims)} candidates"
        return Refusal(Code.TOO_MANY, text, pods, said=said)
    replacements = cheaper(group, candidates, setting.world)
    if not isinstance(replacements, Refusal):
        replacements = returning.steadied(candidates, replacements, setting.world)
    if isinstance(replacements, Refusal):
        return replacements
    return _worth(group, candidates, replacements, setting)


def _unschedulable(group: Group) -> Refusal:
    keys = tuple(sorted(pod.key for pod in group.refused))
    text = f"not all pods would schedule: {listed(keys)} would find no place"
    return Refusal(Code.NO_PLACE, text, keys)


# ---- price


def cheaper(group: Group, candidates: Sequence[Candidate], world: World) -> tuple[Claim, ...] | Refusal:
    """The claims cut down to types that together cost less than the candidates, however they are launched."""
    unknown = _without_price(group, candidates)
    if unknown is not None:
        return unknown
    total = sum(one.nanodollars for one in candidates)
    if sum(pricing.price_of(claim) for claim in group.claims) >= total:
        return Refusal(Code.NOT_CHEAPER, "Can't replace with a cheaper node")
    every_spot = all(one.capacity_type == labels.SPOT for one in candidates)
    kept: list[Claim] = []
    for claim, ceiling in zip(group.claims, _ceilings(group.claims, total), strict=True):
        barred = _barred(claim, candidates, world)
        if every_spot and not claim.reservation_ids and pricing.allows(claim, labels.SPOT):
            rule = SpotRule(world.gates.spot_to_spot, wide=len(group.claims) == len(candidates))
            found = pricing.spot_for_spot(claim, ceiling, rule, barred)
        else:
            found = pricing.cheaper_than(claim, ceiling, barred)
        if isinstance(found, Claim) and len(candidates) > 1:
            found = _not_the_same(found, candidates)
        if isinstance(found, Refusal):
            return _because_barred(found, claim, barred)
        kept.append(found)
    return tuple(kept)


def _without_price(group: Group, candidates: Sequence[Candidate]) -> Refusal | None:
    """Prices may vanish between one look and the next; what nobody can compare is left as it is."""
    unknown = [one.name for one in candidates if one.price is None]
    unknown += [claim.choice.instance_type.name for claim in group.claims if claim.choice.offering.price is None]
    if not unknown:
        return None
    return Refusal(Code.NO_PRICE, f"nobody knows what {listed(unknown)} costs now: nothing can be said to be cheaper")


def _ceilings(claims: Sequence[Claim], total: int) -> list[int]:
    """What each claim may cost so that all of them cost less than the total: shared out by what each costs at best."""
    if len(claims) == 1:
        return [total]
    best = [pricing.price_of(claim) for claim in claims]
    whole = sum(best)
    return [total * one // whole if whole else total // len(claims) for one in best]


def _barred(claim: Claim, candidates: Sequence[Candidate], world: World) -> frozenset[str]:
    """Types that would swap back what was swapped for something else lately."""
    if not world.history.moves:
        return frozenset()
    owners = (owner_of(pod.key, world) for one in candidates for pod in one.pods)
    kinds = world.history.barred(owners, (one.kind for one in candidates), world.now)
    asked = claim.requirements.get(labels.CAPACITY_TYPE)
    return frozenset(
        kind.instance_type
        for kind in kinds
        if kind.pool == claim.pool.name and (asked is None or asked.admits(kind.capacity_type))
    )


def owner_of(key: str, world: World) -> str:
    """Whom a pod belongs to, as far as history is concerned: its owner, or itself where it has none."""
    owner = world.facts(key).owner
    return f"{key.partition('/')[0]}/{owner}" if owner else key


def memory(command: Command, world: World) -> Move | None:
    """What to put into history when a command is started; None for one that buys nothing."""
    owners = {owner_of(pod.key, world) for pod in command.evicted}
    lasting = max((one.policy.thresholds.payback for one in command.candidates), default=0.0)
    return remembered(command, owners, lasting or PAYBACK_SECONDS)


def _because_barred(refusal: Refusal, claim: Claim, barred: frozenset[str]) -> Refusal:
    back = sorted(barred & {one.name for one in claim.types})
    if refusal.code is not Code.NOT_CHEAPER or not back:
        return refusal
    text = f"only {listed(back)} would be cheaper, and its pods were moved away from there lately"
    return Refusal(Code.SWAPS_BACK, text)


def _not_the_same(claim: Claim, candidates: Sequence[Candidate]) -> Claim | Refusal:
    held = [(one.instance_type, Requirements.of_labels(_place(one))) for one in candidates]
    ceiling = pricing.shared_ceiling(claim, held)
    return claim if ceiling is None else pricing.cheaper_than(claim, ceiling)


def _place(one: Candidate) -> dict[str, str]:
    return {key: one.node.labels[key] for key in (labels.ZONE, labels.CAPACITY_TYPE) if key in one.node.labels}


# ---- worth


def _worth(
    group: Group, candidates: Sequence[Candidate], replacements: tuple[Claim, ...], setting: Setting
) -> Command | Refusal:
    """Whether what is saved is worth the trouble, by all rules of all pools concerned."""
    world = setting.world
    new = sum(pricing.price_of(claim) for claim in replacements)
    saved = sum(one.nanodollars for one in candidates) - new
    refusal = balanced.rejected(candidates, saved, setting.totals)
    if refusal is not None:
        return refusal
    cost = payback.running_beside(new, world.charges) + sum(setting.emptying(one) for one in candidates)
    takes = payback.seconds(cost, saved)
    # A node without a price can be given up, but nobody can say how soon that pays.
    if replacements or any(one.price is not None for one in candidates):
        refusal = _too_little(candidates, _Bargain(saved, cost, takes), setting.horizons)
        if refusal is not None:
            return refusal
    votes = balanced.scores(candidates, saved, setting.totals)
    return Command(
        Reason.UNDERUTILIZED,
        Decision.REPLACE if replacements else Decision.DELETE,
        tuple(candidates),
        group,
        replacements,
        saved=saved,
        cost=cost,
        payback=takes,
        horizon=min((setting.horizons[one.pool] for one in candidates if one.pool in setting.horizons), default=inf),
        votes=votes,
        at=world.now,
    )


def move_cost(candidates: Iterable[Candidate], new: int, world: World) -> int:
    """What moving everything off these nodes to new ones costs once."""
    return payback.running_beside(new, world.charges) + sum(emptying_cost(one, world) for one in candidates)


def emptying_cost(one: Candidate, world: World) -> int:
    """What the pods of a node cost while they do nothing, and what their owners charge for it."""
    has = one.node.allocatable if one.node.allocatable else one.claim.allocatable
    leaving = Evicted(NOTHING, has, one.nanodollars, None, one.policy.thresholds.eviction_nanodollars)
    facts = world.pods
    pods = (
        (pod.shape.requests, told.ready_seconds if facts and (told := facts.get(pod.key)) is not None else None)
        for pod in one.pods
    )
    return payback.emptying(pods, leaving, world.charges)


@dataclass(frozen=True, slots=True)
class _Bargain:
    """What a move saves an hour, what it costs once, and in how many seconds that is earned."""

    saved: int
    cost: int
    takes: float


def _too_little(candidates: Sequence[Candidate], move: _Bargain, horizons: Mapping[str, float]) -> Refusal | None:
    whole = sum(one.nanodollars for one in candidates)
    for policy in {one.pool: one.policy for one in candidates}.values():
        wanted = policy.thresholds
        if move.saved < wanted.least_nanodollars or move.saved < wanted.least_share * whole:
            share = f" or {float(100 * wanted.least_share):g}%" if wanted.least_share else ""
            least = f"{money(wanted.least_nanodollars)}/h{share}"
            text = f"would save {money(move.saved)}/h; NodePool {policy.name} wants at least {least}"
            return Refusal(Code.LITTLE, text, nanodollars=move.saved)
        horizon = horizons.get(policy.name, wanted.payback)
        if wanted.payback and move.takes > horizon:
            text = f"moving would cost {money(move.cost)} and save {money(move.saved)}/h: "
            text += f"it pays back in {lasting(move.takes)}, and NodePool {policy.name} "
            if horizon < wanted.payback:
                text += f"bought back lately what it had given up: for now {lasting(horizon)} is allowed"
            else:
                text += f"allows {lasting(wanted.payback)}"
            return Refusal(Code.PAYBACK, text, nanodollars=move.saved)
    return None
