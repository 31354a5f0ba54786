"""Chaos on request: any cloud, wrapped so that calls and machines fail as a plan says (`faults`).

Whatever is wrapped keeps its books; only what is asked of it, and what is heard of it, is tampered with. A machine that
died is gone from every answer, while its Node stays and says nothing more, as happens in life.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

from dovetail.clouds.port import Cloud, CloudError, Listener, NoCapacity, NotFound, Notice, Throttled, Unavailable
from dovetail.clouds.sim import faults
from dovetail.clouds.sim.faults import (
    Dies,
    Fault,
    Interrupted,
    JoinsLate,
    LostAnswer,
    OutOfStock,
    Plan,
    Sickens,
    Throttle,
    TimeOut,
    Twice,
)
from dovetail.clouds.wrapped import Wrapped
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.instances import Instance, Option, Order
from dovetail.core.nodeclaims import NodeClaim

T = TypeVar("T")


@runtime_checkable
class Joins(Protocol):
    """A cloud whose machines' Nodes can be made to come late."""

    def hold_back(self, claim: str, seconds: float) -> None: ...


class Kubelet(Protocol):
    """Whoever plays kubelet for the machines, if somebody here does."""

    def silence(self, provider_id: str) -> None:
        """The machine is dead: nothing more is heard of its Node."""

    def sicken(self, provider_id: str) -> None:
        """The Node says that it is not ready."""

    def heal(self, provider_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What chaos needs besides the cloud."""

    kubelet: Kubelet | None = None
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class ChaosCloud(Wrapped):
    """A `Cloud` to which a plan happens."""

    def __init__(self, cloud: Cloud, plan: Plan | None = None, around: Surroundings | None = None) -> None:
        super().__init__(cloud)
        self._plan, self._around = plan or faults.Script(), around or Surroundings()
        self._dead: set[str] = set()
        self._listeners: list[Listener] = []
        self._pending: set[asyncio.Task[None]] = set()

    # ---- as it is

    def on_notice(self, listener: Listener) -> None:
        self._listeners.append(listener)
        super().on_notice(listener)

    async def drifted(self, claim: NodeClaim) -> str:
        return await self._cloud.drifted(claim)

    # ---- tampered with

    async def launch(self, order: Order) -> Instance:
        met = self._plan.faults(faults.LAUNCH, order.claim.name)
        for fault in met:
            if isinstance(fault, JoinsLate):
                self._joiner().hold_back(order.claim.name, fault.seconds)
        left, missed = _in_stock(order, met)
        instance = await self._called(lambda: self._cloud.launch(left), met)
        for fault in met:
            self._befall(instance.provider_id, fault)
        return replace(instance, missed=(*missed, *instance.missed)) if missed else instance

    async def terminate(self, claim: NodeClaim) -> None:
        met = self._plan.faults(faults.TERMINATE, claim.name)
        await self._called(lambda: self._cloud.terminate(claim), met)

    async def get(self, provider_id: str) -> Instance:
        met = self._plan.faults(faults.GET, provider_id)
        found = await self._called(lambda: self._cloud.get(provider_id), met)
        if provider_id in self._dead:
            raise NotFound(f"the machine {provider_id} died")
        return found

    async def instances(self) -> tuple[Instance, ...]:
        found = await self._called(self._cloud.instances, self._plan.faults(faults.INSTANCES, ""))
        self._dead &= {one.provider_id for one in found}
        return tuple(one for one in found if one.provider_id not in self._dead)

    async def reboot(self, claim: NodeClaim, operation: str) -> None:
        met = self._plan.faults(faults.REBOOT, claim.name)
        await self._called(lambda: self._cloud.reboot(claim, operation), met)

    async def _called(self, call: Callable[[], Awaitable[T]], met: tuple[Fault, ...]) -> T:
        lost = twice = False
        for fault in met:
            match fault:
                case Throttle(wait):
                    raise Throttled("the cloud answers that it is asked too often", wait)
                case TimeOut(seconds):
                    await self._around.sleep(seconds)
                    raise Unavailable("the cloud did not answer in time")
                case LostAnswer():
                    lost = True
                case Twice():
                    twice = True
                case _:
                    continue
        try:
            answer = await (_both(call) if twice else call())
        except CloudError as refused:
            raise (_lost() if lost else refused) from None
        if lost:
            raise _lost()
        return answer

    # ---- what befalls machines

    def kill(self, provider_id: str) -> None:
        """The machine is gone from one moment to the next."""
        self._dead.add(provider_id)
        if self._around.kubelet is not None:
            self._around.kubelet.silence(provider_id)

    def interrupt(self, provider_id: str, notice: float = 120.0) -> None:
        """Say that the machine will be taken away, and take it away then."""
        told = Notice(provider_id, ends=self._around.now() + notice)
        for listener in self._listeners:
            listener(told)
        self._later(notice, lambda: self.kill(provider_id))

    def sicken(self, provider_id: str, lasts: float = math.inf) -> None:
        kubelet = self._around.kubelet
        if kubelet is not None:
            kubelet.sicken(provider_id)
            if not math.isinf(lasts):
                self._later(lasts, lambda: kubelet.heal(provider_id))

    def close(self) -> None:
        """Nothing more befalls anybody."""
        for task in self._pending:
            task.cancel()

    def _befall(self, provider_id: str, fault: Fault) -> None:
        match fault:
            case Dies(after):
                self._later(after, lambda: self.kill(provider_id))
            case Sickens(after, lasts):
                self._later(after, lambda: self.sicken(provider_id, lasts))
            case Interrupted(after, notice):
                self._later(after, lambda: self.interrupt(provider_id, notice))
            case _:
                return

    def _later(self, seconds: float, happen: Callable[[], None]) -> None:
        async def wait() -> None:
            await self._around.sleep(seconds)
            happen()

        task = asyncio.get_running_loop().create_task(wait())
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    def _joiner(self) -> Joins:
        cloud = self._cloud
        if not isinstance(cloud, Joins):
            raise TypeError(f"the machines of {cloud.name} cannot be made to join late")
        return cloud


def _lost() -> Unavailable:
    return Unavailable("the connection broke before the cloud's answer came")


async def _both(call: Callable[[], Awaitable[T]]) -> T:
    """The call made twice at once: both must agree, so either answer will do, and a failure only if both fail."""
    answers = await asyncio.gather(call(), call(), return_exceptions=True)
    failed: BaseException | None = None
    for one in answers:
        if not isinstance(one, BaseException):
            return one
        failed = one
    assert failed is not None
    raise failed


def _in_stock(order: Order, met: tuple[Fault, ...]) -> tuple[Order, tuple[Shortage, ...]]:
    """The order without what is out of stock; `NoCapacity` if nothing is left of it."""
    for fault in met:
        if isinstance(fault, OutOfStock):
            gone = len(order.options) if fault.options is None else fault.options
            missed = tuple(dict.fromkeys(_shortage(one) for one in order.options[:gone]))
            if gone >= len(order.options):
                raise NoCapacity(f"all {len(order.options)} offerings that would do are out of stock", missed)
            return replace(order, options=order.options[gone:]), missed
    return order, ()


def _shortage(option: Option) -> Shortage:
    row = option.offering
    return Shortage(option.instance_type.name, row.zone, row.capacity_type)
