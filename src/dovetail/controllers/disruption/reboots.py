"""Nodes that are rebooted rather than replaced: the request, and each look at a claim that is being rebooted.

All of it stands on the claim. Only here is remembered how often a machine was rebooted lately, and for how long its
cloud has been asked in vain; a process that starts counts anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from dovetail.clouds.port import Cloud, CloudError, Misconfigured, NotFound
from dovetail.controllers.act import Hands
from dovetail.controllers.draining import Pods
from dovetail.controllers.metrics import Metrics
from dovetail.core.disruption import rebooting
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.rebooting import Answer, Look
from dovetail.core.disruption.repairing import REBOOT_SECONDS
from dovetail.core.effects import soonest
from dovetail.core.nodeclaims import NodeClaim, NodeObject

#: Seconds: ten, doubled seven times.
BUCKETS: Final = tuple(10.0 * 2**step for step in range(8))


def declare(metrics: Metrics) -> None:
    metrics.counter("nodes_reboots_total", "Reboots that ended, by how.", "result")
    told = "From the request of a reboot to its end."
    metrics.histogram("nodes_reboot_duration_seconds", told, "result", buckets=BUCKETS)
    back = "From a machine's restart until its Node was ready."
    metrics.histogram("nodes_reboot_recovery_duration_seconds", back, buckets=BUCKETS)


@dataclass(slots=True)
class Reboots:
    hands: Hands
    cloud: Cloud
    pods: Pods
    now: Callable[[], float] = time.time
    #: By the claim's uid: when it was rebooted, and since when its cloud is asked in vain.
    _times: dict[str, tuple[float, ...]] = field(default_factory=dict)
    _asked: dict[str, float] = field(default_factory=dict)

    def times(self, claim: NodeClaim) -> tuple[float, ...]:
        return self._times.get(claim.meta.uid, ())

    def forget(self, claim: NodeClaim) -> None:
        self._times.pop(claim.meta.uid, None)
        self._asked.pop(claim.meta.uid, None)

    async def request(self, claim: NodeClaim, command: Command) -> None:
        """Write down that a machine is to be rebooted."""
        now = self.now()
        await self.hands.perform(rebooting.requested(claim, command.why, command.grace, now))
        recent = (one for one in self.times(claim) if now - one < REBOOT_SECONDS)
        self._times[claim.meta.uid] = (*recent, now)

    async def advance(self, claim: NodeClaim, node: NodeObject | None) -> float | None:
        """One look at a claim that is being rebooted."""
        look = self._look(claim, node)
        found = rebooting.next_step(look)
        again = await self.hands.perform(found.step)
        if not found.operation:
            return again
        answer, message = await self._asked_for(claim, found.operation)
        step = rebooting.answered(self._look(claim, node), answer, message)
        return soonest(again, await self.hands.perform(step))

    def _look(self, claim: NodeClaim, node: NodeObject | None) -> Look:
        held = () if node is None else self.pods.on(node.name)
        return Look(claim, node, self.now(), held, self._asked.get(claim.meta.uid))

    async def _asked_for(self, claim: NodeClaim, operation: str) -> tuple[Answer, str]:
        """What the cloud says to it. One that cannot is asked no more; one that does not answer is."""
        try:
            await self.cloud.reboot(claim, operation)
        except (NotFound, Misconfigured) as refused:
            return Answer.REFUSED, str(refused)
        except CloudError as failed:
            self._asked.setdefault(claim.meta.uid, self.now())
            return Answer.AGAIN, str(failed)
        self._asked.pop(claim.meta.uid, None)
        return Answer.DONE, ""
