"""Telling the scheduler where a pod is meant to go.

The scheduler packs as it pleases, and a plan that fills its nodes well has no room for that: a small pod that takes a
large one's place leaves it over, and one more node is bought for it. So as soon as a machine's Node is seen, and before
it takes pods, those it was bought for are given its name (`status.nominatedNodeName`), which the scheduler tries first
and keeps room for. A pod without a name when the first node can be used takes somebody's place, so nodes wait for each
other: while names are being written, none of those whose pods got names takes any. Where all pods of a plan ask for the
same, every place is as good as another, and they cost no write. Where we may not write it, nothing is lost but this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
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
#: A node waits no longer than this for pods of others to get their names.
LONGEST_SECONDS: Final = 30.0


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
        #: How many names are being written.
        self._naming = 0
        self._written = asyncio.Event()
        self._taking: set[asyncio.Task[None]] = set()

    async def tell(self, claim: str, node: str) -> bool:
        """The Node of a claim is there: name it to those it was bought for, once, and wait until everybody who is
        being given a name has it. Whether that took any time."""
        fixed = (one for one in self._nominations.on(claim) if one.fixed)
        new = [one for one in fixed if self._named.get(one.pod) != (one.uid, node)]
        if not new or not self._may:
            return False
        for one in new:
            self._named[one.pod] = (one.uid, node)
        await self._write(new, node)
        if len(self._named) > len(self._nominations) + _STALE:
            self._named = {pod: what for pod, what in self._named.items() if self._nominations.get(pod) is not None}
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_SECONDS):
                await self._written.wait()
        return True

    async def _write(self, new: list[Nomination], node: str) -> None:
        self._naming += len(new)
        self._written.clear()
        try:
            await asyncio.gather(*(self._name(one, node) for one in new))
        finally:
            self._naming -= len(new)
            if not self._naming:
                self._written.set()

    def take_back(self, lost: Iterable[Nomination]) -> None:
        """These pods are not going where they were planned to: a name that was given says so no longer."""
        for one in lost:
            uid, _ = self._named.pop(one.pod, ("", ""))
            if uid == one.uid:
                task = asyncio.get_running_loop().create_task(self._name(one, None))
                self._taking.add(task)
                task.add_done_callback(self._taking.discard)

    async def _name(self, one: Nomination, node: str | None) -> None:
        namespace, name = one.pod
        body = {"metadata": {"uid": one.uid}, "status": {"nominatedNodeName": node}}
        try:
            await self._client.patch(kinds.PODS, name, MergePatch(body), namespace, subresource="status")
        except Forbidden as refused:
            self._may = False
            _log.info("pods are not given the names of their nodes: %s", refused.sentence)
        except KubeError as failed:
            _log.debug("pod %s/%s is not given the name of its node: %s", namespace, name, failed)
