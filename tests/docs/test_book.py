"""The book is built strictly: what leads nowhere fails, and pages read the same in the repository and in the book."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import markdown
import pytest
import yaml
from markdown_it import MarkdownIt

from tools import book

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *(ROOT / name for name in book.copied(SETTINGS["nav"]))])
FIRST = "# One\n\n## First steps\n\n"


def built(folder: Path, **pages: str) -> subprocess.CompletedProcess[str]:
    """A book of a few pages, under the very settings of ours. The page `lost` stands in no chapter."""
    (folder / "docs").mkdir()
    for name, text in pages.items():
        (folder / "docs" / f"{name}.md").write_text(text, encoding="utf-8")
    nav = [f"{name}.md" for name in pages if name != "lost"]
    settings = SETTINGS | {"nav": nav, "hooks": [str(ROOT / "tools/book.py")], "site_dir": "site"}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ)


def test_a_book_whose_links_lead_somewhere_is_built(tmp_path: Path) -> None:
    ran = built(
        tmp_path, index=f"{FIRST}[here](#first-steps), [there](two.md#plan---now)\n", two="# Two\n\n## plan --now\n"
    )
    assert ran.returncode == 0, ran.stderr
    assert 'href="two.html#plan---now"' in (tmp_path / "site/index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("[a](#second-steps)", "no such anchor"),
        ("[a](two.md#first-steps)", "does not contain an anchor"),
        ("[a](three.md)", "not found among documentation files"),
        ("[a](../no-such-file.py)", "not found among documentation files"),
        ("[a](/two.md)", "absolute link"),
    ],
)
def test_a_link_that_leads_nowhere_fails(tmp_path: Path, link: str, told: str) -> None:
    ran = built(tmp_path, index=FIRST + link, two="# Two\n")
    assert ran.returncode == 1
    assert told in ran.stderr


def test_a_page_that_stands_in_no_chapter_fails(tmp_path: Path) -> None:
    ran = built(tmp_path, index=FIRST, lost="# Lost\n")
    assert ran.returncode == 1
    assert "not included in the" in ran.stderr


def test_the_book_asks_nobody_else_for_anything(tmp_path: Path) -> None:
    assert built(tmp_path, index=FIRST).returncode == 0
    page = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|<link[^>]* href)="https?:[^"]*"', page)


def test_a_link_out_of_the_docs_leads_to_a_copy() -> None:
    text = (
        "[the house](../../ARCHITECTURE.md#the-arrows), [a test](../../tests/docs/test_book.py), `[x](../../README.md)`"
    )
    assert book.relinked("docs/why/scheduler.md", text) == (
        "[the house](../repository/ARCHITECTURE.md#the-arrows), [a test](../repository/tests/docs/test_book.py.txt), "
        "`[x](../../README.md)`"
    )


def test_a_link_into_the_docs_leads_to_the_page() -> None:
    text = "[why](docs/why/scheduler.md) [gone](docs/why/gone.md)"
    assert book.relinked("ARCHITECTURE.md", text) == "[why](../why/scheduler.md) [gone](docs/why/gone.md)"


def test_the_front_door_leads_to_every_page() -> None:
    linked = {
        target for _, target in book.targets("docs/index.md", (ROOT / "docs/index.md").read_text(encoding="utf-8"))
    }
    assert {path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*/*.md")} - linked == set()


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("docs/howto/*.md"), *ROOT.glob("docs/tutorial/*.md")]), ids=lambda page: page.stem
)
def test_a_task_or_lesson_ends_with_where_to_go_next(page: Path) -> None:
    last = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[-1]
    assert last.startswith("Next\n")
    assert list(book.links(last))


class Seen(HTMLParser):
    """What a reader sees: how many of each element, and the words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.text: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def words(self) -> str:
        """Without blanks, which mean nothing here."""
        return re.sub(r"\s", "", "".join(self.text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_reads_the_same_in_the_repository_and_in_the_book(page: Path) -> None:
    """As GitHub's dialect of Markdown has it, and as Python's: they differ over lists, bars and blank lines."""
    text = page.read_text(encoding="utf-8")
    there = Seen(MarkdownIt("commonmark").enable("table").render(text))
    here = Seen(markdown.markdown(book.unescaped(text), extensions=["toc", "tables", "fenced_code"]))
    assert here.words == there.words
    kinds = ("h1", "h2", "h3", "p", "ul", "ol", "li", "table", "tr", "td", "pre", "code", "em", "strong", "a", "img")
    assert {kind: here.elements[kind] for kind in kinds} == {kind: there.elements[kind] for kind in kinds}
