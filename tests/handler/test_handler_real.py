"""The handler as its users run it: a process of its own, on the real control plane, under exactly the shipped role,
with kwok playing the node's kubelet and a fake metadata server as another process (R35, R42)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.live import objects
from tools.control_plane.access import Refused, kubeconfig
from tools.control_plane.ports import free_ports
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.api.install import handler
from dovetail.api.install import objects as installed
from dovetail.core import timestamps
from dovetail.core.handler import marks

Object = dict[str, Any]
NODE = "interruptible-1"
NAMESPACE = "kube-system"
PATIENCE = 120.0
ITN = "spot/instance-action"


class RealHandler:
    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.plane, self.directory = plane, directory
        self.log = directory / "handler.log"
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

    def tell(self, line: str) -> None:
        assert self.metadata.stdin is not None
        assert self.metadata.stdout is not None
        self.metadata.stdin.write(line + "\n")
        self.metadata.stdin.flush()
        assert self.metadata.stdout.readline() == "ok\n"

    def interrupt(self, seconds: float) -> None:
        self.tell(f'aws {ITN} {{"action": "terminate", "time": "{timestamps.text(time.time() + seconds)}"}}')

    def start(self, **changed: str) -> None:
        settings = {
            "KUBECONFIG": str(self._account()),
            "NODE_NAME": NODE,
            "METADATA_URL": f"http://127.0.0.1:{self.metadata_port}",
            "METRICS_PORT": str(self.port),
            "LOG_FORMAT": "json",
            "POLL_INTERVAL": "200ms",
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
        code = self.process.wait(timeout=30)
        self.process = None
        return code

    def _account(self) -> Path:
        file = self.directory / "handler.kubeconfig"
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
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def node(self) -> Object:
        return dict(self.plane.admin.request("GET", kinds.NODES.path(NODE)))

    def taints(self) -> dict[str, str]:
        return {one["key"]: one.get("value", "") for one in self.node()["spec"].get("taints") or ()}

    def condition(self) -> tuple[str, str]:
        found = [one for one in self.node()["status"].get("conditions", ()) if one["type"] == marks.TERMINATING]
        return (found[0]["status"], found[0]["reason"]) if found else ("", "")

    def pods(self, selector: str) -> list[Object]:
        found = self.plane.admin.request("GET", f"{kinds.PODS.path()}?labelSelector={selector}")["items"]
        return [one for one in found if one["spec"].get("nodeName") == NODE]


def _node() -> Object:
    labels = {"kwok-partition": "a", handler.INTERRUPTIBLE: "", "kubernetes.io/os": "linux", "for": "handler"}
    room = {"cpu": "32", "memory": "64Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {"providerID": "aws:///us-east-1a/i-0123"},
        "status": {"capacity": room, "allocatable": room},
    }


@pytest.fixture(scope="module")
def running(shared_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHandler]:
    plane = shared_control_plane
    wanted = handler.HandlerInstallation(image="dovetail:test", namespace=NAMESPACE)
    for one in handler.objects(wanted):
        _, namespace = installed.name_of(one)
        plane.admin.apply(installed.kind_of(one).path(namespace=namespace), one)
    plane.start_kwok()
    plane.admin.ensure(kinds.NODES.path(), _node())
    real = RealHandler(plane, tmp_path_factory.mktemp("handler"))
    try:
        real.start()
        yield real
    finally:
        if real.process is not None:
            real.end()
        real.metadata.kill()
        real.metadata.communicate()
        for path in (
            kinds.DAEMON_SETS.path(handler.NAME, NAMESPACE),
            kinds.DEPLOYMENTS.path("handled", "default"),
            kinds.DISRUPTION_BUDGETS.path("handled", "default"),
            kinds.NODES.path(NODE),
        ):
            try:
                plane.admin.request("DELETE", path)
            except Refused as refusal:
                if refusal.status != 404:
                    raise
        plane.stop_kwok()


@pytest.fixture
def real(running: RealHandler, control_plane: ControlPlane) -> RealHandler:
    return running


def test_its_daemon_set_comes_to_interruptible_nodes(real: RealHandler):
    real.until(lambda: len(real.pods("app.kubernetes.io%2Fname%3Ddovetail-handler")) == 1)


def test_it_says_that_it_is_well(real: RealHandler):
    real.until(lambda: real.ask("/healthz") == "ok")
    assert "dovetail_handler_build_info" in real.ask("/metrics")


def test_a_notice_taints_drains_and_tells_and_a_withdrawn_one_is_undone(real: RealHandler):
    body = objects.deployment("handled", 8, nodeSelector={"for": "handler"}, cpu="100m", memory="32Mi")
    real.plane.admin.ensure(kinds.DEPLOYMENTS.path(namespace="default"), body)
    # One may go at a time, and those that have gone find no other node: the rest wait for the force point.
    budget = objects.budget("handled", minAvailable=7)
    real.plane.admin.ensure(kinds.DISRUPTION_BUDGETS.path(namespace="default"), budget)
    real.until(lambda: len(real.pods("app%3Dhandled")) == 8)
    real.interrupt(12)
    real.until(lambda: real.taints().get(marks.TAINT) == "preempt")
    real.until(lambda: real.condition() == ("True", marks.REQUESTED))
    real.until(lambda: not real.pods("app%3Dhandled"))
    assert len(real.pods("app.kubernetes.io%2Fname%3Ddovetail-handler")) == 1, "daemons stay"
    real.until(lambda: "dovetail_termination_pods_deleted_total" in real.ask("/metrics"))
    events = f"{kinds.CORE_EVENTS.path(namespace='default')}?fieldSelector=involvedObject.name%3D{NODE}"
    real.until(
        lambda: (
            {"TerminationNotice", "Drained"}
            <= {one["reason"] for one in real.plane.admin.request("GET", events)["items"]}
        )
    )
    real.tell(f"aws {ITN}")
    real.until(lambda: marks.TAINT not in real.taints() and not real.node()["spec"].get("unschedulable"))
    real.until(lambda: real.condition() == ("False", marks.WITHDRAWN))


def test_the_role_that_is_shipped_is_enough(real: RealHandler):
    """Before any outage: a server that has just started forbids everybody everything for a moment."""
    lines = real.log.read_text().splitlines()
    assert lines
    assert not [one for one in lines if "forbidden" in one.lower()]


def test_killed_in_the_middle_another_goes_on_and_an_api_server_that_was_away_is_told(real: RealHandler):
    real.until(lambda: len(real.pods("app%3Dhandled")) == 8)
    real.plane.stop_apiserver()
    real.interrupt(20)
    time.sleep(0.2)
    real.end(signal.SIGKILL)
    real.start()
    real.plane.start_apiserver()
    real.until(lambda: real.taints().get(marks.TAINT) == "preempt")
    real.until(lambda: not real.pods("app%3Dhandled"))
    real.tell(f"aws {ITN}")


def test_told_to_end_it_ends_cleanly(real: RealHandler):
    assert real.end() == 0
    real.start()
    real.until(lambda: real.ask("/livez") == "ok")


def test_a_cloud_nobody_knows_is_one_sentence_on_the_terminal(real: RealHandler):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "kind-1"}, "spec": {"providerID": "kind://x"}}
    real.plane.admin.ensure(kinds.NODES.path(), node)
    settings = {"KUBECONFIG": str(real._account()), "NODE_NAME": "kind-1", "METRICS_PORT": "0"}
    ran = subprocess.run(
        [sys.executable, "-m", "dovetail.main", "handler"],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    real.plane.admin.request("DELETE", kinds.NODES.path("kind-1"))
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == [
        "error: node kind-1: its provider ID is kind://x; name the cloud: --cloud aws|gcp|azure"
    ]


def test_nothing_failed_of_its_own(real: RealHandler):
    lines = [json.loads(line) for line in real.log.read_text().splitlines() if line.startswith("{")]
    assert lines
    assert not [one for one in lines if "stacktrace" in one]
