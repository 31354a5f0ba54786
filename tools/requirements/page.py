"""The page: what was asked for, and the tests that prove it.

A citation in a module's docstring counts for every test of the module, one in a class's or test's own for it alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "reference" / "requirements.md"
_WORDING: Final = Path(__file__).with_name("wording.tsv")
_CITED: Final = re.compile(r"(?<![A-Za-z0-9])(?:S([0-4])[._](\d{1,2})|R(\d{1,2}))(?![0-9A-Za-z])")
_NAMED: Final = 3
README: Final = ROOT / "README.md"
REGION: Final = ("requirements", "python -m tools.requirements")
FAMILIES: Final = {
    "S0": "the cache of instance types",
    "S2": "types and allocatable",
    "S3": "capacity reservations",
    "S4": "minValues",
    "R": "Cluster API with spot machines",
}
_HEAD: Final = """# Requirements, and what proves them

<!-- made by python -m tools.requirements -->

Every requirement has a number, and every number is cited by the tests that prove it; a test of the documentation holds
this page to that. S0 is the cache of instance types, S2 types and allocatable, S3 capacity reservations, S4 minValues,
R Cluster API with spot machines.

| number | asked for | proven by, among others |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Test:
    """One test, or one module of them where the module as a whole cites it."""

    file: str
    name: str

    @property
    def words(self) -> str:
        return self.name.removeprefix("test_").replace("_", " ") if self.name else "all of it"


def wording() -> dict[str, str]:
    lines = _WORDING.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if line)


@cache
def citations(folder: Path | None = None) -> dict[str, list[Test]]:
    """By number, who cites it; files and tests in order. All tests are parsed for it, once."""
    found: dict[str, list[Test]] = {}
    root = folder or ROOT / "tests"
    for path in sorted(root.rglob("test_*.py")):
        for number, one in _of_module(path, path.relative_to(root.parent).as_posix()):
            found.setdefault(number, []).append(one)
    return found


def text() -> str:
    cited = citations()
    rows = []
    for number, words in wording().items():
        tests = cited.get(number, [])
        shown = "<br>".join(f"[{one.words}](../../{one.file})" for one in tests[:_NAMED])
        rows.append(f"| {number} | {words} | {shown} |")
    return _HEAD + "\n".join(rows) + "\n"


def summary() -> str:
    """How many there are of each family, and how many are cited: the README's table."""
    cited = citations()
    rows = []
    for family, about in FAMILIES.items():
        numbers = [number for number in wording() if _family(number) == family]
        proven = sum(number in cited for number in numbers)
        rows.append(f"| {family} | {about} | {len(numbers)} | {proven} |")
    total, proven = len(wording()), sum(number in cited for number in wording())
    head = "| | requirements about | asked | proven by a test that cites it |\n|---|---|---:|---:|"
    return "\n".join(
        (head, *rows, f"| all | [each with its tests](docs/reference/requirements.md) | {total} | {proven} |")
    )


def _family(number: str) -> str:
    return number.partition(".")[0] if "." in number else number[:1]


def _of_module(path: Path, file: str) -> Iterator[tuple[str, Test]]:
    module = ast.parse(path.read_text(encoding="utf-8"))
    for number in _numbers(ast.get_docstring(module)):
        yield number, Test(file, "")
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            for number in _numbers(f"{node.name} {ast.get_docstring(node) or ''}"):
                yield number, Test(file, node.name)


def _numbers(words: str | None) -> list[str]:
    found = (f"R{r}" if r else f"S{s}.{n}" for s, n, r in _CITED.findall((words or "").replace("_R", " R")))
    return list(dict.fromkeys(found))
