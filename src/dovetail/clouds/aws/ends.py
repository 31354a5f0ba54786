"""Instances are ended in batches. EC2 refuses a whole batch for one id it does not know, or one that is protected
from being ended, so a batch that was refused is asked again one by one, and so are those of which its answer says
nothing: each costs only itself (`spec/aws` §6). That an answer leaves one out does not say that it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.batching import TERMINATIONS, Batcher, Window
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.port import CloudError, Throttled, Unavailable

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
        found: dict[str, str | CloudError] = {}
        try:
            found.update(await self._end(ids))
        except (Throttled, Unavailable):
            raise
        except CloudError as refused:
            if len(set(ids)) == 1:
                return [refused] * len(ids)
        left = [one for one in dict.fromkeys(ids) if one not in found]
        found.update(zip(left, await asyncio.gather(*(self._end_alone(one) for one in left)), strict=True))
        return [found[one] for one in ids]

    async def _end(self, ids: Iterable[str]) -> Mapping[str, str]:
        answer = await self._aws.ask(calls.TERMINATE_INSTANCES, InstanceIds=sorted(set(ids)))
        return {one["InstanceId"]: one["CurrentState"]["Name"] for one in answer.get("TerminatingInstances", ())}

    async def _end_alone(self, instance_id: str) -> str | CloudError:
        try:
            return (await self._end((instance_id,))).get(instance_id) or _untold(instance_id)
        except CloudError as failed:
            return failed


def _untold(instance_id: str) -> Unavailable:
    return Unavailable(f"EC2 did not say what became of {instance_id}, which was to end; it is asked again")
