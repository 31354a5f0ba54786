"""The handler as its users run it: a process of its own, on the real control plane, under exactly the shipped role,
with kwok playing the node's kubelet and a fake metadata server as another process (R35, R42)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.handler.real_handler import ITN, NAMESPACE, RealHandler
from tests.live import objects
from tools.control_plane.access import Refused
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.api.install import handler
from dovetail.api.install import objects as installed
from dovetail.core.handler import marks

pytestmark = pytest.mark.story

Object = dict[str, Any]
NODE = "interruptible-1"
#: Of the cloud's metadata, so that a test need not wait for the next look.
OFTEN = {"POLL_INTERVAL": "200ms"}


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
    real = RealHandler(plane, tmp_path_factory.mktemp("handler"), NODE)
    try:
        real.start(**OFTEN)
        yield real
    finally:
        real.close()
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
    assert real.lines()
    assert not [one for one in real.lines() if "forbidden" in one.lower()]


def test_killed_in_the_middle_another_goes_on_and_an_api_server_that_was_away_is_told(real: RealHandler):
    real.until(lambda: len(real.pods("app%3Dhandled")) == 8)
    real.plane.stop_apiserver()
    real.interrupt(20)
    time.sleep(0.2)
    real.end(signal.SIGKILL)
    real.start(**OFTEN)
    real.plane.start_apiserver()
    real.until(lambda: real.taints().get(marks.TAINT) == "preempt")
    real.until(lambda: not real.pods("app%3Dhandled"))
    real.tell(f"aws {ITN}")


def test_told_to_end_it_ends_cleanly(real: RealHandler):
    assert real.end() == 0
    real.start(**OFTEN)
    real.until(lambda: real.ask("/livez") == "ok")


def test_a_cloud_nobody_knows_is_one_sentence_on_the_terminal(real: RealHandler):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "kind-1"}, "spec": {"providerID": "kind://x"}}
    real.plane.admin.ensure(kinds.NODES.path(), node)
    settings = {"KUBECONFIG": str(real.account()), "NODE_NAME": "kind-1", "METRICS_PORT": "0"}
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
    assert real.lines()
    assert real.faults() == []
