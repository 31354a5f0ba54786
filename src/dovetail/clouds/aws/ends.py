"""Instances are ended in batches. EC2 refuses a whole batch for one id it does not know, so a batch that was refused is
asked again one by one: the unknown one costs only itself (`spec/aws` §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.batching import TERMINATIONS, Batcher, Window
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.port import CloudError, NotFound

#: How long anybody waits for an end; the calls below have less.
PATIENCE: Final = 150.0
_ALL: Final = ""


class Ends:
    """Ends instances. `seen` is told the size of each batch and how long it was collected."""

    def __init__(
        self,
        aws: Aws,
        window: Window = TERMINATIONS,
        seen: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self._aws = aws
        self._batches: Batcher[str, str, str] = Batcher(self._terminated, window, seen)

    async def terminate(self, instance_id: str) -> str:
        """Tell one to go; the state it is in then. NotFound if there is none."""
        return await self._batches.add(_ALL, instance_id, PATIENCE)

    async def close(self) -> None:
        await self._batches.close()

    async def _terminated(self, _: str, ids: Sequence[str]) -> Sequence[str | CloudError]:
        try:
            states = await self._end(ids)
        except NotFound as unknown:
            if len(set(ids)) == 1:
                return [unknown] * len(ids)
            alone = dict(zip(ids, await asyncio.gather(*(self._end_alone(one) for one in ids)), strict=True))
            return [alone[one] for one in ids]
        return [states.get(one) or _gone(one) for one in ids]

    async def _end(self, ids: Iterable[str]) -> Mapping[str, str]:
        answer = await self._aws.ask(calls.TERMINATE_INSTANCES, InstanceIds=sorted(set(ids)))
        return {one["InstanceId"]: one["CurrentState"]["Name"] for one in answer.get("TerminatingInstances", ())}

    async def _end_alone(self, instance_id: str) -> str | CloudError:
        try:
            return (await self._end((instance_id,))).get(instance_id) or _gone(instance_id)
        except CloudError as failed:
            return failed


def _gone(instance_id: str) -> NotFound:
    return NotFound(f"there is no instance {instance_id}")
