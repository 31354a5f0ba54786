"""Bad days on the real control plane: asked too much, written to by others, pools that go, objects nobody can read."""

from __future__ import annotations

import contextlib
import http.client
import signal
import threading
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from tests.live import objects
from tests.live.live import is_true
from tests.live.real import NAMESPACE, Real, at_work
from tools.control_plane.access import Refused
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.api.install.installation import NAME

POOL = "faults"
CROWD = 6
_FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"


@pytest.fixture(scope="module")
def running(shared_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Started once; after all of it nothing failed of its own."""
    with at_work(shared_control_plane, tmp_path_factory.mktemp("faults"), POOL) as real:
        yield real
        assert "Traceback" not in real.log.read_text()
        assert "stacktrace" not in real.log.read_text()


@pytest.fixture
def real(running: Real, control_plane: ControlPlane) -> Real:
    return running


def _machines_are_claimed(real: Real) -> bool:
    """Nothing leaked, nothing doubled: a machine is a Node here, and each has its claim."""
    claimed = [one.get("status", {}).get("providerID") for one in real.claims()]
    provided = [one["spec"]["providerID"] for one in real.nodes()]
    return sorted(map(str, claimed)) == sorted(provided) and len(set(provided)) == len(provided)


@contextlib.contextmanager
def _refusing(real: Real) -> Iterator[None]:
    """Its account gets one request at a time, any other is answered with 429, as by a server with too much to do."""
    nothing = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "limitResponse": {"type": "Reject"}}
    level = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "dovetail-nothing"},
        "spec": {"type": "Limited", "limited": {**nothing, "borrowingLimitPercent": 0}},
    }
    account = {"kind": "ServiceAccount", "serviceAccount": {"name": NAME, "namespace": NAMESPACE}}
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    schema = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "dovetail-nothing"},
        "spec": {
            "priorityLevelConfiguration": {"name": "dovetail-nothing"},
            "matchingPrecedence": 2,
            "rules": [{"subjects": [account], "resourceRules": [everything]}],
        },
    }
    real.plane.admin.ensure(f"{_FLOW}/prioritylevelconfigurations", level)
    real.plane.admin.ensure(f"{_FLOW}/flowschemas", schema)
    try:
        yield
    finally:
        for plural in ("flowschemas", "prioritylevelconfigurations"):
            real.plane.admin.request("DELETE", f"{_FLOW}/{plural}/dovetail-nothing")


class Crowd:
    """Others who ask in its account's name all the time, so that its own requests are mostly turned away."""

    def __init__(self, real: Real, size: int = CROWD) -> None:
        self._admin = real.plane.admin
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(size)]
        self._turned_away = [0] * size

    def _ask(self) -> None:
        me = self._threads.index(threading.current_thread())
        line = http.client.HTTPSConnection(self._admin.host, self._admin.port, context=self._admin.tls, timeout=10)
        while not self._over.is_set():
            line.request(
                "GET", "/api/v1/pods", headers={"Impersonate-User": f"system:serviceaccount:{NAMESPACE}:{NAME}"}
            )
            answer = line.getresponse()
            answer.read()
            self._turned_away[me] += answer.status == 429
        line.close()

    @property
    def turned_away(self) -> int:
        return sum(self._turned_away)

    def __enter__(self) -> Crowd:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for one in self._threads:
            one.join()


def _refused(real: Real) -> int:
    """How many requests the server turned away, by its own count."""
    page = str(real.plane.admin.request("GET", "/metrics"))
    lines = (one for one in page.splitlines() if one.startswith("apiserver_flowcontrol_rejected_requests_total"))
    return sum(int(float(one.rsplit(" ", 1)[1])) for one in lines if "dovetail-nothing" in one)


def test_a_server_that_refuses_almost_everything_is_waited_out(real: Real):
    with _refusing(real), Crowd(real) as crowd:
        real.until(lambda: crowd.turned_away > 0)
        real.pods("storm", 12, cpu="8")
        real.until(lambda: _refused(real) > crowd.turned_away + CROWD)  # read first, so many may be on their way
        assert real.process is not None
        assert real.process.poll() is None
    real.until(lambda: len(real.running("storm")) == 12)
    real.until(lambda: _machines_are_claimed(real))


def test_whoever_writes_to_the_same_objects_all_the_time_delays_nothing_for_good(real: Real):
    over = threading.Event()
    writes: list[str] = []

    def scribble() -> None:
        while not over.wait(0.005):
            for kind in (kinds.NODE_CLAIMS, kinds.NODES):
                for name in (one["metadata"]["name"] for one in real.all(kind)):
                    with contextlib.suppress(Refused):
                        real.edit(kind, name, _note(len(writes)))
                        writes.append(name)

    other = threading.Thread(target=scribble)
    other.start()
    try:
        real.pods("scribbled", 12, cpu="8")
        real.until(lambda: len(real.running("scribbled")) == 12)
        real.until(lambda: all(is_true(one, "Initialized") for one in real.claims()))
        real.until(lambda: len(writes) > 20)
    finally:
        over.set()
        other.join()
    real.until(lambda: _machines_are_claimed(real))


def _note(number: int) -> dict[str, Any]:
    return {"metadata": {"annotations": {"example.com/scribble": str(number)}}}


def test_a_node_and_a_claim_deleted_by_hand_are_made_up_for(real: Real):
    real.pods("deleted", 6, cpu="20")
    real.until(lambda: len(real.running("deleted")) == 6)
    first, second = (one["spec"]["nodeName"] for one in real.running("deleted")[:2])
    real.delete(kinds.NODES, first)
    real.delete(kinds.NODE_CLAIMS, second)
    real.until(lambda: not {first, second} & {one["metadata"]["name"] for one in real.claims()})
    real.until(lambda: len(real.running("deleted")) == 6)
    real.until(lambda: _machines_are_claimed(real))


def test_a_pool_deleted_while_it_launches_leaves_nothing(real: Real):
    real.put(kinds.NODE_POOLS, objects.pool("brief", labels={"kwok-live": "brief"}))
    body = objects.deployment("brief", 30, cpu="8", nodeSelector={"kwok-live": "brief"})
    real.put(kinds.DEPLOYMENTS, body, "default")

    def held() -> list[dict[str, Any]]:
        return real.all(kinds.NODE_CLAIMS, "?labelSelector=karpenter.sh%2Fnodepool%3Dbrief")

    real.until(held)
    real.delete(kinds.NODE_POOLS, "brief")
    real.delete(kinds.DEPLOYMENTS, "brief", "default")
    real.until(lambda: not held() and not real.all(kinds.NODES, "?labelSelector=kwok-live%3Dbrief"))
    real.until(lambda: not [one for one in real.all(kinds.NODE_POOLS) if one["metadata"]["name"] == "brief"])


def test_a_pool_nobody_can_read_is_told_of_and_the_others_go_on(real: Real):
    """It was stored while the definition let it be: by an older release, say, or by somebody's own definition."""
    path = f"{kinds.CRDS.path('nodepools.karpenter.sh')}"
    strict = real.plane.admin.request("GET", path)
    lax = deepcopy(strict)
    for version in lax["spec"]["versions"]:
        version["schema"] = {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        }
    real.plane.admin.request("PUT", path, lax)
    broken = objects.pool("nonsense", limits={"cpu": "many"}, weight="heavy")
    broken["spec"]["template"]["spec"]["requirements"] = [{"key": "kubernetes.io/arch", "operator": "Near"}]
    try:
        real.until(lambda: _stored(real, broken))
    finally:
        now = real.plane.admin.request("GET", path)
        strict["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"]
        real.plane.admin.request("PUT", path, strict)
    try:
        real.pods("sane", 4, cpu="8")
        real.until(lambda: len(real.running("sane")) == 4)
        real.until(lambda: _said(real, "nonsense", "ValidationSucceeded")["status"] == "False")
    finally:
        real.delete(kinds.NODE_POOLS, "nonsense")


def _said(real: Real, pool: str, kind: str) -> dict[str, Any]:
    found = real.get(kinds.NODE_POOLS, pool).get("status", {}).get("conditions", ())
    return next((one for one in found if one["type"] == kind), {"status": "not said"})


def _stored(real: Real, one: dict[str, Any]) -> bool:
    """The server takes a moment to forget the definition it had."""
    try:
        real.plane.admin.request("POST", kinds.NODE_POOLS.path(), one)
    except Refused:
        return False
    return True


def test_of_two_that_run_one_acts_and_the_other_takes_over(real: Real, tmp_path_factory: pytest.TempPathFactory):
    second = Real(real.plane, tmp_path_factory.mktemp("second"))
    second.start()
    try:
        second.until(lambda: second.ready)
        holder = real.lease()["holderIdentity"]
        real.pods("two", 6, cpu="20")
        real.until(lambda: len(real.running("two")) == 6)
        assert real.lease()["holderIdentity"] == holder
        assert "in sync" not in second.log.read_text()
        real.end(signal.SIGKILL)
        real.pods("after", 6, cpu="20")
        second.until(lambda: len(real.running("after")) == 6)
        assert real.lease()["holderIdentity"] != holder
        second.until(lambda: _machines_are_claimed(real))
    finally:
        second.end()
        if real.process is None:
            real.start()
    real.until(lambda: real.ready and real.lease()["holderIdentity"])
