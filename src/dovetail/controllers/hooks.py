"""What a cloud has to find out before a Node may take pods, asked for when the Node is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from dovetail.clouds.port import CloudError, Hook
from dovetail.core.lifecycle.registration import NO_HOOKS, Hooked
from dovetail.core.nodeclaims import NodeClaim


@dataclass(frozen=True, slots=True)
class Hooks:
    """All of them at once. One that fails is as one that does not know yet, and its trouble is told."""

    hooks: tuple[Hook, ...]
    failed: Callable[[Hashable, Exception], None]

    async def __call__(self, claim: NodeClaim) -> Hooked:
        concerned = [one for one in self.hooks if one.concerns(claim)]
        if not concerned:
            return NO_HOOKS
        answers = await asyncio.gather(*(self._asked(one, claim) for one in concerned))
        pending = tuple(one.name for one, found in zip(concerned, answers, strict=True) if found is None)
        return Hooked({key: value for found in answers for key, value in (found or {}).items()}, pending)

    async def _asked(self, hook: Hook, claim: NodeClaim) -> Mapping[str, str] | None:
        try:
            return await hook.labels(claim)
        except CloudError as failed:
            self.failed(claim.name, failed)
            return None
