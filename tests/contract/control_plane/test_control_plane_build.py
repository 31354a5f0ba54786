"""The build: once for each recipe, never half, and by one process at a time. A script stands in for Go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.control_plane import build
from tools.control_plane.find import find_cluster_api, find_peer
from tools.control_plane.programs import MANAGER, PEER, PROGRAMS, NoControlPlane, Programs, given

GO = """#!/bin/sh
echo "$@" >> {log}
echo "with $GOTOOLCHAIN: $1" >> {log}
case "$1" in
  env) echo '{{"GOVERSION": "{version}", "GOOS": "linux", "GOARCH": "amd64", "CGO_ENABLED": "0"}}' ;;
  list)
    case "$2" in
      -m) echo {module} ;;
      *) echo an/early/package; echo a/late/package ;;
    esac ;;
  build)
    echo an/early/package >&2
    {fail}
    while [ "$1" != "-o" ]; do shift; done
    into=$2; shift 2
    for package in "$@"; do
      name=$(basename "${{package%/v3}}")
      echo "#!/bin/sh" > "$into$name"; chmod +x "$into$name"
    done ;;
esac
"""


class FakeGo:
    """A Go that compiles in no time, and writes down what it was asked."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = root / "go.log"
        self._script = root / "bin" / "go"
        self._module = root / "kwok"
        self._script.parent.mkdir()
        recipes = (build.CONTROL_PLANE, build.MANAGER_RECIPE, build.PEER_RECIPE)
        for folder in {one.folder for recipe in recipes for one in recipe.taken}:
            (self._module / folder).mkdir(parents=True)
            (self._module / folder / "kustomization.yaml").write_text("no manifest")
            (self._module / folder / f"{folder.replace('/', '-')}.yaml").write_text("kind: Stage")
        self.is_version("go1.26.0")
        monkeypatch.setenv("PATH", f"{self._script.parent}:/usr/bin:/bin")

    def is_version(self, version: str, fail: str = ":") -> None:
        self._script.write_text(GO.format(log=self.log, version=version, module=self._module, fail=fail))
        self._script.chmod(0o755)

    def builds(self) -> int:
        return sum(line.startswith("build ") for line in self.log.read_text().splitlines())


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    return FakeGo(tmp_path, monkeypatch)


def quiet(line: str) -> None:
    """Progress nobody reads."""


def test_a_build_makes_every_program_and_takes_kwoks_manifests(go: FakeGo, tmp_path: Path) -> None:
    programs = build.build(say=quiet, root=tmp_path / "cache")
    assert programs.missing() == []
    assert len(list((programs.kwok_files / "stages").glob("*.yaml"))) == len(build.KWOK_STAGES)
    assert not list(programs.kwok_files.rglob("kustomization.yaml"))


def test_cluster_apis_manager_is_made_apart_with_its_definitions_rights_and_webhooks(
    go: FakeGo, tmp_path: Path
) -> None:
    plane = build.build(say=quiet, root=tmp_path / "cache")
    manager = build.build(build.MANAGER_RECIPE, quiet, tmp_path / "cache")
    assert manager.directory != plane.directory
    assert manager.path(MANAGER).exists()
    found = {one.name for one in manager.cluster_api_files.iterdir() if list(one.glob("*.yaml"))}
    assert found == {"crds", "rights", "webhooks"}
    assert go.builds() == 2


def test_a_build_says_how_far_it_is(go: FakeGo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(build, "PROGRESS_SECONDS", 0.0)
    build.build(say=said.append, root=tmp_path / "cache")
    assert any(line.startswith("1 of at most 2 packages, at ") for line in said)


def test_karpenter_is_made_apart_with_its_definitions_and_its_chart(go: FakeGo, tmp_path: Path) -> None:
    peer = build.build(build.PEER_RECIPE, quiet, tmp_path / "cache")
    assert peer.path(PEER).exists()
    crds = {one.name for one in (peer.karpenter_files / "crds").glob("*.yaml")}
    assert len(crds) == len(build.KARPENTER_CRDS)
    assert list((peer.karpenter_files / "chart").glob("*.yaml"))
    assert go.builds() == 1


def test_a_go_that_is_too_old_may_fetch_the_one_a_module_asks_for(
    go: FakeGo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOTOOLCHAIN", "local")
    build.build(build.PEER_RECIPE, quiet, tmp_path / "cache")
    assert {"with auto: env", "with auto: build"} <= set(go.log.read_text().splitlines())


@pytest.mark.parametrize(("find", "program"), [(find_cluster_api, MANAGER), (find_peer, PEER)])
def test_what_lies_beside_the_programs_somebody_named_is_taken(
    find: Callable[[dict[str, str]], Programs], program: str, tmp_path: Path
) -> None:
    directory = complete(tmp_path / "mine")
    (directory / program).write_text("")
    (directory / program).chmod(0o755)
    assert find({"DOVETAIL_CONTROL_PLANE": str(directory)}) == Programs(directory)


def test_a_second_build_finds_the_first(go: FakeGo, tmp_path: Path) -> None:
    first = build.build(say=quiet, root=tmp_path / "cache")
    assert build.build(say=quiet, root=tmp_path / "cache") == first
    assert go.builds() == 1


def test_another_go_is_another_build(go: FakeGo, tmp_path: Path) -> None:
    first = build.build(say=quiet, root=tmp_path / "cache")
    go.is_version("go1.27.0")
    assert build.build(say=quiet, root=tmp_path / "cache") != first


def test_another_lock_file_is_another_build(go: FakeGo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build.recipe_hash(build.Go.find())
    changed = tmp_path / "changed"
    changed.mkdir()
    for name in ("go.mod", "go.sum"):
        (changed / name).write_text((build.SOURCES / name).read_text() + "\n")
    monkeypatch.setattr(build, "SOURCES", changed)
    assert build.recipe_hash(build.Go.find()) != before


def test_a_failed_build_publishes_nothing_and_says_what_go_said(go: FakeGo, tmp_path: Path) -> None:
    go.is_version("go1.26.0", fail="echo 'out of luck' >&2; yes a/late/package | head -50 >&2; exit 1")
    with pytest.raises(NoControlPlane, match=r"failed:\nout of luck$"):
        build.build(say=quiet, root=tmp_path / "cache")
    go.is_version("go1.26.0")
    assert build.build(say=quiet, root=tmp_path / "cache").missing() == []


def test_two_builds_at_once_compile_once(go: FakeGo, tmp_path: Path) -> None:
    made: list[Programs] = []
    builders = [
        threading.Thread(target=lambda: made.append(build.build(say=quiet, root=tmp_path / "cache"))) for _ in range(3)
    ]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert len(made) == 3
    assert go.builds() == 1


def test_without_go_there_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoControlPlane, match="no Go on PATH"):
        build.build(say=quiet, root=tmp_path / "cache")


def complete(directory: Path) -> Path:
    directory.mkdir()
    for program in PROGRAMS:
        (directory / program.name).write_text("")
        (directory / program.name).chmod(0o755)
    return directory


def test_a_named_directory_is_used_as_it_is(tmp_path: Path) -> None:
    directory = complete(tmp_path / "mine")
    assert given({"DOVETAIL_CONTROL_PLANE": str(directory), "KUBEBUILDER_ASSETS": "/other"}) == Programs(directory)
    assert given({"KUBEBUILDER_ASSETS": str(directory)}) == Programs(directory)
    assert given({}) is None


def test_an_incomplete_directory_is_an_error_only_when_it_was_named_for_us(tmp_path: Path) -> None:
    directory = complete(tmp_path / "partial")
    (directory / "kube-scheduler").unlink()
    with pytest.raises(NoControlPlane, match="lacks kube-scheduler"):
        given({"DOVETAIL_CONTROL_PLANE": str(directory)})
    assert given({"KUBEBUILDER_ASSETS": str(directory)}) is None
