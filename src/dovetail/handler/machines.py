"""The Machine behind a Node, where Cluster API keeps it in the same cluster.

Its Node names it in annotations. Deleting it early is what a health check on the Terminating condition does as well;
this is for clusters without one. Its controllers drain what is left and replace it.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from dovetail.api.kinds import MACHINES
from dovetail.core.handler.marks import NodeFacts
from dovetail.kube.client import Client
from dovetail.kube.errors import NotFound, UnknownKind

MACHINE: Final = "cluster.x-k8s.io/machine"
CLUSTER_NAMESPACE: Final = "cluster.x-k8s.io/cluster-namespace"
#: Newest first; a cluster serves one of them at least.
VERSIONS: Final = (MACHINES, replace(MACHINES, version="v1beta1"))
_log: Final = logging.getLogger(__name__)


async def delete_machine(client: Client, node: NodeFacts) -> None:
    name, namespace = node.annotations.get(MACHINE, ""), node.annotations.get(CLUSTER_NAMESPACE, "")
    if not name or not namespace:
        _log.warning("node %s names no Machine (annotations %s, %s)", node.name, MACHINE, CLUSTER_NAMESPACE)
        return
    for kind in VERSIONS:
        try:
            await client.delete(kind, name, namespace)
        except UnknownKind:
            continue
        except NotFound:
            return  # somebody was faster
        _log.info("deleted Machine %s/%s", namespace, name)
        return
    _log.warning("Machines are not served in this cluster; %s/%s is not deleted", namespace, name)
