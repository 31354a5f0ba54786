"""How much memory nodes really have: told to a market that can only guess before the first of its kind has joined."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dovetail.controllers.cluster import Cluster
from dovetail.core import labels
from dovetail.core.nodeclaims import REGISTERED_LABEL, NodeObject
from dovetail.core.resources import MEMORY


@dataclass(slots=True)
class Measuring:
    """`saw` is told an instance type, an image and the bytes of a node of the two, once for each node."""

    cluster: Cluster
    saw: Callable[[str, str, int], object]

    async def run(self) -> None:
        """Until cancelled: all that have joined, and those that do."""
        await self.cluster.synced()
        for one in self.cluster.nodes:
            self._look(one.value)
        self.cluster.nodes.listen(self._changed)
        await asyncio.get_running_loop().create_future()

    def _changed(self, old: Any, new: Any) -> None:
        if new is not None and (old is None or not _is_registered(old.value)):
            self._look(new.value)

    def _look(self, node: NodeObject) -> None:
        memory, kind = node.capacity.of(MEMORY), node.meta.labels.get(labels.INSTANCE_TYPE, "")
        if not _is_registered(node) or not memory or not kind:
            return
        for claim in self.cluster.claims_of(node.provider_id):
            if claim.image_id:
                self.saw(kind, claim.image_id, memory)


def _is_registered(node: NodeObject) -> bool:
    return node.meta.labels.get(REGISTERED_LABEL) == "true"
