"""The links of every page lead to a file, and to a heading where they name one: in the repository as in the book."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tools import book

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/dovetail/data/*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+?)\s*$", re.MULTILINE)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings; of those that are called alike the second has a number."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(book.without_blocks(page.read_text(encoding="utf-8"))):
        name = book.slug(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", ""))
        found.add(name if not seen[name] else f"{name}-{seen[name]}")
        seen[name] += 1
    return frozenset(found)


def astray(page: Path) -> Iterator[str]:
    for path, anchor in LINK.findall(book.without_code(page.read_text(encoding="utf-8"))):
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield path
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            yield f"{path}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert list(astray(page)) == []


def test_a_link_to_a_heading_that_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "one.md"
    page.write_text(
        "# One\n\n## `plan` --now\n\n[a](#plan---now) [b](#plan-now) [c](two.md) [d](one.md#one) `[e](f.md)`\n"
    )
    assert list(astray(page)) == ["#plan-now", "two.md"]
