"""The README's table: some rows of docs/reference/performance.md as they stand there, every missed target among them.

It is taken from the page and not from kept figures, so that it says what the page says on any machine.
"""

import re
from collections.abc import Iterator

from bench.page import PAGE
from bench.report import HEADINGS, ROOT
from tools import regions

README = ROOT / "README.md"
REGION = ("performance", "python -m bench --render-only")
#: By section, the rows worth a stranger's minute.
CHOSEN = {
    "aws": ("cold start to a usable catalogue from the API (1,395 types, 6 zones)",),
    "catalog": (
        "load a region cold, file to usable catalog",
        "refresh after one capacity error",
        "overlay change touching 50 types",
    ),
    "disruption": (
        "1,000 nodes, 30,000 pods: judge every node (the peer: from that sample)",
        "204 nodes have drifted, 20% may be away (virtual time): pace",
    ),
    "disruption-live": ("1,000 → 200 pods: price at the end", "1,000 → 200 pods: until the last node went"),
    "live": (
        "1,000 pods: applied to all bound",
        "1,000 pods: price",
        "1,000 pods: peak memory of the controller",
        "some 500 nodes, nothing to do: share of a core",
    ),
    "machines": ("300 Machines: set applied to all running with their Nodes",),
    "scheduling": (
        "diverse, 5,000 pods",
        "diverse, 5,000 pods: what they cost",
        "`dovetail plan`, a new process, 1,000 pods, all that AWS sells, from JSON",
    ),
}
_MISSED = re.compile(r"\| NO \|$")
#: A row that begins so belongs to the one above it that does not.
_PART_OF = "– "


class Missing(ValueError):
    """The page has no such row."""


def rows(text: str) -> Iterator[tuple[str, str]]:
    """Every row of a page's tables with its section, as it is written."""
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif section and line.startswith("| ") and not line.startswith(("|  |", "| ---")):
            yield section, line


def name_of(row: str) -> str:
    return row.split(" | ", 1)[0].removeprefix("| ")


def chosen(page: str) -> list[str]:
    """The rows to show, in the page's order; a part is shown below its whole."""
    wanted = {(section, name) for section, names in CHOSEN.items() for name in names}
    found: dict[str, None] = {}
    whole = ""
    for section, row in rows(page):
        is_part = name_of(row).startswith(_PART_OF)
        whole = whole if is_part else row
        is_wanted = (section, name_of(row)) in wanted
        wanted.discard((section, name_of(row)))
        if is_wanted or _MISSED.search(row):
            found |= dict.fromkeys((whole, row))
    if wanted:
        raise Missing(f"docs/reference/performance.md has no row {min(wanted)}; choose another in bench/excerpt.py")
    return list(found)


def table(page: str) -> str:
    return "\n".join((f"| {' | '.join(HEADINGS)} |", "|---|---:|---:|---:|---|---|", *chosen(page)))


def filled(readme: str, page: str) -> str:
    """The README with the table made anew."""
    return regions.filled(readme, *REGION, table(page))


def write() -> None:
    text = filled(README.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8"))
    README.write_text(text, encoding="utf-8")
