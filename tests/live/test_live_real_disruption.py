"""Disruption as its users run it: a process of its own, under its own role, on the real control plane."""

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

POOL = "shrinking"
DISRUPTED = "karpenter.sh/disrupted"


@pytest.fixture(scope="module")
def running(shared_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    with at_work(shared_control_plane, tmp_path_factory.mktemp("disruption"), POOL) as real:
        eager = {"consolidateAfter": "1s", "budgets": [{"nodes": "100%"}]}
        real.edit(kinds.NODE_POOLS, POOL, {"spec": {"disruption": eager}})
        yield real


@pytest.fixture
def real(running: Real, control_plane: ControlPlane) -> Real:
    return running


def marked(real: Real) -> list[objects.Object]:
    return [one for one in real.nodes() if any(t["key"] == DISRUPTED for t in one["spec"].get("taints") or ())]


def scale(real: Real, name: str, count: int) -> None:
    real.edit(kinds.DEPLOYMENTS, name, {"spec": {"replicas": count}}, "default")


def test_nodes_that_are_half_empty_go_and_their_pods_live_on(real: Real):
    real.pods("first", 6)
    real.until(lambda: len(real.running("first")) == 6)
    real.pods("second", 6)
    real.until(lambda: len(real.running("second")) == 6)
    before = len(real.nodes())
    assert before == 2
    scale(real, "first", 2)
    scale(real, "second", 2)
    real.until(lambda: len(real.nodes()) == 1 and not marked(real))
    real.until(lambda: len(real.running("first")) == len(real.running("second")) == 2)


def test_a_pod_that_may_not_be_disturbed_keeps_its_node_and_the_event_says_so(real: Real):
    real.pods("held", 1, notes={"karpenter.sh/do-not-disrupt": "true"})
    real.until(lambda: real.running("held"))
    real.until(lambda: [one for one in real.all(kinds.CORE_EVENTS) if "has do-not-disrupt" in one.get("message", "")])
    # Scaled down first: whoever collects garbage on a server whose definitions come and go may take minutes.
    scale(real, "held", 0)
    real.until(lambda: not real.running("held"))
    real.delete(kinds.DEPLOYMENTS, "held", "default")


def test_killed_while_a_node_is_given_up_nothing_leaks_and_no_mark_stays(real: Real):
    real.until(lambda: all(is_true(one, "Ready") for one in real.claims()))
    real.edit(kinds.NODE_POOLS, POOL, {"spec": {"template": {"metadata": {"labels": {"team": "blue"}}}}})
    real.until(lambda: marked(real) or len(real.claims()) > 1)
    real.end(signal.SIGKILL)
    real.start()
    real.until(lambda: _is_blue(real) and not marked(real))
    real.until(lambda: len(real.running("first")) == len(real.running("second")) == 2)
    real.until(lambda: {one.get("status", {}).get("providerID") for one in real.claims()} == _provided(real))


def _is_blue(real: Real) -> bool:
    found = real.nodes()
    return bool(found) and all(one["metadata"]["labels"].get("team") == "blue" for one in found)


def _provided(real: Real) -> set[str]:
    return {one["spec"]["providerID"] for one in real.nodes()}


def test_everything_goes_when_nobody_needs_it(real: Real):
    for name in ("first", "second"):
        scale(real, name, 0)
    real.until(lambda: not real.nodes() and not real.claims())


def test_the_role_that_is_shipped_is_enough_and_nothing_failed_of_its_own(real: Real):
    lines = real.log.read_text().splitlines()
    assert lines
    assert not [one for one in lines if "forbidden" in one.lower() or "stacktrace" in one]
