"""Kubelets that only pretend: they make simulated machines' Nodes ready, keep their leases, and run pods.

Nothing is polled. Whoever watches tells what was seen (`node_seen`, `pod_seen`, …); what has to be looked at is given
to `wake`, and `look` is called for it, one key at a time, and says when to look again. So a thousand idle nodes cost
one small write each every ten seconds or more, and nothing between.

    Node    boots for `boot` seconds after it joined, then says so in one patch; from then on only its lease moves
    pod     once its Node is up: Running after `start`, ended `stop` after it was told to go. A Job's pod succeeds after
            a while (`Pace.job`), or after as long as its annotation says

A Node with the label `kwok.x-k8s.io/stage=unhealthy` is left as it is, for tests that make Nodes unhealthy by hand.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from dovetail.clouds.sim import statuses

#: On a pod: how long it runs until it succeeds, as `90s`.
RUN_FOR: Final = "karpenter.kwok.sh/run-for"
#: On a Node: the value `unhealthy` keeps kubelets from making it well.
STAGE: Final = "kwok.x-k8s.io/stage"
UNHEALTHY: Final = "unhealthy"
#: Leases are renewed at most this often in all; nodes take their time when there are many of them, ...
_BEATS_PER_SECOND: Final = 20.0
#: ... but no more than this, well before a lease of forty seconds runs out.
_SLOWEST_BEAT: Final = 25.0
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class SeenNode:
    """What a kubelet needs to know of its Node. `ready` is the status of that condition, "" where there is none."""

    name: str
    uid: str
    provider_id: str = ""
    created: float = 0.0
    ready: str = ""
    boot_id: str = ""
    arch: str = ""
    system: str = ""
    left_alone: bool = False


@dataclass(frozen=True, slots=True)
class SeenPod:
    """What a kubelet needs to know of a pod. `run_for` is None for one that runs until it is told to go."""

    namespace: str
    name: str
    uid: str
    node: str
    phase: str = "Pending"
    containers: tuple[tuple[str, str], ...] = ()
    run_for: float | None = None
    bound: float = 0.0
    started: float = 0.0
    #: When it was told to go, and for how long it may still run.
    deleted: float | None = None
    grace: int = 0
    held: bool = False

    @property
    def key(self) -> PodKey:
        return PodKey(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class NodeKey:
    name: str


@dataclass(frozen=True, slots=True)
class PodKey:
    namespace: str
    name: str


Key = NodeKey | PodKey


class KubeletApi(Protocol):
    """What kubelets write. Whatever is gone already is no trouble."""

    async def set_node_status(self, name: str, status: dict[str, Any]) -> None:
        """Merged into what is there, conditions by their type."""

    async def set_pod_status(self, pod: SeenPod, status: dict[str, Any]) -> None: ...

    async def end_pod(self, pod: SeenPod) -> None:
        """It has ended; nothing keeps it any longer."""

    async def renew_lease(self, lease: dict[str, Any]) -> None:
        """Renew it, or make it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take, in seconds; `beat` between two renewals of a lease.

    `missed` is how long after its last word a dead machine's Node is said to be Unknown. That is a control plane's
    part, and None leaves it to one; the embedded server watches no heartbeats.
    """

    boot: float = 0.0
    start: float = 0.0
    stop: float = 0.0
    job: float = 1.0
    beat: float = 10.0
    missed: float | None = None


@dataclass(slots=True)
class _Kubelet:
    """One node's kubelet: what it has done, and whether it may."""

    node: SeenNode
    up_since: float | None = None
    silent_since: float | None = None
    sick: bool = False
    beats_at: float = 0.0


class Kubelets:
    """All kubelets of a cluster's simulated machines."""

    def __init__(
        self,
        api: KubeletApi,
        wake: Callable[[Key], None],
        pace: Pace | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._api, self._wake, self._pace, self._now = api, wake, pace or Pace(), now
        self._kubelets: dict[str, _Kubelet] = {}
        self._pods: dict[PodKey, SeenPod] = {}
        self._on: dict[str, set[PodKey]] = {}
        self._names: dict[str, str] = {}

    # ---- what was seen

    def node_seen(self, node: SeenNode) -> None:
        known = self._kubelets.get(node.name)
        if known is None or known.node.uid != node.uid:
            known = self._kubelets[node.name] = _Kubelet(node)
            self._wake(NodeKey(node.name))
            self._wake_pods(node.name)
        elif (known.node.ready, known.node.left_alone) != (node.ready, node.left_alone):
            self._wake(NodeKey(node.name))
        known.node = node
        self._names[node.provider_id] = node.name

    def node_gone(self, name: str) -> None:
        """Its pods are for the cluster to clear away: a machine that is gone ends nothing in good order."""
        gone = self._kubelets.pop(name, None)
        if gone is not None:
            self._names.pop(gone.node.provider_id, None)

    def pod_seen(self, pod: SeenPod) -> None:
        known = self._pods.get(pod.key)
        if known is not None and known.node != pod.node:
            self.pod_gone(known.key)
        self._pods[pod.key] = pod
        self._on.setdefault(pod.node, set()).add(pod.key)
        if pod.node in self._kubelets:
            self._wake(pod.key)

    def pod_gone(self, key: PodKey) -> None:
        gone = self._pods.pop(key, None)
        if gone is not None:
            held = self._on[gone.node]
            held.discard(key)
            if not held:
                del self._on[gone.node]

    def _wake_pods(self, node: str) -> None:
        for key in self._on.get(node, ()):
            self._wake(key)

    # ---- what befalls machines (`chaos.Kubelet`)

    def silence(self, provider_id: str) -> None:
        kubelet = self._of(provider_id)
        if kubelet is not None and kubelet.silent_since is None:
            kubelet.silent_since = self._now()
            self._wake(NodeKey(kubelet.node.name))

    def sicken(self, provider_id: str) -> None:
        kubelet = self._of(provider_id)
        if kubelet is not None:
            kubelet.sick = True
            self._wake(NodeKey(kubelet.node.name))

    def heal(self, provider_id: str) -> None:
        kubelet = self._of(provider_id)
        if kubelet is not None:
            kubelet.sick, kubelet.silent_since = False, None
            self._wake(NodeKey(kubelet.node.name))
            self._wake_pods(kubelet.node.name)

    def _of(self, provider_id: str) -> _Kubelet | None:
        return self._kubelets.get(self._names.get(provider_id, ""))

    # ---- what follows

    async def look(self, key: Key) -> float | None:
        """Do what is due, and say in how many seconds something will be."""
        if isinstance(key, NodeKey):
            kubelet = self._kubelets.get(key.name)
            return None if kubelet is None else await self._node(kubelet)
        pod = self._pods.get(key)
        host = self._kubelets.get(pod.node) if pod is not None else None
        if pod is None or host is None or host.up_since is None or host.silent_since is not None:
            return None
        return await self._pod(pod, host.up_since)

    async def _node(self, kubelet: _Kubelet) -> float | None:
        node, now = kubelet.node, self._now()
        if kubelet.silent_since is not None:
            return await self._silent(kubelet, kubelet.silent_since, now)
        if kubelet.sick:
            if node.ready != "False":
                await self._set_status(kubelet, statuses.sick(now), "False")
        elif not node.left_alone:
            left = node.created + self._pace.boot - now
            if kubelet.up_since is None and node.ready != "True" and left > 0:
                return left
            await self._come_up(kubelet, now)
        if kubelet.up_since is None:
            return None
        return await self._beat(kubelet, now)

    async def _silent(self, kubelet: _Kubelet, since: float, now: float) -> float | None:
        if self._pace.missed is None or kubelet.node.ready == "Unknown":
            return None
        left = since + self._pace.missed - now
        if left <= 0:
            await self._set_status(kubelet, statuses.lost(now), "Unknown")
        return left if left > 0 else None

    async def _come_up(self, kubelet: _Kubelet, now: float) -> None:
        """One patch, at the first boot or whenever somebody else said that the Node is not ready."""
        node = kubelet.node
        if node.ready != "True":
            if kubelet.up_since is not None:
                status = statuses.healed(now)
            else:
                status = statuses.booted(node.name, node.boot_id, node.arch, node.system, now)
            await self._set_status(kubelet, status, "True")
        if kubelet.up_since is None:
            kubelet.up_since = now
            self._wake_pods(node.name)

    async def _set_status(self, kubelet: _Kubelet, status: dict[str, Any], ready: str) -> None:
        """What was written is known at once: the watch that brings it back is no news."""
        await self._api.set_node_status(kubelet.node.name, status)
        kubelet.node = replace(kubelet.node, ready=ready)

    async def _beat(self, kubelet: _Kubelet, now: float) -> float:
        node = kubelet.node
        if now >= kubelet.beats_at:
            await self._api.renew_lease(statuses.lease(node.name, node.uid, now))
            # The first wait is shortened by a share that a name always has, lest all nodes of one batch beat as one.
            share = 0.5 + 0.5 * (zlib.crc32(node.name.encode()) % 1000) / 1000 if not kubelet.beats_at else 1.0
            kubelet.beats_at = now + self._beat_seconds() * share
        return max(0.0, kubelet.beats_at - now)

    def _beat_seconds(self) -> float:
        stretched = max(self._pace.beat, len(self._kubelets) / _BEATS_PER_SECOND)
        return max(self._pace.beat, min(stretched, _SLOWEST_BEAT))

    async def _pod(self, pod: SeenPod, up_since: float) -> float | None:
        now = self._now()
        if pod.deleted is not None:
            return await self._ending(pod, pod.deleted, now)
        if pod.phase in _ENDED:
            return None
        if pod.phase == "Running":
            return await self._running(pod, now)
        left = max(pod.bound, up_since) + self._pace.start - now
        if left > 0 and self._pace.start:
            return left
        status = statuses.running(pod.name, pod.node, pod.containers, now)
        await self._api.set_pod_status(pod, status)
        self._learn(pod, replace(pod, phase="Running", started=now))
        return pod.run_for

    async def _running(self, pod: SeenPod, now: float) -> float | None:
        if pod.run_for is None:
            return None
        left = pod.started + pod.run_for - now
        if left > 0:
            return left
        await self._api.set_pod_status(pod, statuses.ended(pod.containers, True, pod.started, now))
        self._learn(pod, replace(pod, phase="Succeeded"))
        return None

    async def _ending(self, pod: SeenPod, deleted: float, now: float) -> float | None:
        """A pod takes `stop` seconds to end, or less where it is given less. `deleted` is when its time is up."""
        told = deleted - pod.grace
        left = min(told + self._pace.stop, deleted) - now
        if left > 0:
            return left
        if pod.held and pod.phase not in _ENDED:
            await self._api.set_pod_status(pod, statuses.ended(pod.containers, False, pod.started or told, now))
        if pod.held and not pod.grace:
            return None  # it has ended already, and stays until whoever holds it lets it go
        await self._api.end_pod(pod)
        return None

    def _learn(self, before: SeenPod, after: SeenPod) -> None:
        """What was written, unless the watch has brought something newer meanwhile."""
        if self._pods.get(before.key) is before:
            self._pods[before.key] = after
