"""The tables of reasons.md: stable words that events, JSON and metrics use, from what the code says of each.

A member of such an enumeration is followed by a string: what it means and, behind an arrow, what to do about it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from dovetail.core.disruption.reasons import BUDGETED, Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.scheduling.obstacles import Obstacle

from .marks import Maker, table

ARROW: Final = " → "


class Word(NamedTuple):
    member: StrEnum
    means: str
    remedy: str


def words(kind: type[StrEnum]) -> Iterator[Word]:
    """The members of an enumeration in their order, each with what is said of it."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    for one, after in zip(definition.body, [*definition.body[1:], None], strict=True):
        match one, after:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(said))):
                means, _, remedy = " ".join(said.split()).partition(ARROW)
                yield Word(kind[name], means, remedy)


def waiting() -> str:
    rows = [(f"`{one.member}`", one.means, one.remedy) for one in words(Obstacle)]
    return table(("code", "means", "to let it in"), rows)


def staying() -> str:
    rows = [(f"`{one.member}`", one.means, _event(Code(one.member)), one.remedy) for one in words(Code)]
    return table(("code", "means", "event", "to let it go"), rows)


def _event(code: Code) -> str:
    event = Refusal(code, "").event
    return "" if event is None else f"`{event}`"


def going() -> str:
    rows = [(f"`{one.member}`", one.means, "yes" if one.member in BUDGETED else "no") for one in words(Reason)]
    return table(("reason", "means", "budgets"), rows)


PARTS: Final[Mapping[str, Maker]] = {"why a pod waits": waiting, "why a node stays": staying, "why a node goes": going}
