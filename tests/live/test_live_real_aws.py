"""Machines of AWS on the real control plane, under the role that is shipped: a process of its own, the real SDK against
the test server, and pods that the real scheduler binds."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from tests.aws_plugin import CREDENTIALS
from tests.live.live import is_true
from tests.live.real_aws import RealAws, at_work
from tools.aws_server import AwsServer
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds

pytestmark = pytest.mark.story


@pytest.fixture(scope="module")
def running(
    shared_control_plane: ControlPlane, aws_running: AwsServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealAws]:
    """Started once; every test finds it at work and leaves it so."""
    aws_running.reset()
    aws_running.world.waits.boot = 1.0
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        directory = tmp_path_factory.mktemp("aws")
        with at_work(shared_control_plane, directory, aws_running, aws_running.furnished()) as real:
            yield real


@pytest.fixture
def real(running: RealAws, control_plane: ControlPlane) -> RealAws:
    return running


def test_pending_pods_become_machines_that_join_and_run_them(real: RealAws):
    real.pods("first", 10)
    real.until(lambda: len(real.running("first")) == 10 and real.is_whole())
    real.until(lambda: all(is_true(one, "Ready") for one in real.claims()))
    assert is_true(real.get(kinds.EC2_NODE_CLASSES, "default"), "Ready")
    node = real.nodes()[0]
    assert node["spec"]["providerID"].startswith("aws:///us-east-1")
    assert node["metadata"]["labels"]["karpenter.sh/initialized"] == "true"
    assert "karpenter.k8s.aws/instance-family" in node["metadata"]["labels"]


def test_calls_to_aws_are_counted_and_the_age_of_prices_is_told(real: RealAws):
    _, page = real.ask(real.ports[0], "/metrics")
    for name in ("karpenter_aws_sdk_go_request_total{", "karpenter_cloudprovider_batcher_batch_size_count{"):
        assert f"\n{name}" in page, name
    assert 'dovetail_catalog_age_seconds{subject="instance types"}' in page


def test_killed_while_it_buys_it_takes_over_and_buys_nothing_twice(real: RealAws):
    real.pods("second", 4, cpu="3")
    real.until(lambda: len(real.all(kinds.PODS, "?labelSelector=app%3Dsecond")) == 4)
    real.end(signal.SIGKILL)
    real.start()
    real.until(lambda: len(real.running("second")) == 4 and real.is_whole())


def test_a_claim_that_is_deleted_takes_its_machine_with_it_and_the_pods_live_on(real: RealAws):
    gone = real.claims()[0]
    pods = len(real.running("first"))
    real.delete(kinds.NODE_CLAIMS, gone["metadata"]["name"])
    real.until(lambda: gone["status"]["providerID"] not in real.machines())
    real.until(lambda: len(real.running("first")) == pods and real.is_whole())


def test_the_role_that_is_shipped_is_enough(real: RealAws):
    lines = real.log.read_text().splitlines()
    assert lines
    assert not [one for one in lines if "forbidden" in one.lower() or "stacktrace" in one]
