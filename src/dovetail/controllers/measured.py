"""A cloud whose calls are timed and whose refusals are counted (§2.13, §5.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeVar

from dovetail.api.kinds import Kind
from dovetail.clouds.port import Cloud, CloudError, Notice, RepairPolicy
from dovetail.controllers.metrics import Metrics
from dovetail.core.catalog.market import Market
from dovetail.core.instances import Instance, Order
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef

T = TypeVar("T")
#: What is expected is no error: a machine that is gone is what whoever deletes it waits to hear.
_WORDS: Final = {
    "NotFound": "NodeClaimNotFoundError",
    "NoCapacity": "InsufficientCapacityError",
    "Misconfigured": "NodeClassNotReadyError",
}


class MeasuredCloud:
    """`clouds.port.Cloud` around another one."""

    def __init__(self, cloud: Cloud, metrics: Metrics, now: Callable[[], float]) -> None:
        self._cloud, self._metrics, self._now = cloud, metrics, now

    @property
    def name(self) -> str:
        return self._cloud.name

    @property
    def node_class_kinds(self) -> tuple[Kind, ...]:
        return self._cloud.node_class_kinds

    @property
    def market(self) -> Market:
        return self._cloud.market

    @property
    def repair_policies(self) -> tuple[RepairPolicy, ...]:
        return self._cloud.repair_policies

    def set_node_class(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        self._cloud.set_node_class(ref, wire)

    def resume(self, claims: Iterable[NodeClaim]) -> None:
        self._cloud.resume(claims)

    def on_notice(self, listener: Callable[[Notice], None]) -> None:
        self._cloud.on_notice(listener)

    async def launch(self, order: Order) -> Instance:
        return await self._timed("Create", self._cloud.launch(order), order.claim.pool)

    async def terminate(self, claim: NodeClaim) -> None:
        await self._timed("Delete", self._cloud.terminate(claim), claim.pool)

    async def get(self, provider_id: str) -> Instance:
        return await self._timed("Get", self._cloud.get(provider_id))

    async def instances(self) -> tuple[Instance, ...]:
        return await self._timed("List", self._cloud.instances())

    async def drifted(self, claim: NodeClaim) -> str:
        return await self._timed("IsDrifted", self._cloud.drifted(claim), claim.pool)

    async def reboot(self, claim: NodeClaim, operation: str) -> None:
        await self._timed("Reboot", self._cloud.reboot(claim, operation), claim.pool)

    async def _timed(self, method: str, call: Awaitable[T], pool: str | None = None) -> T:
        labels = {"controller": "", "method": method, "provider": self._cloud.name}
        began = self._now()
        try:
            return await call
        except CloudError as failed:
            error = _WORDS.get(type(failed).__name__, "unknown")
            self._metrics.count("cloudprovider_errors_total", {**labels, "error": error, "nodepool": pool or ""})
            raise
        finally:
            self._metrics.observe("cloudprovider_duration_seconds", labels, max(0.0, self._now() - began))
