"""Hooks of the book that `mkdocs build` makes of docs/ (mkdocs.yml).

Pages are read in the repository as well as in the book, so both must understand the same links:

- Headings get the anchors GitHub gives them.
- A bar in code in a table is escaped, as GitHub wants it, and shown without its escape.
- A link out of docs/, such as to a test or to ARCHITECTURE.md, leads to a copy below `repository/`: a page where it is
  Markdown, plain text where it is anything else. What such a link names and is not there stays as it is, and the strict
  build names it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[1]
COPIES: Final = "repository"
_LINK: Final = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(?=[)#])")
_SPAN: Final = re.compile(r"`[^`\n]+`")
_BLOCK: Final = re.compile(r"^```.*?^```|^(?: {4}[^\n]*\n)+", re.MULTILINE | re.DOTALL)
_ROW: Final = re.compile(r"^\|.*$", re.MULTILINE)


def slug(heading: str, separator: str = "-") -> str:
    """The anchor of a heading, as GitHub makes it: every space a dash, and other signs left out."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def without_blocks(text: str) -> str:
    """A page with blanks where it shows code in blocks; everything else stays where it was."""
    return _BLOCK.sub(lambda one: re.sub(r"[^\n]", " ", one.group()), text)


def without_code(text: str) -> str:
    """A page with blanks where it shows code."""
    return _SPAN.sub(lambda one: " " * len(one.group()), without_blocks(text))


def links(text: str) -> Iterator[re.Match[str]]:
    """Every relative link of a page, but those that are only shown in code."""
    return _LINK.finditer(without_code(text))


def place(repository_path: str) -> str:
    """Where in the book a file of the repository stands."""
    if repository_path.startswith("docs/"):
        return repository_path.removeprefix("docs/")
    plain = "" if repository_path.endswith(".md") else ".txt"
    return f"{COPIES}/{repository_path}{plain}"


def of_repository(src_uri: str) -> str:
    """The file of the repository that a page of the book is."""
    copied = src_uri.removeprefix(f"{COPIES}/")
    return copied if copied != src_uri else f"docs/{src_uri}"


def targets(path: str, text: str) -> Iterator[tuple[re.Match[str], str]]:
    """The links of a page, each with the file of the repository it means."""
    for one in links(text):
        yield one, posixpath.normpath(posixpath.join(posixpath.dirname(path), one.group()))


def unescaped(text: str) -> str:
    """A page with bars in code in its tables as they are meant: Python's Markdown takes none for a column's end."""
    return _ROW.sub(lambda row: _SPAN.sub(lambda one: one.group().replace("\\|", "|"), row.group()), text)


def relinked(path: str, text: str) -> str:
    """A page of the repository with its links as they are in the book."""
    folder = posixpath.dirname(place(path))
    for one, target in reversed(list(targets(path, text))):
        if (ROOT / target).is_file():
            text = f"{text[: one.start()]}{posixpath.relpath(place(target), folder)}{text[one.end() :]}"
    return text


def copied(nav: Any) -> Iterator[str]:
    """The files of the repository outside docs/ that are chapters of the book."""
    if isinstance(nav, str):
        yield from [of_repository(nav)] if nav.startswith(f"{COPIES}/") else []
    elif nav:
        for one in nav.values() if isinstance(nav, dict) else nav:
            yield from copied(one)


# ---- what mkdocs calls


def on_config(config: MkDocsConfig) -> None:
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug


def on_files(files: Files, *, config: MkDocsConfig) -> None:
    """Put beside the pages what they lead to."""
    from mkdocs.structure.files import File, InclusionLevel

    chapters = set(copied(config.nav))
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in chapters}
    texts |= {of_repository(one.src_uri): one.content_string for one in files.documentation_pages()}
    linked = {target for path, text in texts.items() for _, target in targets(path, text)}
    for path in sorted(chapters | linked):
        if not path.startswith(("docs/", "..")) and (ROOT / path).is_file():
            level = InclusionLevel.UNDEFINED if path in chapters else InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, place(path), abs_src_path=str(ROOT / path), inclusion=level))


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    return unescaped(relinked(of_repository(page.file.src_uri), markdown))
