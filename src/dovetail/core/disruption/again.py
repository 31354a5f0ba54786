"""Looking again soon after: what the last pass knew is used as far as it still holds.

A pass over a cluster in which one pod changed asks the same questions as the pass before, nearly all of them with the
same answers. Whoever runs passes keeps a `Judgements` and hands it to each: `passes.decide(world, shelf, kept)`. Only
what changed is looked at and asked again:

- a candidate, if its machine, its node, its pool, one of its pods or what they say changed, or a hold ran out;
- the compiled cluster, as far as pods came and went (`Compiled.changed`), while nodes, pools and catalogs are the same;
- an answer, unless it would surely be given again (`footprints`);
- what was concluded of an answer, if the answer or the candidate is another, or prices of moving are.

A node that comes, goes or is relabelled makes the next pass a full one.

Without patience, what is decided is the same as from scratch, always. With some, two things may be late by that much:
the search for nodes that go together, whose choice is kept while it is possible and pays; and answers in doubt, of
which each pass asks a few again, the oldest first. A plan in doubt is forgotten at once: nothing is ever done by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Final

from dovetail.core.disruption import differences, footprints, regrets, returning
from dovetail.core.disruption.balanced import Totals
from dovetail.core.disruption.candidates import Candidate, Looked, look
from dovetail.core.disruption.consolidation import Setting
from dovetail.core.disruption.differences import NO_DIFFERENCE, Difference
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.footprints import Change, Footprint
from dovetail.core.disruption.refusals import Refusal
from dovetail.core.disruption.scanning import Memory, Searched
from dovetail.core.disruption.scenes import Scene, Settled, residents_of, settle
from dovetail.core.pods import Pod
from dovetail.core.scheduling.problem import Problem
from dovetail.core.scheduling.shelf import Shelf

#: For so long, and while no more than so many of the pods are other ones, a search for nodes that go together counts.
PATIENCE_SECONDS: Final = 60.0
_STIRRED_SHARE: Final = 0.01
#: Of the answers that might be other ones by now, so many pods' worth are asked again in one pass, the oldest first.
_PODS_AT_ONCE: Final = 200
#: Where more of the pods are other ones, it is quicker to begin anew.
_MOST_SHARE: Final = 0.1


@dataclass(slots=True)
class _Last:
    """The pass before."""

    world: World
    settled: Settled
    looked: Looked
    scene: Scene | None = None


@dataclass(slots=True)
class Judgements:
    """What a pass leaves to the next. Empty at first; it belongs to one who runs passes, one at a time."""

    #: Seconds for which a search for nodes that go together counts.
    patience: float = PATIENCE_SECONDS
    memory: Memory = field(default_factory=Memory)
    #: The last search, when it was made, and how many pods changed since.
    _searched: Searched | None = None
    _at: float = 0.0
    _stirred: int = 0
    #: What its commands rest on.
    _prints: tuple[Footprint, ...] = ()
    _emptying: dict[str, tuple[Candidate, int]] = field(default_factory=dict)
    _rests_on: tuple[object, ...] = ()
    _last: _Last | None = None

    def look(self, world: World, shelf: Shelf | None) -> tuple[Settled, Looked]:
        """The cluster settled, and its candidates."""
        last = self._last
        if last is None:
            settled = settle(world, shelf)
            looked = look(world, settled)
        else:
            found = differences.between(last.world.problem.snapshot.pods, world.problem.snapshot.pods)
            settled = settle(world, shelf, _residents(last.settled.residents, world, found))
            looked = look(world, settled, known=_unchanged(last, world, settled, found))
        self._last = _Last(world, settled, looked, None if last is None else last.scene)
        return settled, looked

    def setting(self, world: World, totals: Mapping[str, Totals]) -> Setting:
        """What conclusions rest on beside answers; where it is not what it was, all are drawn anew."""
        horizons = regrets.horizons(world)
        rests_on = (
            world.history.current(world.now),
            world.charges,
            world.gates,
            returning.outlook(world),
            horizons,
        )
        if rests_on != self._rests_on:
            self.memory = Memory()
            self._emptying.clear()
            self._rests_on = rests_on
        return Setting(world, totals, self._emptying, horizons)

    def scene(self, found: Problem, shelf: Shelf | None) -> Scene:
        """A cluster to ask about, with the answers that still stand."""
        assert self._last is not None, "a pass looks first"
        before, now = self._last.scene, self._last.world.now
        seen = None if before is None else revisited(before, found, shelf)
        if seen is None:
            self.memory = Memory()
            self._last.scene = Scene(found, shelf)
            return self._last.scene
        self._forget(seen.change, seen.scene)
        self._doubt(seen.doubted, seen.scene)
        self._stirred += seen.stirred
        due = not self._at <= now < self._at + self.patience
        if due or self._stirred > len(found.snapshot.pods) * _STIRRED_SHARE:
            self.memory.searched = None
        self._last.scene = seen.scene
        return seen.scene

    def _forget(self, change: Change | None, scene: Scene) -> None:
        """What rests on nodes that are not what they were; all of it where nobody knows what does."""
        known, last = self.memory.judgements, self.memory.searched
        mask = -1 if change is None else change.mask
        for name in [name for name, one in known.items() if one.witnesses & mask]:
            del known[name]
        if last is None or last is not self._searched:
            return
        kept = (False,) * len(last.commands)
        if change is not None:
            kept = footprints.possible(self._prints, change, scene.compiled)
        if not all(kept):
            self.memory.searched = self._searched = replace(last, commands=tuple(compress(last.commands, kept)))
            self._prints = tuple(compress(self._prints, kept))

    def _doubt(self, doubted: Iterable[str], scene: Scene) -> None:
        """Put off what need not be asked again at once, and see who has waited long enough."""
        now, waiting = self._last.world.now if self._last else 0.0, self.memory.doubted
        for name in doubted if self.patience else ():
            waiting.setdefault(name, now)
        planned = 0
        for name in sorted(waiting, key=lambda one: (waiting[one], one)):
            if planned >= _PODS_AT_ONCE and waiting[name] <= now < waiting[name] + self.patience:
                break
            judged = self.memory.judgements.pop(name, None)
            planned += len(judged.candidate.pods) if judged is not None else 0
            scene.answers.pop(frozenset((name,)), None)
            del waiting[name]

    def done(self) -> None:
        """At the end of a pass: note what answers rest on, and forget those nobody asked for any more."""
        assert self._last is not None, "a pass looks first"
        scene = self._last.scene
        if scene is None:
            return
        asked = scene.asked() if not self.patience else frozenset()
        for key in [key for key in scene.answers if len(key) > 1 and key not in asked]:
            del scene.answers[key]
        for key, answer in scene.answers.items():
            if answer.prints is None and answer.made:
                answer.prints = footprints.footprints(scene.compiled, tuple(key), answer.made)
                answer.made = ()
                for one in answer.prints or ():
                    one.wanted(scene.compiled)
        found = self.memory.searched
        if found is not None and found is not self._searched:
            self._searched, self._at, self._stirred = found, self._last.world.now, 0
            self._prints = tuple(Footprint(scene.compiled, one.names, one.group.plan) for one in found.commands)


# ---- candidates


def _residents(before: Mapping[str, Sequence[Pod]], world: World, found: Difference) -> Mapping[str, Sequence[Pod]]:
    """Pods by node, of which only those of some nodes have to be looked through."""
    nodes = found.nodes
    if not nodes:
        return before
    kept = {name: some for name, some in before.items() if name not in nodes}
    if found.come:
        return kept | residents_of(pod for pod in world.problem.snapshot.pods if pod.node in nodes)
    gone = set(map(id, found.gone))
    return kept | residents_of(pod for name in nodes for pod in before.get(name, ()) if id(pod) not in gone)


def _unchanged(last: _Last, world: World, settled: Settled, found: Difference) -> Mapping[str, Candidate | Refusal]:
    """What was said of machines of which nothing changed that it depends on."""
    before = last.world
    if world.now < before.now or not _same_rules(before, world):
        return {}
    told = differences.told_otherwise(before.pods, world.pods)
    touched = found.nodes | differences.hosts(world.problem.snapshot.pods, told)
    touched |= last.settled.expected.keys() | settled.expected.keys()
    every: Mapping[str, Candidate | Refusal] = {**last.looked.refusals, **last.looked.candidates}
    kept = {}
    for name, one in every.items():
        machine, was = world.machines.get(name), before.machines[name]
        node, old = settled.nodes.get(name), last.settled.nodes.get(name)
        same = name not in touched and (machine is was or machine == was) and (node is old or node == old)
        if same and not (isinstance(one, Candidate) and one.held and _ran_out(one, before, world)):
            kept[name] = one
    return kept


def _same_rules(before: World, world: World) -> bool:
    """Whether pools, what they can buy, and commands that run are the same."""
    sold, was = world.problem.catalogs, before.problem.catalogs
    return (
        before.taken == world.taken
        and before.gates == world.gates
        and before.pools == world.pools
        and sold.keys() == was.keys()
        and all(sold[name] is was[name] for name in sold)
    )


def _ran_out(one: Candidate, before: World, world: World) -> bool:
    """Whether a pod's wish not to be disturbed has come to its end."""
    untils = (world.facts(key).held_until for held in one.held for key in held.pods)
    return any(until is not None and before.now < until <= world.now for until in untils)


# ---- the scene


@dataclass(frozen=True, slots=True)
class Revisited:
    """A scene with the answers that still stand, and how it came about."""

    scene: Scene
    #: How many pods are other ones, and what that changed, if it is known.
    stirred: int
    change: Change | None
    #: Single nodes whose answers might be other ones.
    doubted: tuple[str, ...] = ()


def revisited(before: Scene, problem: Problem, shelf: Shelf | None) -> Revisited | None:
    """The scene of a cluster that differs a little, with the answers that still stand; None if it differs in more."""
    old, new = before.problem, problem
    nodes = differences.resized(old.snapshot.nodes, new.snapshot.nodes)
    if nodes is None or not _same_market(old, new):
        return None
    found = differences.between(old.snapshot.pods, new.snapshot.pods)
    if len(found) > len(new.snapshot.pods) * _MOST_SHARE + 10:
        return None
    if found is NO_DIFFERENCE and not nodes:
        compiled = before.compiled
    else:
        numbers = before.compiled.table.numbers
        changed = before.compiled.changed(new, {numbers[one.name]: one for one in nodes}, found.gone, found.come)
        if changed is None:
            return None
        compiled = changed
    scene = Scene(new, shelf, compiled)
    if _keeps_away(before, scene, found):
        return Revisited(scene, len(found), None)
    change = footprints.change(before.compiled, compiled, (*found.gone, *found.come), (one.name for one in nodes))
    doubted: list[str] = []
    for key, answer in before.answers.items():
        if answer.prints is not None and all(footprints.stands(one, change, compiled) for one in answer.prints):
            scene.answers[key] = answer
        elif len(key) == 1:
            doubted += key
    return Revisited(scene, len(found), change, tuple(doubted))


def _same_market(old: Problem, new: Problem) -> bool:
    return (
        old.options == new.options
        and old.snapshot.pools == new.snapshot.pools
        and old.snapshot.daemons == new.snapshot.daemons
        and old.snapshot.namespaces == new.snapshot.namespaces
        and old.catalogs.keys() == new.catalogs.keys()
        and all(old.catalogs[name] is new.catalogs[name] for name in new.catalogs)
    )


def _keeps_away(before: Scene, after: Scene, found: Difference) -> bool:
    """Whether a shape came or went that others have to keep away from: whom that concerns was never noted."""
    shapes = {id(pod.shape): pod.shape for pod in (*found.gone, *found.come) if pod.shape.apart.required}
    bound, now = before.compiled.table.bound, after.compiled.table.bound
    return any((shape in bound) != (shape in now) for shape in shapes.values())
