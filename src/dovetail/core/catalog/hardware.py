"""A machine type as its cloud describes it, before any kubelet has taken its share.

This is what every cloud's parser makes, whatever its API looks like; the rest of the catalog knows no other form.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.resources import NOTHING, Resources


@dataclass(frozen=True, slots=True)
class Interfaces:
    """How many network interfaces a machine has and how many addresses each; EKS counts pods by them."""

    count: int
    addresses_each: int


@dataclass(frozen=True, slots=True)
class Disk:
    """What backs ephemeral storage, and how many local disks it is made of (0: a network disk)."""

    size_bytes: int
    local_disks: int = 0


@dataclass(frozen=True, slots=True)
class Hardware:
    """One machine type.

    `memory_bytes` is the nominal size on the price list; `firmware_bytes` of it never reach the operating system.
    `pods` is a fixed limit of the type, where the cloud states one. `volume_limits` are attachments per CSI driver.
    """

    name: str
    cpu_millis: int
    memory_bytes: int
    firmware_bytes: int = 0
    requirements: Requirements = EMPTY
    devices: Resources = NOTHING
    interfaces: Interfaces | None = None
    disk: Disk = field(default_factory=lambda: Disk(20 * 2**30))
    pods: int | None = None
    shared_core: bool = False
    family: str = ""
    volume_limits: tuple[tuple[str, int], ...] = ()
    #: Where the description came from, for people: "EC2 DescribeInstanceTypes, bundled 2026-07-06".
    source: str = ""
