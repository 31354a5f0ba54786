"""Telling the scheduler where a pod is meant to go.

The scheduler packs as it pleases, and a plan that fills its nodes well has no room for that: a small pod that takes a
large one's place leaves it over, and one more node is bought for it. So as soon as a machine's Node is seen, and before
it takes pods, those it was bought for are given its name (`status.nominatedNodeName`), which the scheduler tries first
and keeps room for. A pod without a name when the first node can be used takes somebody's place, so nodes wait for each
other: while names are being written, none of those whose pods got names takes any. The scheduler hears of names and of
nodes by two watches, and the one of all pods is the busier: so a name counts as written when it came back by a watch of
ours. And where it was just trying a pod that got a name, and failed, it takes the name away: then it is given anew.
Machines that join as soon as they are bought wait for all that are being bought besides: whoever spreads pods over
nodes knows only those that are there, and puts two on one where the next would have taken the second. Where all pods of
a plan ask for the same, every place is as good as another, and they cost no write. Otherwise all get names: to spare
one kind, or the small ones, was tried, and cost more nodes than no names at all, for a pod that is tried before its own
node can be used takes the room that is kept for nobody. Nor was it sooner to write names before the Nodes are there, or
to let each node take pods as soon as its own have names: the API server is busy from the first pod to the last,
whatever the order. Where we may not write it, nothing is lost but this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

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
#: And nobody longer than this for names to come back that were written.
SEEN_SECONDS: Final = 5.0
#: How often a name that was taken away is given anew; whoever takes it away more often means it.
ANEW: Final = 2
#: How often the scheduler is made to look again at one pod.
WOKEN: Final = 3


def fixed(claims: Sequence[Claim]) -> frozenset[str]:
    """The uids of the pods that are to go just where they were planned: all, unless all ask for the same."""
    pods = [pod for one in claims for pod in one.pods]
    alike = len({pod.shape.requests for pod in pods}) < 2
    return frozenset() if alike else frozenset(pod.uid for pod in pods)


@dataclass(slots=True)
class _Unseen:
    """Pods that were given the name of a node, as far as they did not come back with it."""

    node: str
    pods: set[Key]
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Places:
    def __init__(self, client: Client, nominations: Nominations) -> None:
        self._client, self._nominations = client, nominations
        self._may = True
        #: By pod: its uid, the node it was given the name of, and the claim it was planned onto.
        self._named: dict[Key, tuple[str, str, str]] = {}
        #: How often the name was given anew.
        self._anew: dict[Key, int] = {}
        #: How many names are being written, and plans whose claims are.
        self._naming = self._ordering = 0
        #: Claims whose Nodes may be there any moment.
        self._expected: set[str] = set()
        #: Pods whose names did not come back yet, with those that are waited for together.
        self._unseen: dict[Key, _Unseen] = {}
        self._written, self._all_here = asyncio.Event(), asyncio.Event()
        self._writing: set[asyncio.Task[object]] = set()
        #: By pod: how often the scheduler was made to look at it again.
        self._woken: dict[Key, int] = {}

    @contextmanager
    def ordering(self) -> Iterator[None]:
        """While the claims of a plan are being written."""
        self._ordering += 1
        self._note()
        try:
            yield
        finally:
            self._ordering -= 1
            self._note()

    def expect(self, claim: str) -> None:
        """It was written, and its machine is bought next."""
        self._expected.add(claim)
        self._note()

    def not_soon(self, claim: str) -> None:
        """Its Node takes its time, or never comes."""
        if claim in self._expected:
            self._expected.remove(claim)
            self._note()

    def _note(self) -> None:
        for event, holds in (
            (self._written, not self._naming),
            (self._all_here, not (self._naming or self._ordering or self._expected)),
        ):
            if holds:
                event.set()
            else:
                event.clear()

    async def tell(self, claim: str, node: str, *, at_once: bool = False) -> bool:
        """The Node of a claim is there: name it to those it was bought for, once, and wait until everybody who is
        being given a name has it; if it came `at_once`, until all that may come as fast are there. Whether that took
        any time."""
        self.not_soon(claim)
        fixed = (one for one in self._nominations.on(claim) if one.fixed)
        new = [one for one in fixed if self._named.get(one.pod) != (one.uid, node, claim)]
        if not new or not self._may:
            return False
        for one in new:
            self._named[one.pod] = (one.uid, node, claim)
            self._anew.pop(one.pod, None)
        await self._write(new, node)
        if len(self._named) > len(self._nominations) + _STALE:
            self._named = {pod: what for pod, what in self._named.items() if self._nominations.get(pod) is not None}
            self._anew = {pod: times for pod, times in self._anew.items() if pod in self._named}
        awaited = self._all_here if at_once else self._written
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_SECONDS):
                while not awaited.is_set():  # somebody may have lost his name since it was
                    await awaited.wait()
        return True

    def _write(self, new: list[Nomination], node: str) -> Coroutine[Any, Any, None]:
        """Whoever asks from now on, before any of it is done, hears that names are being written; so what this returns
        must be run."""
        unseen = _Unseen(node, {one.pod for one in new})
        self._naming += len(new)
        for one in new:
            self._seen(one.pod)  # whoever waits for an older name of it waits in vain
            self._unseen[one.pod] = unseen
        self._note()
        return self._until_seen(new, node, unseen)

    async def _until_seen(self, new: list[Nomination], node: str, unseen: _Unseen) -> None:
        try:
            named = await asyncio.gather(*(self._name(one, node) for one in new))
            self._forget(unseen, (one.pod for one, done in zip(new, named, strict=True) if not done))
            with suppress(TimeoutError):
                async with asyncio.timeout(SEEN_SECONDS):
                    await unseen.over.wait()
        finally:
            self._forget(unseen, tuple(unseen.pods))
            self._naming -= len(new)
            self._note()

    def saw(self, pod: Key, node: str | None) -> None:
        """A pod came by the watch, with the name of a node; None for one that waits for none any more."""
        waited_for = self._unseen.get(pod)
        if waited_for is not None and node in (None, waited_for.node):
            self._seen(pod)

    def _forget(self, unseen: _Unseen, pods: Iterable[Key]) -> None:
        for pod in pods:
            if self._unseen.get(pod) is unseen:
                self._seen(pod)

    def lost(self, pod: Key) -> None:
        """Somebody took a pod's name away; while it is still to go there it is given anew, and nodes wait for that."""
        uid, node, claim = self._named.get(pod, ("", "", ""))
        one, times = self._nominations.get(pod), self._anew.get(pod, 0)
        if one is None or (one.uid, one.target) != (uid, claim) or times >= ANEW or not self._may:
            return
        self._anew[pod] = times + 1
        self._begin(self._write([one], node))

    def settled(self, pod: Key) -> None:
        """It was bound, or is gone."""
        self._woken.pop(pod, None)

    def _seen(self, pod: Key) -> None:
        waited_for = self._unseen.pop(pod, None)
        if waited_for is not None:
            waited_for.pods.discard(pod)
            if not waited_for.pods:
                waited_for.over.set()

    def take_back(self, lost: Iterable[Nomination]) -> None:
        """These pods are not going where they were planned to: a name that was given says so no longer."""
        for one in lost:
            uid, _, _ = self._named.pop(one.pod, ("", "", ""))
            self._anew.pop(one.pod, None)
            self._seen(one.pod)
            if uid == one.uid:
                self._begin(self._name(one, None))

    def wake(self, pods: Iterable[Nomination]) -> None:
        """These pods, the most important first, were turned away, perhaps for room that was kept by name for others who
        went elsewhere, and are to go to nodes that have been open all along. Nothing makes the scheduler look at them
        again for minutes, but a name that is taken away does, at all that are as important or less: so one gets a name
        and loses it. Whoever is not bound for all that is refused for another reason."""
        one = next((one for one in pods if self._woken.get(one.pod, 0) < WOKEN), None)
        if one is not None and self._may:
            self._woken[one.pod] = self._woken.get(one.pod, 0) + 1
            self._begin(self._wake(one))

    async def _wake(self, one: Nomination) -> None:
        if not await self._name(one, one.target):
            self._woken.pop(one.pod, None)
        elif not await self._name(one, None):
            self._named[one.pod] = (one.uid, one.target, one.target)  # to be taken back with its place

    def _begin(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _name(self, one: Nomination, node: str | None) -> bool:
        """Whether it was written."""
        namespace, name = one.pod
        body = {"metadata": {"uid": one.uid}, "status": {"nominatedNodeName": node}}
        try:
            await self._client.patch(kinds.PODS, name, MergePatch(body), namespace, subresource="status")
        except Forbidden as refused:
            self._may = False
            _log.info("pods are not given the names of their nodes: %s", refused.sentence)
        except KubeError as failed:
            _log.debug("pod %s/%s is not given the name of its node: %s", namespace, name, failed)
        else:
            return True
        return False
