"""All controllers of an embedded cluster, in the order in which they hear of a change."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from types import TracebackType

from dovetail.apiserver.controllers.controller import Controller
from dovetail.apiserver.controllers.daemon_sets import DaemonSets
from dovetail.apiserver.controllers.deployments import Deployments
from dovetail.apiserver.controllers.disruption_budgets import DisruptionBudgets
from dovetail.apiserver.controllers.garbage import Garbage
from dovetail.apiserver.controllers.index import Index
from dovetail.apiserver.controllers.jobs import Jobs
from dovetail.apiserver.controllers.kubelet import FakeKubelet
from dovetail.apiserver.controllers.namespaces import Namespaces, ServiceAccounts
from dovetail.apiserver.controllers.node_lifecycle import ORPHAN_SECONDS, LostPods, NodeTaints, TaintEvictions
from dovetail.apiserver.controllers.replica_sets import ReplicaSets
from dovetail.apiserver.controllers.running import Running
from dovetail.apiserver.controllers.scheduling.scheduler import Scheduler
from dovetail.apiserver.controllers.stateful_sets import StatefulSets
from dovetail.apiserver.objects import Objects


@dataclass(frozen=True, slots=True)
class Options:
    """Who takes part. Without a fake kubelet pods are bound and stay pending."""

    scheduler: bool = True
    fake_kubelet: bool = False
    orphan_seconds: float = ORPHAN_SECONDS


def controllers_of(objects: Objects, options: Options) -> Running:
    """All controllers over one cluster, attached to nothing yet."""
    index = Index()
    found: list[Controller] = [
        ServiceAccounts(objects),
        Deployments(objects, index),
        ReplicaSets(objects, index),
        StatefulSets(objects, index),
        DaemonSets(objects, index),
        Jobs(objects, index),
        NodeTaints(objects),
        TaintEvictions(objects, index),
        LostPods(objects, index, options.orphan_seconds),
        DisruptionBudgets(objects, index),
        Garbage(objects, index),
        Namespaces(objects),
    ]
    if options.scheduler:
        found.append(Scheduler(objects, index))
    if options.fake_kubelet:
        found.append(FakeKubelet(objects, index))
    return Running(objects, index, found)


class Controllers:
    """`async with Controllers(objects):` runs them all as one task."""

    def __init__(self, objects: Objects, options: Options | None = None) -> None:
        self.running = controllers_of(objects, options or Options())
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Controllers:
        self.running.attach()
        self._task = asyncio.create_task(self.running.run(), name="controllers")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.running.detach()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
