"""Machines that run, looked at by their cloud from time to time: what it finds is written on claims and Nodes.

Only whoever leads does this. While not every claim is seen nothing is done: the cloud would take what it is not shown
for gone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from dovetail.api import kinds
from dovetail.clouds.port import Keeper, Notice
from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.supervision import Rest, keep_on
from dovetail.core.lifecycle.relabelling import relabelled
from dovetail.kube.errors import KubeError

SECONDS: Final = 60.0


@dataclass(slots=True)
class Tending:
    """`heard` is told of machines that have to go."""

    cluster: Cluster
    hands: Hands
    keeper: Keeper | None
    heard: Callable[[Notice], object]
    failed: Callable[[Hashable, Exception], None]

    async def run(self) -> None:
        """At once, and then whenever the cloud says; for a cloud that does not ask for it, never."""
        if self.keeper is not None:
            await keep_on(partial(self.once, self.keeper), partial(self.failed, "machines"), Rest(SECONDS, SECONDS))

    async def once(self, keeper: Keeper) -> float:
        """When to look again."""
        if not all(self.cluster.sees(one) for one in (kinds.NODE_CLAIMS, kinds.NODES)):
            return SECONDS
        claims = [one.value for one in self.cluster.claims if self.cluster.manages(one.value)]
        found = await keeper.tend(claims)
        for problem in found.problems:
            self.failed("machines", problem)
        for notice in found.notices:
            self.heard(notice)
        for name in sorted(found.labels.keys() | found.notes.keys()):
            await self._written(name, found.labels.get(name, {}), found.notes.get(name, {}))
        return found.again

    async def _written(self, name: str, labels: Mapping[str, str | None], notes: Mapping[str, str]) -> None:
        claim = self.cluster.claim(name)
        if claim is None:
            return
        try:
            await self.hands.perform(relabelled(claim, self.cluster.nodes_of(claim.provider_id), labels, notes))
        except KubeError as failed:
            self.failed(name, failed)
