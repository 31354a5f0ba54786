"""What a health check does about unhealthy machines: nothing while too many are, and failed ones ever more slowly.

Too many unhealthy at once is a fault of something else, so nothing is replaced then. A machine that failed before it
was a node (no capacity, a price too low) is replaced, but each time in a row later than the time before (R41): the
market may stay as it is for hours, and a set would otherwise buy at it as fast as machines can fail. A machine that was
well once and was taken away is replaced at once. How often and when last stands in the check's status. A machine that
comes up and stays so ends the row. A machine is handed to its owner, or, where the check has a template, to whoever
takes requests that are made from it (`external`).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from typing import Final

from dovetail.core import conditions, timestamps
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import Say, soonest
from dovetail.core.machines import external, health, names
from dovetail.core.machines.effects import DropRequest, Effect, MakeRequests, SaveCheck, SaveMachine, Step, reference
from dovetail.core.machines.external import NONE, Requests
from dovetail.core.machines.health import Health, Target
from dovetail.core.machines.objects import Cluster, Failures, HealthCheck, Machine, Tally, paused, put

_JITTER: Final = 0.1
_SPAN: Final = 2**32


@dataclass(frozen=True, slots=True)
class Judged:
    target: Target
    health: Health

    @property
    def is_healthy(self) -> bool:
        """Not unhealthy, not about to be, not leaving, and a node."""
        machine = self.target.machine
        known = self.target.node is not None and self.health.again is None
        return known and not self.health.is_unhealthy and not machine.is_deleting


@dataclass(frozen=True, slots=True)
class _Round:
    """One look at all machines of a check, and whether any may be handed over."""

    check: HealthCheck
    allowed: bool
    requests: Requests
    now: float

    def may_hand_over(self, machine: Machine) -> bool:
        """Not what goes already, nor what was handed over before."""
        if not self.allowed or machine.is_deleting:
            return False
        if self.check.template is None:
            return not machine.is_false(names.OWNER_REMEDIATED)
        return self.requests.are_known and not external.is_asked(machine)


@dataclass(slots=True)
class _Marks:
    """What came of it: the row of failures, when the next failed machine may go, and whom somebody else is to heal."""

    row: Failures
    wait: float | None = None
    handed: list[Machine] = field(default_factory=list)


def advance(
    check: HealthCheck, cluster: Cluster | None, targets: tuple[Target, ...], now: float, requests: Requests = NONE
) -> Step:
    """`targets` are machines the selector may match; those that are to be left alone are left out here."""
    if cluster is None:
        return Step()
    if cluster.stops(check.meta):
        told = replace(check, conditions=paused(check.conditions, True, now, check.meta.generation))
        return Step((SaveCheck(check, told),) if told != check else ())
    looked = [one for one in targets if check.looks_after(one.machine)]
    looked.sort(key=lambda one: one.machine.name)
    judged = [Judged(one, health.judged(check, cluster, one, now)) for one in looked]
    unhealthy = len(judged) - sum(one.is_healthy for one in judged)
    allowed, room = _allowed(check, len(judged), unhealthy)
    effects: list[Effect] = []
    marks = _marked(_Round(check, allowed, requests, now), judged, effects)
    tally = Tally(len(judged), len(judged) - unhealthy, max(room, 0), tuple(one.target.machine.name for one in judged))
    held = _told(check, judged, allowed, unhealthy, now)
    held = put(held, _backing_off(marks.wait, now), now, check.meta.generation)
    held = external.checked(held, check, requests, marks.handed, now)
    held = paused(held, False, now, check.meta.generation)
    after = replace(check, failures=marks.row, tally=tally, conditions=held)
    if not allowed and any(one.health.is_unhealthy for one in judged):
        effects.append(_restricted(check, unhealthy, len(judged)))
    drops = _dropped(check, judged, targets, requests, effects)
    if after != check:
        effects.append(SaveCheck(check, after))
    effects += external.news(check, after)
    # Requests come last: what cannot be made or removed keeps nothing else from being done, or told.
    effects += _requested(check, marks.handed, requests)
    effects += drops
    waits = (one.health.again for one in judged)
    return Step(tuple(effects), soonest(marks.wait, external.again(requests, marks.handed), *waits))


def _allowed(check: HealthCheck, expected: int, unhealthy: int) -> tuple[bool, int]:
    """Whether anything may be replaced now, and how many more may become unhealthy until nothing may."""
    if check.span is not None:
        least, most = check.span
        return least <= unhealthy <= most, most - unhealthy
    most = bound(check.most, expected)
    return unhealthy <= most, most - unhealthy


def bound(most: int | str, expected: int) -> int:
    """A count, or a share of the machines, rounded down."""
    if isinstance(most, int):
        return most
    if most.endswith("%"):
        return int(most[:-1]) * expected // 100
    return int(most)


# ------------------------------------------------------------------------------------------------ back-off


def delay(check: HealthCheck, count: int) -> float:
    """How long after the last one the next failed machine may go; a little earlier or later for each check."""
    if count == 0:
        return 0.0
    plain = min(check.backoff.base * 2.0 ** min(count - 1, 32), check.backoff.cap)
    share = zlib.crc32(f"{check.meta.uid}/{count}".encode()) / _SPAN
    return plain * (1.0 + _JITTER * (2.0 * share - 1.0))


def _row(check: HealthCheck, judged: list[Judged], now: float) -> Failures:
    """The row of failures so far; one that came up since the last and stayed well has ended it."""
    row = check.failures
    if row.count and any(_is_proof(check, one, now) for one in judged):
        return Failures()
    return row


def _is_proof(check: HealthCheck, one: Judged, now: float) -> bool:
    machine = one.target.machine
    if not one.is_healthy or machine.meta.created <= check.failures.last:
        return False
    ready = conditions.found(machine.conditions, names.READY)
    up = ready is not None and ready.status is Status.TRUE
    return up and ready is not None and now - ready.since >= check.backoff.min_healthy


def _marked(look: _Round, judged: list[Judged], effects: list[Effect]) -> _Marks:
    """Write on each machine what was found; at most one failed machine is handed over per delay."""
    marks = _Marks(_row(look.check, judged, look.now))
    for one in judged:
        machine = one.target.machine
        if not one.health.is_unhealthy:
            _cleared(look, one, effects)
            continue
        hand_over = look.may_hand_over(machine)
        if hand_over and one.health.barren:
            hand_over = _is_next(look, marks)
        _unhealthy(look, one, hand_over, effects)
        if look.check.template is not None and look.allowed and not machine.is_deleting:
            marks.handed += [machine] if hand_over or external.is_asked(machine) else []
    return marks


def _is_next(look: _Round, marks: _Marks) -> bool:
    """Whether a failed machine may go now; then it is the last of the row."""
    row = marks.row
    left = row.last + delay(look.check, row.count) - look.now if row.count else 0.0
    if left > 0:
        marks.wait = soonest(marks.wait, left)
        return False
    marks.row = Failures(row.count + 1, look.now)
    return True


def _unhealthy(look: _Round, one: Judged, hand_over: bool, effects: list[Effect]) -> None:
    machine, generation = one.target.machine, one.target.machine.meta.generation
    held = machine.conditions
    is_said = machine.is_false(names.HEALTH_CHECK_SUCCEEDED) and look.requests.is_anothers(machine)
    if hand_over or not is_said:
        found = Condition(names.HEALTH_CHECK_SUCCEEDED, Status.FALSE, one.health.reason, one.health.message)
        held = put(held, found, look.now, generation)
    after = replace(machine, conditions=_waiting(look, machine, held, hand_over))
    if after == machine:
        return
    effects.append(SaveMachine(machine, after))
    if hand_over:
        said = f"{one.health.reason}: {one.health.message}"
        ref = reference("Machine", machine.meta)
        effects.append(Say(ref, "MachineMarkedUnhealthy", said, warning=True, dedupe=(machine.meta.uid,)))


def _waiting(look: _Round, machine: Machine, held: conditions.Conditions, hand_over: bool) -> conditions.Conditions:
    """With who is waited for."""
    generation = machine.meta.generation
    if look.check.template is None:
        asked = Condition(names.OWNER_REMEDIATED, Status.FALSE, external.WAITING)
        return put(held, asked, look.now, generation) if hand_over else held
    if not look.allowed or machine.is_deleting:
        return held
    found = external.told(look.check, machine, hand_over, look.requests)
    if found is None:
        return conditions.without(held, names.EXTERNALLY_REMEDIATED)
    return put(held, found, look.now, generation)


def _cleared(look: _Round, one: Judged, effects: list[Effect]) -> None:
    """A machine that is well says so, and nobody is asked to replace it any more; what another check has somebody heal
    is not well, whatever this one sees."""
    machine = one.target.machine
    held, anothers = machine.conditions, look.requests.is_anothers(machine)
    if not anothers:
        well = Condition(names.HEALTH_CHECK_SUCCEEDED, Status.TRUE, "HealthCheckSucceeded")
        held = put(held, well, look.now, machine.meta.generation)
    asked = conditions.found(held, names.OWNER_REMEDIATED)
    if asked is not None and not machine.is_deleting and asked.reason == external.WAITING:
        held = conditions.without(held, names.OWNER_REMEDIATED)
    if one.is_healthy and not anothers:
        held = conditions.without(held, names.EXTERNALLY_REMEDIATED)
    if held != machine.conditions:
        effects.append(SaveMachine(machine, replace(machine, conditions=held)))


def _requested(check: HealthCheck, handed: list[Machine], requests: Requests) -> list[Effect]:
    missing = external.missing(handed, requests)
    return [MakeRequests(check, missing)] if missing else []


def _dropped(
    check: HealthCheck, judged: list[Judged], targets: tuple[Target, ...], requests: Requests, effects: list[Effect]
) -> list[DropRequest]:
    """Requests nobody needs any more, told to machines that nobody judges beforehand."""
    machines = [one.machine for one in targets]
    looked = {one.target.machine.name: one.is_healthy for one in judged}
    drops = external.needless(check, looked, machines, requests)
    effects += external.forgotten(drops, machines, looked)
    return drops


# ------------------------------------------------------------------------------------------------ what it says


def _told(check: HealthCheck, judged: list[Judged], allowed: bool, unhealthy: int, now: float) -> conditions.Conditions:
    if allowed:
        condition = Condition(names.REMEDIATION_ALLOWED, Status.TRUE, "RemediationAllowed")
    else:
        said = f"{unhealthy} of {len(judged)} machines are not well, which is not for this check to heal"
        condition = Condition(names.REMEDIATION_ALLOWED, Status.FALSE, "TooManyUnhealthy", said)
    return put(check.conditions, condition, now, check.meta.generation)


def _backing_off(wait: float | None, now: float) -> Condition:
    if wait is None:
        return Condition(names.REMEDIATION_BACKOFF, Status.FALSE, "NotBackingOff")
    said = f"machines fail before they are nodes; the next one goes at {timestamps.text(now + wait)}"
    return Condition(names.REMEDIATION_BACKOFF, Status.TRUE, "FailedMachines", said)


def _restricted(check: HealthCheck, unhealthy: int, expected: int) -> Say:
    said = f"{unhealthy} of {expected} machines are not well; none is replaced"
    ref = reference("MachineHealthCheck", check.meta)
    return Say(ref, "RemediationRestricted", said, warning=True, dedupe=(check.meta.uid,))
