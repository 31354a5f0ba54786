"""`docs/reference/performance.md`, rendered from the figures that were kept. Pure, but for looking at the machine."""

import datetime
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import HEADINGS, ROOT, Row, cells

PAGE = ROOT / "docs" / "reference" / "performance.md"

INTRODUCTION = """\
# Performance

Every number here was printed by `make bench`, or `make bench-NAME` for one table, on the machine and the day that its
section names; `python -m bench --render-only` puts new figures in. In each table both sides come from one run. The
machines are shared and noisy, and not all of one make: the same ratio has differed by more than half between runs an
hour apart, so a single one is an indication, not a measurement. *Times better* is how many times better ours is than
the peer's: above 1× we are ahead, below it behind. A dash means there is no such figure. The peer is the published Go
module, called by the program in `bench/peer`, whose comments say what each of its rows includes and what was left out
in its favour.
"""


_SECTION = re.compile(r"^(?=## (\S+)$)(.*?\n)(?=\n## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Machine:
    cpu: str
    cores: int
    python: str

    def __str__(self) -> str:
        return f"{self.cpu}, {self.cores} cores, {self.python}"


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark: its name, its module's docstring, its rows, and when they were measured."""

    name: str
    words: str
    rows: Sequence[Row]
    date: datetime.date


def render(sections: Sequence[Section], machine: Machine, peer: str, before: str = "") -> str:
    """The page anew. Sections of the page `before` that there are no figures for stay as they were."""
    bodies = dict(_SECTION.findall(before))
    for one in sections:
        measured = f"Measured on {one.date.isoformat()}: {machine}; peer {peer}."
        table = markdown(HEADINGS, [cells(row) for row in one.rows])
        bodies[one.name] = f"## {one.name}\n\n{one.words.strip()}\n\n{measured}\n\n{table}"
    return "\n".join((INTRODUCTION, *(body for _, body in sorted(bodies.items()))))


def markdown(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---" if column in (0, 4, 5) or len(headings) == 2 else "---:" for column in range(len(headings))]
    return "".join(f"| {' | '.join(_escaped(text) for text in line)} |\n" for line in (headings, rule, *lines))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def this_machine() -> Machine:
    return Machine(
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(encoding="utf-8"), re.MULTILINE)
        if found is not None:
            return found.group(1).strip()
    return platform.processor() or platform.machine()
