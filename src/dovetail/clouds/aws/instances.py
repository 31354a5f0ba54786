"""Machines of this cluster: looked at, found again, tagged, terminated, restarted.

Looking and terminating (`ends`) go in batches. EC2 refuses a whole batch for one id it does not know, so a batch that
was refused is asked again one by one: the unknown one costs only itself (`spec/aws` §6).

EC2's describes are behind: for half a minute and more they may not know a machine that was just bought. One that this
process bought is therefore believed to be there while it is young, whatever they say: to take it for gone would be to
give up its claim and leave the machine behind.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.batching import DESCRIBES, TERMINATIONS, Batcher, Window
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.described import STATES, Machine, of_wire
from dovetail.clouds.aws.ends import PATIENCE, Ends
from dovetail.clouds.port import CloudError, NotFound, Unavailable

#: For so long after it was bought a machine may be missing from what EC2 tells.
YOUNG_SECONDS: Final = 120.0
_ALL: Final = ""


@dataclass(frozen=True, slots=True)
class Windows:
    """How long wishes are collected; tests have less patience."""

    describes: Window = DESCRIBES
    terminations: Window = TERMINATIONS


class Instances:
    """The machines that carry this cluster's tags."""

    def __init__(
        self,
        aws: Aws,
        cluster: str,
        windows: Windows | None = None,
        seen: Callable[[str, int, float], None] = lambda batcher, size, seconds: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._aws, self._cluster, self._now = aws, cluster, now
        self._bought: dict[str, Machine] = {}
        chosen = windows or Windows()
        self._looks: Batcher[str, str, Machine] = Batcher(
            self._described, chosen.describes, lambda size, seconds: seen("describe_instances", size, seconds)
        )
        self._searches: Batcher[str, str, tuple[Machine, ...]] = Batcher(
            self._searched, chosen.describes, lambda size, seconds: seen("find_instances", size, seconds)
        )
        self._ends = Ends(aws, chosen.terminations, lambda size, seconds: seen("terminate_instances", size, seconds))

    async def close(self) -> None:
        await asyncio.gather(self._looks.close(), self._searches.close(), self._ends.close())

    # ---- what was just bought

    def remember(self, machine: Machine) -> None:
        """This process bought it."""
        self._bought[machine.id] = machine

    def _young(self) -> Mapping[str, Machine]:
        oldest = self._now() - YOUNG_SECONDS
        self._bought = {name: one for name, one in self._bought.items() if one.launched > oldest}
        return self._bought

    # ---- looking

    async def get(self, instance_id: str) -> Machine:
        """One of ours; NotFound when it is gone, or is somebody else's."""
        try:
            found = await self._looks.add(_ALL, instance_id, PATIENCE)
        except NotFound:
            if instance_id in self._young():
                return self._bought[instance_id]
            raise
        if found.state not in STATES:
            self._bought.pop(instance_id, None)
            raise _gone(instance_id)
        return found

    async def described(self, instance_id: str) -> Machine:
        """One of ours in EC2's own words; NotFound also as long as EC2 has not heard of what it has just sold."""
        return await self._looks.add(_ALL, instance_id, PATIENCE)

    async def ours(self) -> tuple[Machine, ...]:
        """All of this cluster's."""
        there = {"Name": "instance-state-name", "Values": list(STATES)}
        wire = await self._aws.all(calls.DESCRIBE_INSTANCES, Filters=[*self._filters(), there])
        found = {**self._young(), **{one.id: one for one in _machines(wire)}}
        return tuple(found[name] for name in sorted(found))

    async def of_claim(self, name: str) -> tuple[Machine, ...]:
        """Those that may have been bought for a claim; one that names nobody else comes first, then the oldest."""
        return await self._searches.add(_ALL, name, PATIENCE)

    async def _searched(self, _: str, names: Sequence[str]) -> Sequence[tuple[Machine, ...]]:
        found: dict[str, list[Machine]] = {name: [] for name in names}
        for one in sorted(await self.ours(), key=lambda one: (len(one.claims), one.launched, one.id)):
            for name in one.claims:
                if name in found:
                    found[name].append(one)
        return [tuple(found[name]) for name in names]

    def _filters(self) -> list[dict[str, Any]]:
        return [
            {"Name": "tag-key", "Values": [tags.NODE_POOL]},
            {"Name": "tag-key", "Values": [tags.NODE_CLASS]},
            {"Name": f"tag:{tags.CLUSTER}", "Values": [self._cluster]},
        ]

    async def _described(self, _: str, ids: Sequence[str]) -> Sequence[Machine | CloudError]:
        try:
            found = await self._look(ids)
        except NotFound:
            found = {}
        missing = [one for one in dict.fromkeys(ids) if one not in found]
        if missing and len(set(ids)) > 1:
            alone = await asyncio.gather(*(self._look_alone(one) for one in missing))
            return [found.get(one) or dict(zip(missing, alone, strict=True))[one] for one in ids]
        return [found.get(one) or _gone(one) for one in ids]

    async def _look(self, ids: Iterable[str]) -> Mapping[str, Machine]:
        wire = await self._aws.all(calls.DESCRIBE_INSTANCES, InstanceIds=sorted(set(ids)), Filters=self._filters())
        return {one.id: one for one in _machines(wire)}

    async def _look_alone(self, instance_id: str) -> Machine | CloudError:
        try:
            return (await self._look((instance_id,))).get(instance_id) or _gone(instance_id)
        except CloudError as failed:
            return failed

    # ---- ending

    async def terminate(self, instance_id: str) -> str:
        """Tell one to go; the state it is in then. NotFound if there is none."""
        try:
            state = await self._ends.terminate(instance_id)
        except NotFound:
            if instance_id in self._young():
                raise Unavailable(f"EC2 has not heard yet of {instance_id}, which it has just sold") from None
            raise
        self._bought.pop(instance_id, None)
        return state

    # ---- the rest

    async def tag(self, instance_id: str, wanted: Mapping[str, str]) -> None:
        await self._aws.ask(calls.CREATE_TAGS, Resources=[instance_id], Tags=tags.on_wire(wanted))

    async def reboot(self, instance_id: str) -> None:
        await self._aws.ask(calls.REBOOT_INSTANCES, InstanceIds=[instance_id])


def _machines(reservations: Iterable[Mapping[str, Any]]) -> Iterable[Machine]:
    for one in reservations:
        for wire in one.get("Instances") or ():
            yield of_wire(wire)


def _gone(instance_id: str) -> NotFound:
    return NotFound(f"there is no instance {instance_id} of this cluster")
