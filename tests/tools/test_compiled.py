"""The planner compiled: which modules, that they can be, and that the program says what it has."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools.compiled import build
from tools.compiled.wheel import CompiledPlanner

#: A small one, and the one by which the program tells what it has.
SOME = (build.ROOM / "levels.py", build.ROOM / "packer.py")
HERE = "import sys, dovetail.core.scheduling.{0} as one; print(one.__file__)"


def test_the_checker_is_not_compiled_with_what_it_checks():
    names = {one.name for one in build.modules()}
    assert {"packer.py", "accept.py", "levels.py"} <= names
    assert not {one for one in names if one.startswith(("check", "__init__"))}


@pytest.mark.parametrize("path", build.modules(), ids=lambda path: path.stem)
def test_a_compiled_module_does_nothing_that_compiled_objects_refuse(path: Path):
    """Copies by `copy`, objects made around their constructor; and a left operand with `__contains__` is taken for the
    right one."""
    for node in ast.walk(ast.parse((build.ROOT / path).read_text(encoding="utf-8"))):
        assert not (isinstance(node, ast.ImportFrom) and node.module == "copy"), "copy"
        assert not (isinstance(node, ast.Attribute) and node.attr == "__new__"), "__new__"
        assert not (isinstance(node, ast.FunctionDef) and node.name == "__contains__"), "__contains__"


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_what_is_compiled_takes_the_place_of_its_source_and_the_program_says_so(tmp_path: Path):
    place = build.tree(tmp_path, SOME)
    names = {one.name.partition(".")[0] for one in build.extensions(place)}
    assert names == {"levels", "packer", "dovetail__mypyc"}
    environment = {**os.environ, "PYTHONPATH": str(place)}

    def said(*command: str) -> str:
        return subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert not said("-c", HERE.format("levels")).strip().endswith(".py")
    assert said("-c", HERE.format("board")).strip() == str(place / "dovetail/core/scheduling/board.py")
    assert json.loads(said("-m", "dovetail.main", "version", "--output", "json"))["planner"] == "compiled"
    made = build.compiled(tmp_path, SOME)
    log = made / "build.log"
    log.unlink()
    assert build.compiled(tmp_path, SOME) == made
    assert not log.exists(), "compiled twice"


def test_where_there_is_no_compiler_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CC", str(tmp_path / "nothing"))
    with pytest.raises(build.CannotCompile, match="no C compiler was found"):
        build.compiled(tmp_path)


def test_a_source_that_does_not_compile_leads_to_what_the_compiler_said(tmp_path: Path):
    with pytest.raises(build.CannotCompile, match=r"build\.log"):
        build.compiled(tmp_path, [Path("src/dovetail/core/not_there.py")])


@pytest.mark.parametrize(("asked", "kind"), [(None, "standard"), ("0", "standard"), ("1", "editable")])
def test_a_wheel_is_for_every_machine_unless_asked_otherwise(
    asked: str | None, kind: str, monkeypatch: pytest.MonkeyPatch
):
    if asked is None:
        monkeypatch.delenv("DOVETAIL_COMPILE", raising=False)
    else:
        monkeypatch.setenv("DOVETAIL_COMPILE", asked)
    build_data: dict[str, Any] = {"pure_python": True, "force_include": {}}
    hook = CompiledPlanner(str(build.ROOT), {}, None, None, "", "wheel")  # type: ignore[arg-type]
    hook.initialize(kind, build_data)
    assert build_data == {"pure_python": True, "force_include": {}}


def test_a_wheel_that_is_asked_for_compiled_carries_every_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shared = tmp_path / "dovetail__mypyc.so"
    monkeypatch.setenv("DOVETAIL_COMPILE", "1")
    monkeypatch.setattr(build, "compiled", lambda: tmp_path)
    monkeypatch.setattr(build, "extensions", lambda place: [shared.relative_to(place)])
    build_data: dict[str, Any] = {"pure_python": True, "force_include": {}}
    hook = CompiledPlanner(str(build.ROOT), {}, None, None, "", "wheel")  # type: ignore[arg-type]
    hook.initialize("standard", build_data)
    assert hook.dependencies() == ["mypy", "setuptools"]
    assert build_data == {"pure_python": False, "infer_tag": True, "force_include": {str(shared): shared.name}}
