"""Disks that grow with the pods planned onto a node (S2.12).

A cloud's network disk is as large as whoever launches the machine says. So to a pool that leaves its size open, a type
has as much ephemeral storage as the largest disk gives, and each claim says how large a disk the pods on it need.
Local disks are what they are, and so is a size the user states: in the node class, or as a type's
resource. A pool that limits ephemeral storage keeps the default too, for its limit counts what nodes have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dovetail.core.catalog.hardware import Disk
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.nodepools import NodePool
from dovetail.core.resources import EPHEMERAL_STORAGE


@dataclass(frozen=True, slots=True)
class GrownDisk:
    """A disk larger than the type's default, and what of it the pods may have."""

    size_bytes: int
    room_bytes: int


@dataclass(frozen=True, slots=True)
class Growth:
    """How a pool's disks may grow: by which rules a node's share is taken off, and to which size."""

    rules: SpecRules
    largest_bytes: int

    def room(self, kind: InstanceType) -> int:
        """The most ephemeral storage that pods may have on a type, daemons not taken off."""
        default = kind.allocatable.of(EPHEMERAL_STORAGE)
        return max(default, self.room_on(kind, self.largest_bytes)) if _can_grow(kind) else default

    def room_on(self, kind: InstanceType, size_bytes: int) -> int:
        """What pods may have of a disk of this size."""
        grown = replace(kind.spec.hardware, disk=Disk(size_bytes))
        return self.rules.ledger_of(grown).allocatable.of(EPHEMERAL_STORAGE)

    def needed(self, kinds: Iterable[InstanceType], wanted_bytes: int) -> int | None:
        """How large the disk must be, whichever of these types is launched; None where the default will do.

        Types with equal disks need equal ones, so each size is worked out once.
        """
        short: dict[tuple[int, int], InstanceType] = {}
        for one in kinds:
            default = one.allocatable.of(EPHEMERAL_STORAGE)
            if default < wanted_bytes:
                short.setdefault((one.spec.hardware.disk.size_bytes, default), one)
        return max((self.rules.disk_for(one.spec.hardware, wanted_bytes) for one in short.values()), default=None)


def _can_grow(kind: InstanceType) -> bool:
    """Whether the disk is a network disk whose size nobody stated."""
    disk = kind.spec.hardware.disk
    return not disk.local_disks and kind.capacity.of(EPHEMERAL_STORAGE) == disk.size_bytes


def may_grow(pool: NodePool) -> bool:
    return not pool.limits or EPHEMERAL_STORAGE not in pool.limits
