"""What there is: resources of four types, what Azure is still doing to them, and what it cannot sell.

A resource is its wire form and, beside it, what Azure does not show: when what is being done to it will be done, and
how that will end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Wire = dict[str, Any]
VM = "Microsoft.Compute/virtualMachines"
DISK = "Microsoft.Compute/disks"
NIC = "Microsoft.Network/networkInterfaces"
ADDRESS = "Microsoft.Network/publicIPAddresses"
TYPES = (VM, DISK, NIC, ADDRESS)
MAKING, REMOVING = "Creating", "Deleting"


@dataclass
class Waits:
    """How long Azure takes, in seconds."""

    make: float = 0.0
    remove: float = 0.0
    #: How soon a virtual machine that is being made has found its room: it has a power state from then on.
    allocate: float = 1e9
    #: Of interfaces and addresses.
    network: float = 0.0


@dataclass
class Failing:
    """How making a virtual machine ends badly, after it was begun."""

    code: str
    message: str = "Allocation failed. We do not have sufficient capacity for the requested VM size in this region."


@dataclass
class Operation:
    """Something that was asked for and takes time. It is done when it is due, whoever asks."""

    id: str
    due: float
    resource: str
    begun: float = 0.0
    removing: bool = False
    failing: Failing | None = None


@dataclass
class Resource:
    type: str
    wire: Wire
    operation: Operation | None = None
    power: str = ""
    failing: Failing | None = None
    #: What it was made with, which Azure does not let anybody change.
    secret: Wire = field(default_factory=dict)
    #: Until when an interface is kept for the machine that had it.
    reserved: float = 0.0

    @property
    def key(self) -> str:
        return str(self.wire["id"]).lower()

    @property
    def name(self) -> str:
        return str(self.wire["name"])

    @property
    def properties(self) -> Wire:
        found: Wire = self.wire["properties"]
        return found

    @property
    def state(self) -> str:
        return str(self.properties.get("provisioningState", ""))


@dataclass
class World:
    """One subscription. Its groups and subnets need not be made."""

    now: Callable[[], float]
    subscription: str = "11111111-2222-3333-4444-555555555555"
    zones: tuple[str, ...] = ("1", "2", "3")
    waits: Waits = field(default_factory=Waits)
    #: Refused at once, and after it was begun, by size.
    sold_out: dict[str, tuple[str, str]] = field(default_factory=dict)
    failing: dict[str, Failing] = field(default_factory=dict)
    #: The spot price of a size: who bids less is refused.
    spot_prices: dict[str, float] = field(default_factory=dict)
    #: Groups that are not there.
    no_groups: set[str] = field(default_factory=set)
    #: Whether what says it goes with its machine does.
    takes_along: bool = True
    #: How long an interface stays reserved after its machine went.
    reserves: float = 0.0
    resources: dict[str, Resource] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    #: Ids of virtual machines, one entry for each time one was made.
    made: list[str] = field(default_factory=list)
    count: int = 0

    def of(self, type_: str) -> Iterator[Resource]:
        self.settle()
        return (one for one in list(self.resources.values()) if one.type == type_)

    def named(self, type_: str, name: str) -> Resource:
        return next(one for one in self.of(type_) if one.name == name)

    def number(self) -> int:
        self.count += 1
        return self.count

    def begin(self, one: Resource, seconds: float, *, removing: bool = False) -> Operation:
        """What is begun later goes before what was begun sooner."""
        begun = Operation(f"op-{self.number()}", self.now() + seconds, one.key, self.now(), removing)
        begun.failing = None if removing else one.failing
        self.operations[begun.id] = begun
        one.operation = begun
        one.properties["provisioningState"] = REMOVING if removing else MAKING
        self.settle()
        return begun

    # ---- time

    def settle(self) -> None:
        """Whatever is due is done."""
        for one in list(self.resources.values()):
            if one.operation is not None and one.operation.due <= self.now():
                self._done(one, one.operation)

    def _done(self, one: Resource, operation: Operation) -> None:
        one.operation = None
        if operation.removing:
            self.remove(one)
        elif operation.failing is not None:
            one.properties["provisioningState"] = "Failed"
        else:
            one.properties["provisioningState"] = "Succeeded"
            one.power = "running" if one.type == VM else ""

    def power_of(self, vm: Resource) -> str:
        making = vm.operation
        if making is None or making.removing or making.failing is not None:
            return vm.power
        return "starting" if self.now() >= making.begun + self.waits.allocate else vm.power

    def status_of(self, operation: Operation) -> Wire:
        self.settle()
        if operation.due > self.now():
            return {"status": "InProgress"}
        if operation.failing is not None:
            return {"status": "Failed", "error": {"code": operation.failing.code, "message": operation.failing.message}}
        return {"status": "Succeeded"}

    # ---- what holds what

    def remove(self, one: Resource) -> None:
        """It is gone, and with it what says it goes along."""
        self.resources.pop(one.key, None)
        if one.type == VM:
            self._let_go(one)
        if one.type == NIC:
            for id_, option in public_ids(one):
                held = self.resources.get(id_.lower())
                if held is not None:
                    held.properties.pop("ipConfiguration", None)
                    if option == "Delete" and self.takes_along:
                        self.remove(held)

    def _let_go(self, vm: Resource) -> None:
        for id_, option in (*interface_ids(vm), *disk_ids(vm)):
            held = self.resources.get(id_.lower())
            if held is None:
                continue
            held.properties.pop("virtualMachine", None)
            held.wire.pop("managedBy", None)
            held.reserved = self.now() + self.reserves
            if option == "Delete" and self.takes_along:
                self.remove(held)

    # ---- what befalls machines

    def evict(self, name: str) -> None:
        """Azure wants a Spot machine back, and does with it what its policy says."""
        vm = self.named(VM, name)
        assert vm.properties.get("priority") == "Spot", f"{name} is no Spot machine"
        if vm.properties.get("evictionPolicy") == "Delete":
            self.remove(vm)
        else:
            vm.power = "deallocated"


def interface_ids(vm: Resource) -> list[tuple[str, str]]:
    listed = vm.properties.get("networkProfile", {}).get("networkInterfaces", ())
    return [(one["id"], (one.get("properties") or {}).get("deleteOption", "Detach")) for one in listed]


def disk_ids(vm: Resource) -> list[tuple[str, str]]:
    storage = vm.properties.get("storageProfile", {})
    listed = [storage.get("osDisk", {}), *storage.get("dataDisks", ())]
    return [(one["managedDisk"]["id"], one.get("deleteOption", "Detach")) for one in listed if one.get("managedDisk")]


def public_ids(nic: Resource) -> list[tuple[str, str]]:
    found = []
    for one in nic.properties.get("ipConfigurations", ()):
        public = one["properties"].get("publicIPAddress")
        if public:
            found.append((public["id"], (public.get("properties") or {}).get("deleteOption", "Detach")))
    return found
