"""AzureMachines of Cluster API: one object, one virtual machine, with its interfaces, disks and address.

    ids, tags       what everything is called, and whose it is
    places          AzureCluster → where machines are made
    wishes          AzureMachine → what is asked for, and what is refused by name;  disks, images, keys
    bodies          what Azure is sent
    states          what Azure shows → an instance in the words of no cloud
    machines        the port: create, find, delete, instances

No note of ours has to survive a restart. What was made for a machine is known by its name, what Azure is still doing by
the resource it does it to: a new process looks, finds both, and goes on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from dovetail.clouds.azure.machines.places import Clusters
from dovetail.clouds.machines import Machines


async def _nowhere(namespace: str, cluster: str) -> Mapping[str, object] | None:
    return None


@asynccontextmanager
async def opened(*, subscription: str, endpoint: str = "", clusters: Clusters = _nowhere) -> AsyncIterator[Machines]:
    """Machines in one subscription. `clusters` knows the AzureCluster of each Cluster; credentials are found as every
    tool of Azure finds them. Raises Misconfigured without the extra `azure`."""
    from dovetail.clouds.azure.apart import AzureApart
    from dovetail.clouds.azure.client import Access
    from dovetail.clouds.azure.machines.machines import AzureMachines

    async with AzureApart(Access(subscription, endpoint)) as azure:
        yield AzureMachines(azure, clusters)
