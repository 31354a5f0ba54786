"""A dry run: everything is watched and decided as ever, and told instead of done.

Two things keep it from changing anything. The hands tell, in a sentence, each effect they are asked for; and the client
under everything lets no write through, whoever asks. Events are told in the log, like the rest. What would be done to
one object again and again is told once.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final, assert_never

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.controllers.act import Hands
from dovetail.core.effects import (
    Count,
    Create,
    Delete,
    Effect,
    Evict,
    Health,
    Launch,
    Observe,
    Return,
    SaveClaim,
    SaveNode,
    Say,
    Step,
    Terminate,
)
from dovetail.kube.client import Client, Object
from dovetail.kube.patches import Body, Patch

_log: Final = logging.getLogger(__name__)
METRIC: Final = "dry_run_effects_total"
_REMEMBERED: Final = 10_000


class ReadOnly(Client):
    """A client that reads, and only says what it would write. It shares the other's session, which stays the other's
    to close."""

    def __init__(self, client: Client) -> None:
        self.__dict__.update(client.__dict__)

    async def create(self, kind: Kind, obj: Body, namespace: str = "", *, dry_run: bool = False) -> Object:
        if kind == kinds.CORE_EVENTS and isinstance(obj, dict):
            about = obj.get("involvedObject", {})
            _log.info("would tell %s %s: %s", about.get("kind"), about.get("name"), obj.get("message"))
        else:
            _log.debug("would create %s", kind)
        return obj if isinstance(obj, dict) else {}

    async def replace(self, kind: Kind, obj: Body, *, subresource: str = "") -> Object:
        _log.debug("would replace %s", kind)
        return obj if isinstance(obj, dict) else {}

    async def patch(
        self, kind: Kind, name: str, patch: Patch, namespace: str = "", *, subresource: str = "", **how: Any
    ) -> Object:
        _log.debug("would patch %s %s %s", kind, name, subresource)
        return {}

    async def delete(self, kind: Kind, name: str, namespace: str = "", **how: Any) -> None:
        _log.debug("would delete %s %s", kind, name)

    async def delete_collection(self, kind: Kind, namespace: str = "", **which: Any) -> None:
        _log.debug("would delete all %s", kind)

    async def evict(self, name: str, namespace: str, *, grace: int | None = None, uid: str = "") -> None:
        _log.debug("would evict %s/%s", namespace, name)


@dataclass(slots=True)
class TellingHands(Hands):
    """Hands that tell."""

    _told: OrderedDict[str, None] = field(default_factory=OrderedDict)

    async def perform(self, step: Step) -> float | None:
        for effect in step.effects:
            self._tell(effect)
        return step.again

    async def create(self, effect: Create) -> dict[str, Any] | None:
        self._tell(effect)
        return None

    def _tell(self, effect: Effect) -> None:
        if isinstance(effect, Say):
            self.ears.say(effect)
            return
        sentence = told(effect)
        if not sentence or (sentence in self._told and not isinstance(effect, Create)):
            return
        self._told[sentence] = None
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        _log.info("would %s", sentence)
        self.ears.count(Count(METRIC, {"effect": type(effect).__name__.lower()}))


def told(effect: Effect) -> str:
    """What would be done; nothing where it would change nothing in the world."""
    match effect:
        case Create(claim, prefix, types):
            first = f", {types[0]} if it can be had" if types else ""
            return f"order a node for pool {claim.pool or prefix} with {claim.requests}{first}"
        case Return(machine):
            return f"return machine {machine.provider_id}, which nobody claims"
        case Launch(claim):
            return f"launch the machine of NodeClaim {claim.name}"
        case Terminate(claim):
            return f"terminate the machine of NodeClaim {claim.name}"
        case SaveClaim(_, after):
            return f"update NodeClaim {after.name}"
        case SaveNode(_, after):
            return f"update Node {after.name}"
        case Delete(ref):
            return f"delete {ref.kind} {ref.name}"
        case Evict(pod, node):
            return f"evict pod {pod.namespace}/{pod.name} from {node}"
        case Say() | Count() | Observe() | Health():
            return ""
        case _:
            assert_never(effect)
