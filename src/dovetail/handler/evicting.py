"""Asking pods to leave, all at once: there may be no time to do it one after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from dovetail.api.kinds import PODS
from dovetail.core.handler.drain import Ask
from dovetail.handler.telling import Telling
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, KubeError, NotFound, TooManyRequests

_log: Final = logging.getLogger(__name__)


class Evictions:
    """`promised` says when the pods that were asked will be gone, by uid."""

    def __init__(self, client: Client, telling: Telling, now: Callable[[], float]) -> None:
        self.promised: dict[str, float] = {}
        self._client, self._telling, self._now = client, telling, now
        self._refused: set[str] = set()

    def forget(self) -> None:
        self.promised.clear()
        self._refused.clear()

    async def carry_out(self, asks: Iterable[Ask]) -> None:
        """A pod that refuses is asked again by the next tick; what fails for one fails for that one."""
        await asyncio.gather(*(self._one(ask) for ask in asks))

    async def _one(self, ask: Ask) -> None:
        pod = ask.pod
        try:
            if ask.force:
                await self._client.delete(PODS, pod.name, pod.namespace, uid=pod.uid, grace=ask.grace)
            else:
                await self._client.evict(pod.name, pod.namespace, uid=pod.uid, grace=ask.grace)
        except (NotFound, Conflict):
            return  # it is gone, or another of its name is there
        except TooManyRequests as refused:
            self._told(ask, str(refused))
            return
        except KubeError as problem:
            self._told(ask, str(problem))
            return
        self.promised[pod.uid] = self._now() + ask.seconds
        self._refused.discard(pod.uid)
        self._telling.count(f"termination_pods_{'deleted' if ask.force else 'evicted'}_total")
        _log.info(
            "pod %s/%s was %s, with %s",
            *(pod.namespace, pod.name),
            "deleted" if ask.force else "evicted",
            "its own grace" if ask.grace is None else f"{ask.grace} s of grace",
        )

    def _told(self, ask: Ask, why: str) -> None:
        """Once for each pod: it may be asked twice a second."""
        if ask.pod.uid not in self._refused:
            self._refused.add(ask.pod.uid)
            _log.warning("pod %s/%s does not leave yet: %s", ask.pod.namespace, ask.pod.name, why)
