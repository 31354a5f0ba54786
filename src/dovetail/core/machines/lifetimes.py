"""Machines whose day is known to come: GCP ends a preemptible one within 24 hours (R24, R42).

Its thirty seconds' notice is too short for most pods, so the Machine is deleted a while before: drained in peace, and
replaced by its set. Machines of one set were mostly made together; each goes at a moment of its own within the hour, by
its name, so that the set never loses all of them at once. A Machine of a NodeClaim is replaced by whoever
looks after claims, who orders the next one first (`clouds.cluster_api`); one nobody would replace is only told of.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final

from dovetail.core.effects import Delete, Say
from dovetail.core.machines.effects import Effect, reference
from dovetail.core.machines.infra_objects import Found, InfraMachine
from dovetail.core.machines.objects import Machine

DAY: Final = 86400.0
#: So long before its end a machine goes at the latest, and up to so much sooner.
MARGIN_SECONDS: Final = 1800.0
SPREAD_SECONDS: Final = 3600.0
#: A machine that lives shorter than this is meant to: nothing is gained by replacing it a little sooner.
SHORTEST_SECONDS: Final = 4 * 3600.0
_REPLACING: Final = ("MachineSet",)
_REPLACED_ELSEWHERE: Final = ("NodeClaim",)


@dataclass(frozen=True, slots=True)
class Ending:
    effects: tuple[Effect, ...] = ()
    again: float | None = None


def leaves_at(infra: InfraMachine, created: float) -> float | None:
    """When the Machine is to go; None where nothing ends it."""
    return moment(infra.name, infra.wanted.lifetime, created)


def moment(name: str, lifetime: float | None, created: float) -> float | None:
    if lifetime is None or lifetime < SHORTEST_SECONDS or not created:
        return None
    share = zlib.crc32(name.encode()) / 2**32
    return created + lifetime - MARGIN_SECONDS - SPREAD_SECONDS * share


def judged(infra: InfraMachine, machine: Machine, instance: Found, now: float) -> Ending:
    leaving = leaves_at(infra, instance.created)
    if leaving is None or machine.is_deleting:
        return Ending()
    if now < leaving:
        return Ending(again=leaving - now)
    ref = reference("Machine", machine.meta)
    owner = machine.meta.controller
    if owner is not None and owner.kind in _REPLACED_ELSEWHERE:
        return Ending()
    if owner is None or owner.kind not in _REPLACING:
        said = "its instance ends within the hour, and nobody would replace it; delete it yourself, or own it by a set"
        return Ending((Say(ref, "LifetimeEnding", said, warning=True, dedupe=(machine.meta.uid,)),))
    said = "replaced before its cloud ends it: there is time to drain now, and there would be 30 seconds then"
    return Ending((Say(ref, "LifetimeEnding", said, dedupe=(machine.meta.uid,)), Delete(ref)))
