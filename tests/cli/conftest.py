"""The command, run in process, far from the user's own prices and terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from tests.listings import load_once

from dovetail.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("NO_COLOR", "COLUMNS", "FEATURE_GATES", "VM_MEMORY_OVERHEAD_PERCENT", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOVETAIL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def dovetail(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    monkeypatch.setattr("dovetail.clouds.load.load", load_once)

    def run(*words: str, stdin: str | None = None) -> Ran:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = main(words)
        out, err = capsys.readouterr()
        return Ran(int(code), out, err)

    return run


@pytest.fixture
def world(tmp_path: Path) -> Callable[..., str]:
    """Write objects to a file and give its name."""

    def write(*objects: dict, name: str = "world.yaml") -> str:
        (tmp_path / name).write_text(yaml.safe_dump_all(objects))
        return name

    return write
