"""All custom resources, in the order they are installed."""

from __future__ import annotations

from typing import Final

from dovetail.api.crds import (
    capacity_buffer,
    ec2_node_class,
    instance_type,
    kwok_node_class,
    node_claim,
    node_overlay,
    node_pool,
)
from dovetail.api.crds.cluster_api import aws, azure, gcp, health_check, machine, machine_set
from dovetail.api.crds.definition import Definition

#: What every installation needs, whatever the cloud.
CORE: Final = (
    node_pool.DEFINITION,
    node_claim.DEFINITION,
    node_overlay.DEFINITION,
    instance_type.DEFINITION,
    capacity_buffer.DEFINITION,
)
#: The node class of each cloud.
NODE_CLASSES: Final = {"kwok": kwok_node_class.DEFINITION, "aws": ec2_node_class.DEFINITION}
DEFINITIONS: Final[tuple[Definition, ...]] = (*CORE, *NODE_CLASSES.values())

#: Machines of Cluster API: what its core finds and drives, or ours where it has none.
INFRASTRUCTURE: Final = {"aws": aws.DEFINITIONS, "gcp": gcp.DEFINITIONS, "azure": azure.DEFINITIONS}
#: The core's own kinds, for a cluster without it. Never installed beside Cluster API: there these kinds are its own.
MACHINES: Final[tuple[Definition, ...]] = (*machine.DEFINITIONS, *machine_set.DEFINITIONS, *health_check.DEFINITIONS)
CLUSTER_API: Final[tuple[Definition, ...]] = (
    *(one for definitions in INFRASTRUCTURE.values() for one in definitions),
    *MACHINES,
)


def of_cloud(cloud: str) -> tuple[Definition, ...]:
    """What an installation on one cloud needs. Over machines of Cluster API, the provider brings its own."""
    return (*CORE, NODE_CLASSES[cloud]) if cloud in NODE_CLASSES else CORE
