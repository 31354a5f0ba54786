"""Replacements nobody waits for: given back, if what they were to replace is still there.

They come from a process that died in the middle of a command, or from an order of ours that succeeded although we were
told that it had failed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.disruption import ordering
from dovetail.controllers.queue import WorkQueue
from dovetail.core.effects import Delete, Ref, Step
from dovetail.core.nodeclaims import NodeClaim

_log: Final = logging.getLogger(__name__)
#: A replacement that is new is asked after so long whose it is: whoever ordered it has heard of it by then.
STRAY_SECONDS: Final = 30.0


@dataclass(slots=True)
class Leftovers:
    """`is_expected` says whether a command here waits for a claim."""

    cluster: Cluster
    hands: Hands
    is_expected: Callable[[str], bool]
    failed: Callable[[Hashable, Exception], None]
    _queue: WorkQueue[str] = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    def listen(self) -> None:
        self.cluster.claims.listen(self._changed)
        for one in self.cluster.claims:
            self._suspect(one.value, 0.0)

    def _changed(self, old: Any, new: Any) -> None:
        if old is None:
            self._suspect(new.value, STRAY_SECONDS)

    def _suspect(self, claim: NodeClaim, after: float) -> None:
        if ordering.replaced_by(claim):
            self._queue.add(claim.name, after)

    async def run(self) -> None:
        await self._queue.run(1)

    async def _one(self, name: str) -> float | None:
        claim = self.cluster.claim(name)
        if claim is not None and self._is_left_over(claim):
            _log.info("NodeClaim %s was ordered in place of nodes that stay: it is given back", name)
            await self.hands.perform(Step((Delete(Ref("NodeClaim", name, claim.meta.uid)),)))
        return None

    def _is_left_over(self, claim: NodeClaim) -> bool:
        """Whether no command waits for it, all it was to replace is still there, and nobody has moved to it."""
        if self.is_expected(claim.name) or claim.is_deleting:
            return False
        if any(self._is_going(one) for one in ordering.replaced_by(claim)):
            return False
        nodes = self.cluster.nodes_of(claim.provider_id)
        return not any(ordering.holds(pod) for node in nodes for pod in self.cluster.pods.on_node(node.name))

    def _is_going(self, claim: str) -> bool:
        found = self.cluster.claim(claim)
        return found is None or found.is_deleting
