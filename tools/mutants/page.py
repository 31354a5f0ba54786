"""docs/why/mutants.md, made of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .trial import Outcome

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "why" / "mutants.md"
_HEAD: Final = """# Mistakes made on purpose

<!-- made by python -m tools.mutants --page -->

A line that a test runs is not a line that a test proves. So `make mutants` puts small mistakes into the functions of
`core/scheduling` and `core/disruption`, one at a time, and runs the tests over each: a comparison is off by one or the
wrong way round, `and` is `or`, a condition is turned over, a `not` is missing, `+` is `-`, a number is one more or one
less, `min` is `max`, `any` is `all`, `break` is `continue`, a call for its effect is left out, a function returns None.
A mistake that no test notices *survives*, and each survivor is judged: either the code with it does the same, which a
sentence has to say, or a test is missing, and is written.

How it works: the tests are collected once; one run under coverage tells which test reaches which line. Every mistake
gets a child process in which the code of one function is swapped, and the tests that reach the line run, those that
have noticed something in that file first, then the quickest, until one fails. Properties draw few examples, the same
each time; tests that take longer than a few seconds with those are left out, so that a survivor may still fall in
`make test`. Tests that do not end count as noticing. Which mistakes are tried is drawn by a seed and by the text of the
mistake, not by its line: other code may change, and the draw stays.

"""
_TABLE: Final = """
## Survivors

Each of these was looked at. Most are short-cuts: the code asks a cheap question first to spare a dear one, and the dear
one gives the same answer.

| where | the mistake | why it makes no difference |
|---|---|---|
"""


@dataclass(frozen=True)
class Run:
    seed: int
    possible: int
    outcomes: tuple[Outcome, ...]


def figures(run: Run, verdicts: Mapping[str, str]) -> str:
    survived = [outcome for outcome in run.outcomes if outcome.survived]
    judged = sum(outcome.mistake.name in verdicts for outcome in survived)
    late = sum(outcome.noticed_by == "time" for outcome in run.outcomes)
    return (
        f"{len(run.outcomes)} of {run.possible} possible mistakes, seed {run.seed}: "
        f"{len(run.outcomes) - len(survived)} noticed ({late} of them because the tests did not end), "
        f"{len(survived)} survived, {judged} of these judged"
    )


def text(run: Run, verdicts: Mapping[str, str]) -> str:
    survived = sorted((one.mistake for one in run.outcomes if one.survived), key=lambda one: one.name)
    rows = [
        f"| `{one.path}` `{one.function}` | `{_shown(one.change)}` | {verdicts.get(one.name, 'not judged')} |\n"
        for one in survived
    ]
    return f"{_HEAD}The last run: {figures(run, verdicts)}.\n{_TABLE}{''.join(rows)}"


def _shown(change: str) -> str:
    """As it is, in a cell: bars part cells even inside of code."""
    return change.replace("|", "\\|")
