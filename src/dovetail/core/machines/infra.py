"""One infrastructure machine, one instance (R9–R14): bought once, watched, reported on, removed; never made twice.

The order of a look is the whole rule. The cloud is asked what is there *before* anything is bought, by id if one is
known and by name and tag if not, so that an instance whose buyer died is found again; the order carries the same token
each time, so that a cloud that has not heard of itself yet does not make a second one either. Once an id is on record
nothing is ever bought again: an instance that is not there, stopped or gone is a failure, and it is a health check and
a set that replace the Machine.

An instance may be gone before its id is on record: its buyer died, and a cloud that deletes what it takes back leaves
no trace. So that it is ordered is on record before it is (`ordering`), and what the cloud says of the order as well;
who finds nothing there, and an order on record, does not begin from the beginning. Nor does who removes it take what
was ordered a moment ago for something that never was: a cloud may not show it yet.

What the cloud answers comes back through `found`, `bought`, `refused` and `discarded`; that it did not answer at all
through `unanswered`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions, timestamps
from dovetail.core.conditions import Condition, Status, without
from dovetail.core.effects import Ref, Say
from dovetail.core.errors import BadInput
from dovetail.core.machines import lifetimes, names, prices
from dovetail.core.machines.effects import Buy, Discard, Effect, Look, SaveInfra, Step, reference
from dovetail.core.machines.infra_objects import (
    Found,
    InfraMachine,
    Kind,
    Missing,
    Purchase,
    Refusal,
    Sent,
    State,
    token_of,
)
from dovetail.core.machines.objects import Cluster, Failure, Machine, Meta, put

#: A machine that runs is looked at this often; one on its way up or out more often.
WATCH_SECONDS: Final = 60.0
INTERRUPTIBLE_WATCH_SECONDS: Final = 30.0
STARTING_SECONDS: Final = 5.0
GOING_SECONDS: Final = 5.0
#: Want of capacity is taken for an answer after so many refusals, or so long (R38).
REFUSALS: Final = 3
PATIENCE_SECONDS: Final = 300.0
FIRST_WAIT_SECONDS: Final = 30.0
#: A fault that passes is tried again after this long, then after twice as long, and so on to the most.
RETRY_SECONDS: Final = 5.0
LONGEST_RETRY_SECONDS: Final = 300.0
#: A Secret that is not there is looked for again after as long as it was waited for, and this long at the most.
LONGEST_UNBOOTED_SECONDS: Final = 60.0
#: A cloud that could not be asked about an instance that is there, or is to go, is asked again after this long.
UNASKED_SECONDS: Final = 10.0
#: No wait is longer, so that no order is forgotten meanwhile; what is on record as longer was written by a clock that
#: was ahead of ours.
BELIEVED_SECONDS: Final = 1800.0
#: What was ordered is shown after so long at the latest: the call may take a minute, and lists are two behind.
SHOWN_SECONDS: Final = 180.0
#: So long every cloud can tell what became of an order it was sent; Compute Engine forgets it after an hour.
ORDER_SECONDS: Final = 3000.0

_GONE: Final = (State.GOING, State.GONE)
_STOPPED: Final = (State.STOPPING, State.STOPPED)


@dataclass(frozen=True, slots=True)
class Seen:
    """An infrastructure machine and what it belongs to. `bootstrap` is whether its data lies ready; `answer` is what
    the cloud said when it was asked a moment ago, None if it was not asked. `pace` is how many seconds there are to be
    between looks at a machine that runs, where there are many."""

    infra: InfraMachine
    machine: Machine | None = None
    cluster: Cluster | None = None
    bootstrap: bool = False
    answer: Found | Missing | None = None
    pace: float = 0.0


def advance(seen: Seen, now: float) -> Step:
    """What to do about an infrastructure machine now."""
    infra, machine, cluster = seen.infra, seen.machine, seen.cluster
    if infra.meta.is_paused or (cluster is not None and cluster.paused):
        return _saved(infra, _paused(infra, now))
    if infra.is_deleting:
        return Step((Discard(infra),)) if infra.finalizer in infra.meta.finalizers else Step()
    if machine is None or cluster is None:
        return _saved(infra, _waiting(infra, "WaitingForOwner", "no Machine of a Cluster owns it yet", now))
    infra = _resumed(infra, now)
    if infra.failure is not None:
        return _saved(seen.infra, infra)
    problem = _unbuyable(infra, machine)
    if problem is not None and not infra.provider_id:
        return _failed(seen.infra, infra, problem, now)
    infra = _permitted(infra, problem, now)
    if infra.finalizer not in infra.meta.finalizers:
        meta = replace(infra.meta, finalizers=(*infra.meta.finalizers, infra.finalizer))
        return Step((SaveInfra(seen.infra, replace(infra, meta=meta)),), 0.0)
    wait = _faulted_until(infra) - now
    if seen.answer is None and not infra.provider_id and 0 < wait <= BELIEVED_SECONDS:
        return Step(_saved(seen.infra, infra).effects, wait)
    if seen.answer is None:
        return Step((*_saved(seen.infra, infra).effects, Look(infra)))
    if isinstance(seen.answer, Found):
        return found(replace(seen, infra=infra), seen.answer, now)
    return _missing(seen, infra, machine, cluster, now)


def _unbuyable(infra: InfraMachine, machine: Machine) -> Failure | None:
    """What no cloud should be asked for: a control plane that may be taken away (R36), a price that cannot be."""
    if infra.wanted.market.is_interruptible and (infra.meta.is_of_control_plane or machine.meta.is_of_control_plane):
        return Failure(names.INVALID_CONFIGURATION, "a control plane cannot run on a machine that may be taken away")
    try:
        prices.max_price(infra.wanted)
    except BadInput as bad:
        return Failure(names.INVALID_CONFIGURATION, str(bad))
    return None


def _missing(seen: Seen, infra: InfraMachine, machine: Machine, cluster: Cluster, now: float) -> Step:
    """The cloud has none: it is bought now, unless there was one before (R10)."""
    if infra.provider_id:
        gone = Failure(names.UPDATE_ERROR, f"instance {infra.provider_id} is gone; it is not made again")
        return _failed(seen.infra, replace(infra, ready=False, state="deleted"), gone, now, "InstanceNotFound")
    if cluster.infrastructure is None:
        known = _waiting(infra, "WaitingForClusterInfrastructure", "the cluster's infrastructure is not ready", now)
        return _saved(seen.infra, known)
    if not seen.bootstrap:
        return _saved(seen.infra, _waiting(infra, "WaitingForBootstrapData", "bootstrap data is not ready", now))
    order = _order(infra)
    if order is not None and now - order.at >= ORDER_SECONDS:
        told = f"an instance was ordered at {timestamps.text(order.at)} and none is there; it is not made again"
        return _failed(seen.infra, infra, Failure(names.UPDATE_ERROR, told), now, "InstanceNotFound")
    wait = _refused_until(infra) - now
    if 0 < wait <= PATIENCE_SECONDS:
        return Step(_saved(seen.infra, infra).effects, wait)
    return Step((*_saved(seen.infra, infra).effects, Buy(infra, purchase(infra, machine, cluster))))


def ordering(infra: InfraMachine, now: float) -> Step:
    """Right before the cloud is told to make it: what may be made from now on is on record (R10). One that is sent
    again is as young as it was the first time."""
    return _saved(infra, _ordered(infra, _Order(now)))


def purchase(infra: InfraMachine, machine: Machine, cluster: Cluster) -> Purchase:
    """The order, the same however often it is worked out."""
    zone = infra.wanted.zone or machine.zone or min(cluster.zones, default="")
    return Purchase(
        name=infra.name,
        token=token_of(infra.meta.uid),
        cluster=cluster.meta.name,
        owner=machine.name,
        wanted=infra.wanted,
        zone=zone,
        control_plane=machine.meta.is_of_control_plane,
        namespace=infra.meta.namespace,
        secret=machine.secret,
        attempt=_note(infra)[0],
        sent=_sent(infra),
    )


def found(seen: Seen, instance: Found, now: float) -> Step:
    """What an instance that is there means: its id goes on record first of all."""
    infra = replace(
        seen.infra,
        provider_id=seen.infra.provider_id or instance.provider_id,
        addresses=instance.addresses or seen.infra.addresses,
        zone=instance.zone or seen.infra.zone,
        state=instance.said or str(instance.state),
        interruptible=instance.interruptible,
        meta=_settled(seen.infra),
    )
    if instance.state in _GONE:
        over = Failure(names.UPDATE_ERROR, f"instance {instance.provider_id} was terminated; it is not made again")
        return _failed(seen.infra, replace(infra, ready=False), over, now, "InstanceTerminated")
    if instance.state in _STOPPED:
        reason = "Evicted" if infra.interruptible else "InstanceStopped"
        over = Failure(names.UPDATE_ERROR, f"instance {instance.provider_id} is {infra.state}; it is not started again")
        return _failed(seen.infra, replace(infra, ready=False), over, now, reason)
    if instance.state is State.RUNNING:
        return _running(seen, infra, instance, now)
    known = _instance(infra, Condition(names.INSTANCE_READY, Status.FALSE, "InstanceNotReady", infra.state), now)
    return Step(_saved(seen.infra, known).effects, STARTING_SECONDS)


def _running(seen: Seen, infra: InfraMachine, instance: Found, now: float) -> Step:
    up = replace(infra, ready=True, provisioned=True)
    known = _instance(up, Condition(names.INSTANCE_READY, Status.TRUE, "InstanceReady"), now)
    effects = _saved(seen.infra, known).effects
    watch = max(seen.pace, INTERRUPTIBLE_WATCH_SECONDS if infra.interruptible else WATCH_SECONDS)
    if seen.machine is None:
        return Step(effects, watch)
    over = lifetimes.judged(infra, seen.machine, instance, now)
    return Step((*effects, *over.effects), min(watch, over.again or watch))


def bought(seen: Seen, instance: Found, now: float) -> Step:
    """The cloud made it, or had made it before."""
    step = found(seen, instance, now)
    told = Say(_ref(seen.infra), "SuccessfulCreate", f"Created instance {instance.provider_id}")
    return Step((*step.effects, told), step.again)


def refused(seen: Seen, refusal: Refusal, now: float) -> Step:
    """The cloud did not make it. Persistent refusals fail at once, want of capacity after a few, others never (R38)."""
    before, infra = seen.infra, _heard(seen.infra, refusal.sent, now)
    if refusal.kind is Kind.UNDERWAY:
        making = _waiting(infra, "InstanceProvisionStarted", refusal.message, now)
        return Step(_saved(before, making).effects, refusal.wait or STARTING_SECONDS)
    if refusal.kind is Kind.LOST:
        return _failed(before, infra, Failure(names.UPDATE_ERROR, refusal.message), now, "InstanceNotFound")
    told = Say(_ref(infra), "FailedCreate", refusal.message, warning=True, dedupe=(infra.meta.uid, refusal.message))
    why = Condition(names.INSTANCE_READY, Status.FALSE, "InstanceProvisionFailed", refusal.message)
    if refusal.kind is Kind.PERSISTENT:
        step = _failed(before, infra, Failure(names.CREATE_ERROR, refusal.message), now, "InstanceProvisionFailed")
        return Step((told, *step.effects))
    if refusal.kind is Kind.TRANSIENT:
        noted, wait = _faulted(infra, refusal.wait, now)
        return Step((*_saved(before, _instance(noted, why, now)).effects, told), wait)
    count, since = _refusals(infra, now)
    if count + 1 >= REFUSALS or now - since >= PATIENCE_SECONDS:
        over = Failure(names.INSUFFICIENT_RESOURCES, f"{refusal.message} (asked {count + 1} times)")
        return Step((told, *_failed(before, infra, over, now, "InsufficientResources").effects))
    wait = refusal.wait or FIRST_WAIT_SECONDS * 2**count
    noted = _noted(infra, count + 1, since, now + wait)
    return Step((*_saved(before, _instance(noted, why, now)).effects, told), wait)


def unbooted(seen: Seen, secret: str, now: float) -> Step:
    """There is nothing to start it with. That is no fault of the cloud's: it is not asked again before there is
    (`awaited_secret`), and a Secret that comes late is soon found."""
    why = _unbooted(secret)
    told = Say(_ref(seen.infra), "FailedCreate", why.message, warning=True, dedupe=(seen.infra.meta.uid, why.message))
    known = _instance(seen.infra, why, now)
    held = conditions.found(known.conditions, names.INSTANCE_READY)
    waited = now - held.since if held is not None else 0.0
    wait = min(max(waited, RETRY_SECONDS), LONGEST_UNBOOTED_SECONDS)
    return Step((*_saved(seen.infra, known).effects, told), wait)


def awaited_secret(seen: Seen) -> str:
    """The Secret that was found to be missing the last time, while nothing was ordered: until it is there the cloud has
    nothing to tell. "" where that is not so."""
    secret = seen.machine.secret if seen.machine is not None else ""
    held = conditions.found(seen.infra.conditions, names.INSTANCE_READY)
    if not secret or held is None or seen.infra.provider_id or _order(seen.infra) is not None:
        return ""
    return secret if held.message == _unbooted(secret).message else ""


def _unbooted(secret: str) -> Condition:
    message = f"Secret {secret} has no bootstrap data"
    return Condition(names.INSTANCE_READY, Status.FALSE, "InstanceProvisionFailed", message)


def unanswered(infra: InfraMachine, refusal: Refusal, now: float) -> Step:
    """The cloud could not be asked about the instance, or did not remove it: the machine says so (R39). What was known
    of an instance stays known, so nobody replaces a machine because its credentials ran out. Where nothing is at stake
    yet the next look is later each time."""
    before, wait = infra, refusal.wait or UNASKED_SECONDS
    if not infra.is_deleting and not infra.provider_id:
        infra, wait = _faulted(infra, refusal.wait, now)
    if refusal.kind is Kind.TRANSIENT and refusal.wait is not None:
        return Step(_saved(before, infra).effects, wait)
    if infra.is_deleting:
        why = Condition(names.INSTANCE_READY, Status.FALSE, "InstanceDeletionFailed", refusal.message)
        after = _instance(infra, why, now)
    elif infra.provisioned:
        why = Condition(names.INSTANCE_READY, Status.UNKNOWN, "CloudNotAnswering", refusal.message)
        after = replace(infra, conditions=put(infra.conditions, why, now, infra.meta.generation))
    else:
        why = Condition(names.INSTANCE_READY, Status.FALSE, "CloudNotAnswering", refusal.message)
        after = _instance(infra, why, now)
    told = Say(_ref(infra), why.reason, why.message, warning=True, dedupe=(infra.meta.uid, why.message))
    return Step((*_saved(before, after).effects, told), wait)


def discarded(infra: InfraMachine, gone: bool, now: float) -> Step:
    """The cloud was told to remove it: asked again until it is gone, then the object may go. That nothing is there is
    not believed of what was ordered a moment ago: with the object would go all that is known of it."""
    order = _order(infra)
    unshown = order is not None and abs(now - order.at) < SHOWN_SECONDS
    if not gone or unshown:
        told = "instance is going" if not gone else "an instance was ordered a moment ago and may not be shown yet"
        known = _instance(infra, Condition(names.INSTANCE_READY, Status.FALSE, "Deleting", told), now)
        return Step(_saved(infra, replace(known, ready=False)).effects, GOING_SECONDS)
    left = tuple(one for one in infra.meta.finalizers if one != infra.finalizer)
    return Step((SaveInfra(infra, replace(infra, meta=replace(infra.meta, finalizers=left))),))


# ------------------------------------------------------------------------------------------------ how often refused


def _refusals(infra: InfraMachine, now: float) -> tuple[int, float]:
    """How often in a row, and since when; a note nobody can read is none."""
    count, since, _ = _note(infra)
    return (count, since) if count else (0, now)


def _refused_until(infra: InfraMachine) -> float:
    return _note(infra)[2]


def _note(infra: InfraMachine) -> tuple[int, float, float]:
    parts = infra.meta.annotations.get(names.REFUSALS, "").split()
    if len(parts) != 3 or not parts[0].isdecimal() or len(parts[0]) > 4:
        return 0, 0.0, 0.0
    try:
        return int(parts[0]), timestamps.seconds(parts[1]), timestamps.seconds(parts[2])
    except BadInput:
        return 0, 0.0, 0.0


def _noted(infra: InfraMachine, count: int, since: float, until: float) -> InfraMachine:
    """Written on the object, so that a process that starts anew does not begin to ask from the beginning."""
    note = f"{count} {timestamps.text(since)} {timestamps.text(until)}"
    return replace(infra, meta=_annotated(infra.meta, {names.REFUSALS: note}))


def _faulted_until(infra: InfraMachine) -> float:
    return _faults(infra)[1]


def _faults(infra: InfraMachine) -> tuple[int, float]:
    """How many in a row that pass, and until when nothing is asked. What was wrong with another spec is over."""
    parts = infra.meta.annotations.get(names.FAULTS, "").split()
    if len(parts) != 3 or not parts[0].isdecimal() or len(parts[0]) > 4 or parts[1] != str(infra.meta.generation):
        return 0, 0.0
    try:
        return int(parts[0]), timestamps.seconds(parts[2])
    except BadInput:
        return 0, 0.0


def _faulted(infra: InfraMachine, asked: float | None, now: float) -> tuple[InfraMachine, float]:
    """With one fault more on record, and how long to wait: at least as long as the cloud asks for."""
    count = _faults(infra)[0]
    doubled = min(RETRY_SECONDS * 2.0 ** min(count, 10), LONGEST_RETRY_SECONDS)
    wait = min(max(doubled, asked or 0.0), BELIEVED_SECONDS)
    note = f"{min(count + 1, 9999)} {infra.meta.generation} {timestamps.text(now + wait)}"
    return replace(infra, meta=_annotated(infra.meta, {names.FAULTS: note})), wait


def _annotated(meta: Meta, notes: Mapping[str, str | None]) -> Meta:
    """With these annotations, and without those that are None."""
    held = {**meta.annotations, **notes}
    left = {key: value for key, value in held.items() if value is not None}
    return meta if left == meta.annotations else replace(meta, annotations=MappingProxyType(left))


# ------------------------------------------------------------------------------------------------ the order


@dataclass(frozen=True, slots=True)
class _Order:
    at: float
    taken: bool = False


def _order(infra: InfraMachine) -> _Order | None:
    """What is on record; of another object, which this one was copied from, it is not ours."""
    parts = infra.meta.annotations.get(names.ORDERED, "").split()
    if len(parts) < 2 or parts[0] != infra.meta.uid:
        return None
    try:
        return _Order(timestamps.seconds(parts[1]), str(Sent.TAKEN) in parts[2:])
    except BadInput:
        return None


def _ordered(infra: InfraMachine, order: _Order | None) -> InfraMachine:
    note = None
    if order is not None:
        note = f"{infra.meta.uid} {timestamps.text(order.at)}{f' {Sent.TAKEN}' if order.taken else ''}"
    meta = _annotated(infra.meta, {names.ORDERED: note})
    return infra if meta is infra.meta else replace(infra, meta=meta)


def _sent(infra: InfraMachine) -> Sent:
    order = _order(infra)
    if order is None:
        return Sent.NO
    return Sent.TAKEN if order.taken else Sent.UNHEARD


def _heard(infra: InfraMachine, sent: Sent | None, now: float) -> InfraMachine:
    """With what the cloud says of the order on record."""
    match sent:
        case Sent.NO:
            return _ordered(infra, None)
        case Sent.TAKEN:
            order = _order(infra)
            return _ordered(infra, _Order(order.at if order is not None else now, taken=True))
        case _:
            return infra


def _settled(infra: InfraMachine) -> Meta:
    """There is an instance: neither its order nor what was refused before matters any more."""
    return _annotated(infra.meta, dict.fromkeys(names.LAUNCH_NOTES))


# ------------------------------------------------------------------------------------------------ what it says


def _instance(infra: InfraMachine, condition: Condition, now: float) -> InfraMachine:
    """The machine with what holds of its instance, and Ready, which says the same to the core."""
    held = put(infra.conditions, condition, now, infra.meta.generation)
    held = put(held, replace(condition, type=names.READY), now, infra.meta.generation)
    wanted = infra.interruptible
    if wanted is None:
        wanted = infra.wanted.market.is_interruptible
    return replace(infra, conditions=held, interruptible=wanted)


def _waiting(infra: InfraMachine, reason: str, message: str, now: float) -> InfraMachine:
    return _instance(infra, Condition(names.INSTANCE_READY, Status.FALSE, reason, message), now)


def _paused(infra: InfraMachine, now: float) -> InfraMachine:
    held = Condition(names.PAUSED, Status.TRUE, "Paused", "nothing is done until it is resumed")
    return replace(infra, conditions=put(infra.conditions, held, now, infra.meta.generation))


def _resumed(infra: InfraMachine, now: float) -> InfraMachine:
    held = Condition(names.PAUSED, Status.FALSE, "NotPaused")
    return replace(infra, conditions=put(infra.conditions, held, now, infra.meta.generation))


def _permitted(infra: InfraMachine, problem: Failure | None, now: float) -> InfraMachine:
    """Told of a machine that should never have been bought and is there all the same (R36): it is not for us to end."""
    if problem is None:
        held = without(infra.conditions, names.PERMITTED)
    else:
        why = Condition(names.PERMITTED, Status.FALSE, problem.reason, problem.message)
        held = put(infra.conditions, why, now, infra.meta.generation)
    return infra if held == infra.conditions else replace(infra, conditions=held)


def _failed(before: InfraMachine, known: InfraMachine, failure: Failure, now: float, reason: str = "") -> Step:
    """Failed for good, and visibly (R39): two fields, a condition, an event. The cloud is not asked any more."""
    why = Condition(names.INSTANCE_READY, Status.FALSE, reason or failure.reason, failure.message)
    after = replace(_instance(known, why, now), failure=failure)
    told = Say(_ref(before), reason or failure.reason, failure.message, warning=True, dedupe=(before.meta.uid,))
    effects: list[Effect] = [SaveInfra(before, after), told]
    return Step(tuple(effects))


def _saved(before: InfraMachine, after: InfraMachine) -> Step:
    return Step((SaveInfra(before, after),) if after != before else ())


def _ref(infra: InfraMachine) -> Ref:
    return reference(infra.kind, infra.meta)
