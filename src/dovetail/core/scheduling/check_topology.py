"""What must hold between pods: spread, affinity and anti-affinity, judged on the final state.

Kubernetes judges one pod at a time against what is there already. A plan does not say in which order its pods
will be bound, so each rule here is the weakest statement about the final state that every valid order implies; what
it refuses, no order can justify.

**Spread.** A hard constraint belongs to *owners*; it counts the *matching* pods of the owner's namespace by domain. Its
domains are the values of its key on nodes that stay and pass its policies (node affinity: any OR term; taints),
and the values that usable pools offer to such a pod: a pool it tolerates, with a type and a row that can be bought
and meet its selector and one of its terms (and, where node affinity is ignored, that it would offer to anybody with the
same tolerations). For the hostname a pool offers one fresh, empty host. The *floor* is the
least count over the domains, 0 while there are fewer than minDomains.

    Domains are fixed and counts only grow, so the floor an owner saw was no higher than the final floor. The
    matching pods that are no owners may all have been bound last. But owners see one another: with `there`
    matching pods in a domain before the plan, the k-th self-matching owner bound there saw k − 1 owners before
    it, so there + k ≤ maxSkew + floor for some order of them, and that of rising maxSkew is as good as any.

A claim whose domain is open counts as an owner in every domain it may turn out to be in, and for no floor; nor does
one for the floor that passes the policies only if it is launched in the right way.

**Affinity.** In a domain with owners, one of them needs company that is no owner (bound before, or planned), or else
was the first of all: it matches its own term, nothing matching was bound in any domain before the plan, and there is
only one such domain. A claim whose domain is open is a domain for itself. Besides, the pods must be able to come one
after the other: two that each wait for the other never do.

**Anti-affinity.** No two pods, one at least planned, of which one's term selects the other, may be in one domain,
whichever of the two was first. A claim is in every domain it may turn out to be in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf

from dovetail.core import labels
from dovetail.core.pods import Pod, PodTerm, Policy, Shape, Spread
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.scheduling.check_spots import (
    Spot,
    Violation,
    demands,
    met_in_any,
    settled,
    tolerates,
    usable,
    values_of,
)
from dovetail.core.scheduling.problem import Problem

_FRESH_HOST = "a fresh host"
_Place = tuple[str, str]


def topology_violations(problem: Problem, spots: tuple[Spot, ...]) -> Iterator[Violation]:
    yield from _spread(problem, spots)
    yield from _affinity(problem, spots)
    yield from _anti_affinity(problem, spots)


# ---- spread


@dataclass(frozen=True, slots=True)
class _Constraint:
    """A spread constraint as one kind of owner sees it: owners for which this is equal count and filter alike."""

    spread: Spread
    namespace: str
    filtered_by: Shape

    @classmethod
    def of(cls, spread: Spread, shape: Shape) -> _Constraint:
        eligible = Shape(selector=shape.selector, terms=shape.terms, tolerations=shape.tolerations)
        return cls(replace(spread, max_skew=1, min_domains=None), shape.namespace, eligible)

    def counts(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and self.spread.selector.matches(dict(pod.shape.labels))

    def passes(self, spot: Spot) -> bool:
        """Whether the spot is looked at; a claim is, if it passes in whatever way it is launched."""
        if self.spread.node_taints is Policy.HONOR and not tolerates(self.filtered_by, spot.taints):
            return False
        wanted = demands(self.filtered_by)
        return self.spread.node_affinity is Policy.IGNORE or all(met_in_any(wanted, way) for way in spot.ways)


def _spread(problem: Problem, spots: tuple[Spot, ...]) -> Iterator[Violation]:
    owners: dict[_Constraint, list[tuple[Spot, Pod, Spread]]] = defaultdict(list)
    for spot in spots:
        for pod in spot.coming:
            for spread in pod.shape.spread:
                if spread.hard:
                    owners[_Constraint.of(spread, pod.shape)].append((spot, pod, spread))
    for constraint, owned in owners.items():
        yield from _skewed(problem, spots, constraint, owned)


def _skewed(
    problem: Problem, spots: tuple[Spot, ...], constraint: _Constraint, owned: list[tuple[Spot, Pod, Spread]]
) -> Iterator[Violation]:
    key, well_known = constraint.spread.key, problem.options.well_known
    offered = offered_domains(problem, constraint.filtered_by, key)
    known = set(offered)
    if constraint.spread.node_affinity is Policy.IGNORE:
        anybody = replace(constraint.filtered_by, selector=EMPTY, terms=())
        known |= offered_domains(problem, anybody, key)
        offered &= offered_domains(problem, anybody, key)
    counts: Counter[str] = Counter(dict.fromkeys(offered, 0))
    there: Counter[str] = Counter()
    for spot in spots:
        value = spot.domains(key, well_known).certain
        if value is None or not constraint.passes(spot):
            continue
        there[value] += sum(constraint.counts(pod) for pod in spot.staying)
        seen = sum(constraint.counts(pod) for pod in spot.pods)
        if spot.node is not None or value in counts or key == labels.HOSTNAME:
            counts[value] += seen
    arrivals: dict[str, dict[Pod, float]] = defaultdict(dict)
    for spot, pod, spread in owned:
        domains = spot.domains(key, well_known)
        if domains.absent or domains.unknown or not domains.values:
            yield Violation("spread-domain", f"{pod.key} is spread by {key}, which {spot.name} does not pin")
        too_few = spread.min_domains is not None and len(known | counts.keys()) < spread.min_domains
        floor = 0 if too_few else min(counts.values(), default=inf)
        for value in domains.values:
            arrivals[value][pod] = min(floor + spread.max_skew, arrivals[value].get(pod, inf))
    for value, came in arrivals.items():
        taken = there[value]
        for pod, most in sorted(came.items(), key=lambda one: (one[1], one[0].key)):
            counted = constraint.counts(pod)
            taken += counted
            if (taken if counted else there[value]) > most:
                yield Violation(
                    "skew", f"{pod.key} is one of {taken} by {key} in {value}, {most} may be: {dict(counts)}"
                )
                break


def offered_domains(problem: Problem, shape: Shape, key: str) -> frozenset[str]:
    """The values of a key that usable pools offer to such a pod."""
    well_known = problem.options.well_known
    found: set[str] = set()
    for pool in problem.snapshot.pools:
        if not usable(problem, pool) or not tolerates(shape, pool.taints):
            continue
        for wanted in demands(shape):
            if not pool.template.compatible(wanted, well_known):
                continue
            both = pool.template & wanted
            for kind in problem.catalogs[pool.name].types.values():
                if not both.intersects(kind.requirements):
                    continue
                for row in kind.offerings:
                    if row.launchable and both.compatible(row.requirements, well_known):
                        found |= _values(both & kind.requirements & row.requirements, key, well_known)
    return frozenset(found)


def _values(defined: Requirements, key: str, well_known: frozenset[str]) -> frozenset[str]:
    if defined.is_contradictory:
        return frozenset()
    if key == labels.HOSTNAME:
        return frozenset({_FRESH_HOST})
    one = settled(defined, well_known).get(key)
    return frozenset() if one is None or (one.complement and key in well_known) else values_of(one)


# ---- affinity


@dataclass(frozen=True, slots=True)
class _Term:
    """A required term with its namespaces found."""

    term: PodTerm
    namespaces: frozenset[str]

    def selects(self, pod: Pod) -> bool:
        return pod.namespace in self.namespaces and self.term.selector.matches(dict(pod.shape.labels))


def _resolved(problem: Problem, term: PodTerm, own: str, pods: Iterable[Pod]) -> _Term:
    """Names given, and namespaces selected; neither: the pod's own. A namespace nobody described has no labels."""
    if not term.namespaces and term.namespace_selector is None:
        return _Term(term, frozenset({own}))
    found = set(term.namespaces)
    if term.namespace_selector is not None:
        described = problem.snapshot.namespaces
        known = {*described, *(pod.namespace for pod in pods)}
        found |= {name for name in known if term.namespace_selector.matches(described.get(name, {}))}
    return _Term(term, frozenset(found))


def _everybody(spots: tuple[Spot, ...]) -> list[Pod]:
    return [pod for spot in spots for pod in spot.pods]


def _affinity(problem: Problem, spots: tuple[Spot, ...]) -> Iterator[Violation]:
    pods = _everybody(spots)
    owners: dict[_Term, list[tuple[Spot, Pod]]] = defaultdict(list)
    for spot in spots:
        for pod in spot.coming:
            for term in pod.shape.near.required:
                owners[_resolved(problem, term, pod.namespace, pods)].append((spot, pod))
    starts: dict[_Term, frozenset[_Place]] = {}
    for resolved, owned in owners.items():
        begun, alone = _company(problem, spots, resolved, owned)
        yield from _lonely(problem, resolved, owned, begun, alone)
        starts[resolved] = frozenset() if begun else frozenset(alone) or frozenset(_places(problem, resolved, owned))
    yield from _circles(problem, spots, owners, starts)


def _company(
    problem: Problem, spots: tuple[Spot, ...], resolved: _Term, owned: list[tuple[Spot, Pod]]
) -> tuple[bool, dict[_Place, list[Pod]]]:
    """Whether something matching was bound before the plan, and the owners of places where only owners are."""
    key, well_known = resolved.term.key, problem.options.well_known
    mine = {_who(pod) for _, pod in owned}
    company: set[_Place] = set()
    begun = False
    for spot in spots:
        for pod in spot.pods:
            if resolved.selects(pod) and _who(pod) not in mine:
                company.add(_place(spot, key, well_known))
                begun = begun or (pod in spot.staying and bool(spot.domains(key, well_known).values))
    alone: dict[_Place, list[Pod]] = defaultdict(list)
    for spot, pod in owned:
        place = _place(spot, key, well_known)
        if place not in company:
            alone[place].append(pod)
    return begun, alone


def _lonely(
    problem: Problem, resolved: _Term, owned: list[tuple[Spot, Pod]], begun: bool, alone: dict[_Place, list[Pod]]
) -> Iterator[Violation]:
    key = resolved.term.key
    for spot, pod in owned:
        domains = spot.domains(key, problem.options.well_known)
        if domains.absent or domains.unknown or not domains.values:
            yield Violation("affinity-domain", f"{pod.key} wants company by {key}, which {spot.name} does not pin")
    for number, (place, together) in enumerate(sorted(alone.items())):
        if begun or number or not any(resolved.selects(pod) for pod in together):
            who = together[0].key
            yield Violation("affinity", f"{who} has not the company it demands by {key} in {place[1]}")


def _circles(
    problem: Problem,
    spots: tuple[Spot, ...],
    owners: dict[_Term, list[tuple[Spot, Pod]]],
    starts: dict[_Term, frozenset[_Place]],
) -> Iterator[Violation]:
    """Let pods come while any can; those left over wait for one another."""
    well_known = problem.options.well_known
    wishes: dict[tuple[str, str], list[tuple[_Term, _Place]]] = defaultdict(list)
    for resolved, owned in owners.items():
        for spot, pod in owned:
            wishes[_who(pod)].append((resolved, _place(spot, resolved.term.key, well_known)))
    arrived: dict[_Term, set[_Place]] = {resolved: set() for resolved in owners}
    waiting = [(spot, pod) for spot in spots for pod in spot.pods]
    moved = True
    while moved:
        moved, still = False, []
        for spot, pod in waiting:
            if all(
                place in arrived[term] or (term.selects(pod) and place in starts[term])
                for term, place in ([] if pod in spot.staying else wishes[_who(pod)])
            ):
                moved = True
                for resolved, places in arrived.items():
                    if resolved.selects(pod):
                        places.add(_place(spot, resolved.term.key, well_known))
            else:
                still.append((spot, pod))
        waiting = still
    if waiting:
        names = ", ".join(sorted(pod.key for _, pod in waiting))
        yield Violation("affinity-circle", f"each of these waits for another of them: {names}")


def _who(pod: Pod) -> tuple[str, str]:
    return pod.key, pod.uid


def _places(problem: Problem, resolved: _Term, owned: list[tuple[Spot, Pod]]) -> Iterator[_Place]:
    return (_place(spot, resolved.term.key, problem.options.well_known) for spot, _ in owned)


def _place(spot: Spot, key: str, well_known: frozenset[str]) -> _Place:
    """A domain, or, where it is open, the spot itself."""
    value = spot.domains(key, well_known).certain
    return ("spot", spot.name) if value is None else ("domain", value)


# ---- anti-affinity


def _anti_affinity(problem: Problem, spots: tuple[Spot, ...]) -> Iterator[Violation]:
    pods = _everybody(spots)
    for spot in spots:
        for pod in spot.pods:
            for term in pod.shape.apart.required:
                resolved = _resolved(problem, term, pod.namespace, pods)
                yield from _too_near(problem, spots, resolved, spot, pod)


def _too_near(
    problem: Problem, spots: tuple[Spot, ...], resolved: _Term, home: Spot, owner: Pod
) -> Iterator[Violation]:
    key, well_known = resolved.term.key, problem.options.well_known
    mine = home.domains(key, well_known)
    for spot in spots:
        if not mine.may_meet(spot.domains(key, well_known)):
            continue
        for other in spot.pods:
            if other is owner or not resolved.selects(other):
                continue
            if owner in home.coming or other in spot.coming:
                yield Violation("anti-affinity", f"{owner.key} keeps {other.key} out of its {key}; both are there")
