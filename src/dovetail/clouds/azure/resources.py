"""Every kind of Azure resource this program touches, and the SDK's names for what is done with it.

The table is also the list of rights: read, write and delete of these four, and nothing that starts, stops or restarts a
machine (R12).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

COMPUTE: Final = "compute"
NETWORK: Final = "network"


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind. `listed` are the SDK's names for the list in a group and in the whole subscription."""

    service: str
    operations: str
    noun: str
    listed: tuple[str, str]
    #: As Azure's own paths and rights spell it.
    type: str
    #: What is read with it, which Azure leaves out otherwise.
    expand: str = ""
    #: Whether it is removed without being shut down first: its node was drained, or is gone.
    force: bool = False


VIRTUAL_MACHINE: Final = Resource(
    COMPUTE,
    "virtual_machines",
    "virtual machine",
    ("list", "list_all"),
    "Microsoft.Compute/virtualMachines",
    expand="instanceView",
    force=True,
)
DISK: Final = Resource(COMPUTE, "disks", "disk", ("list_by_resource_group", "list"), "Microsoft.Compute/disks")
INTERFACE: Final = Resource(
    NETWORK,
    "network_interfaces",
    "network interface",
    ("list", "list_all"),
    "Microsoft.Network/networkInterfaces",
    expand="IPConfigurations/PublicIPAddress",
)
ADDRESS: Final = Resource(
    NETWORK, "public_ip_addresses", "public address", ("list", "list_all"), "Microsoft.Network/publicIPAddresses"
)
#: What is left of a machine, in the order in which it can be removed.
PARTS: Final = (INTERFACE, DISK, ADDRESS)
EVERY: Final = (VIRTUAL_MACHINE, *PARTS)
