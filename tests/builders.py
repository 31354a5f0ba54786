"""Worlds for tests: every builder defaults what is boring, so that a test names only what it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from dovetail.core import labels
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.generations import ChangeSource, Generations
from dovetail.core.catalog.hardware import Disk, Hardware, Interfaces
from dovetail.core.catalog.offerings import (
    InstanceType,
    Offering,
    instance_type,
    offering,
    sorted_offerings,
)
from dovetail.core.catalog.overhead import FlatOverhead
from dovetail.core.catalog.overlays import NodeOverlay
from dovetail.core.catalog.overrides import Override, OverrideRow
from dovetail.core.catalog.prices import (
    Price,
    Source,
    SourceKind,
    parse_adjustment,
    parse_amount,
    parse_replacement,
)
from dovetail.core.catalog.reservations import Pool, Reservation, reserved_price
from dovetail.core.catalog.specs import Spec, SpecMaker, SpecRules
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.requirements import EMPTY, Requirement, Requirements, is_in, requirement
from dovetail.core.resources import GIB, NOTHING, Resources

LIVE = Source(SourceKind.LIVE, "the price list", "2026-07-06")
PLAIN_RULES = NodeRules(vm_overhead=FlatOverhead(Fraction(0)))
ZONES = ("a", "b")
Rows = tuple[Offering, ...]


# ---- requirements


def requirements(*expressions: tuple[str, str] | tuple[str, str, str]) -> Requirements:
    """`requirements(("zone", "In", "a b"), ("arch", "Exists"))`; values are one text, parted by spaces."""
    return Requirements(expression(*one) for one in expressions)


def expression(key: str, operator: str, values: str = "") -> Requirement:
    return requirement(key, operator, values.split())


# ---- money


def price(dollars: str | float = "0.1", source: Source = LIVE) -> Price:
    return Price(parse_amount(dollars), source)


def nanos(dollars: str | float) -> int:
    return parse_amount(dollars)


# ---- machines


def hardware(
    name: str = "m5.large",
    *,
    cpu: int = 2,
    gib: int = 8,
    family: str | None = None,
    labelled: Mapping[str, str] | None = None,
    devices: Resources = NOTHING,
    interfaces: Interfaces | None = None,
    disk: Disk | None = None,
    pods: int | None = None,
    shared_core: bool = False,
    firmware_bytes: int = 0,
) -> Hardware:
    """A machine of so many whole cores and GiB, labelled with its name, architecture and system."""
    pairs = {labels.INSTANCE_TYPE: name, labels.ARCH: "amd64", labels.OS: "linux", **(labelled or {})}
    return Hardware(
        name,
        cpu * 1000,
        gib * GIB,
        firmware_bytes=firmware_bytes,
        requirements=Requirements.of_labels(pairs),
        devices=devices,
        interfaces=interfaces,
        disk=disk or Disk(20 * GIB),
        pods=pods,
        shared_core=shared_core,
        family=name.partition(".")[0] if family is None else family,
        source="the tests",
    )


def spec(
    machine: Hardware | None = None, kubelet: KubeletSettings | None = None, rules: NodeRules = PLAIN_RULES
) -> Spec:
    return SpecRules(kubelet or KubeletSettings(), rules).spec_of(machine or hardware())


# ---- rows


def row(
    zone: str | None = "a",
    capacity_type: str | None = labels.ON_DEMAND,
    dollars: str | float | None = "0.1",
    *,
    available: bool = True,
    **more: str,
) -> Offering:
    """One way to buy; None leaves a label, or the price, open. Further labels go by keyword, `_` for `-`."""
    pairs = {labels.ZONE: zone, labels.CAPACITY_TYPE: capacity_type} | {k.replace("_", "-"): v for k, v in more.items()}
    said = {key: value for key, value in pairs.items() if value is not None}
    return offering(said, None if dollars is None else price(dollars), available=available)


def rows(on_demand: str | float = "0.1", spot: str | float = "0.03", zones: Iterable[str] = ZONES) -> Rows:
    """On-demand and spot in every zone."""
    found = [
        row(zone, kind, cost) for zone in zones for kind, cost in ((labels.ON_DEMAND, on_demand), (labels.SPOT, spot))
    ]
    return sorted_offerings(found)


def reservation(
    name: str = "cr-1", instance_type: str = "m5.large", zone: str = "a", available: int = 1, total: int | None = None
) -> Reservation:
    return Reservation(name, instance_type, zone, available, available if total is None else total)


def reserved_row(found: Pool, on_demand: str | float = "0.1") -> Offering:
    """The one row of a pool of reservations."""
    return offering(
        {labels.ZONE: found.zone, labels.CAPACITY_TYPE: labels.RESERVED},
        Price(reserved_price(nanos(on_demand)), LIVE),
        count=found.available,
        reservations=found.reservations,
    )


def a_type(
    name: str = "m5.large", offered: Rows | None = None, labelled: Mapping[str, str] | None = None
) -> InstanceType:
    return instance_type(spec(hardware(name, labelled=labelled)), rows() if offered is None else offered)


# ---- what users write


def override(
    name: str = "m5.large",
    offers: Iterable[tuple[Mapping[str, str], str | None]] | None = None,
    overhead: Resources | None = None,
    **amounts: int,
) -> Override:
    """An InstanceType; `offers` are label maps with a price in dollars, or None where the entry names none."""
    entries = None
    if offers is not None:
        entries = tuple(
            OverrideRow(tuple(sorted(pairs.items())), None if cost is None else nanos(cost)) for pairs, cost in offers
        )
    return Override(name, Resources(amounts), overhead, entries)


def overlay(
    name: str = "overlay",
    wanted: Requirements = EMPTY,
    *,
    price: str | None = None,
    adjust: str | None = None,
    capacity: Mapping[str, int] | None = None,
    weight: int = 0,
) -> NodeOverlay:
    change = parse_replacement(price) if price is not None else parse_adjustment(adjust) if adjust is not None else None
    return NodeOverlay(name, wanted, change, Resources(capacity or {}), weight)


def named(*types: str) -> Requirements:
    """What an overlay for certain types asks."""
    return Requirements([is_in(labels.INSTANCE_TYPE, *types)])


def node_class(name: str = "default") -> NodeClassRef:
    return NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", name)


def pool(
    name: str = "pool",
    of: str = "default",
    kubelet: KubeletSettings | None = None,
    labelled: Mapping[str, str] | None = None,
) -> NodePool:
    pairs = tuple(sorted((labelled or {}).items()))
    return NodePool(name, node_class(of), labels=pairs, kubelet=kubelet or KubeletSettings())


# ---- a market


class FakeMarket:
    """A cloud in memory that counts how often each of its four questions is asked (S0.1)."""

    def __init__(self, stock: Mapping[str, Rows] | None = None, rules: NodeRules = PLAIN_RULES) -> None:
        stock = {"m5.large": rows()} if stock is None else stock
        self.machines = {name: hardware(name) for name in stock}
        self.offered = dict(stock)
        self.rules = rules
        self.memory_seen: dict[str, int] = {}
        #: By node class, the types it cannot launch.
        self.withheld: dict[NodeClassRef, frozenset[str]] = {}
        self.generations = Generations()
        self.asked: Counter[str] = Counter()

    def spec_rules(self, pool: NodePool) -> SpecRules:
        return SpecRules(pool.kubelet, self.rules)

    def specs(self, pool: NodePool) -> Mapping[str, Spec]:
        self.asked["specs"] += 1
        withheld = self.withheld.get(pool.node_class, frozenset())
        machines = [one for one in self.machines.values() if one.name not in withheld]
        maker, seen = SpecMaker(self.spec_rules(pool)), self.memory_seen
        return {one.name: maker.spec_of(one, seen.get(one.name)) for one in machines}

    def specs_generation(self, pool: NodePool) -> int:
        self.asked["specs generation"] += 1
        return self.generations.specs_of(pool.node_class)

    def offerings(self, pool: NodePool) -> Mapping[str, Rows]:
        self.asked["offerings"] += 1
        return dict(self.offered)

    def offerings_generation(self, pool: NodePool) -> int:
        self.asked["offerings generation"] += 1
        return self.generations.offerings_of(pool.node_class)

    # What happens to it.

    def moved(self, source: ChangeSource, of: NodeClassRef | None = None) -> None:
        self.generations = self.generations.bumped(source, of)

    def discovered(self, *machines: Hardware) -> None:
        """The types are now these and those known before."""
        self.machines = {**self.machines, **{one.name: one for one in machines}}
        self.moved(ChangeSource.TYPES)

    def withdrew(self, name: str) -> None:
        self.machines = {known: one for known, one in self.machines.items() if known != name}
        self.moved(ChangeSource.TYPES)

    def listed(self, name: str, offered: Rows) -> None:
        """The price list has new rows for one type."""
        self.offered = {**self.offered, name: offered}
        self.moved(ChangeSource.PRICES)


class CombinedFake:
    """A cloud that only answers the old question (S0.4)."""

    def __init__(self, behind: FakeMarket) -> None:
        self.behind = behind
        self.asked: Counter[str] = Counter()

    def spec_rules(self, pool: NodePool) -> SpecRules:
        return self.behind.spec_rules(pool)

    def instance_types(self, pool: NodePool) -> Mapping[str, InstanceType]:
        self.asked["instance types"] += 1
        specs, offered = self.behind.specs(pool), self.behind.offerings(pool)
        return {name: instance_type(one, offered.get(name, ())) for name, one in specs.items()}


def grown(machine: Hardware, gib: int) -> Hardware:
    """The same type with another size of memory."""
    return replace(machine, memory_bytes=gib * GIB)


# ---- what nobody means


def _nested(depth: int) -> list[object]:
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


#: By a name that can be printed: things a wire may bring where a number, an amount or a map is expected.
HOSTILE: Mapping[str, object] = {
    "the empty text": "",
    "a blank": " ",
    "a trailing newline": "1\n",
    "unicode digits": "１２",
    "arabic digits": "١٢",
    "superscripts": "1²",
    "underscores": "1_000",
    "hexadecimal": "0x10",
    "a comma": "1,5",
    "NaN as text": "NaN",
    "infinity as text": "inf",
    "a zero byte": "1\x00",
    "a million nines": "9" * 10**6,
    "a million dots": "." * 10**6,
    "a million signs": "-" * 10**6,
    "an exponent like a bomb": "1e999999999",
    "a percentage like a bomb": "1e999999999%",
    "a fraction": "1/3%",
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "a huge negative number": -(10**5000),
    "true": True,
    "false": False,
    "bytes": b"1",
    "a list": ["1"],
    "a list a thousand deep": _nested(100_000),
    "a map of a map": {"cpu": {"cpu": "1"}},
    "a set": {"1"},
    "an object": object(),
    "a complex number": 1j,
}
