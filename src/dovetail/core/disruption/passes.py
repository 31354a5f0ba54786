"""One pass over the cluster: every method in turn, every node answered.

    Repair → Emptiness → StaticDrift → Drift → Expiry → Consolidation

Unlike the peer, which ends a pass with the first method that finds something, each method takes what the ones before it
left of nodes and budgets, and sees the cluster as those will leave it. So a roll-out does not stop consolidation, and a
pass never decides two things that do not go together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dovetail.core.disruption import consolidation, returning
from dovetail.core.disruption.again import Judgements
from dovetail.core.disruption.blocking import Cause, summed
from dovetail.core.disruption.candidates import REPAIR_RULES, Candidate, look
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.drifting import drift
from dovetail.core.disruption.emptiness import empty
from dovetail.core.disruption.expiring import expire
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.repairing import repair
from dovetail.core.disruption.scanning import scan, stamped, without_others
from dovetail.core.disruption.scenes import staged
from dovetail.core.disruption.stages import Outcome, Stage, is_shrinking, ledger, ledger_ahead, ledger_in_turn
from dovetail.core.disruption.static_drift import static_drift
from dovetail.core.scheduling.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Decided:
    """What a pass decided: commands in the order they are to be started, and for every other node why it stays.

    `method_refusals` are those of methods that wanted a node and could not have it (drift, repair), by node; a node may
    have one of these and one in `refusals`. `spent` is how long each method took, in the unit of the caller's clock.
    """

    commands: tuple[Command, ...]
    refusals: Mapping[str, Refusal]
    method_refusals: Mapping[str, Refusal]
    eligible: Mapping[Reason, int]
    spent: Mapping[Reason, float] = field(default_factory=dict, compare=False)

    @property
    def blocked(self) -> tuple[Cause, ...]:
        """Dollars an hour that are not saved, by cause."""
        return summed(self.refusals.values())

    def of(self, reason: Reason) -> tuple[Command, ...]:
        return tuple(one for one in self.commands if one.reason is reason)


METHODS: Final = (
    (Reason.EMPTY, empty),
    (Reason.DRIFTED, static_drift),
    (Reason.DRIFTED, drift),
    (Reason.EXPIRED, expire),
)
Clock = Callable[[], float]


@dataclass(slots=True)
class _Watch:
    """How long what was done since the last look took, added up by reason."""

    clock: Clock
    _since: float = 0.0
    spent: dict[Reason, float] = field(default_factory=dict)

    def start(self) -> None:
        self._since = self.clock()

    def stop(self, reason: Reason) -> None:
        now = self.clock()
        self.spent[reason] = self.spent.get(reason, 0.0) + now - self._since
        self._since = now


def _stopped() -> float:
    return 0.0


def decide(
    world: World, shelf: Shelf | None = None, kept: Judgements | None = None, clock: Clock = _stopped
) -> Decided:
    """Look at everything once. The caller keeps a shelf, so that catalogs are not looked up anew each time.

    With what it kept of the pass before, only what changed since is looked at; what is decided is the same. Nothing is
    decided by the clock: it is only read, to say how long each method took.
    """
    keeps, kept = kept is not None, Judgements() if kept is None else kept
    settled, looked = kept.look(world, shelf)
    budget = ledger(world)
    saving_budget = ledger_ahead(world) if world.ahead else budget
    setting = kept.setting(world, consolidation.totals(world, settled, looked.candidates))
    eligible = _eligible(looked.candidates)
    commands: list[Command] = []
    said: dict[str, Refusal] = {}
    stage = Stage(world, settled, looked.candidates, budget, shelf)
    watch = _Watch(clock)
    watch.start()
    if world.gates.node_repair and world.repairs.policies:
        ill = look(world, settled, REPAIR_RULES)
        mended = Stage(world, settled, ill.candidates, budget, shelf)
        done = repair(mended)
        commands += done.commands
        said.update(done.refusals)
        stage = _next(stage, mended, done)
        watch.stop(Reason.UNHEALTHY)
    refusals = dict(looked.refusals)
    for reason, method in METHODS:
        stage.ledger = saving_budget if method is empty else budget
        done = method(stage)
        commands += done.commands
        (refusals if method is empty else said).update(done.refusals)
        stage = stage.after(done.commands)
        watch.stop(reason)
    scene = kept.scene(staged(world, stage.settled, saving=True), shelf)
    if world.ahead and is_shrinking(world):
        saving_budget = ledger_in_turn(world, commands)
    saving = scan(scene, stage.candidates, setting, saving_budget, kept.memory)
    if keeps:
        kept.done()
    saved, waiting = _paced(
        saving.commands, world, lambda some: without_others(scene, stage.candidates, setting, saving_budget, some)
    )
    commands += saved
    watch.stop(Reason.UNDERUTILIZED)
    refusals = {**saving.refusals, **waiting, **refusals}
    going = {name for one in commands for name in one.names}
    for name in looked.candidates:
        refusals.setdefault(name, Refusal(Code.EXPECTED, "it receives pods of nodes that go now"))
    refusals = {name: one for name, one in refusals.items() if name not in going}
    return Decided(tuple(commands), refusals, said, eligible, watch.spent)


def _next(stage: Stage, mended: Stage, done: Outcome) -> Stage:
    """The stage after repair: its candidates are other ones, the cluster it leaves is the same."""
    if not done.commands:
        return stage
    after = mended.after(done.commands)
    gone = mended.candidates.keys() - after.candidates.keys()
    left = {name: one for name, one in stage.candidates.items() if name not in gone}
    found = Stage(stage.world, after.settled, left, stage.ledger, stage.shelf)
    found.staged = after.staged
    return found


def _paced(
    commands: Sequence[Command], world: World, replanned: Callable[[Sequence[Command]], Sequence[Command]]
) -> tuple[tuple[Command, ...], dict[str, Refusal]]:
    """Those that may be started now, and why the others wait. All were planned as if all started: where some wait, the
    rest is planned anew, or waits too."""
    kept, waiting = returning.rationed(stamped(commands, world.now), world)
    if not waiting:
        return kept, waiting
    fewer = stamped(replanned(kept), world.now)
    if returning.rationed(fewer, world)[1]:
        fewer = ()
    going = {name for one in fewer for name in one.names}
    for one in kept:
        stays = Refusal(Code.NOT_CHOSEN, "it cannot go without others that wait for their turn", nanodollars=one.saved)
        waiting.update({name: stays for name in one.names if name not in going})
    return fewer, waiting


def _eligible(candidates: Mapping[str, Candidate]) -> Mapping[Reason, int]:
    found = dict.fromkeys((Reason.EMPTY, Reason.DRIFTED, Reason.UNDERUTILIZED), 0)
    for one in candidates.values():
        found[Reason.EMPTY] += one.is_empty
        found[Reason.DRIFTED] += one.is_drifted
        found[Reason.UNDERUTILIZED] += not one.is_empty and consolidation.eligible(one) is None
    return found
