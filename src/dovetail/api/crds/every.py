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


def of_cloud(cloud: str) -> tuple[Definition, ...]:
    """What an installation on one cloud needs."""
    return (*CORE, NODE_CLASSES[cloud])
