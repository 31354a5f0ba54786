"""GCPMachines: one Compute Engine instance for each, made once and never replaced.

- `bodies` makes the order, with `disks`, `scheduling` and `guards`: what a GCPMachine asks for is in it, or is refused
  by the field's name;
- `homes` says where, from the cluster's GCPCluster;
- `ownership` says whose an instance is: names, labels, request ids, provider ids;
- `answers` and `reporting` read what Compute Engine says of instances, operations and disks;
- `rolls` asks who of many runs;
- `cloud` is the port: create, find, delete, list.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail.clouds.gcp.client import Access, Gcp
from dovetail.clouds.gcp.machines.cloud import GcpMachines
from dovetail.clouds.gcp.machines.homes import Clusters, nowhere
from dovetail.clouds.machines import Machines

__all__ = ["GcpMachines", "opened"]


@asynccontextmanager
async def opened(project: str = "", endpoint: str = "", clusters: Clusters = nowhere) -> AsyncIterator[Machines]:
    """Single instances of a project, "" for that of the credentials. `clusters` knows the GCPCluster of each Cluster.
    An endpoint is for tests, which send no credentials."""
    async with Gcp(Access(project, endpoint, apart=True)) as gcp:
        yield GcpMachines(gcp, clusters)
