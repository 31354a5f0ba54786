"""The life of nodes on the real control plane, under the role that is shipped (§2, §5.2, §6)."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from tests.live import objects
from tests.live.live import is_true
from tests.live.real import Real, at_work
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds

pytestmark = pytest.mark.story

POOL = "live"


@pytest.fixture(scope="module")
def running(shared_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Started once; every test finds it at work and leaves it so."""
    with at_work(shared_control_plane, tmp_path_factory.mktemp("live"), POOL) as real:
        yield real


@pytest.fixture
def real(running: Real, control_plane: ControlPlane) -> Real:
    return running


def test_pending_pods_become_nodes_that_look_as_the_kwok_provider_makes_them(real: Real):
    real.pods("first", 20)
    real.until(lambda: len(real.running("first")) == 20)
    real.until(lambda: all(is_true(one, "Ready") for one in real.claims()))
    node = real.nodes()[0]
    name, about = node["metadata"]["name"], node["metadata"]
    assert node["spec"]["providerID"] == f"kwok://{name}"
    assert about["labels"]["kwok.x-k8s.io/node"] == about["annotations"]["kwok.x-k8s.io/node"] == "fake"
    assert about["labels"]["kwok-partition"] == "a"
    assert about["labels"]["kubernetes.io/hostname"] == name
    assert {f"karpenter.kwok.sh/instance-{part}" for part in ("size", "family", "cpu", "memory")} <= set(
        about["labels"]
    )
    assert about["labels"]["karpenter.sh/initialized"] == about["labels"]["karpenter.sh/registered"] == "true"
    assert about["finalizers"] == ["karpenter.sh/termination"]
    pool = real.get(kinds.NODE_POOLS, POOL)
    assert is_true(pool, "Ready")
    real.until(lambda: real.get(kinds.NODE_POOLS, POOL).get("status", {}).get("nodes") == len(real.nodes()))


def test_probes_and_metrics_answer(real: Real):
    assert real.ask(real.ports[1], "/healthz") == (200, "ok")
    assert real.ready
    status, page = real.ask(real.ports[0], "/metrics")
    assert status == 200
    for name in (
        *("process_resident_memory_bytes", "process_cpu_seconds_total", "go_gc_heap_live_bytes"),
        *("karpenter_build_info{", "karpenter_nodes_allocatable{", "karpenter_pods_state{"),
        *("karpenter_nodeclaims_created_total{", "karpenter_cluster_state_synced 1"),
    ):
        assert f"\n{name}" in page, name


def test_a_claim_that_is_deleted_is_drained_and_its_pods_live_on(real: Real):
    real.pods("second", 3)
    real.until(lambda: len(real.running("second")) == 3)
    name = real.running("second")[0]["spec"]["nodeName"]
    real.delete(kinds.NODE_CLAIMS, name)
    real.until(lambda: name not in {one["metadata"]["name"] for one in real.claims()})
    assert name not in {one["metadata"]["name"] for one in real.nodes()}
    real.until(lambda: len(real.running("second")) == 3)


def test_a_static_pool_comes_up_and_goes(real: Real):
    real.put(kinds.NODE_POOLS, objects.pool("fixed", labels={"kwok-live": "fixed"}, replicas=2))

    def held() -> list[dict]:
        found = real.all(kinds.NODE_CLAIMS, "?labelSelector=karpenter.sh%2Fnodepool%3Dfixed")
        return [one for one in found if is_true(one, "Ready")]

    real.until(lambda: len(held()) == 2)
    real.delete(kinds.NODE_POOLS, "fixed")
    real.until(lambda: not held())


def test_the_role_that_is_shipped_is_enough(real: Real):
    """Before any outage: a server that has just started forbids everybody everything for a moment."""
    lines = real.log.read_text().splitlines()
    assert lines
    assert not [one for one in lines if "forbidden" in one.lower()]


def test_an_outage_of_the_server_in_the_middle_of_a_batch_loses_nothing(real: Real):
    assert real.process is not None
    before = len(real.claims())
    real.pods("third", 40, cpu="8")
    real.until(lambda: len(real.claims()) > before)
    real.plane.stop_apiserver()
    real.plane.start_apiserver()
    real.until(lambda: len(real.running("third")) == 40)
    assert real.process.poll() is None
    real.until(lambda: {one.get("status", {}).get("providerID") for one in real.claims()} == _provided(real))


def _provided(real: Real) -> set[str]:
    return {one["spec"]["providerID"] for one in real.nodes()}


def test_killed_and_started_again_it_takes_over_and_buys_nothing_twice(real: Real):
    real.pods("fourth", 6, cpu="30")
    real.until(lambda: len(real.all(kinds.PODS, "?labelSelector=app%3Dfourth")) == 6)
    before = real.lease()["holderIdentity"]
    real.end(signal.SIGKILL)
    real.start()
    real.until(lambda: real.lease()["holderIdentity"] not in ("", before))
    real.until(lambda: len(real.running("fourth")) == 6)
    real.until(lambda: {one.get("status", {}).get("providerID") for one in real.claims()} == _provided(real))


def test_told_to_end_it_ends_cleanly_and_gives_the_lease_back(real: Real):
    assert real.lease()["holderIdentity"]
    assert real.end() == 0
    assert not real.lease()["holderIdentity"]
    real.start()
    real.until(lambda: real.lease()["holderIdentity"], 60)


def test_nothing_failed_of_its_own(real: Real):
    lines = real.log.read_text().splitlines()
    assert lines
    assert not [one for one in lines if "stacktrace" in one]
