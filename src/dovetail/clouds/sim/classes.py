"""What a KWOKNodeClass says, and whether one can launch with it (§1.5, §6).

there is none, or it is being deleted     nothing can be had of it: NoClass
it says it is not Ready, or says nonsense a person must act: Misconfigured
otherwise                                 its nodes join after `nodeRegistrationDelay`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.api.fields import fields
from dovetail.clouds.port import Misconfigured, NoClass
from dovetail.core import timestamps
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.nodepools import NodeClassRef


@dataclass(frozen=True, slots=True)
class SimClass:
    """`delay` in seconds; `problem` is why one cannot launch with it."""

    delay: float = 0.0
    problem: str = ""


class SimClasses:
    """All KWOKNodeClasses, by name."""

    def __init__(self) -> None:
        self._held: dict[str, SimClass] = {}

    def put(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        """A class as the API server has it, None when it is gone."""
        found = _read(ref.name, wire) if wire is not None else None
        if found is None:
            self._held.pop(ref.name, None)
        else:
            self._held[ref.name] = found

    def delay(self, ref: NodeClassRef) -> float:
        found = self._held.get(ref.name)
        if found is None:
            raise NoClass(f"there is no KWOKNodeClass {ref.name}, or no longer")
        if found.problem:
            raise Misconfigured(found.problem)
        return found.delay


def _read(name: str, wire: Mapping[str, object]) -> SimClass | None:
    whole = fields(wire)
    try:
        if whole.map("metadata").has("deletionTimestamp"):
            return None
        for one in whole.map("status").items("conditions"):
            if one.text("type") == "Ready" and one.text("status") == "False":
                return SimClass(
                    problem=f"KWOKNodeClass {name} is not ready: {one.text('message') or 'no reason given'}"
                )
        return SimClass(_delay(whole.map("spec").text("nodeRegistrationDelay")))
    except BadInput as bad:
        return SimClass(problem=f"KWOKNodeClass {name}: {bad}")


def _delay(written: str | None) -> float:
    try:
        return timestamps.duration(written) if written else 0.0
    except BadValue as bad:
        raise bad.at("spec", "nodeRegistrationDelay") from None
