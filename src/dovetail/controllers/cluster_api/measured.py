"""A cloud of single instances whose calls are timed, and whose purchases and refusals are counted."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final, TypeVar

from dovetail.clouds.machines import Machines, Ordering, Sought, UserData, refusal, unrecorded
from dovetail.clouds.port import CloudError, NotFound
from dovetail.controllers.metrics import Metrics
from dovetail.core.machines.infra_objects import Found, Purchase

T = TypeVar("T")
OURS: Final = "dovetail_"
LAUNCHES: Final = "machine_launches_total"
REFUSALS: Final = "machine_launch_refusals_total"
SECONDS: Final = "machine_cloud_duration_seconds"
ERRORS: Final = "machine_cloud_errors_total"


def declare(metrics: Metrics) -> None:
    counter, histogram = metrics.counter, metrics.histogram
    counter(LAUNCHES, "Instances the cloud made, or had made before.", "cloud", "capacity_type", prefix=OURS)
    told = "Instances the cloud did not make: persistent, capacity, transient, lost, or underway and not refused yet."
    counter(REFUSALS, told, "cloud", "reason", prefix=OURS)
    histogram(SECONDS, "How long the cloud took to answer.", "cloud", "call", prefix=OURS)
    counter(ERRORS, "Calls the cloud refused; an instance that is not there is no error.", *_CALL, prefix=OURS)


_CALL: Final = ("cloud", "call", "error")


@dataclass(frozen=True, slots=True)
class MeasuredMachines:
    """`clouds.machines.Machines` around another one."""

    inner: Machines
    metrics: Metrics
    now: Callable[[], float] = time.monotonic

    @property
    def cloud(self) -> str:
        return self.inner.cloud

    async def create(self, purchase: Purchase, boot: UserData, ordering: Ordering = unrecorded) -> Found:
        try:
            found = await self._timed("create", self.inner.create(purchase, boot, ordering))
        except CloudError as error:
            self.metrics.count(REFUSALS, {"cloud": self.cloud, "reason": str(refusal(error).kind)})
            raise
        kind = "spot" if found.interruptible else "on-demand"
        self.metrics.count(LAUNCHES, {"cloud": self.cloud, "capacity_type": kind})
        return found

    async def find(self, sought: Sought) -> Found:
        return await self._timed("find", self.inner.find(sought))

    async def delete(self, sought: Sought) -> None:
        await self._timed("delete", self.inner.delete(sought))

    async def instances(self, cluster: str) -> tuple[Found, ...]:
        return await self._timed("list", self.inner.instances(cluster))

    async def roll_call(self, fleet: Collection[Sought]) -> frozenset[str]:
        return await self._timed("roll_call", self.inner.roll_call(fleet))

    async def _timed(self, call: str, asked: Awaitable[T]) -> T:
        labels, began = {"cloud": self.cloud, "call": call}, self.now()
        try:
            return await asked
        except NotFound:
            raise
        except CloudError as error:
            self.metrics.count(ERRORS, {**labels, "error": type(error).__name__})
            raise
        finally:
            self.metrics.observe(SECONDS, labels, max(0.0, self.now() - began))
