"""A MachineSet: so many machines of one kind (R4–R6, R14). Whatever becomes of one, the count is restored.

A look adopts what is its own by its labels, has unhealthy machines that a check gave up on removed, brings what may
change in place to the machines there are, and then makes or removes as many as are missing or too many. A new machine
is always made from the template as it is: a set on spot never falls back to on-demand (R4).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from dovetail.core.conditions import Condition, Status, without
from dovetail.core.effects import Delete, Say
from dovetail.core.machines import names, victims
from dovetail.core.machines.effects import Effect, MakeMachine, SaveMachine, SaveSet, Step, reference
from dovetail.core.machines.objects import Cluster, Counts, Machine, MachineSet, Owner, paused, put
from dovetail.core.machines.progress import API_VERSION

AGAIN_SECONDS: Final = 15.0
#: No vowels, so that no name is a word.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX: Final = 5
_LONGEST: Final = 63
_TRIES: Final = 100
#: What a pattern of names may hold, with any blanks or none, as Go's templates take it.
_FIELD: Final = re.compile(r"\{\{-?\s*\.([A-Za-z.]+)\s*-?\}\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Seen:
    """A set, its cluster, and all machines of the namespace that its selector matches or that it owns."""

    of: MachineSet
    cluster: Cluster | None
    machines: tuple[Machine, ...] = ()


def advance(seen: Seen, now: float) -> Step:
    one = seen.of
    if one.meta.is_paused or (seen.cluster is not None and seen.cluster.stops(one.meta)):
        told = replace(one, conditions=paused(one.conditions, True, now, one.meta.generation))
        return Step((SaveSet(one, told),) if told != one else ())
    if one.meta.deleting is not None:
        return _ended(seen, now)
    if seen.cluster is None:
        return stuck(one, f"there is no Cluster {one.cluster}", now)
    held = _finalized(one)
    if held is not one:
        return Step((SaveSet(one, held),), 0.0)
    machines, adopted = _adopted(one, seen.machines)
    effects: list[Effect] = list(adopted)
    removed = _remediated(one, machines, now, effects)
    effects += _in_place(one, machines)
    left = [machine for machine in machines if machine.name not in removed]
    wanted = desired(one)
    after = replace(one, counts=counted(left), conditions=_told(one, left, wanted, now))
    if after != one:
        effects.append(SaveSet(one, after))
    # Making comes last: what cannot be made keeps nothing else from being done, or told.
    effects += _scaled(one, left, wanted, now)
    return Step(tuple(effects), AGAIN_SECONDS if after.counts.ready != wanted else None)


def stuck(one: MachineSet, why: str, now: float) -> Step:
    """Machines are missing and cannot be made: the set says why."""
    told = Condition(names.MACHINES_CREATED, Status.FALSE, "CannotCreate", why)
    after = replace(one, conditions=put(one.conditions, told, now, one.meta.generation))
    if after == one:
        return Step()
    said = Say(reference("MachineSet", one.meta), "FailedCreate", why, warning=True, dedupe=(one.meta.uid, why))
    return Step((SaveSet(one, after), said))


def undeployed(one: MachineSet, now: float) -> tuple[MachineSet, Say]:
    """A MachineDeployment, read as a set, where nobody rolls machines out: it says so, and what to write instead. One
    that is going or paused is left alone."""
    why = (
        "spec: nobody here makes machines for a MachineDeployment; write a MachineSet with its replicas, selector and "
        "template, or install Cluster API's own controllers and run with --core upstream"
    )
    said = Say(reference("MachineDeployment", one.meta), "FailedCreate", why, warning=True, dedupe=(one.meta.uid,))
    if one.meta.is_paused or one.meta.deleting is not None:
        return one, said
    told = Condition(names.MACHINES_CREATED, Status.FALSE, "CannotCreate", why)
    return replace(one, conditions=put(one.conditions, told, now, one.meta.generation)), said


def desired(one: MachineSet) -> int:
    """What is asked for; left out, 1, or what an autoscaler's bounds make of what there is."""
    if one.replicas is not None:
        return one.replicas
    least, most = _bound(one, names.MIN_SIZE), _bound(one, names.MAX_SIZE)
    if least is None or most is None:
        return 1
    return min(max(one.counts.replicas, least), most)


def _bound(one: MachineSet, key: str) -> int | None:
    written = one.meta.annotations.get(key, "")
    return int(written) if written.isdecimal() and len(written) < 7 else None


def _finalized(one: MachineSet) -> MachineSet:
    if names.SET_FINALIZER in one.meta.finalizers:
        return one
    return replace(one, meta=replace(one.meta, finalizers=(*one.meta.finalizers, names.SET_FINALIZER)))


def _ended(seen: Seen, now: float) -> Step:
    """Its machines go first, and it says how many are left."""
    one = seen.of
    if names.SET_FINALIZER not in one.meta.finalizers:
        return Step()
    mine = [machine for machine in seen.machines if _is_mine(one, machine)]
    if mine:
        going = Condition(names.DELETING, Status.TRUE, "Deleting", f"{len(mine)} machines are left")
        after = replace(one, counts=counted(mine), conditions=put(one.conditions, going, now, one.meta.generation))
        told: tuple[Effect, ...] = (SaveSet(one, after),) if after != one else ()
        return Step((*told, *(Delete(reference("Machine", held.meta)) for held in mine if not held.is_deleting)))
    left = tuple(name for name in one.meta.finalizers if name != names.SET_FINALIZER)
    return Step((SaveSet(one, replace(one, meta=replace(one.meta, finalizers=left))),))


def owner_of(one: MachineSet) -> Owner:
    return Owner(API_VERSION, "MachineSet", one.name, one.meta.uid, controller=True)


def _is_mine(one: MachineSet, machine: Machine) -> bool:
    owner = machine.meta.controller
    return owner is not None and owner.uid == one.meta.uid


def _adopted(one: MachineSet, machines: Iterable[Machine]) -> tuple[list[Machine], list[Effect]]:
    """Its own, and orphans with its labels, which become its own; what another controls is left alone."""
    mine: list[Machine] = []
    effects: list[Effect] = []
    for machine in sorted(machines, key=lambda machine: machine.name):
        if _is_mine(one, machine):
            mine.append(machine)
        elif machine.meta.controller is None and not machine.is_deleting and one.selector.matches(machine.meta.labels):
            owned = replace(machine, meta=replace(machine.meta, owners=(*machine.meta.owners, owner_of(one))))
            effects.append(SaveMachine(machine, owned))
            mine.append(owned)
    return mine, effects


def _remediated(one: MachineSet, machines: list[Machine], now: float, effects: list[Effect]) -> set[str]:
    """Machines a check found unhealthy and left to us: marked, then deleted; forced ones first, then the newest."""
    given_up = [machine for machine in machines if is_given_up(machine)]
    given_up.sort(key=lambda machine: (names.REMEDIATE not in machine.meta.annotations, -machine.meta.created))
    for machine in given_up:
        why = Condition(names.OWNER_REMEDIATED, Status.FALSE, "MachineDeleting", "it is replaced by its MachineSet")
        marked = replace(machine, conditions=put(machine.conditions, why, now, machine.meta.generation))
        if marked != machine:
            effects.append(SaveMachine(machine, marked))
        effects.append(Delete(reference("Machine", machine.meta)))
    return {machine.name for machine in given_up}


def is_given_up(machine: Machine) -> bool:
    return (
        not machine.is_deleting
        and machine.is_false(names.HEALTH_CHECK_SUCCEEDED)
        and machine.is_false(names.OWNER_REMEDIATED)
    )


def _in_place(one: MachineSet, machines: Iterable[Machine]) -> list[Effect]:
    """What may change without a new machine: labels and annotations, time-outs, readiness."""
    template = one.template
    if template is None:
        return []
    effects: list[Effect] = []
    for machine in machines:
        if machine.is_deleting:
            continue
        labels = {**machine.meta.labels, **template.meta.labels, names.SET_NAME: one.name}
        notes = {**machine.meta.annotations, **template.meta.annotations}
        meta = machine.meta
        if labels != dict(meta.labels) or notes != dict(meta.annotations):
            meta = replace(meta, labels=MappingProxyType(labels), annotations=MappingProxyType(notes))
        after = replace(
            machine, meta=meta, timeouts=template.timeouts, min_ready=template.min_ready, gates=template.gates
        )
        if after != machine:
            effects.append(SaveMachine(machine, after))
    return effects


def _scaled(one: MachineSet, machines: list[Machine], wanted: int, now: float) -> list[Effect]:
    missing = wanted - len(machines)
    ref = reference("MachineSet", one.meta)
    if missing > 0:
        if one.meta.annotations.get(names.NO_CREATE) == "true":
            return []
        taken = {machine.name for machine in machines}
        return [MakeMachine(one, name) for name in fresh_names(one, taken, missing, now)]
    gone = victims.chosen(machines, -missing, one.order, now)
    effects: list[Effect] = [Delete(reference("Machine", machine.meta)) for machine in gone if not machine.is_deleting]
    if effects:
        effects.append(Say(ref, "SuccessfulDelete", f"{len(effects)} too many; {one.order} goes first"))
    return effects


def fresh_names(one: MachineSet, taken: set[str], count: int, now: float) -> tuple[str, ...]:
    """Names nobody has: the same for the same set at the same time, so that a step taken twice makes nothing twice. A
    pattern that names all machines alike yields fewer than are asked for."""
    found: list[str] = []
    for number in range(2 * count + _TRIES):
        if len(found) == count:
            break
        seed = f"{one.meta.uid}/{one.meta.version}/{now}/{number}"
        name = _named(one, _suffix(seed))
        if name not in taken and name not in found:
            found.append(name)
    return tuple(found)


def _suffix(seed: str) -> str:
    digest = hashlib.sha256(seed.encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_SUFFIX])


def _named(one: MachineSet, suffix: str) -> str:
    known = {"machineSet.name": one.name, "cluster.name": one.cluster, "random": suffix}
    pattern = one.naming or "{{ .machineSet.name }}-{{ .random }}"
    name = _FIELD.sub(lambda found: known.get(found[1], found[0]), pattern)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - _SUFFIX]}{suffix}"


def counted(machines: Iterable[Machine]) -> Counts:
    held = list(machines)
    return Counts(
        replicas=len(held),
        ready=sum(machine.is_true(names.READY) for machine in held),
        available=sum(machine.is_true(names.AVAILABLE) for machine in held),
        up_to_date=sum(not machine.is_false(names.UP_TO_DATE) for machine in held),
    )


def _told(one: MachineSet, machines: list[Machine], wanted: int, now: float) -> tuple[Condition, ...]:
    missing, generation = wanted - len(machines), one.meta.generation
    ready = sum(machine.is_true(names.READY) for machine in machines)
    unhealthy = sum(machine.is_false(names.HEALTH_CHECK_SUCCEEDED) for machine in machines)
    up = Condition(names.SCALING_UP, Status.TRUE, "ScalingUp", f"{len(machines)} of {wanted} are there")
    down = Condition(names.SCALING_DOWN, Status.TRUE, "ScalingDown", f"{len(machines)} are there, {wanted} are wanted")
    healing = Condition(names.REMEDIATING, Status.TRUE, "Remediating", f"{unhealthy} are unhealthy")
    held = one.conditions if missing > 0 else without(one.conditions, names.MACHINES_CREATED)
    for condition in (
        up if missing > 0 else Condition(names.SCALING_UP, Status.FALSE, "NotScalingUp"),
        down if missing < 0 else Condition(names.SCALING_DOWN, Status.FALSE, "NotScalingDown"),
        _all(names.MACHINES_READY, "Ready", ready, len(machines)),
        _all(names.MACHINES_UP_TO_DATE, "UpToDate", counted(machines).up_to_date, len(machines)),
        healing if unhealthy else Condition(names.REMEDIATING, Status.FALSE, "NotRemediating"),
        Condition(names.DELETING, Status.FALSE, "NotDeleting"),
    ):
        held = put(held, condition, now, generation)
    return paused(held, False, now, generation)


def _all(type_: str, word: str, count: int, among: int) -> Condition:
    """Whether all machines are so; of none that is as good as true."""
    if not among:
        return Condition(type_, Status.TRUE, "NoReplicas")
    if count < among:
        return Condition(type_, Status.FALSE, f"Not{word}", f"{count} of {among} are")
    return Condition(type_, Status.TRUE, word)
