"""`dovetail handler` as its users run it: a process of its own, for one node, under exactly the shipped role, with a
fake metadata server as another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

from tools.control_plane.access import Refused, kubeconfig
from tools.control_plane.ports import free_ports
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.api.install import handler
from dovetail.api.install import objects as installed
from dovetail.core import timestamps
from dovetail.core.handler import marks

Object = dict[str, Any]
NAMESPACE = "kube-system"
PATIENCE = 120.0
ITN = "spot/instance-action"


def let_in(plane: ControlPlane) -> None:
    """The account and what it may do, as `install --handler` applies them; where the process runs is the test's."""
    wanted = handler.HandlerInstallation(image="dovetail:test", namespace=NAMESPACE)
    for one in (handler.service_account(wanted), *handler.rights(wanted)):
        _, namespace = installed.name_of(one)
        plane.admin.apply(installed.kind_of(one).path(namespace=namespace), one)


class RealHandler:
    """One on `name`, a Node. Its metadata server runs from the start; it itself once it is started."""

    def __init__(self, plane: ControlPlane, directory: Path, name: str) -> None:
        self.plane, self.directory, self.name = plane, directory, name
        self.log = directory / f"handler-{name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.metadata = subprocess.Popen(
            [sys.executable, "-m", "tools.metadata_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.metadata.stdout is not None
        self.metadata_port = int(self.metadata.stdout.readline().split()[1])
        (self.port,) = free_ports(1)

    # ---- the cloud

    def tell(self, line: str) -> None:
        assert self.metadata.stdin is not None
        assert self.metadata.stdout is not None
        self.metadata.stdin.write(line + "\n")
        self.metadata.stdin.flush()
        assert self.metadata.stdout.readline() == "ok\n"

    def interrupt(self, seconds: float) -> None:
        self.tell(f'aws {ITN} {{"action": "terminate", "time": "{timestamps.text(time.time() + seconds)}"}}')

    def give_notice(self, cloud: str, machine: str) -> None:
        """As the cloud does: two minutes on AWS, half a minute on the others."""
        match cloud:
            case "aws":
                self.interrupt(120)
            case "gcp":
                self.tell("gcp instance/preempted TRUE")
            case _:
                self.tell(f"azure name {machine}")
                self.tell(f"azure Preempt {formatdate(time.time() + 30, usegmt=True)}")

    # ---- the process

    def start(self, **changed: str) -> None:
        settings = {
            "KUBECONFIG": str(self.account()),
            "NODE_NAME": self.name,
            "METADATA_URL": f"http://127.0.0.1:{self.metadata_port}",
            "METRICS_PORT": str(self.port),
            "LOG_FORMAT": "json",
            **changed,
        }
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dovetail.main", "handler"],
                env={**os.environ, **settings},
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(timeout=120)
        self.process = None
        return code

    def close(self) -> None:
        """Both processes, however far they have come."""
        if self.process is not None:
            self.end(signal.SIGKILL)
        self.metadata.kill()
        self.metadata.communicate()

    def account(self) -> Path:
        file = self.directory / f"handler-{self.name}.kubeconfig"
        if file.exists():
            return file  # a process that starts anew may find no server to ask
        path = f"{kinds.SERVICE_ACCOUNTS.path(handler.NAME, NAMESPACE)}/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        token = self.plane.admin.request("POST", path, asked)["status"]["token"]
        file.write_text(json.dumps(kubeconfig(self.plane.url, self.plane.authority, {"token": token})))
        return file

    def until(self, true: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._looked(true):
            assert self.process is None or self.process.poll() is None, self.log.read_text()[-2000:]
            assert time.monotonic() < deadline, self.log.read_text()[-2000:]
            time.sleep(0.1)

    def _looked(self, true: Callable[[], object]) -> object:
        try:
            return true()
        except (OSError, Refused):
            return False

    def ask(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return str(answer.read().decode())

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def faults(self) -> list[Object]:
        """What failed of its own."""
        told = [json.loads(line) for line in self.lines() if line.startswith("{")]
        return [one for one in told if "stacktrace" in one]

    # ---- its node

    def node(self) -> Object:
        return dict(self.plane.admin.request("GET", kinds.NODES.path(self.name)))

    def taints(self) -> dict[str, str]:
        return {one["key"]: one.get("value", "") for one in self.node()["spec"].get("taints") or ()}

    def condition(self) -> tuple[str, str]:
        found = [one for one in self.node()["status"].get("conditions", ()) if one["type"] == marks.TERMINATING]
        return (found[0]["status"], found[0]["reason"]) if found else ("", "")

    def pods(self, selector: str, namespace: str = "") -> list[Object]:
        path = kinds.PODS.path(namespace=namespace) if namespace else kinds.PODS.path()
        found = self.plane.admin.request("GET", f"{path}?labelSelector={selector}")["items"]
        return [one for one in found if one["spec"].get("nodeName") == self.name]
