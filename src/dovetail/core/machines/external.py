"""Machines that somebody else heals: one request for each, made from the check's template, while it is unhealthy.

A request has the Machine's name and belongs to it. That it is asked for stands on the Machine before it is made, so
that a process that dies in between makes it without counting the machine twice. What requests there are is looked up:
one that somebody deleted is made again, one that was made by a process that died is known. It is removed when the
machine is well, not merely no longer unhealthy: a machine that is being rebooted passes through conditions whose time
has not run out.

Checks may overlap. Which one asks stands in the message on the Machine, and in an annotation of the request. Only that
check takes it back, or any while that one is gone, has no template any more or looks after the machine no longer: two
that took back what the other asks for would write for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Conditions, Status
from dovetail.core.effects import Say
from dovetail.core.machines import names
from dovetail.core.machines.effects import DropRequest, Effect, SaveCheck, SaveMachine, Step, reference
from dovetail.core.machines.objects import HealthCheck, Machine, Request, put

#: What is not there, is refused or may be deleted by others is looked at so often: nobody watches kinds of others.
AGAIN_SECONDS: Final = 60.0
#: So often is looked whether a request that is on its way out is gone.
IN_THE_WAY_SECONDS: Final = 15.0
WAITING: Final = "WaitingForRemediation"
#: Reasons of Machines and of checks, as Cluster API has them.
_NO_TEMPLATE: Final = "RemediationTemplateNotFound"
_NOT_MADE: Final = "RemediationRequestCreationFailed"
_CHECK_NO_TEMPLATE: Final = "ExternalRemediationTemplateNotFound"
_CHECK_NOT_MADE: Final = "ExternalRemediationRequestCreationFailed"
_CHECK_KEPT: Final = "ExternalRemediationRequestDeletionFailed"
#: So begins what a Machine says of its healing; the name of the check and a colon follow.
_BY: Final = "MachineHealthCheck "


@dataclass(frozen=True, slots=True)
class Requests:
    """What is known of a check's requests: those there are, and in a sentence why the template cannot be used
    (`template`) or requests cannot be looked up (`listing`). `others` are the other checks of the namespace."""

    template: str = ""
    listing: str = ""
    held: tuple[Request, ...] = ()
    others: tuple[HealthCheck, ...] = ()

    @property
    def are_known(self) -> bool:
        return not self.template and not self.listing

    def of(self, machine: Machine) -> Request | None:
        return next((one for one in self.held if one.name == machine.name), None)

    def stands(self, machine: Machine) -> bool:
        """Whether somebody is asked; not by a request that goes, or that belongs to a machine of that name before."""
        one = self.of(machine)
        return one is not None and not one.is_deleting and one.machine in ("", machine.meta.uid)

    def is_anothers(self, machine: Machine) -> bool:
        """Whether another check has somebody heal it, or would if it could."""
        return self.is_of_another(asker(machine), machine)

    def is_of_another(self, name: str, machine: Machine) -> bool:
        """Whether what bears the name of a check is for that one to take back."""
        named = (one for one in self.others if one.name == name)
        return any(one.template is not None and one.looks_after(machine) for one in named)


NONE: Final = Requests()


# ------------------------------------------------------------------------------------------------ on the machine


def is_asked(machine: Machine) -> bool:
    """Whether it was handed over already, be it that its request could not be made."""
    held = conditions.found(machine.conditions, names.EXTERNALLY_REMEDIATED)
    return held is not None and held.reason != _NO_TEMPLATE


def asker(machine: Machine) -> str:
    """The name of the check that said last how it is healed; "" where none did."""
    held = conditions.found(machine.conditions, names.EXTERNALLY_REMEDIATED)
    by, colon, _ = held.message.partition(": ") if held is not None else ("", "", "")
    return by.removeprefix(_BY) if colon and by.startswith(_BY) else ""


def are_quiet(machines: Iterable[Machine]) -> bool:
    """Whether none of them says that it is unhealthy or healed."""
    return not any(
        one.is_false(names.HEALTH_CHECK_SUCCEEDED) or one.is_false(names.EXTERNALLY_REMEDIATED) for one in machines
    )


def told(check: HealthCheck, machine: Machine, hand_over: bool, requests: Requests) -> Condition | None:
    """What an unhealthy machine says of its healing: nothing while its turn has not come."""
    held = conditions.found(machine.conditions, names.EXTERNALLY_REMEDIATED)
    waiting = _by(check, WAITING, "somebody else is asked to heal it")
    if hand_over:
        return waiting
    if requests.is_anothers(machine):
        return held
    if not is_asked(machine):
        return _by(check, _NO_TEMPLATE, requests.template) if requests.template else None
    refused = held is not None and held.reason == _NOT_MADE
    is_news = asker(machine) != check.name or (refused and requests.stands(machine))
    return waiting if requests.are_known and is_news else held


def _by(check: HealthCheck, reason: str, message: str) -> Condition:
    return Condition(names.EXTERNALLY_REMEDIATED, Status.FALSE, reason, f"{_BY}{check.name}: {message}")


def missing(machines: Iterable[Machine], requests: Requests) -> tuple[Machine, ...]:
    """Those among the machines handed over for which a request can be made now."""
    return tuple(one for one in machines if requests.are_known and requests.of(one) is None)


# ------------------------------------------------------------------------------------------------ on the check


def checked(
    held: Conditions, check: HealthCheck, requests: Requests, machines: list[Machine], now: float
) -> Conditions:
    """With what a check says of its template, and of requests for the machines it handed over."""
    if check.template is None:
        left = conditions.without(held, names.EXTERNAL_TEMPLATE_AVAILABLE)
        return conditions.without(left, names.EXTERNAL_REQUEST_AVAILABLE)
    there = Condition(names.EXTERNAL_TEMPLATE_AVAILABLE, Status.TRUE, names.EXTERNAL_TEMPLATE_AVAILABLE)
    if requests.template:
        there = Condition(there.type, Status.FALSE, _CHECK_NO_TEMPLATE, requests.template)
    held = put(held, there, now, check.meta.generation)
    if requests.listing:
        return put(held, _refused(requests.listing), now, check.meta.generation)
    if not machines:
        return conditions.without(held, names.EXTERNAL_REQUEST_AVAILABLE)
    if all(requests.stands(one) for one in machines):
        stands = Condition(names.EXTERNAL_REQUEST_AVAILABLE, Status.TRUE, names.EXTERNAL_REQUEST_AVAILABLE)
        return put(held, stands, now, check.meta.generation)
    return held


def _refused(why: str) -> Condition:
    return Condition(names.EXTERNAL_REQUEST_AVAILABLE, Status.FALSE, _CHECK_NOT_MADE, why)


def news(before: HealthCheck, after: HealthCheck) -> list[Effect]:
    """An event for what a check says is wrong now and did not say before."""
    found: list[Effect] = []
    for type_ in (names.EXTERNAL_TEMPLATE_AVAILABLE, names.EXTERNAL_REQUEST_AVAILABLE):
        one, old = conditions.found(after.conditions, type_), conditions.found(before.conditions, type_)
        if one is not None and one.status is Status.FALSE and (old is None or old.message != one.message):
            found.append(_said(after, one.reason, one.message))
    return found


def _said(check: HealthCheck, reason: str, message: str) -> Say:
    ref = reference("MachineHealthCheck", check.meta)
    return Say(ref, reason, message, warning=True, dedupe=(check.meta.uid, message))


def again(requests: Requests, machines: list[Machine]) -> float | None:
    """When to look once more for what nobody would tell of."""
    if any(requests.of(one) is not None and not requests.stands(one) for one in machines):
        return IN_THE_WAY_SECONDS
    return AGAIN_SECONDS if machines or not requests.are_known else None


# ------------------------------------------------------------------------------------------------ taking it back


def needless(
    check: HealthCheck, looked: Mapping[str, bool], machines: Iterable[Machine], requests: Requests
) -> list[DropRequest]:
    """Requests for machines that are well, and for those that are not looked after any more. `looked` are the names of
    those that are, and whether each is well. What belongs to a machine that is gone goes with it, what another check
    made is left to that one."""
    if not requests.are_known:
        return []
    found: list[DropRequest] = []
    for machine in machines:
        one = requests.of(machine)
        if one is None or one.is_deleting or one.machine != machine.meta.uid:
            continue
        well = looked.get(machine.name)
        mine = one.check == check.name
        is_left = well is None and mine and not machine.meta.is_paused
        if is_left or (well and (mine or not requests.is_of_another(one.check, machine))):
            found.append(DropRequest(check, one))
    return found


def forgotten(drops: Iterable[DropRequest], machines: Iterable[Machine], looked: Mapping[str, bool]) -> list[Effect]:
    """Machines that are not looked after any more say nothing of being healed once their request goes."""
    gone = {one.request.name for one in drops} - set(looked)
    changed: list[Effect] = []
    for machine in machines:
        held = conditions.without(machine.conditions, names.EXTERNALLY_REMEDIATED)
        if machine.name in gone and held != machine.conditions:
            changed.append(SaveMachine(machine, replace(machine, conditions=held)))
    return changed


# ------------------------------------------------------------------------------------------------ what came of it


def unmade(check: HealthCheck, refused: tuple[tuple[Machine, str], ...], now: float) -> Step:
    """Requests for some machines could not be made: each that this check asks for says why, and the check of the
    first."""
    effects: list[Effect] = []
    for machine, why in refused:
        one = _by(check, _NOT_MADE, why)
        marked = replace(machine, conditions=put(machine.conditions, one, now, machine.meta.generation))
        if marked != machine and asker(machine) in ("", check.name):
            effects.append(SaveMachine(machine, marked))
    (first, why), more = refused[0], len(refused) - 1
    said = f"Machine {first.name}: {why}" + (f" (and {more} more)" if more else "")
    held = put(check.conditions, _refused(said), now, check.meta.generation)
    after = replace(check, conditions=held)
    if after != check:
        effects += [SaveCheck(check, after), *news(check, after)]
    return Step(tuple(effects), AGAIN_SECONDS)


def kept(check: HealthCheck, request: Request, why: str) -> Step:
    """A request nobody needs any more could not be removed."""
    return Step((_said(check, _CHECK_KEPT, f"Machine {request.name}: {why}"),), AGAIN_SECONDS)
