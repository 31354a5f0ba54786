"""What a process and all it started cost, by /proc: a part that is left to another process is not for nothing."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.measure import MEGABYTE

_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Family:
    """A process and its descendants."""

    pid: int

    def megabytes(self) -> float:
        return sum(_resident(pid) for pid in self._all())

    def cpu_seconds(self) -> float:
        """Of those that run, and of those that ended and were seen off."""
        return sum(sum(int(one) for one in _stat(pid)[11:15]) for pid in self._all()) / _TICKS

    def _all(self) -> Iterator[int]:
        found = [self.pid]
        while found:
            pid = found.pop()
            yield pid
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                found += [int(one) for one in _text(task).split()]


def _text(path: Path) -> str:
    """Nothing, of one that ends while it is looked at."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    return _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def _resident(pid: int) -> float:
    lines = (line.split() for line in _text(Path(f"/proc/{pid}/status")).splitlines())
    return sum(int(words[1]) * 1024 / MEGABYTE for words in lines if words[:1] == ["VmRSS:"])
