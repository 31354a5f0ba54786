"""`build` compiles the control plane, Cluster API's manager and Karpenter; `run` keeps a control plane up until Ctrl-C
and says how to talk to it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from .find import find, find_cluster_api, find_peer
from .programs import NoControlPlane
from .start import KWOK_NODES, ControlPlane


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.control_plane", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    build = verbs.add_parser("build", help="compile it into the cache, unless it is there")
    build.add_argument("--if-possible", action="store_true", help="where it cannot be built, say so and succeed")
    run = verbs.add_parser("run", help="start it, print the path of a kubeconfig, stop it on Ctrl-C")
    run.add_argument("--kwok", action="store_true", help=f"play kubelet for nodes labelled {KWOK_NODES}")
    run.add_argument("--logs", type=Path, default=Path("build/control-plane"), help="where logs go (%(default)s)")
    chosen = parser.parse_args()
    try:
        programs = find(os.environ)
        if chosen.verb == "build":
            print(programs.directory)
            print(find_cluster_api(os.environ).directory)
            print(find_peer(os.environ).directory)
            return 0
        return _run(ControlPlane(programs, logs=chosen.logs), kwok=chosen.kwok)
    except NoControlPlane as reason:
        print(f"no control plane: {reason}", file=sys.stderr)
        return 0 if getattr(chosen, "if_possible", False) else 1


def _run(control_plane: ControlPlane, *, kwok: bool) -> int:
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    with control_plane:
        if kwok:
            control_plane.start_kwok()
        print(f"kubectl: {control_plane.programs.path('kubectl')}", file=sys.stderr)
        print(f"logs: {control_plane.logs}", file=sys.stderr)
        print(f"export KUBECONFIG={control_plane.kubeconfig}", flush=True)
        done.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
