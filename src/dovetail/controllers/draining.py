"""Pods that have to leave: what draining knows of each, and the queue that asks them to.

The queue remembers for each pod the earliest deadline it was given and never loosens it. Of those that leave together
to save a machine large ones are asked before small ones, unless time is short. A pod that is asked politely
is asked again after a while that grows to ten seconds; one whose time is up is deleted with what is left of its grace.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from dovetail.api import kinds
from dovetail.api.fields import Fields
from dovetail.api.pod_stream import PodRecord
from dovetail.api.volumes import claims_of
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.queue import WorkQueue
from dovetail.controllers.snapshots import Snapshots
from dovetail.controllers.supervision import Later
from dovetail.core import timestamps
from dovetail.core.disruption.reasons import Reason
from dovetail.core.effects import Count, Evict, Ref, Say
from dovetail.core.lifecycle import drain, protection, static
from dovetail.core.lifecycle.drain import DrainPod
from dovetail.core.nodeclaims import DISRUPTED
from dovetail.core.pods import TIED_TO_NODE
from dovetail.core.resources import Resources
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, KubeError, NotFound, TooManyRequests

_FIRST_RETRY, _LAST_RETRY = 0.1, 10.0
#: So long others are waited for before the first is asked.
GATHERING_SECONDS: Final = 0.2
FINISHED: Final = ("Succeeded", "Failed")
#: What the API server says when more than one disruption budget covers a pod.
_SEVERAL_BUDGETS: Final = "more than one PodDisruptionBudget"
_SEVERAL: Final = "eviction does not support multiple PDBs"
_VIOLATED: Final = "evicting pod violates a PDB"
#: What the peer counts an eviction under, whatever the API server answers (201).
_EVICTED: Final = 200


def protected(pod: PodRecord, now: float) -> bool:
    """Whether do-not-disrupt holds: for ever, or for a time since the pod started."""
    return protection.holds(pod.rare.do_not_disrupt, pod.started, now)


class Pods:
    """Pods on a node as draining sees them."""

    def __init__(self, cluster: Cluster, snapshots: Snapshots, now: Callable[[], float] = time.time) -> None:
        self._cluster, self._snapshots, self._now = cluster, snapshots, now

    def on(self, node: str) -> tuple[DrainPod, ...]:
        return tuple(self.of(one) for one in self._cluster.pods.on_node(node))

    def of(self, pod: PodRecord) -> DrainPod:
        shape = self._snapshots.shape_of(pod)
        draft = pod.form.draft(self._cluster.drafts)
        return DrainPod(
            Ref("Pod", pod.name, pod.uid, pod.namespace),
            daemon=pod.owner.kind == "DaemonSet",
            mirror=pod.owner.kind == "Node",
            critical=draft.spec.get("priorityClassName") in drain.CRITICAL,
            tolerates=any(one.tolerates(DISRUPTED) for one in shape.tolerations),
            finished=pod.phase in FINISHED,
            deleting=pod.rare.deletion or None,
            grace=None if pod.grace is None else float(pod.grace),
            protected=protected(pod, self._now()),
        )

    def size(self, pod: PodRecord) -> Resources:
        return self._snapshots.shape_of(pod).requests

    def moving(self, node: str) -> int:
        """How many pods of a node would have to go elsewhere: those that are over would not, nor would those that go
        already, unless a StatefulSet waits to make them anew."""
        return sum(_moves(one) for one in self._cluster.pods.on_node(node))

    def are_left(self, node: str) -> bool:
        """Whether any pod is there that is no daemon and not over."""
        return any(_is_guest(one) for one in self._cluster.pods.on_node(node))

    def eviction_cost(self, node: str) -> float:
        """What it is worth to have all pods of a node leave."""
        return sum(self._cost(one) for one in self._cluster.pods.on_node(node))

    def _cost(self, pod: PodRecord) -> float:
        try:
            given = float(int(pod.rare.deletion_cost or 0))
        except ValueError:
            given = 0.0
        return static.eviction_cost(given, self._snapshots.shape_of(pod).priority)

    def volumes_kept(self, node: str) -> frozenset[str]:
        """The persistent volumes of pods that stay on a node to its end."""
        now, kept = self._now(), set()
        for pod in self._cluster.pods.on_node(node):
            if drain.is_drainable(self.of(pod), now):
                continue
            spec = Fields(pod.form.draft(self._cluster.drafts).spec)
            for used in claims_of(spec, pod.name):
                claim = self._cluster.volume_claims.get(used.name, pod.namespace)
                if claim is not None:
                    kept.add(claim.value.volume)
        return frozenset(kept)


def _moves(pod: PodRecord) -> bool:
    return _is_guest(pod) and (not pod.rare.deletion or pod.owner.kind == "StatefulSet")


def _is_guest(pod: PodRecord) -> bool:
    return pod.owner.kind not in TIED_TO_NODE and pod.phase not in FINISHED


class Ears(Protocol):
    def say(self, event: Say) -> None: ...
    def count(self, one: Count) -> None: ...


@dataclass(slots=True)
class Evictions:
    """The queue of pods that are asked to leave."""

    client: Client
    cluster: Cluster
    pods: Pods
    ears: Ears
    failed: Callable[[Ref, Exception], None]
    now: Callable[[], float] = time.time
    _asked: dict[Ref, Evict] = field(default_factory=dict)
    #: Those that were not asked yet, and how large they are.
    _lined_up: dict[Ref, Resources] = field(default_factory=dict)
    _queue: WorkQueue[Ref] = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed, first_retry=_FIRST_RETRY, last_retry=_LAST_RETRY)

    def __len__(self) -> int:
        return len(self._asked)

    def add(self, asked: Evict) -> None:
        known = self._asked.get(asked.pod)
        if known is None:
            self._asked[asked.pod] = asked
            self._line_up(asked)
            return
        if asked.deadline is not None and (known.deadline is None or asked.deadline < known.deadline):
            self._asked[asked.pod] = asked
            self._queue.add(asked.pod)
        elif known.until is not None and known.deadline is None and asked.until is None:
            self._asked[asked.pod] = asked  # the node is to go for good now: nobody stops asking

    def _line_up(self, asked: Evict) -> None:
        """Wait a moment for others that leave as well, then go in order of size. Whose time is short goes at once, and
        so does who has more room to go to than there was: only a saving leaves no more than gaps."""
        found = self.cluster.pods.get(asked.pod.name, asked.pod.namespace)
        longest = self.now() + GATHERING_SECONDS + drain.LAST_TURN
        saves = asked.reason == Reason.UNDERUTILIZED
        if not saves or found is None or drain.must_force(self.pods.of(found), asked.deadline, longest):
            self._queue.add(asked.pod)
            return
        size = self.pods.size(found)
        if not self._lined_up:
            asyncio.get_running_loop().call_later(GATHERING_SECONDS, self._go)
        self._lined_up[asked.pod] = size

    def _go(self) -> None:
        lined_up, self._lined_up = self._lined_up, {}
        for ref, after in zip(lined_up, drain.turns(tuple(lined_up.values())), strict=True):
            self._queue.add(ref, after)

    async def run(self, workers: int = 32) -> None:
        await self._queue.run(workers)

    async def _one(self, ref: Ref) -> float | None:
        asked = self._asked.get(ref)
        found = self.cluster.pods.get(ref.name, ref.namespace)
        if asked is None or found is None or found.uid != ref.uid:
            self._finished(ref)
            return None
        pod, now = self.pods.of(found), self.now()
        if asked.deadline is not None and drain.must_force(pod, asked.deadline, now):
            await self._force(ref, asked, pod, drain.force_grace(asked.deadline, now))
        elif pod.finished or pod.deleting is not None:
            self._finished(ref)
        elif asked.until is not None and asked.deadline is None and now >= asked.until:
            self._finished(ref)  # it rides the reboot
        elif not drain.is_evictable(pod):
            raise Later
        else:
            await self._ask(ref, asked)
        return None

    def _finished(self, ref: Ref) -> None:
        self._asked.pop(ref, None)
        self._queue.forget(ref)

    async def _force(self, ref: Ref, asked: Evict, pod: DrainPod, grace: int) -> None:
        try:
            await self.client.delete(kinds.PODS, ref.name, ref.namespace, uid=ref.uid, grace=grace)
        except (NotFound, Conflict):
            self._finished(ref)
            return
        end = "" if asked.deadline is None else f" {timestamps.text(asked.deadline)}"
        message = (
            f"Deleting the pod to accommodate the terminationTime{end} of the node. The pod was granted {grace} "
            f"seconds of grace-period of its {pod.grace or 0:.0f} terminationGracePeriodSeconds. This bypasses the "
            "PDB of the pod and the do-not-disrupt annotation."
        )
        self.ears.say(Say(ref, "Disrupted", message, dedupe=(ref.uid,)))
        self.ears.count(Count("pods_drained_total", {"reason": asked.reason}))
        self._finished(ref)

    async def _ask(self, ref: Ref, asked: Evict) -> None:
        try:
            await self.client.evict(ref.name, ref.namespace, uid=ref.uid)
        except (NotFound, Conflict) as gone:
            self._counted(gone.status)
            self._finished(ref)
            return
        except KubeError as refused:
            self._counted(refused.status)
            several = _SEVERAL_BUDGETS in str(refused)
            if several or isinstance(refused, TooManyRequests):
                self._refused(ref, asked, _SEVERAL if several else _VIOLATED)
                raise Later from None
            raise
        self._counted(_EVICTED)
        self.ears.say(Say(ref, "Evicted", f"Evicted pod: {asked.reason}", dedupe=(ref.uid,)))
        self.ears.count(Count("pods_drained_total", {"reason": asked.reason}))
        self._finished(ref)

    def _refused(self, ref: Ref, asked: Evict, why: str) -> None:
        node = self.cluster.node(asked.node)
        about = Ref("Node", asked.node, node.meta.uid if node is not None else "")
        said = f"Failed to drain node, {why} (Pod={ref.namespace}/{ref.name})"
        self.ears.say(Say(about, "FailedDraining", said, warning=True))

    def _counted(self, code: int) -> None:
        self.ears.count(Count("pods_eviction_requests_total", {"code": str(code)}))
