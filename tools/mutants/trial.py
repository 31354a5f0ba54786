"""Trying mistakes: a pytest plugin that takes the place of pytest's own loop over the tests.

Tests are collected once. Then one child process runs them all while coverage listens, and hands back which test runs
which line and how long it takes. Every mistake gets a child of its own: the code object of the one function is swapped
for one compiled with the mistake, so that everybody who has imported the function has the mistake too, and the tests
that reach the line run, the likeliest to notice first, until one fails. A child's death is its only trace.

Hypothesis draws few examples, the same each time (`tools.few_examples`): a mistake is noticed or it is not.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import pytest

from .changes import Mistake, tree_with

MEMORY_BYTES = 4 << 30  # a mistake may well ask for everything


@dataclass(frozen=True)
class Patience:
    """How much is spent on one mistake, in seconds of processor time, so that a busy machine changes nothing."""

    slowest_test: float  # a test that takes longer with its few examples is left out
    in_all: float  # of the tests that reach a mistake, quickest first, as many as fit

    def enough(self, ordinary: float) -> float:
        """Tests that take four times as long as they do, and five seconds more, do not end."""
        return 5 + 4 * ordinary


@dataclass(frozen=True)
class Outcome:
    mistake: Mistake
    noticed_by: str  # the test that failed; "time" if they did not end; empty if it survived
    tests: int  # how many reach it

    @property
    def survived(self) -> bool:
        return not self.noticed_by


@dataclass
class Reach:
    """Which test runs which line of which file, and the processor time each test takes."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]
    tests_of: dict[str, Counter[str]] = field(default_factory=dict)  # file → how often a test has noticed

    def tests(self, mistake: Mistake, patience: Patience, last: str) -> list[str]:
        """Those that reach a mistake and can be waited for: the one that noticed it `last` time, those that noticed
        something else in its file, the quickest."""
        lines = self.lines.get(mistake.path, {})
        reached = {test for line in mistake.lines for test in lines.get(line, ())}
        quick = [test for test in reached if self.seconds[test] <= patience.slowest_test]
        noticed = self.tests_of.get(mistake.path, Counter())
        chosen: list[str] = []
        spent = 0.0
        for test in sorted(quick, key=lambda test: (test != last, -noticed[test], self.seconds[test], test)):
            if chosen and spent + self.seconds[test] > patience.in_all:
                continue
            chosen.append(test)
            spent += self.seconds[test]
        return chosen

    def noticed(self, path: str, test: str) -> None:
        self.tests_of.setdefault(path, Counter())[test] += 1


class Trial:
    """The plugin. `tell` hears every outcome as it comes; `memory` is the file for what was learned by listening, and
    which test noticed which mistake in earlier runs, added to in this one."""

    def __init__(
        self,
        root: Path,
        mistakes: list[Mistake],
        patience: Patience,
        memory: tuple[Path, dict[str, str]],
        tell: Callable[[Outcome], None],
    ) -> None:
        self.root = root
        self.kept, self.noticed = memory
        self.mistakes = mistakes
        self.patience = patience
        self.tell = tell
        self.outcomes: list[Outcome] = []
        self.failing: str | None = None
        self.functions: Functions = {}
        self._report: Callable[[pytest.TestReport], None] = lambda report: None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._report(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        reach = self._reach(list(items.values()))
        if self.failing:
            return True
        gc.unfreeze()  # what somebody froze is not listed
        gc.collect()
        self.functions = functions_below(self.root)
        gc.freeze()
        for mistake in self.mistakes:
            tests = reach.tests(mistake, self.patience, self.noticed.get(mistake.name, ""))
            by = (
                self._try(mistake, [items[test] for test in tests], sum(reach.seconds[t] for t in tests))
                if tests
                else ""
            )
            if by in reach.seconds:
                reach.noticed(mistake.path, by)
                self.noticed[mistake.name] = by
            outcome = Outcome(mistake, by, len(tests))
            self.outcomes.append(outcome)
            self.tell(outcome)
        return True

    def _reach(self, items: list[pytest.Item]) -> Reach:
        def listen(write: Callable[[bytes], None]) -> None:
            cov = coverage.Coverage(data_file=None, include=[f"{self.root}/*"], config_file=False)
            seconds: dict[str, float] = {}
            self._report = self._must_pass(write)
            cov.start()
            for item, after in followed(items):
                cov.switch_context(item.nodeid)
                began = time.process_time()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                seconds[item.nodeid] = time.process_time() - began
            cov.stop()
            data = cov.get_data()
            lines = {
                Path(file).relative_to(self.root).as_posix(): data.contexts_by_lineno(file)
                for file in data.measured_files()
            }
            write(json.dumps({"lines": lines, "seconds": seconds}).encode())

        if self.kept.is_file():
            answer = self.kept.read_bytes()
        else:
            _, answer = in_a_child(listen, seconds=None)
        found = json.loads(answer)
        if "failing" in found:
            self.failing = found["failing"]
            return Reach({}, {})
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        self.kept.write_bytes(answer)
        return Reach(
            {path: {int(line): tests for line, tests in lines.items()} for path, lines in found["lines"].items()},
            found["seconds"],
        )

    def _must_pass(self, write: Callable[[bytes], None]) -> Callable[[pytest.TestReport], None]:
        def report(report: pytest.TestReport) -> None:
            if report.failed:
                write(json.dumps({"failing": report.nodeid}).encode())
                os._exit(0)

        return report

    def _try(self, mistake: Mistake, items: list[pytest.Item], ordinary: float) -> str:
        def attempt(write: Callable[[bytes], None]) -> None:
            def report(report: pytest.TestReport) -> None:
                if report.failed:
                    write(report.nodeid.encode())
                    os._exit(0)

            self._report = report
            put_in(self.root, mistake, self.functions)
            for item, after in followed(items):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)

        killed, answer = in_a_child(attempt, seconds=self.patience.enough(ordinary))
        return answer.decode() or ("time" if killed else "")


def followed(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


Functions = dict[tuple[str, str, int], list[FunctionType]]  # by file, qualified name and first line


def functions_below(root: Path) -> Functions:
    """Every function there is in this process that was made from a file below `root`."""
    found: Functions = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(f"{root}/"):
            code = one.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(one)
    return found


def put_in(root: Path, mistake: Mistake, functions: Functions) -> None:
    """Every function made from the code at that place gets the code with the mistake."""
    path = str(root / mistake.path)
    wrong = code_at(compile(tree_with(Path(path).read_text(encoding="utf-8"), mistake), path, "exec"), mistake)
    for one in functions[path, mistake.function, mistake.first_line]:
        one.__code__ = wrong


def code_at(module: CodeType, mistake: Mistake) -> CodeType:
    inside = [module]
    while inside:
        code = inside.pop()
        if (code.co_qualname, code.co_firstlineno) == (mistake.function, mistake.first_line):
            return code
        inside.extend(const for const in code.co_consts if isinstance(const, CodeType))
    raise LookupError(f"{mistake.path} has no {mistake.function} in line {mistake.first_line}")


def in_a_child(work: Callable[[Callable[[bytes], None]], None], seconds: float | None) -> tuple[bool, bytes]:
    """Whether the child had to be ended, and what it wrote before."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        code = 70
        try:
            hush()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            if seconds is not None:
                signal.setitimer(signal.ITIMER_PROF, seconds)
            work(lambda text: _write(writing, text))
            code = 0
        except BaseException:  # noqa: BLE001  whatever it is, it must not go on in the parent's loop
            with suppress(OSError):
                _write(writing, traceback.format_exc().encode())
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError(text.decode())
    return os.WIFSIGNALED(status), text


def hush() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _write(to: int, text: bytes) -> None:
    while text:
        text = text[os.write(to, text) :]
