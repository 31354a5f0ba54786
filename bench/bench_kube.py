"""What it costs to see a cluster: the list and the watch of its pods, kept up to date, and the servers of our tests.

The server of the list and the watch is a program that replays prepared bytes over TLS on loopback (`kube_replay`), so
what is measured is the client: pods of 4.9 kB in pages of 500, then every pod changed twice. Ours ends in the store
controllers read from, indexed by node; `kubernetes_asyncio` and `lightkube` end in a dict of their own objects. They
list the same pods from the same server in the same run, and follow the same watch for as many events as they manage
in a few seconds; ours is the middle one of three runs, theirs, which take minutes, is one. They keep whole objects, and
we keep what is needed: that is the point, and also the difference.

The large cluster is made up in the process that reads it, page by page; its size is that of the whole process, and
the collector's pauses are those after the first sync, while sixty thousand pods change and in a full collection after
that, by processor time. Under *told by*, a server with
four thousand new pods is asked for its history: a reader that is less than busy waits for the server.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench import kube_ours, kube_servers, measure
from bench.report import RESULTS, ROOT, Row, higher, lower

NAME = "kube"
PODS: Final = 20_000
ROUNDS: Final = 2
#: The other clients, pinned, and for how many events they are given time.
PEERS: Final = {"kubernetes_asyncio": ("36.1.0", 2_000), "lightkube": ("1.0.1", 20_000)}
REPEATS: Final = 3
_FOLDER: Final = RESULTS / "kube"
Figures = dict[str, float]


def run() -> list[Row]:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    kubeconfig = _FOLDER / "replay.json"
    with _replay(kubeconfig):
        held = measure.memory("bench.kube_ours:listed", str(kubeconfig)).held
        lists = [_figures("bench.kube_ours", "list_seconds", str(kubeconfig)) for _ in range(REPEATS)]
        rates = [_figures("bench.kube_ours", "watch_rate", str(kubeconfig), str(PODS * ROUNDS)) for _ in range(REPEATS)]
        theirs = {name: _peer(name, kubeconfig) for name in PEERS}
    listed, watched = _middle(lists, "seconds"), _middle(rates, "rate")
    seconds = listed["seconds"]
    return [
        *_replayed(listed, held, watched),
        *(row for name, figures in theirs.items() for row in _against(name, figures, seconds, held, watched["rate"])),
        *_large(),
        *_embedded(),
        *_real(),
    ]


def _replayed(listed: Figures, held: float, watched: Figures) -> Iterator[Row]:
    yield higher("watch events into the store, raw replay over TLS", "events/s", watched["rate"], limit=40_000)
    yield lower("our processor time for each", "s", watched["cpu"] / 100 / watched["rate"])
    yield lower(f"initial list of {PODS:,} pods into the store", "s", listed["seconds"], limit=0.8)
    yield lower("our processor time for it", "s", listed["cpu"])
    yield lower("memory kept of it", "MB", held, limit=40)


def _against(name: str, theirs: Figures, seconds: float, held: float, rate: float) -> Iterator[Row]:
    version, _ = PEERS[name]
    yield lower(f"the same list, against {name} {version}", "s", seconds, theirs.get("list_seconds"))
    yield lower(f"memory kept of it, against {name}", "MB", held, theirs.get("list_held"))
    yield higher(f"the same watch, against {name}", "events/s", rate, theirs.get("watch_rate"))


def _large() -> Iterator[Row]:
    figures = _figures("bench.kube_ours", "large")
    what = f"{kube_ours.LARGE_PODS:,} pods, {kube_ours.LARGE_NODES:,} nodes"
    yield lower(f"{what}: the whole process", "MB", figures["rss"], limit=220)
    yield lower("after 60,000 changes", "MB", figures["churned"], limit=220)
    yield lower("longest pause of the collector, a full collection included", "s", figures["pause"], limit=0.020)
    yield lower("with every pod made ready for planning", "MB", figures["planned"], limit=220)
    yield lower("longest pause of the collector at that", "s", figures["planning_pause"])


def _embedded() -> Iterator[Row]:
    starts = [_figures("bench.kube_servers", "embedded_start") for _ in range(REPEATS)]
    start = _middle(starts, "seconds")["seconds"]
    what = f"{kube_servers.NODES:,} nodes and {kube_servers.PODS:,} pods"
    told = _figures("bench.kube_servers", "embedded_told")
    yield lower("embedded server: start to first answer", "s", start, limit=0.5)
    memory = _figures("bench.kube_servers", "embedded_memory")["rss"]
    yield lower(f"embedded server: the whole process with {what}", "MB", memory, limit=150)
    yield higher("told by the embedded server", "events/s", told["rate"])
    yield lower(f"share of a core we needed for that (the {_bottleneck(told)} is the bottleneck)", "%", told["cpu"])


def _real() -> Iterator[Row]:
    try:
        figures = _figures("bench.kube_servers", "real")
    except subprocess.CalledProcessError:
        print("no control plane: its rows are left out; `make control-plane` says why", file=sys.stderr)
        return
    yield lower("control plane: start to ready", "s", figures["seconds"], limit=15)
    yield higher("told by a real kube-apiserver", "events/s", figures["rate"])
    yield lower(
        f"share of a core we needed for that (the {_bottleneck(figures)} is the bottleneck)", "%", figures["cpu"]
    )


def _middle(runs: list[Figures], by: str) -> Figures:
    """The run in the middle, whole, so that figures shown together were measured together."""
    return sorted(runs, key=lambda one: one[by])[len(runs) // 2]


def _bottleneck(figures: Figures) -> str:
    return "reader" if figures["cpu"] > 80 else "server"


# ---- processes


def _figures(module: str, *arguments: str) -> Figures:
    command = [sys.executable, "-m", module, *arguments]
    answer = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(answer.stdout.splitlines()[-1]))


@contextmanager
def _replay(kubeconfig: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "bench.kube_replay", str(PODS), str(ROUNDS), str(kubeconfig)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().strip() == "ready", "the replay did not start"
            yield
        finally:
            server.terminate()


def _peer(name: str, kubeconfig: Path) -> Figures:
    """Another client's figures; none where it cannot be installed."""
    version, events = PEERS[name]
    home = _FOLDER / f"{name}-{version}"
    python = home / "bin" / "python"
    try:
        if not (home / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{name}=={version}"]
            subprocess.run(install, check=True)
            (home / "ready").touch()
        command = [str(python), str(ROOT / "bench" / "kube_peers.py"), name, str(kubeconfig), str(events)]
        answer = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    except subprocess.CalledProcessError as problem:
        print(f"no figures of {name}: {problem}", file=sys.stderr)
        return {}
    return dict(json.loads(answer.stdout.splitlines()[-1]))
