"""Looking again: a command that saves money is kept for a while and judged once more before anything is touched.

Pods come and go in bursts; what looks idle now may be wanted in ten seconds. So nothing sleeps: the command and its
time are a value, other commands run meanwhile, and when its time has come it is judged on the cluster as it is then. A
part of it that no longer holds is dropped, independent parts go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from dovetail.core.disruption import consolidation, emptiness, regrets
from dovetail.core.disruption.candidates import REPAIR_RULES, Candidate, Looked, look
from dovetail.core.disruption.commands import Command, Group, split
from dovetail.core.disruption.consolidation import Setting
from dovetail.core.disruption.drifting import judge_of
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.repairing import diagnosed
from dovetail.core.disruption.scenes import settle
from dovetail.core.disruption.stages import Stage, ledger
from dovetail.core.scheduling.shelf import Shelf

SETTLING_SECONDS: Final = 15.0
_WITHOUT_BUDGET: Final = frozenset({Reason.EXPIRED, Reason.INTERRUPTED})
#: What is done though, or because, its pods have nowhere to go just now.
_NOT_ASKED: Final = frozenset({Decision.TERMINATE_FIRST, Decision.REBOOT})


def settling(command: Command) -> float:
    """How long a command is kept before it is judged again; what is broken or outdated need not wait."""
    return SETTLING_SECONDS if command.reason in (Reason.EMPTY, Reason.UNDERUTILIZED) else 0.0


def due(command: Command) -> float:
    return command.at + settling(command)


@dataclass(frozen=True, slots=True)
class Again:
    """What is left of a command, and why the rest is not."""

    commands: tuple[Command, ...]
    refusals: tuple[tuple[tuple[str, ...], Refusal], ...] = ()


def judge_again(command: Command, world: World, shelf: Shelf | None = None) -> Again:
    """Judge a command on the cluster as it is now. `world.running` has the commands that run, not this one."""
    settled = settle(world, shelf)
    rules = REPAIR_RULES if command.reason is Reason.UNHEALTHY else None
    looked = look(world, settled) if rules is None else look(world, settled, rules)
    stage = Stage(world, settled, looked.candidates, ledger(world), shelf)
    changed = _missing(command, looked) or _changed(command, stage)
    if changed is not None:
        return Again((), ((command.names, changed),))
    if command.decision in _NOT_ASKED or command.templates or not command.evicted or command.reason is Reason.EMPTY:
        return Again((command,))
    return _asked_again(command, stage)


def _missing(command: Command, looked: Looked) -> Refusal | None:
    """A part of a command may only go on by itself if it needs nothing that was meant for another part."""
    gone = next((name for name in command.names if name not in looked.candidates), None)
    if gone is None:
        return None
    why = looked.refusals.get(gone, Refusal(Code.CHURN, "node is gone"))
    return Refusal(Code.CHURN, f"{gone}: {why.text}")


def _changed(command: Command, stage: Stage) -> Refusal | None:
    """What speaks against its nodes now: they are not what they were, or budgets have shrunk."""
    counts: dict[str, int] = {}
    for name in command.names:
        one = stage.candidates[name]
        found = _still(one, command.reason, stage)
        if found is not None:
            return found
        counts[one.pool] = counts.get(one.pool, 0) + 1
    if command.reason not in _WITHOUT_BUDGET and not stage.ledger.takes(counts, command.reason):
        if command.reason is Reason.UNHEALTHY and not any(
            stage.candidates[name].machine.is_initialized for name in command.names
        ):
            return None
        pool = command.pools[0]
        return Refusal(Code.BUDGET, stage.ledger.sentence(pool, command.reason))
    return None


def _still(one: Candidate, reason: Reason, stage: Stage) -> Refusal | None:
    """Whether a node still is what its command took it for."""
    match reason:
        case Reason.EMPTY:
            if not one.is_empty:
                return Refusal(Code.CHURN, f"{one.name} is no longer empty")
            return emptiness.refusal(one)
        case Reason.UNDERUTILIZED:
            if one.is_empty:
                return None
            held = one.held[0] if one.held else None
            return consolidation.eligible(one) or held
        case Reason.DRIFTED:
            held = next(iter(one.holds(reason)), None)
            return held if one.is_drifted else Refusal(Code.CHURN, f"{one.name} has not drifted any more")
        case Reason.UNHEALTHY:
            well = diagnosed(one.machine, stage.world) is None
            return Refusal(Code.CHURN, f"{one.name} is well again") if well else None
        case Reason.EXPIRED | Reason.INTERRUPTED:
            return None


def _setting(stage: Stage) -> Setting:
    totals = consolidation.totals(stage.world, stage.settled, stage.candidates)
    return Setting(stage.world, totals, horizons=regrets.horizons(stage.world))


def _asked_again(command: Command, stage: Stage) -> Again:
    saving = command.reason is Reason.UNDERUTILIZED
    scene = stage.scene(saving)
    setting = _setting(stage)
    judge = judge_of(stage, command.reason)
    commands: list[Command] = []
    refusals: list[tuple[tuple[str, ...], Refusal]] = []
    for group in split(scene.what_if(command.names), command.names):
        some = [stage.candidates[name] for name in group.names]
        found = consolidation.judged(group, some, setting) if saving else judge(group, some)
        if isinstance(found, Refusal):
            refusals.append((group.names, found))
        elif saving and (worse := _worse(group, len(command.replacements))) is not None:
            refusals.append((group.names, worse))
        else:
            commands.append(found)
    return Again(tuple(commands), tuple(refusals))


def _worse(group: Group, machines: int) -> Refusal | None:
    """What was to be given up for nothing, or for few machines, now needs more of them."""
    if len(group.claims) <= machines:
        return None
    return Refusal(Code.CHURN, f"it would now need {len(group.claims)} new nodes, not {machines}")


# ---- many at once


class Turn(Enum):
    """Whether a command that waits has its turn."""

    NOW = "now"
    LATER = "later"
    #: Budgets that let none go, or not so many at once, however few are away.
    NEVER = "never"


def turns(commands: Iterable[Command], world: World) -> Iterator[tuple[Command, Turn, str]]:
    """Whose turn it is by budgets, in the order of the commands, and for whose it will not come what keeps it."""
    book = ledger(world)
    for command in commands:
        counts: dict[str, int] = {}
        for one in command.candidates:
            counts[one.pool] = counts.get(one.pool, 0) + 1
        if book.takes(counts, command.reason):
            for pool, count in counts.items():
                book.take(pool, count)
            yield command, Turn.NOW, ""
        elif book.ever_takes(counts, command.reason):
            yield command, Turn.LATER, ""
        else:
            yield command, Turn.NEVER, book.sentence(command.pools[0], command.reason)


def judge_all(commands: Iterable[Command], world: World, shelf: Shelf | None = None) -> tuple[Again, ...]:
    """Judge commands that save money beside one another, in their order: one what-if about all of them together.

    Those whose part of it fails are dropped, and the rest is asked about again. Two of them whose pods now share a
    machine go on as one, in the place of the first.
    """
    chosen = tuple(commands)
    settled = settle(world, shelf, shut=frozenset(name for command in chosen for name in command.names))
    looked = look(world, settled)
    stage = Stage(world, settled, looked.candidates, ledger(world), shelf)
    found: dict[int, Again] = {}
    asked: list[int] = []
    for number, command in enumerate(chosen):
        refusal = _missing(command, looked) or _changed(command, stage)
        if refusal is not None:
            found[number] = Again((), ((command.names, refusal),))
            continue
        for one in command.candidates:
            stage.ledger.take(one.pool)
        if command.reason is Reason.EMPTY or not command.evicted:
            found[number] = Again((command,))
        else:
            asked.append(number)
    going = [command for one in found.values() for command in one.commands]
    found |= _together({number: chosen[number] for number in asked}, stage, stage.after(going))
    return tuple(found[number] for number in range(len(chosen)))


def _together(commands: Mapping[int, Command], stage: Stage, after: Stage) -> dict[int, Again]:
    """`stage` has the candidates as they are, `after` the cluster without those that go in any case."""
    found: dict[int, Again] = {}
    left = dict(commands)
    setting = _setting(stage)
    while left:
        owners = {name: number for number, command in left.items() for name in command.names}
        answers = [
            (group, consolidation.judged(group, [stage.candidates[name] for name in group.names], setting))
            for group in split(after.scene(saving=True).what_if(owners), owners)
        ]
        refused: dict[int, Refusal] = {}
        for group, answer in answers:
            numbers = {owners[name] for name in group.names}
            worse = _worse(group, sum(len(left[number].replacements) for number in numbers))
            refusal = answer if isinstance(answer, Refusal) else worse
            refused.update({} if refusal is None else dict.fromkeys(numbers, refusal))
        if not refused:
            found |= {number: Again(()) for number in left}
            for group, answer in answers:
                first = min(owners[name] for name in group.names)
                found[first] = Again((*found[first].commands, *([answer] if isinstance(answer, Command) else ())))
            break
        for number, refusal in refused.items():
            found[number] = Again((), ((left.pop(number).names, refusal),))
    return found
