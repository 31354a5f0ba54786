"""docs/why/coverage.md, made of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from .left import Branch

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "why" / "coverage.md"
_HEAD: Final = """# What the tests of the core run

<!-- made by python -m tools.covered --page -->

`make coverage` runs `tests/core` alone, with few examples of each property and the same ones each time, and counts
which branches of `src/dovetail/core` are taken; at least 95 % must be. Tests of the controllers, the command line and
the clouds drive the core as well and are not counted: what the core promises, its own tests should show. Invariants
that raise `AssertionError` are left out of the count. A branch that is taken is not a branch that is proven: for that
there are [mistakes made on purpose](mutants.md).

"""
_TABLE: Final = """
What is left, function by function: the branch from one line to the one that would follow, and why no test of the core
takes it.

| where | not taken | why |
|---|---|---|
"""


def figures(totals: Mapping[str, Any]) -> str:
    taken, every = totals["covered_branches"], totals["num_branches"]
    return (
        f"{taken} of {every} branches ({100 * taken / every:.1f} %) and {totals['covered_lines']} of "
        f"{totals['num_statements']} statements"
    )


def text(totals: Mapping[str, Any], left: Iterable[Branch], reasons: Mapping[str, str]) -> str:
    places: dict[str, list[Branch]] = {}
    for one in left:
        places.setdefault(one.place, []).append(one)
    rows = []
    for place, some in places.items():
        path, _, function = place.partition(" ")
        told = "<br>".join(f"`{_shown(str(one))}`" for one in some)
        rows.append(f"| `{path}` `{function}` | {told} | {reasons.get(place, 'not said yet')} |\n")
    return f"{_HEAD}The last run took {figures(totals)}.\n{_TABLE}{''.join(rows)}"


def _shown(code: str) -> str:
    return code.replace("|", "\\|")
