"""Allocatable, term by term (S2.8): what a machine has, what is taken off it, by which rule, and who set the rule.

    capacity − VM overhead − kube-reserved − system-reserved − eviction threshold (− huge pages, off memory)

The ledger is the computation, not a story told about it: the scheduler's number is the sum of the very lines that
`dovetail explain type` prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from dovetail.core.catalog.density import KUBERNETES_DENSITY, Density, PodLimit
from dovetail.core.catalog.formulas import settled
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.overhead import TIERED, VmOverhead
from dovetail.core.catalog.reserves import Reserve, reserve
from dovetail.core.kubelet import MEMORY_AVAILABLE, NODEFS_AVAILABLE, KubeletSettings, ReserveStrategy
from dovetail.core.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGEPAGES,
    MEMORY,
    NOTHING,
    PODS,
    Resources,
    quantity_of,
)


class Stage(StrEnum):
    """The lines of the sum, in order."""

    CAPACITY = "capacity"
    VM_OVERHEAD = "VM overhead"
    KUBE_RESERVED = "kube-reserved"
    SYSTEM_RESERVED = "system-reserved"
    EVICTION = "eviction threshold"
    HUGE_PAGES = "huge pages"


#: What lies between capacity and allocatable once the node is up.
OVERHEAD_STAGES: Final = (Stage.KUBE_RESERVED, Stage.SYSTEM_RESERVED, Stage.EVICTION)


class Term(NamedTuple):
    """One line: so much of a resource, by this rule, set there. A named tuple, as a catalog makes tens of thousands."""

    resource: str
    stage: Stage
    amount: int
    rule: str
    source: str

    @property
    def sign(self) -> int:
        return 1 if self.stage is Stage.CAPACITY else -1

    def __str__(self) -> str:
        return f"{self.stage} {quantity_of(self.resource, self.amount)}: {self.rule} [{self.source}]"


@dataclass(frozen=True, slots=True)
class NodeRules:
    """A cloud's defaults: how pods are counted, what is held back, what the hypervisor takes."""

    density: Density = KUBERNETES_DENSITY
    reserve: ReserveStrategy = ReserveStrategy.NONE
    vm_overhead: VmOverhead = TIERED
    #: Held back on every node whatever its size; the kwok provider's 100m and 10Mi.
    flat_overhead: Resources = NOTHING
    #: EKS's agents on AL2023 keep memory for as many pods as the interfaces could hold; others for as many as may run.
    keeps_for_limit: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """What an InstanceType resource changes about the machine itself (S2.2, S2.3)."""

    resources: Resources = NOTHING
    overhead: Resources | None = None
    source: str = "InstanceType"


NO_SETTINGS: Final = Settings()


@dataclass(frozen=True, slots=True)
class Ledger:
    """The terms of one type, and their sums."""

    terms: tuple[Term, ...]

    def _sum(self, stages: Iterable[Stage]) -> Resources:
        wanted = frozenset(stages)
        found: dict[str, int] = {}
        for term in self.terms:
            if term.stage in wanted:
                found[term.resource] = found.get(term.resource, 0) + term.amount
        return Resources(found)

    @property
    def capacity(self) -> Resources:
        """What the node will report: nominal less what never reaches the operating system."""
        return self._sum((Stage.CAPACITY,)) - self._sum((Stage.VM_OVERHEAD,))

    @property
    def overhead(self) -> Resources:
        return self._sum(OVERHEAD_STAGES)

    @property
    def allocatable(self) -> Resources:
        return self.capacity - self.overhead - self._sum((Stage.HUGE_PAGES,))


def ledger(
    hardware: Hardware,
    kubelet: KubeletSettings,
    rules: NodeRules,
    settings: Settings = NO_SETTINGS,
    memory_seen: int | None = None,
) -> Ledger:
    """Every term of a type's allocatable. `memory_seen` is what a node of this type once reported."""
    type_pods = settings.resources.get(PODS)
    found = settled(hardware, kubelet, rules.density, type_pods)
    kubelet, limit = found.kubelet, found.limit
    sized = replace(hardware, interfaces=None) if rules.keeps_for_limit else hardware
    held = reserve(kubelet.reserve or rules.reserve, sized, limit.pods)
    machine = (*_capacity(hardware, settings, limit), *_vm_overhead(hardware, rules, settings, memory_seen))
    reported = Ledger(machine).capacity
    terms = (
        *machine,
        *_reserved(kubelet, rules, held),
        *_eviction(kubelet, held, reported, kubelet.reserve or rules.reserve),
    )
    if any(name.startswith(HUGEPAGES) for name in reported):
        return Ledger((*terms, *_huge_pages(Ledger(terms).allocatable)))
    return Ledger(terms)


def _capacity(hardware: Hardware, settings: Settings, limit: PodLimit) -> Iterator[Term]:
    known = {
        CPU: hardware.cpu_millis,
        MEMORY: hardware.memory_bytes,
        EPHEMERAL_STORAGE: hardware.disk.size_bytes,
        **hardware.devices,
    }
    for name, amount in known.items():
        if name not in settings.resources:
            yield Term(name, Stage.CAPACITY, amount, "nominal", hardware.source)
    for name, amount in settings.resources.items():
        if name != PODS:
            yield Term(name, Stage.CAPACITY, amount, f"spec.resources.{name}", settings.source)
    yield Term(PODS, Stage.CAPACITY, limit.pods, limit.rule, limit.source)


def _vm_overhead(hardware: Hardware, rules: NodeRules, settings: Settings, memory_seen: int | None) -> Iterator[Term]:
    if settings.overhead is not None:
        for name, amount in settings.overhead.items():
            yield Term(name, Stage.VM_OVERHEAD, amount, f"spec.overhead.{name}", settings.source)
        return
    if MEMORY in settings.resources:
        return  # the user said what the node reports; nothing is left to guess
    if memory_seen is not None:
        taken = max(0, hardware.memory_bytes - memory_seen)
        yield Term(MEMORY, Stage.VM_OVERHEAD, taken, "measured on a node of this type", "node")
        return
    if hardware.firmware_bytes:
        yield Term(MEMORY, Stage.VM_OVERHEAD, hardware.firmware_bytes, "kept by firmware", "default")
    taken, rule = rules.vm_overhead.held_back(hardware.memory_bytes - hardware.firmware_bytes)
    if taken:
        yield Term(MEMORY, Stage.VM_OVERHEAD, taken, rule, "default")


def _reserved(kubelet: KubeletSettings, rules: NodeRules, held: Reserve) -> Iterator[Term]:
    strategy = f"{kubelet.reserve or rules.reserve} strategy"
    for name, amount in held.kube.items():
        if name not in kubelet.kube_reserved:
            yield Term(name, Stage.KUBE_RESERVED, amount, held.rule(name), strategy)
    for name, amount in kubelet.kube_reserved.items():
        yield Term(name, Stage.KUBE_RESERVED, amount, f"kubeReserved.{name}", "kubelet settings")
    for name, amount in rules.flat_overhead.items():
        yield Term(name, Stage.KUBE_RESERVED, amount, "the same on every node", "default")
    for name, amount in held.system.items():
        yield Term(name, Stage.SYSTEM_RESERVED, amount, held.system_rule(name), strategy)
    for name, amount in kubelet.system_reserved.items():
        yield Term(name, Stage.SYSTEM_RESERVED, amount, f"systemReserved.{name}", "kubelet settings")


def _eviction(
    kubelet: KubeletSettings, held: Reserve, reported: Resources, strategy: ReserveStrategy
) -> Iterator[Term]:
    """Hard thresholds only: the kubelet takes no soft one off allocatable, so neither do we."""
    for name, signal, default in (
        (MEMORY, MEMORY_AVAILABLE, held.eviction_memory),
        (EPHEMERAL_STORAGE, NODEFS_AVAILABLE, held.eviction_storage),
    ):
        chosen = kubelet.hard(signal)
        threshold = default if chosen is None else chosen
        amount = threshold.of(reported.of(name))
        if amount or chosen is not None:
            source = f"{strategy} strategy" if chosen is None else "kubelet settings"
            yield Term(name, Stage.EVICTION, amount, f"evictionHard {signal} {threshold}", source)


def _huge_pages(left: Resources) -> Iterator[Term]:
    """Taken off the memory that is left, which they can use up but not overdraw."""
    room = max(0, left.memory_bytes)
    for name, amount in left.items():
        if name.startswith(HUGEPAGES) and amount:
            taken = min(amount, room)
            room -= taken
            yield Term(MEMORY, Stage.HUGE_PAGES, taken, f"set aside as {name}", "capacity")
