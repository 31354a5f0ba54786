"""Telling the scheduler where a pod is meant to go, where it matters.

The scheduler packs as it pleases, and mostly that does no harm. A pod it has left without room once before was planned
again onto a node that may be just large enough for those planned there; so before such a node takes pods, the pods
bought for it are given its name (`status.nominatedNodeName`), which the scheduler tries first and keeps room for. Where
we may not write that, nothing is lost but this.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from dovetail.api import kinds
from dovetail.controllers.nominations import Nomination, Nominations
from dovetail.kube.client import Client
from dovetail.kube.errors import Forbidden, KubeError
from dovetail.kube.patches import MergePatch

_log: Final = logging.getLogger(__name__)


class Places:
    def __init__(self, client: Client, nominations: Nominations) -> None:
        self._client, self._nominations = client, nominations
        self._may = True

    async def tell(self, claim: str, node: str) -> None:
        """The Node of a claim is about to take pods: name it to those who were left over before."""
        if self._may:
            await asyncio.gather(*(self._name(one, node) for one in self._nominations.on(claim) if one.again))

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
