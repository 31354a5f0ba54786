"""What pages of docs/reference say of the code, it says itself: parts that are made are fresh, the rest is compared."""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from pathlib import Path

import pytest
from tools.reference import flags, marks, pages, reasons

from dovetail import settings
from dovetail.api import price_book
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.handler.policy import RESPONSES
from dovetail.core.scheduling.obstacles import Obstacle

ROOT = Path(__file__).resolve().parents[2]
#: Flags of every verb.
SETTINGS = {"--no-color", "--feature-gates", "--debug"}
SOURCES = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src/dovetail").rglob("*.py")}


def page(name: str) -> str:
    return (pages.FOLDER / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    return re.split(r"^#+ ", text.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every row of every table, headings left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line, after in zip(lines, [*lines[1:], ""], strict=True)
        if not line.startswith("|---") and not after.startswith("|---")
    ]


@pytest.mark.parametrize("name", sorted(pages.PAGES))
def test_what_is_made_of_a_page_is_fresh(name: str) -> None:
    assert pages.made(name, page(name)) == page(name), "run make manifests"


@pytest.mark.parametrize("name", sorted(path.name for path in pages.FOLDER.glob("*.md")))
def test_a_page_has_the_marks_of_what_is_made_and_no_others(name: str) -> None:
    assert sorted(marks.marked(page(name))) == sorted(pages.PAGES.get(name, {}))


def test_a_variable_in_a_flags_help_becomes_a_column() -> None:
    by_flag = {flag: (variable, means) for flag, variable, means in _rows_of("run")}
    assert by_flag["`--log-level LEVEL`"] == ("`LOG_LEVEL`", "debug, info, warn or error (info)")
    overhead = by_flag["`--vm-memory-overhead-percent SHARE`"]
    assert overhead[0] == "`VM_MEMORY_OVERHEAD_PERCENT`"
    assert overhead[1].endswith("(less of larger ones)")
    assert by_flag["`--context NAME`"][0] == ""


def _rows_of(verb: str) -> list[flags.Row]:
    (found,) = (one for one in flags.verbs.VERBS if one.words == (verb,))
    return [row for group in flags.groups(found).values() for row in group]


@pytest.mark.parametrize("kind", [Code, Obstacle, Reason])
def test_every_reason_is_explained(kind: type[StrEnum]) -> None:
    said = list(reasons.words(kind))
    assert [one.member for one in said] == list(kind)
    assert all(one.means for one in said)


@pytest.mark.parametrize("kind", [Code, Obstacle, Reason])
def test_every_reason_is_given_somewhere(kind: type[StrEnum]) -> None:
    named = {
        node.attr
        for text in SOURCES.values()
        if f"{kind.__name__}." in text
        for outer in ast.walk(ast.parse(text))
        if isinstance(outer, ast.Call | ast.Return | ast.Tuple)
        for node in ast.iter_child_nodes(outer)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == kind.__name__
    }
    assert {one.name for one in kind} - named == set()


def test_gates_are_those_there_are_with_their_defaults() -> None:
    told = {row[0].strip("`"): row[1] for row in rows(section(page("settings.md"), "Gates"))}
    assert told == {name: str(on).lower() for name, on in settings.GATES.items()}


def test_every_variable_that_is_read_is_described() -> None:
    text = "".join(text for path, text in SOURCES.items() if path.parent.name == "settings")
    read = {*re.findall(r'\.get\("([A-Z][A-Z_]+)"', text), *re.findall(r'Option\(\s*"[^"]+",\s*"([A-Z_]+)"', text)}
    told = set(re.findall(r"`\$?([A-Z][A-Z_]+)", page("settings.md") + page("cli.md")))
    assert len(read) > 50
    assert read - told == set()


def test_fields_of_a_kubelet_block_are_those_that_are_read() -> None:
    (source,) = (text for path, text in SOURCES.items() if path.parts[-2:] == ("core", "kubelet.py"))
    told = set(
        re.findall(r"`([a-zA-Z]+)", " ".join(row[0] for row in rows(section(page("settings.md"), "The kubelet block"))))
    )
    assert set(re.findall(r'wire\.get\("(\w+)"\)', source)) - told == set()


def test_flags_of_the_embedded_server_are_those_there_are() -> None:
    before = page("embedded-server.md").split("## In tests")[0]
    told = {name for row in rows(before) for name in re.findall(r"--[a-z-]+", row[0])}
    assert told == {name for flag, _, _ in _rows_of("apiserver") for name in re.findall(r"--[a-z-]+", flag)} - SETTINGS


def test_the_handler_does_by_default_what_its_page_says() -> None:
    told = {row[0].strip("`"): row[2].split(",")[0] for row in rows(section(page("handler.md"), "What follows"))[:5]}
    assert told == {str(kind): does.name.lower() for kind, does in RESPONSES.items()}


def test_columns_of_a_price_book_are_those_that_are_read() -> None:
    told = {
        name for row in rows(section(page("settings.md"), "Price books")) for name in re.findall(r"`(\w+)`", row[0])
    }
    assert told == set(price_book.COLUMNS)


def test_every_name_of_our_own_domain_is_described() -> None:
    named = {name for text in SOURCES.values() for name in re.findall(r"\bdovetail\.dev/[a-z-]*[a-z]", text)}
    told = set(re.findall(r"`(dovetail\.dev/[a-z-]*[a-z])", page("marks.md")))
    assert named == told
