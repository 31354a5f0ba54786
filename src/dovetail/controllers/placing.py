"""Telling the scheduler where a pod is meant to go.

The scheduler packs as it pleases, and a plan that fills its nodes well has no room for that: a small pod that takes a
large one's place leaves it over, and one more node is bought for it. So as soon as a machine's Node is seen, and before
it takes pods, those it was bought for are given its name (`status.nominatedNodeName`), which the scheduler tries first
and keeps room for. Where all pods of a plan ask for the same, every place is as good as another, and they cost no
write. Where we may not write it, nothing is lost but this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from dovetail.api import kinds
from dovetail.controllers.nominations import Nomination, Nominations
from dovetail.core.scheduling.problem import Claim
from dovetail.kube.client import Client
from dovetail.kube.errors import Forbidden, KubeError
from dovetail.kube.patches import MergePatch
from dovetail.kube.store import Key

_log: Final = logging.getLogger(__name__)
#: Names given to pods that are planned no longer are forgotten when there are this many more than pods planned.
_STALE: Final = 1000


def fixed(claims: Sequence[Claim]) -> frozenset[str]:
    """The uids of the pods that are to go just where they were planned: all, unless all ask for the same."""
    pods = [pod for one in claims for pod in one.pods]
    alike = len({pod.shape.requests for pod in pods}) < 2
    return frozenset() if alike else frozenset(pod.uid for pod in pods)


class Places:
    def __init__(self, client: Client, nominations: Nominations) -> None:
        self._client, self._nominations = client, nominations
        self._may = True
        #: By pod: its uid, and the node it was given the name of.
        self._named: dict[Key, tuple[str, str]] = {}

    async def tell(self, claim: str, node: str) -> None:
        """The Node of a claim is there: name it to those it was bought for, once."""
        if not self._may:
            return
        fixed = (one for one in self._nominations.on(claim) if one.fixed)
        new = [one for one in fixed if self._named.get(one.pod) != (one.uid, node)]
        for one in new:
            self._named[one.pod] = (one.uid, node)
        await asyncio.gather(*(self._name(one, node) for one in new))
        if len(self._named) > len(self._nominations) + _STALE:
            self._named = {pod: what for pod, what in self._named.items() if self._nominations.get(pod) is not None}

    async def _name(self, one: Nomination, node: str) -> None:
        namespace, name = one.pod
        body = {"metadata": {"uid": one.uid}, "status": {"nominatedNodeName": node}}
        try:
            await self._client.patch(kinds.PODS, name, MergePatch(body), namespace, subresource="status")
        except Forbidden as refused:
            self._may = False
            _log.info("pods are not given the names of their nodes: %s", refused.sentence)
        except KubeError as failed:
            _log.debug("pod %s/%s is not given the name of its node: %s", namespace, name, failed)
