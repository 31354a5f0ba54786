"""Parts of a placement group: where a claim asks for none EC2 chooses, and tells which only once there is a machine.

Pods that spread over the parts are counted by the label of their Nodes, so a Node takes none before it has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.described import id_of
from dovetail.clouds.aws.instances import Instances
from dovetail.clouds.aws.resolved import PARTITIONED, PlacementGroup
from dovetail.clouds.port import NotFound
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef


@dataclass(frozen=True, slots=True)
class Partitions:
    """`clouds.port.Hook`, under the peer's name. `group_of` is the group a class has now, None if that is unknown."""

    instances: Instances
    group_of: Callable[[NodeClassRef], PlacementGroup | None]
    name: str = "PlacementGroupRegistrationHook"

    def concerns(self, claim: NodeClaim) -> bool:
        told = claim.meta.labels
        stands_in = told.get(aws_labels.PLACEMENT_GROUP_ID)
        if not stands_in or told.get(aws_labels.PLACEMENT_GROUP_PARTITION):
            return False
        group = self.group_of(claim.node_class)
        return group is None or group.id != stands_in or group.strategy == PARTITIONED

    async def labels(self, claim: NodeClaim) -> Mapping[str, str] | None:
        try:
            machine = await self.instances.described(id_of(claim.provider_id))
        except NotFound:
            return None
        return {aws_labels.PLACEMENT_GROUP_PARTITION: str(machine.partition)} if machine.partition else {}
