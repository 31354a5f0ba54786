"""What dashboards see of machines: how many are in which phase, and what was done about those that are not well.

Gauges are worked out from the stores when somebody looks. Counters follow the effects: one is counted when it has been
carried out, so a step that is taken again after a conflict is not counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from dovetail.controllers.cluster_api import measured
from dovetail.controllers.cluster_api.measured import OURS
from dovetail.controllers.cluster_api.stores import MachineStores
from dovetail.controllers.metrics import Metrics, Sample
from dovetail.core import conditions
from dovetail.core.effects import Evict
from dovetail.core.machines import external, names
from dovetail.core.machines.effects import Effect, MakeMachine, SaveInfra, SaveMachine
from dovetail.core.machines.infra_objects import InfraMachine
from dovetail.core.machines.objects import Machine

MADE: Final = "machine_set_creations_total"
FAILURES: Final = "machine_failures_total"
REMEDIATIONS: Final = "machine_remediations_total"
EVICTIONS: Final = "machine_evictions_total"
PROBLEMS: Final = "machine_reconcile_errors_total"


def declare(metrics: Metrics) -> Metrics:
    """Counters; gauges are declared by whoever has the stores."""
    measured.declare(metrics)
    counter = metrics.counter
    counter(MADE, "Machines made by MachineSets.", "namespace", "machineset", prefix=OURS)
    counter(FAILURES, "Infrastructure machines that failed for good.", "kind", "reason", prefix=OURS)
    told = "Machines a health check handed over to be replaced or healed, by why."
    counter(REMEDIATIONS, told, "reason", prefix=OURS)
    counter(EVICTIONS, "Pods asked to leave Nodes of Machines that go.", prefix=OURS)
    counter(PROBLEMS, "Looks at an object that ended in an error.", "kind", prefix=OURS)
    return metrics


@dataclass(frozen=True, slots=True)
class Counting:
    """Counts effects that were carried out: `MachineHands.boundary`."""

    metrics: Metrics

    def __call__(self, effect: Effect, after: bool) -> None:
        if not after:
            return
        match effect:
            case SaveInfra(before, now) if before.failure is None and now.failure is not None:
                self.metrics.count(FAILURES, {"kind": before.kind, "reason": now.failure.reason})
            case SaveMachine(before, now) if _is_handed_over(now) and not _is_handed_over(before):
                self.metrics.count(REMEDIATIONS, {"reason": _why(now)})
            case MakeMachine(of, _):
                self.metrics.count(MADE, {"namespace": of.meta.namespace, "machineset": of.name})
            case Evict():
                self.metrics.count(EVICTIONS, {})
            case _:
                return


def _is_handed_over(machine: Machine) -> bool:
    """To its owner, or to somebody else."""
    return machine.is_false(names.OWNER_REMEDIATED) or external.is_asked(machine)


def _why(machine: Machine) -> str:
    found = conditions.found(machine.conditions, names.HEALTH_CHECK_SUCCEEDED)
    return found.reason if found is not None else ""


def declare_gauges(metrics: Metrics, stores: MachineStores) -> None:
    gauge = metrics.gauge
    of_machine = ("namespace", "cluster", "phase")
    gauge("machines", "Machines by phase.", lambda: _machines(stores), *of_machine, prefix=OURS)
    of_infra = ("kind", "state", "interruptible")
    told = "Infrastructure machines: waiting, ready, failed or deleting."
    gauge("machine_infrastructure", told, lambda: _infra(stores), *of_infra, prefix=OURS)
    if not stores.core:
        return
    of_set = ("namespace", "machineset", "count")
    told = "Machines of each MachineSet: wanted, there, ready, available."
    gauge("machine_set_replicas", told, lambda: _sets(stores), *of_set, prefix=OURS)
    of_check = ("namespace", "check", "count")
    told = "Machines of each health check: expected, healthy, and how many more may be unhealthy (allowed)."
    gauge("machine_health_check_targets", told, lambda: _checks(stores), *of_check, prefix=OURS)


def _machines(stores: MachineStores) -> Iterable[Sample]:
    found = Counter((one.key[0], one.value.cluster, str(one.value.phase)) for one in stores.machines)
    for (namespace, cluster, phase), count in sorted(found.items()):
        yield {"namespace": namespace, "cluster": cluster, "phase": phase}, float(count)


def _infra(stores: MachineStores) -> Iterable[Sample]:
    every = (one.value for store in stores.infra.values() for one in store)
    found = Counter((one.kind, _state(one), "true" if one.interruptible else "false") for one in every)
    for (kind, state, interruptible), count in sorted(found.items()):
        yield {"kind": kind, "state": state, "interruptible": interruptible}, float(count)


def _state(infra: InfraMachine) -> str:
    if infra.is_deleting:
        return "deleting"
    if infra.failure is not None:
        return "failed"
    return "ready" if infra.ready else "waiting"


def _sets(stores: MachineStores) -> Iterator[Sample]:
    for held in stores.sets:
        one, counts = held.value, held.value.counts
        about = {"namespace": held.key[0], "machineset": one.name}
        wanted = 1 if one.replicas is None else one.replicas
        shown = {"wanted": wanted, "there": counts.replicas, "ready": counts.ready, "available": counts.available}
        for name, count in shown.items():
            yield {**about, "count": name}, float(count)


def _checks(stores: MachineStores) -> Iterator[Sample]:
    for held in stores.checks:
        tally = held.value.tally
        about = {"namespace": held.key[0], "check": held.value.name}
        for name, count in {"expected": tally.expected, "healthy": tally.healthy, "allowed": tally.allowed}.items():
            yield {**about, "count": name}, float(count)
