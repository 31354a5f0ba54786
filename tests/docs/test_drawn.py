"""What pages show a command to print is what it prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dovetail.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("reference/disruption.md", "howto/why-is-this-node-still-here.md", "howto/roll-a-fleet.md")
BLOCK = re.compile(r"^```console\n\$ (?P<command>.*?)\n(?P<shown>.*?)^```", re.MULTILINE | re.DOTALL)
#: A line of its own that stands for what a page leaves out.
LEFT_OUT = "…"


def blocks() -> list[tuple[str, str, str]]:
    return [
        (page, one["command"], one["shown"])
        for page in PAGES
        for one in BLOCK.finditer((ROOT / "docs" / page).read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(("page", "command", "shown"), blocks(), ids=lambda value: str(value)[:60])
def test_a_page_shows_what_its_command_prints(
    page: str, command: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out
    parts = (part.strip("\n") for part in f"\n{shown}".split(f"\n{LEFT_OUT}\n"))
    for part in filter(None, parts):
        _, found, printed = printed.partition(part)
        assert found == part, f"{page}: {command}"


def test_every_page_shows_something() -> None:
    assert {page for page, _, _ in blocks()} == set(PAGES)
