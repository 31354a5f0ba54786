"""The real control plane for whoever asks: started once by a worker, and never quietly absent.

A test asks with the `control_plane` fixture. Such tests form three groups, those that ask much and, under `live`, two
that wait much, so that of several workers (`--dist loadgroup`) three have one of them and start their own; without
groups every worker that needs one does. Where it cannot be had they are skipped and the run says so in one line; with
DOVETAIL_REQUIRE_CONTROL_PLANE=1 they fail instead, and so does a run in which no test passed that had an answer.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from tools.control_plane.find import find, find_cluster_api
from tools.control_plane.processes import Identity
from tools.control_plane.programs import NoControlPlane
from tools.control_plane.start import ControlPlane

REQUIRE = "DOVETAIL_REQUIRE_CONTROL_PLANE"
GROUP = "control-plane"
LIVE_GROUP = "control-plane-live"
#: Files whose tests have Cluster API's kinds say so: `pytestmark = pytest.mark.xdist_group(MACHINES_GROUP)`.
MACHINES_GROUP = "control-plane-machines"
EVIDENCE = "control-plane-version"
ABSENT = "no real control plane here"
LOGS = Path(__file__).resolve().parents[1] / "build" / "control-plane"

#: What this process has started.
STARTED: list[ControlPlane] = []
USED = pytest.StashKey[set[str]]()
SKIPPED = pytest.StashKey[list[str]]()


def required() -> bool:
    return os.environ.get(REQUIRE, "") not in ("", "0")


def _log_directory() -> Path:
    """One for each running process; those of earlier ones go."""
    for old in LOGS.glob("*"):
        if old.name.isdigit() and Identity.of(int(old.name)) is None:
            shutil.rmtree(old, ignore_errors=True)
    return LOGS / str(os.getpid())


@pytest.fixture(scope="session")
def shared_control_plane() -> Iterator[ControlPlane]:
    try:
        control_plane = ControlPlane(find(os.environ), logs=_log_directory()).start()
    except NoControlPlane as reason:
        absent(reason)
    STARTED.append(control_plane)
    yield control_plane
    control_plane.stop()


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One with Cluster API's own manager, apart from the other: its definitions and ours have the same names."""
    try:
        manager = find_cluster_api(os.environ)
        plane = ControlPlane(find(os.environ), logs=tmp_path_factory.mktemp("upstream")).start()
    except NoControlPlane as reason:
        absent(reason)
    STARTED.append(plane)
    try:
        plane.start_cluster_api(manager)
        yield plane
        assert plane.fallen() == []
    finally:
        plane.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """A worker that has done all of a group never comes back to it; what runs on would take others' time."""
    yield
    group = _group(item)
    grouped = group is not None and getattr(item.config.option, "loadgroup", False)
    if grouped and (nextitem is None or _group(nextitem) != group):
        while STARTED:
            STARTED.pop().stop()


def _group(item: pytest.Item) -> object:
    marked = item.get_closest_marker("xdist_group")
    return marked.args[0] if marked is not None else None


def absent(reason: NoControlPlane) -> NoReturn:
    """Skip, or fail where it must be there."""
    if required():
        pytest.fail(f"{ABSENT}, and {REQUIRE} is set: {reason}", pytrace=False)
    pytest.skip(f"{ABSENT}: {reason}")


@pytest.fixture
def control_plane(shared_control_plane: ControlPlane, request: pytest.FixtureRequest) -> ControlPlane:
    """A real control plane, shared by the whole run: use namespaces and names of your own."""
    assert shared_control_plane.fallen() == [], f"see {shared_control_plane.logs}"
    version = shared_control_plane.admin.request("GET", "/version")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "this process")
    request.node.user_properties.append((EVIDENCE, f"{version['gitVersion']} in {worker}"))
    return shared_control_plane


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group(name): tests that one worker runs")
    config.stash[USED] = set()
    config.stash[SKIPPED] = []
    config.pluginmanager.register(Witness(config))


def pytest_itemcollected(item: pytest.Item) -> None:
    # Not in pytest_collection_modifyitems: there the workers have read the groups already.
    if "shared_control_plane" in getattr(item, "fixturenames", ()) and item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(LIVE_GROUP if "live" in item.path.parts else GROUP))


class Witness:
    """Sees every report, its own process's or a worker's."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._config.stash[USED] |= {str(value) for name, value in report.user_properties if name == EVIDENCE}
        if report.skipped and isinstance(report.longrepr, tuple) and ABSENT in report.longrepr[2]:
            self._config.stash[SKIPPED].append(report.longrepr[2].removeprefix("Skipped: "))


def _missed(config: pytest.Config) -> bool:
    worker = hasattr(config, "workerinput")
    return required() and not worker and not config.option.collectonly and not config.stash[USED]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _missed(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if skipped := config.stash[SKIPPED]:
        terminalreporter.write_line(f"{len(skipped)} TESTS SKIPPED: {skipped[0].splitlines()[0]}", red=True, bold=True)
    if len(config.stash[USED]) > len((GROUP, LIVE_GROUP, MACHINES_GROUP)):
        # Correct but wasteful. `--dist loadgroup` does nothing with pytest 9.2 and pytest-xdist 3.8.
        owners = ", ".join(sorted(config.stash[USED]))
        terminalreporter.write_line(f"every worker started a control plane of its own: {owners}", yellow=True)
    if _missed(config):
        line = f"FAILED: {REQUIRE} is set, and no passed test had an answer from a real control plane"
        terminalreporter.write_line(line, red=True, bold=True)
