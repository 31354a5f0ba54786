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

Every number here was printed by `make bench`, or `make bench-NAME` for one table, on the machine below; `make bench`
makes the page anew. In each table both sides come from one run. The machine is shared and noisy: the same ratio has
differed by more than half between runs an hour apart, so a single one is an indication, not a measurement.
*Times better* is how many times better ours is than the peer's: above 1× we are ahead, below it behind. A dash
means there is no such figure. The peer is the published Go module, called by the program in `bench/peer`, whose
comments say what each of its rows includes and what was left out in its favour.
"""


@dataclass(frozen=True, slots=True)
class Machine:
    cpu: str
    cores: int
    python: str
    peer: str
    date: datetime.date


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark: its name, its module's docstring, its rows."""

    name: str
    words: str
    rows: Sequence[Row]


def render(sections: Sequence[Section], machine: Machine) -> str:
    facts = markdown(
        ("", ""),
        [
            ("processor", f"{machine.cpu}, {machine.cores} cores"),
            ("Python", machine.python),
            ("peer", machine.peer),
            ("measured on", machine.date.isoformat()),
        ],
    )
    bodies = (
        f"## {section.name}\n\n{section.words.strip()}\n\n{markdown(HEADINGS, [cells(r) for r in section.rows])}"
        for section in sections
    )
    return "\n".join((INTRODUCTION, facts, *bodies))


def markdown(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---" if column in (0, 4, 5) or len(headings) == 2 else "---:" for column in range(len(headings))]
    return "".join(f"| {' | '.join(_escaped(text) for text in line)} |\n" for line in (headings, rule, *lines))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def this_machine(peer: str, date: datetime.date) -> Machine:
    return Machine(
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        peer=peer,
        date=date,
    )


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(encoding="utf-8"), re.MULTILINE)
        if found is not None:
            return found.group(1).strip()
    return platform.processor() or platform.machine()
