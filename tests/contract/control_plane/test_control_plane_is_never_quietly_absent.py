"""Without a control plane a run says so in one line; where it is required the run fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TESTS = """
def test_asks(control_plane):
    pass

def test_asks_too(control_plane):
    pass

def test_does_not_ask():
    pass
"""


def run(tmp_path: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_world.py").write_text(TESTS)
    # An override that lacks everything: the quickest way to have no control plane.
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DOVETAIL_CONTROL_PLANE": str(tmp_path), **environment}
    env.pop("PYTEST_ADDOPTS", None)  # meant for whoever runs this
    env.pop("DOVETAIL_REQUIRE_CONTROL_PLANE", None) if not environment else None
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.control_plane_plugin", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "-p", "no:hypothesispytest", *words, str(tmp_path)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_tests_that_need_it_are_skipped_with_one_line(tmp_path: Path) -> None:
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout
    loud = [line for line in ran.stdout.splitlines() if "SKIPPED" in line]
    assert len(loud) == 1
    assert loud[0].startswith("2 TESTS SKIPPED: no real control plane here: DOVETAIL_CONTROL_PLANE=")
    assert "1 passed, 2 skipped" in ran.stdout


@pytest.mark.parametrize("words", [(), ("-k", "does_not_ask")])
def test_where_it_is_required_a_run_without_it_fails(tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = run(tmp_path, *words, DOVETAIL_REQUIRE_CONTROL_PLANE="1")
    assert ran.returncode == 1, ran.stdout
    assert "no passed test had an answer from a real control plane" in ran.stdout
