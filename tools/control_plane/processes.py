"""Processes known by id *and* start time: an id alone may have passed to a stranger since.

Each control plane writes down what it runs in a file of its own directory. When a test run is killed outright, the
next start reads what was left (`sweep`), ends those processes that are still the ones written down, and removes the
directory.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

RECORD: Final = "processes.json"
PREFIX: Final = "dovetail-control-plane-"


@dataclass(frozen=True, slots=True)
class Identity:
    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        started = _start_time(pid)
        return cls(pid, started) if started else None

    def alive(self) -> bool:
        return _start_time(self.pid) == self.started

    def signal(self, number: signal.Signals) -> None:
        if self.alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def _start_time(pid: int) -> str:
    """When the process began, in whatever the system counts; empty when there is none, or only its corpse."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in "ZX" else fields[19]
    ran = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], check=False, capture_output=True, text=True)
    return ran.stdout.strip()


class Running:
    """One program we started, its log beside it."""

    def __init__(self, name: str, command: list[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as out:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,  # a Ctrl-C in the terminal is ours to hand on, in order
            )
        self.identity = Identity.of(self._popen.pid) or Identity(self._popen.pid, "")

    def ended(self) -> bool:
        return self._popen.poll() is not None

    def stop(self, *, patience: float = 10.0, kill: bool = False) -> None:
        """Ask, wait, and if need be insist."""
        if self.ended():
            return
        self.identity.signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            self._popen.wait(patience)
        except subprocess.TimeoutExpired:
            self.identity.signal(signal.SIGKILL)
            self._popen.wait()  # nobody can ignore this one; on a busy machine it may take a while

    def last_words(self, lines: int = 15) -> str:
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def write_record(directory: Path, identities: list[Identity]) -> None:
    owner = Identity.of(os.getpid())
    record = {"owner": asdict(owner) if owner else None, "processes": [asdict(one) for one in identities]}
    fresh = directory / f"{RECORD}.new"
    fresh.write_text(json.dumps(record), encoding="utf-8")
    fresh.replace(directory / RECORD)


def sweep(parent: Path) -> list[Path]:
    """End what control planes of dead owners left running under `parent`; returns the directories removed."""
    removed = []
    for record in sorted(parent.glob(f"{PREFIX}*/{RECORD}")):
        with suppress(OSError, ValueError, KeyError, TypeError):  # another's, or half written: leave it alone
            written = json.loads(record.read_text(encoding="utf-8"))
            if record.stat().st_uid != os.getuid() or Identity(**written["owner"]).alive():
                continue
            _end_all([Identity(**one) for one in written["processes"]])
            shutil.rmtree(record.parent, ignore_errors=True)
            removed.append(record.parent)
    return removed


def _end_all(identities: list[Identity]) -> None:
    for identity in reversed(identities):
        identity.signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while any(identity.alive() for identity in identities) and time.monotonic() < deadline:
        time.sleep(0.02)
