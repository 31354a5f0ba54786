"""What the documents tell people to type works, and the walk through catalogue and plan comes to its end."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.cli import verbs

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "tutorial/read-the-catalog.md",
    "tutorial/plan-a-cluster.md",
    "howto/import-prices.md",
    "reference/cli.md",
    "reference/iam.md",
    "reference/lint.md",
]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def typed(page: str) -> list[tuple[str, int]]:
    """The commands of a page, each with the exit code it promises."""
    lines = [line for block in BLOCK.findall((ROOT / "docs" / page).read_text()) for line in block.splitlines()]
    found = []
    for line in lines:
        if line.startswith("$ ") and not line.startswith(("$ make", "$ alias")):
            command, _, promise = line[2:].partition("  # exits with ")
            found.append((command, int(promise or 0)))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_a_page_works(dovetail, tmp_path, page):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    for command, code in typed(page):
        if command.startswith("dovetail "):
            ran = dovetail(*shlex.split(command)[1:])
            assert ran.code == code, f"{command}: {ran.err}"
        else:
            subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)


def test_the_reference_knows_every_verb_and_flag(dovetail):
    text = (ROOT / "docs/reference/cli.md").read_text()
    for verb in verbs.VERBS:
        assert " ".join(verb.words) in text
        for flag in set(re.findall(r"--[a-z][a-z-]+", dovetail(*verb.words, "--help").out)):
            assert flag in text, f"{' '.join(verb.words)} {flag} is not in the reference"


def test_the_walk_comes_to_its_end():
    ran = subprocess.run(
        [sys.executable, "-m", "scenarios.walk"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    for word in (
        "m6i.4xlarge",
        "sold out",
        "SPECS SHARED",
        "NodeOverlay family-discount",
        "nodes to buy",
        "pods waiting",
        "Where to go next",
    ):
        assert word in ran.stdout
