"""Which tests run, and in which order.

    --fast           the rooms that answer within a minute; it prints what it left out, and why
    --shuffle SEED   files in a random order, and the tests in each; the same seed gives the same order

Tests of one file stay together, on one worker too, so that what a file sets up is set up once; those marked `story`
are chapters that follow from each other and keep their order. Every worker must see the same order, and does: it is a
function of the seed and the tests alone. Of several workers some would be idle at the end if what takes long came late,
so groups come first (`pytest.mark.xdist_group`; those of the control plane take longest), then the rooms of `LONG`.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

TESTS = Path(__file__).resolve().parent

#: What `--fast` leaves out: rooms and files below tests/, and what makes them slow.
SLOW = {
    "live": "whole controllers, through hours of their own time, and on the real control plane",
    "contract": "the promises that both API servers and every cloud keep",
    "clouds": "every cloud's whole list, and its own SDK against a server of ours",
    **dict.fromkeys(("aws_server", "azure_server", "gcp_server"), "the servers that play clouds"),
    "handler": "processes, and servers that play a cloud's metadata",
    "apiserver": "the embedded API server, over its own sockets",
    "bench": "figures, on small clusters",
    "data": "every bundled file, row by row",
    "demo": "the demo, told to its end",
    "docs": "every page, and what is made of the code",
    "shipping": "wheels, built and installed",
    "tools": "tools, run",
    **dict.fromkeys(
        (
            *("cli/test_docs_and_demo.py", "cli/test_conventions.py", "cli/test_plan_machines.py"),
            *("cli/test_plan_buffers_and_disks.py", "cli/test_explain_type.py", "cli/test_install.py"),
            *("cli/test_catalog_export_and_diff.py", "cli/test_catalog_import.py", "api/test_catalog_file.py"),
            *("api/test_cluster_api_read.py", "api/test_crd_manifests.py", "api/test_anonymous.py"),
            *("cli/test_catalog_list.py", "cli/test_catalog_show.py", "cli/test_lint_machines.py"),
            *("cli/test_live_world.py", "cli/test_plan_templates.py", "cli/test_run_aws_missing.py"),
        ),
        "whole commands and whole catalogues, again and again",
    ),
    **dict.fromkeys(
        (
            *("api/test_api_fuzz.py", "api/test_world_fuzz.py", "core/test_resources.py"),
            *("cli/test_plan_fuzz.py", "cli/test_consolidate_fuzz.py", "cli/test_machines_fuzz.py"),
            *("core/test_requirements.py", "core/test_vocabulary.py", "core/handler/test_notices_read.py"),
            *("core/scheduling/test_shelf.py", "core/scheduling/test_mixing.py"),
            *("core/catalog/test_cache_machine.py", "core/scheduling/test_plans_are_valid.py"),
            *("core/disruption/test_disruption_laws.py", "core/disruption/test_footprints.py"),
            *("core/disruption/test_churn.py", "core/disruption/test_again.py", "core/disruption/test_ample.py"),
            *("core/disruption/test_days_with_windows.py", "kube/test_watch_properties.py"),
        ),
        "laws, on thousands of random worlds",
    ),
}

#: Rooms whose files take long, one of them a minute or more; the rest is done by whoever has time left.
LONG = ("live", "shipping", "cli", "demo", "contract", "clouds", "tools")


class ByFile(LoadGroupScheduling):
    """What a worker is given at once: a group, or else a file. xdist's own scheduling gives it single tests, thousands
    of them, and counts them all whenever one is over."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return scope.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling | None:
    if config.option.dist != "loadgroup":
        return None
    config.option.loadscopereorder = False  # it would begin with the files that have most tests
    return ByFile(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("order", "which tests, in which order")
    group.addoption("--fast", action="store_true", help="leave out what takes long, and say what that was")
    group.addoption("--shuffle", type=int, metavar="SEED", help="a random order that SEED brings back")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "story: the tests of this file follow from each other and keep their order")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A room that is left out is not even read: reading tests takes long, too."""
    if not config.option.fast or not collection_path.is_relative_to(TESTS):
        return None
    return True if collection_path.relative_to(TESTS).as_posix() in SLOW else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.fast:
        terminalreporter.write_line("left out, and run by make test:")
        for why in dict.fromkeys(SLOW.values()):
            rooms = ", ".join(room for room in SLOW if SLOW[room] == why)
            terminalreporter.write_line(f"  {rooms}: {why}")


def shuffled(items: Iterable[pytest.Item], seed: int) -> list[pytest.Item]:
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    chance = random.Random(seed)
    order = sorted(files)
    chance.shuffle(order)
    found = []
    for file in order:
        if not any(item.get_closest_marker("story") for item in files[file]):
            files[file].sort(key=lambda item: item.nodeid)
            chance.shuffle(files[file])
        found += files[file]
    return found


def long_first(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Groups, then rooms that take long, then the rest; among their like they keep their order."""

    def place(item: pytest.Item) -> int:
        if item.get_closest_marker("xdist_group") is not None:
            return -1
        room = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        return LONG.index(room) if room in LONG else len(LONG)

    return sorted(items, key=place)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.shuffle is not None:
        items[:] = shuffled(items, config.option.shuffle)
    if getattr(config.option, "loadgroup", False):  # what a worker has of --dist
        items[:] = long_first(items)


def pytest_collection_finish() -> None:
    """Eleven thousand tests stay in memory to the end; the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
