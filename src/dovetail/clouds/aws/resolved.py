"""A node class with everything it points at found: what launching needs to know, and nothing it would have to ask for.

Whoever resolves node classes makes these; `choices`, `templates`, `fleet` and `launching` only read them. They are
frozen, so a launch that began with one version of a class ends with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.nodepools import NodeClassRef
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.taints import Taint

NO_TAGS: Final[Mapping[str, str]] = MappingProxyType({})
#: Kinds of reservation, as EC2 and the label `capacity-reservation-type` call them.
DEFAULT_RESERVATION: Final = "default"
CAPACITY_BLOCK: Final = "capacity-block"


@dataclass(frozen=True, slots=True)
class Subnet:
    """Where machines of a zone get their addresses, and how many were free when last looked."""

    id: str
    zone: str
    zone_id: str = ""
    free_addresses: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Image:
    """An image, and which nodes may run it; of several that suit a type the first in the class's order is taken.
    `created` sorts as text, being a timestamp in one zone."""

    id: str
    name: str = ""
    created: str = ""
    requirements: Requirements = EMPTY
    deprecated: bool = False

    def suits(self, kind: InstanceType) -> bool:
        """A label the image speaks of and the type does not have is absent on the type."""
        return all(self._admits(one.key, kind) for one in self.requirements)

    def _admits(self, key: str, kind: InstanceType) -> bool:
        wanted, has = self.requirements.get(key), kind.requirements.get(key)
        if wanted is None:
            return True
        return wanted.absent if has is None else wanted.intersects(has)


@dataclass(frozen=True, slots=True)
class HeldReservation:
    """A reservation the class selects. How many of it are free is the market's to say (`Offering.reservations`)."""

    id: str
    instance_type: str
    zone: str
    kind: str = DEFAULT_RESERVATION
    interruptible: bool = False
    owner: str = ""
    ends_at: float | None = None
    #: A block that is about to end is no longer bought from.
    expiring: bool = False


@dataclass(frozen=True, slots=True)
class Disk:
    """One entry of `blockDeviceMappings`, sizes in GiB. What is None is EC2's default."""

    device: str
    size_gib: int | None = None
    volume_type: str | None = None
    iops: int | None = None
    throughput: int | None = None
    initialization_rate: int | None = None
    snapshot_id: str | None = None
    kms_key_id: str | None = None
    encrypted: bool | None = None
    delete_on_termination: bool | None = None


@dataclass(frozen=True, slots=True)
class Interface:
    """One entry of `networkInterfaces`."""

    card: int
    device: int
    efa_only: bool = False


@dataclass(frozen=True, slots=True)
class MetadataService:
    """How programs on a node reach its metadata. Tags of the machine never show there: pods could read them."""

    endpoint: str = "enabled"
    ipv6: str = "disabled"
    hops: int = 1
    tokens: str = "required"


@dataclass(frozen=True, slots=True)
class ConnectionTracking:
    """How long idle connections are remembered, in seconds."""

    tcp_established: int | None = None
    udp_stream: int | None = None
    udp: int | None = None


#: The strategy of a group whose machines stand in parts that share no hardware.
PARTITIONED: Final = "partition"


@dataclass(frozen=True, slots=True)
class PlacementGroup:
    """A placement group; `partitions` is how many it has, 0 unless its strategy is partition."""

    id: str
    name: str = ""
    strategy: str = "cluster"
    partitions: int = 0


@dataclass(frozen=True, slots=True)
class Network:
    """What the class wants of network interfaces. Without `interfaces` there is one, or as many EFAs as are asked."""

    interfaces: tuple[Interface, ...] = ()
    public_address: bool | None = None
    ipv6: bool = False
    prefixes: int | None = None
    tracking: ConnectionTracking | None = None


@dataclass(frozen=True, slots=True)
class Boot:
    """Everything a node's user data may depend on. The claim's name is not among it: machines of one shape must boot
    from one template, or each would need its own (S2.13)."""

    image: Image
    kind: InstanceType
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()


UserData = Callable[[Boot], str]
"""The whole of a machine's user data, as text. It is asked once for every type of an order, so it should be quick;
types for which it says the same share a launch template."""


def no_user_data(_: Boot) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ResolvedClass:
    """A node class that can be launched with.

    `tags` are what the class asks for; those that say whose the machine is are added at launch (`tags.of_machine`).
    `subnets` are all that were selected; which one of a zone is taken is decided at launch. `images` stand in the order
    in which they are tried. `profile` is the name of the instance profile.
    """

    ref: NodeClassRef
    subnets: tuple[Subnet, ...]
    security_groups: tuple[str, ...]
    images: tuple[Image, ...]
    profile: str
    user_data: UserData = no_user_data
    disks: tuple[Disk, ...] = ()
    metadata: MetadataService = MetadataService()
    network: Network = Network()
    tags: Mapping[str, str] = field(default_factory=lambda: NO_TAGS)
    reservations: Mapping[str, HeldReservation] = field(default_factory=lambda: MappingProxyType({}))
    #: Whether machines that name no reservation keep out of those that are open.
    opts_out: bool = True
    placement_group: PlacementGroup | None = None
    detailed_monitoring: bool = False
    nested_virtualization: str = ""
    enclaves: bool = False
    context: str = ""
    #: What the drift check compares: written on the claim when a machine is bought (`spec/hash`).
    hash: str = ""
    hash_version: str = ""

    def image_for(self, kind: InstanceType) -> Image | None:
        return next((one for one in self.images if one.suits(kind)), None)

    @property
    def zones(self) -> frozenset[str]:
        return frozenset(one.zone for one in self.subnets)
