"""What `make dist` builds installs into an empty environment, and the program runs from there."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tools.sbom.needed import ROOT, project

#: One worker builds, for all of them.
pytestmark = pytest.mark.xdist_group("shipping")


def run(*words: str | Path, cwd: Path) -> str:
    """What a command printed. Nothing of this checkout is on its path."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ran = subprocess.run(
        [str(one) for one in words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{words}: {ran.stdout}{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


def the_wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def the_sdist(built: Path) -> Path:
    (found,) = built.glob("*.tar.gz")
    return found


def installed(artefact: str, place: Path, *how: str) -> Path:
    """An environment with nothing in it but this and what it needs; the folder of its programs."""
    run(sys.executable, "-m", "venv", "--without-pip", place, cwd=place.parent)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", place / "bin/python")
    run(*pip, "install", "--no-compile", "-c", ROOT / "constraints.txt", *how, artefact, cwd=place.parent)
    return place / "bin"


def test_the_wheel_has_the_program_its_data_and_its_licence_and_nothing_else(built: Path) -> None:
    names = zipfile.ZipFile(the_wheel(built)).namelist()
    assert {name.split("/")[0] for name in names} == {"dovetail", f"dovetail-{project().version}.dist-info"}
    assert {"dovetail/py.typed", "dovetail/data/manifest.json", "dovetail/demo/shop.yaml"} <= set(names)
    assert sorted(Path(name).name for name in names if "/licenses/" in name) == ["LICENSE", "NOTICE"]
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_sdist_makes_the_same_wheel(built: Path, tmp_path: Path) -> None:
    with tarfile.open(the_sdist(built)) as packed:
        packed.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist", cwd=source)
    again = zipfile.ZipFile(the_wheel(tmp_path / "dist"))
    first = zipfile.ZipFile(the_wheel(built))
    assert {name: again.read(name) for name in again.namelist()} == {
        name: first.read(name) for name in first.namelist()
    }


def test_the_sdist_has_what_make_needs(built: Path) -> None:
    with tarfile.open(the_sdist(built)) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"Makefile", "pyproject.toml", "constraints.txt", "mkdocs.yml", "LICENSE", "CHANGELOG.md"} <= names


def test_the_wheel_runs_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    programs = installed(f"{the_wheel(built)}[apiserver]", tmp_path / "empty")
    assert run(programs / "dovetail", "version", cwd=tmp_path).startswith(f"dovetail {project().version}")
    assert "m6i.4xlarge" in run(programs / "dovetail", "catalog", "list", "--cloud", "aws", cwd=tmp_path)
    assert "0 left; 0 pods lost" in run(programs / "dovetail", "demo", cwd=tmp_path)


def test_the_sdist_installs_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    """What it needs besides is what the wheel needs: they are the same, above."""
    programs = installed(str(the_sdist(built)), tmp_path / "empty", "--no-deps")
    assert run(programs / "python", "-c", "import dovetail; print(dovetail.__version__)", cwd=tmp_path).strip() == (
        project().version
    )
