"""The controller under measurement as a process: how it is started, what it costs by /proc, what its metrics say."""

import os
import re
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.control_plane.ports import free_ports
from tools.control_plane.processes import Running

from bench import live_peer
from bench.live_cluster import NAMESPACE, OURS, Site
from bench.live_world import types_file
from bench.measure import MEGABYTE

BATCH_IDLE, BATCH_MAX = "1s", "10s"
_PLANNED: Final = re.compile(
    r'^karpenter_scheduler_scheduling_duration_seconds_(sum|count)\{controller="provisioner"\} (\S+)$', re.MULTILINE
)
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Controller:
    """One that runs."""

    running: Running
    metrics_port: int
    health_port: int

    @property
    def _proc(self) -> Path:
        return Path(f"/proc/{self.running.identity.pid}")

    def cpu_seconds(self) -> float:
        fields = (self._proc / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self, which: str = "VmHWM") -> float:
        """Megabytes: VmHWM is the peak of its life, VmRSS is now."""
        status = (self._proc / "status").read_text(encoding="ascii", errors="replace")
        found = re.search(rf"^{which}:\s+(\d+) kB$", status, re.MULTILINE)
        assert found is not None, f"the controller ended; its log closes with:\n{self.running.last_words()}"
        return int(found.group(1)) * 1024 / MEGABYTE

    def ready(self) -> bool:
        assert not self.running.ended(), f"the controller ended; its log closes with:\n{self.running.last_words()}"
        return self._get(self.health_port, "/readyz") is not None

    def planning(self) -> tuple[float, float]:
        """Seconds planned and rounds of planning so far, by its own metrics."""
        text = self._get(self.metrics_port, "/metrics") or ""
        found = dict(_PLANNED.findall(text))
        return float(found.get("sum", 0)), float(found.get("count", 0))

    @staticmethod
    def _get(port: int, path: str) -> str | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return str(answer.read().decode())
        except OSError:
            return None


@contextmanager
def controller(site: Site, command: list[str] | None = None) -> Iterator[Controller]:
    """The side's controller, with the same settings for both; `command` runs ours in another way."""
    metrics_port, health_port = free_ports(2)
    told = {
        "KUBECONFIG": str(site.kubeconfig),
        "METRICS_PORT": str(metrics_port),
        "HEALTH_PROBE_PORT": str(health_port),
        # On a machine too busy to renew a lease in time the peer ends, as it should; here nobody is to take over.
        "DISABLE_LEADER_ELECTION": "true",
        "SYSTEM_NAMESPACE": NAMESPACE,
        "BATCH_IDLE_DURATION": BATCH_IDLE,
        "BATCH_MAX_DURATION": BATCH_MAX,
        "INSTANCE_TYPES_FILE_PATH": str(types_file()),
        # The peer works in as many threads as it is told it has processors.
        "CPU_REQUESTS": str(1000 * (os.cpu_count() or 1)),
        "LOG_LEVEL": "info",
    }
    ours = command or [sys.executable, "-m", "dovetail.main"]
    line = [*ours, "run", "--cloud", "kwok"] if site.side == OURS else [str(live_peer.program())]
    running = Running("controller", line, site.logs / "controller.log", told)
    try:
        yield Controller(running, metrics_port, health_port)
    finally:
        running.stop()
