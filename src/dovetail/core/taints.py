"""Taints and what tolerates them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dovetail.core.requirements import as_integer


class Effect(StrEnum):
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class TolerationOperator(StrEnum):
    EQUAL = "Equal"
    EXISTS = "Exists"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    key: str
    effect: Effect
    value: str = ""
    #: When it was put on, as the API server has it; it makes no difference to anything but a patch.
    added: str = field(default="", compare=False)

    def matches(self, other: Taint) -> bool:
        """Whether two taints are the same mark on a node: key and effect decide, the value does not."""
        return self.key == other.key and self.effect == other.effect

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """Empty `key` with Exists tolerates everything; no `effect` tolerates all effects.

    Gt and Lt compare whole numbers: the taint's value must be above (below) the toleration's, and a value that is
    no number is tolerated by neither.
    """

    key: str = ""
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: str = ""
    effect: Effect | None = None

    def tolerates(self, taint: Taint) -> bool:
        if self.effect is not None and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case TolerationOperator.EXISTS:
                return True
            case TolerationOperator.EQUAL:
                return bool(self.key) and self.value == taint.value
            case TolerationOperator.GT | TolerationOperator.LT:
                return bool(self.key) and self._beyond(taint.value)

    def _beyond(self, taint_value: str) -> bool:
        mine, theirs = as_integer(self.value), as_integer(taint_value)
        if mine is None or theirs is None:
            return False
        return theirs > mine if self.operator is TolerationOperator.GT else theirs < mine


PREFER_NO_SCHEDULE_TOLERATED: Final = Toleration(operator=TolerationOperator.EXISTS, effect=Effect.PREFER_NO_SCHEDULE)


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> tuple[Taint, ...]:
    """The taints that keep a pod away, whatever their effect; none means it may come."""
    known = tuple(tolerations)
    return tuple(taint for taint in taints if not any(one.tolerates(taint) for one in known))
