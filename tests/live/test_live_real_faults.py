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
#: The flows of requests that are turned away: our own, and of somebody who asks all the time.
OURS, OTHERS = "dovetail-nothing", "dovetail-crowd"
#: So many of our own are enough to call it a storm.
REFUSALS = 6
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
    """Its account and a crowd get one request at a time together, any other is answered with 429, as by a server with
    too much to do."""
    nothing = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "limitResponse": {"type": "Reject"}}
    level = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": OURS},
        "spec": {"type": "Limited", "limited": {**nothing, "borrowingLimitPercent": 0}},
    }
    account = {"kind": "ServiceAccount", "serviceAccount": {"name": NAME, "namespace": NAMESPACE}}
    crowd = {"kind": "User", "user": {"name": OTHERS}}
    admin = real.plane.admin
    admin.ensure(f"{_FLOW}/prioritylevelconfigurations", level)
    admin.ensure("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", _may_look(OTHERS))
    for name, subject in ((OURS, account), (OTHERS, crowd)):
        admin.ensure(f"{_FLOW}/flowschemas", _flow(name, subject))
    try:
        yield
    finally:
        for name in (OURS, OTHERS):
            admin.request("DELETE", f"{_FLOW}/flowschemas/{name}")
        admin.request("DELETE", f"{_FLOW}/prioritylevelconfigurations/{OURS}")


def _flow(name: str, subject: dict[str, Any]) -> dict[str, Any]:
    """Whatever this subject asks is of the one level."""
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": name},
        "spec": {
            "priorityLevelConfiguration": {"name": OURS},
            "matchingPrecedence": 2,
            "rules": [{"subjects": [subject], "resourceRules": [everything]}],
        },
    }


def _may_look(user: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


class Crowd:
    """Others who ask all the time, so that its own requests are mostly turned away."""

    def __init__(self, real: Real, size: int = 6) -> None:
        self._admin = real.plane.admin
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(size)]

    def _ask(self) -> None:
        line = http.client.HTTPSConnection(self._admin.host, self._admin.port, context=self._admin.tls, timeout=10)
        while not self._over.is_set():
            line.request("GET", "/api/v1/pods", headers={"Impersonate-User": OTHERS})
            line.getresponse().read()
        line.close()

    def __enter__(self) -> Crowd:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for one in self._threads:
            one.join()


def _refused(real: Real, flow: str) -> int:
    """How many requests of a flow the server turned away, by its own count."""
    page = str(real.plane.admin.request("GET", "/metrics"))
    lines = (one for one in page.splitlines() if one.startswith("apiserver_flowcontrol_rejected_requests_total"))
    return sum(int(float(one.rsplit(" ", 1)[1])) for one in lines if f'flow_schema="{flow}"' in one)


def test_a_server_that_refuses_almost_everything_is_waited_out(real: Real):
    with _refusing(real), Crowd(real):
        real.until(lambda: _refused(real, OTHERS) > 0)
        real.pods("storm", 12, cpu="8")
        real.until(lambda: _refused(real, OURS) >= REFUSALS)
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
