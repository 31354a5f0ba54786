"""A cloud whose calls are timed and whose refusals are counted (§2.13, §5.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from dovetail.clouds.port import Cloud, CloudError
from dovetail.clouds.wrapped import Wrapped
from dovetail.controllers.metrics import Metrics
from dovetail.core.instances import Instance, Order
from dovetail.core.nodeclaims import NodeClaim

T = TypeVar("T")
#: What is expected is no error: a machine that is gone is what whoever deletes it waits to hear.
_WORDS: Final = {
    "NotFound": "NodeClaimNotFoundError",
    "NoCapacity": "InsufficientCapacityError",
    "NoClass": "InsufficientCapacityError",
    "Misconfigured": "NodeClassNotReadyError",
}


class MeasuredCloud(Wrapped):
    """`clouds.port.Cloud` around another one."""

    def __init__(self, cloud: Cloud, metrics: Metrics, now: Callable[[], float]) -> None:
        super().__init__(cloud)
        self._metrics, self._now = metrics, now

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
