"""ARCHITECTURE.md describes the house that stands: rooms, names and arrows are those of the code."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/dovetail"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PICTURE = PAGE.split("    src/dovetail/\n", 1)[1].split("\n## ", 1)[0]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
NAME = re.compile(r"[A-Za-z_][\w/]*(?:\.[A-Za-z_]\w*)*")
#: In code type, and no name of ours: a field of Cluster API's.
OTHER_WORDS = {"bootstrap.configRef"}


@cache
def modules() -> dict[str, Path]:
    """Every module and package of the source, by its path from the house's door, with dots."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def members(path: Path) -> dict[str, ast.stmt]:
    return dict(_members(ast.parse(path.read_text(encoding="utf-8")).body))


def _members(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    for one in body:
        match one:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, one
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, one
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name, one


def is_member(path: Path, names: list[str]) -> bool:
    """Whether a module has such a function or class, and that such a method or field, and so on."""
    within = members(path)
    for name in names:
        if name not in within:
            return False
        inner = within[name]
        within = dict(_members(inner.body)) if isinstance(inner, ast.ClassDef) else {}
    return True


def exists(name: str) -> bool:
    """A file or folder of the repository; or the end of a module's path, perhaps with a member of it; or a member of
    some module."""
    if (ROOT / name).exists() or (SOURCE / name).exists():
        return True
    words = name.replace("/", ".").split(".")
    for cut in range(len(words), -1, -1):
        ending = ".".join(words[:cut])
        for module, path in modules().items():
            is_meant = not ending or module == ending or module.endswith(f".{ending}")
            if is_meant and is_member(path, words[cut:]):
                return True
    return False


def named(text: str) -> list[str]:
    """What stands in code type and could be a name: without arguments, and without what is no name at all."""
    found = (re.sub(r"<(cloud|name)>", "aws", one.split("(")[0]) for one in re.findall(r"`([^`\n]+)`", text))
    return [one for one in dict.fromkeys(found) if NAME.fullmatch(one)]


def test_a_name_that_is_nowhere_is_found():
    assert exists("core/scheduling/solve.solve")
    assert exists("provisioning.Provisioner.once")
    assert exists("Snapshot")
    assert not exists("core/scheduling/solve.resolve")
    assert not exists("provisioning.Provisioner.twice")
    assert not exists("core/planning")


@pytest.mark.parametrize("name", named(PAGE))
def test_every_name_of_the_page_is_one_of_the_code(name: str):
    assert name in OTHER_WORDS or exists(name)


#: What `tools.covered` and `tools.mutants` write are tables of files, checked where they are made.
MADE = ("coverage.md", "mutants.md")
REASONS = sorted(page for page in (ROOT / "docs/why").glob("*.md") if page.name not in MADE)


@pytest.mark.parametrize("page", REASONS, ids=lambda page: page.name)
def test_modules_that_the_reasons_speak_of_are_there(page: Path):
    """Names that begin with a room or a module; most others in code type there are fields of objects."""
    rooms = {part for name in modules() for part in name.split(".")}
    found = [one for one in named(page.read_text(encoding="utf-8")) if re.split(r"[/.]", one)[0] in rooms]
    assert [one for one in found if one not in OTHER_WORDS and not exists(one)] == []


def children(folder: Path) -> set[str]:
    """Packages and modules of a folder, caches and data left out."""
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    return packages | {path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")}


@pytest.mark.parametrize("folder", ["", "core"])
def test_every_room_is_in_the_picture(folder: str):
    shown = set(re.findall(r"[a-z_]+", PICTURE))
    assert children(SOURCE / folder) - shown == set()


@pytest.mark.parametrize("folder", ["src/dovetail/api", "src/dovetail/clouds", "src/dovetail/controllers", "tools"])
def test_every_folder_of_a_large_room_is_in_the_picture(folder: str):
    shown = set(re.findall(r"([a-z_]+)/", PICTURE))
    assert {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")} - shown == set()


def test_every_room_of_the_picture_is_there():
    shown = dict.fromkeys(re.findall(r"(?<![\w/])([a-z_]+(?:/[a-z_]+)*)/", PICTURE))
    assert [one for one in shown if not exists(one)] == []


def layers(text: str) -> list[set[str]]:
    return [{room.strip() for room in layer.split("|")} for layer in text.split("→")]


@pytest.mark.parametrize(
    ("container", "start"), [("", "main"), (".core", "core: "), (".core.catalog", "core/catalog: ")]
)
def test_arrows_of_the_picture_are_the_contracts(container: str, start: str):
    drawn = re.search(rf"^    {start}.*(?:\n        →.*)*", PAGE, re.MULTILINE)
    assert drawn is not None
    (held,) = (one for one in CONTRACTS if one.get("containers") == [f"dovetail{container}"])
    picture = drawn.group().split(": ")[-1] if ":" in start else drawn.group()
    assert layers(picture) == [layers(layer)[0] for layer in held["layers"]]
