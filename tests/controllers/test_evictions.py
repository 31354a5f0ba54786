"""§2.11: what is told and counted of pods that are asked, or made, to leave."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from dovetail.controllers.draining import Evictions
from dovetail.controllers.supervision import Later
from dovetail.core.effects import Count, Evict, Ref, Say
from dovetail.core.lifecycle.drain import DrainPod
from dovetail.core.resources import Resources
from dovetail.kube.errors import KubeError, TooManyRequests

NOW = 1_800_000_000.0
POD = Ref("Pod", "web-1", "web-1-uid", "default")


class Server:
    """Answers evictions as told, and remembers with what grace pods were deleted."""

    def __init__(self, answer: KubeError | None = None) -> None:
        self.answer, self.graces = answer, list[int]()

    async def evict(self, name: str, namespace: str, *, uid: str) -> None:
        if self.answer is not None:
            raise self.answer

    async def delete(self, kind: object, name: str, namespace: str, *, uid: str, grace: int) -> None:
        self.graces.append(grace)


class Heard:
    def __init__(self) -> None:
        self.said, self.counted = list[Say](), list[Count]()

    def say(self, event: Say) -> None:
        self.said.append(event)

    def count(self, one: Count) -> None:
        self.counted.append(one)

    @property
    def counts(self) -> list[tuple[str, dict[str, str]]]:
        return [(one.metric, dict(one.labels)) for one in self.counted]


def asked(server: Server, one: Evict) -> Heard:
    return asyncio.run(_asked(server, one))


async def _asked(server: Server, one: Evict) -> Heard:
    heard = Heard()
    node = SimpleNamespace(meta=SimpleNamespace(uid="node-1-uid"))
    cluster: Any = SimpleNamespace(
        pods=SimpleNamespace(get=lambda name, namespace: SimpleNamespace(uid=POD.uid)), node=lambda name: node
    )
    pods: Any = SimpleNamespace(of=lambda found: DrainPod(POD, grace=60.0), size=lambda found: Resources({}))
    client: Any = server
    queue = Evictions(client, cluster, pods, heard, lambda ref, failed: None, lambda: NOW)
    queue.add(one)
    try:
        await queue._one(POD)
    except Later:
        assert len(queue) == 1
    else:
        assert not len(queue)
    return heard


def test_an_eviction_says_why_and_is_counted_as_the_peer_counts_it():
    heard = asked(Server(), Evict(POD, "node-1", reason="Drifted"))
    assert [(one.reason, one.message) for one in heard.said] == [("Evicted", "Evicted pod: Drifted")]
    assert heard.counts == [
        ("pods_eviction_requests_total", {"code": "200"}),
        ("pods_drained_total", {"reason": "Drifted"}),
    ]


def test_a_pod_that_is_made_to_leave_is_told_how_long_it_has_and_counted_too():
    server = Server()
    heard = asked(server, Evict(POD, "node-1", deadline=NOW + 12.5, reason="Forceful Termination"))
    assert server.graces == [12]
    assert [one.reason for one in heard.said] == ["Disrupted"]
    assert heard.said[0].message.startswith(
        "Deleting the pod to accommodate the terminationTime 2027-01-15T08:00:12Z of the node. "
        "The pod was granted 12 seconds of grace-period of its 60 terminationGracePeriodSeconds."
    )
    assert heard.counts == [("pods_drained_total", {"reason": "Forceful Termination"})]


SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (TooManyRequests("no", status=429), "evicting pod violates a PDB"),
        (KubeError(SEVERAL, status=500), "eviction does not support multiple PDBs"),
    ],
    ids=["one budget", "several"],
)
def test_a_budget_that_refuses_is_told_of_on_the_node_and_asked_again(answer: KubeError, why: str):
    heard = asked(Server(answer), Evict(POD, "node-1"))
    assert [(one.about.uid, one.message) for one in heard.said] == [
        ("node-1-uid", f"Failed to drain node, {why} (Pod=default/web-1)")
    ]
    assert heard.counts == [("pods_eviction_requests_total", {"code": str(answer.status)})]


# ---- who goes first


def order(*cores: float, deadline: float | None = None, reason: str = "Underutilized") -> list[str]:
    """In which order pods of so many cores are asked, added in the order given."""
    return asyncio.run(_order(cores, deadline, reason))


async def _order(cores: Sequence[float], deadline: float | None, reason: str) -> list[str]:
    refs = {f"{one}": Ref("Pod", f"{one}", f"{one}-uid", "default") for one in cores}
    left, done, names = set(refs), asyncio.Event(), list[str]()

    async def evict(name: str, namespace: str, *, uid: str) -> None:
        names.append(name)
        left.discard(name)
        if not left:
            done.set()

    def get(name: str, namespace: str) -> SimpleNamespace:
        return SimpleNamespace(name=name, uid=refs[name].uid)

    cluster: Any = SimpleNamespace(pods=SimpleNamespace(get=get), node=lambda name: None)
    pods: Any = SimpleNamespace(
        of=lambda found: DrainPod(refs[found.name], grace=30.0),
        size=lambda found: Resources({"cpu": round(float(found.name) * 1000)}),
    )
    client: Any = SimpleNamespace(evict=evict)
    queue = Evictions(client, cluster, pods, Heard(), lambda ref, failed: None, lambda: NOW)
    for one in refs.values():
        queue.add(Evict(one, deadline=deadline, reason=reason))
    work = asyncio.create_task(queue.run(workers=4))
    async with asyncio.timeout(20):
        await done.wait()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    return names


def test_the_largest_are_asked_first_whichever_node_they_are_on():
    assert order(0.5, 0.7, 1.0) == ["1.0", "0.7", "0.5"]


def test_a_deadline_far_away_changes_nothing_and_one_that_is_near_does():
    assert order(0.5, 0.7, deadline=NOW + 3600) == ["0.7", "0.5"]
    assert order(0.5, 0.7, deadline=NOW + 30.5) == ["0.5", "0.7"]


def test_where_machines_are_bought_for_them_nobody_lines_up():
    assert order(0.5, 0.7, reason="Drifted") == ["0.5", "0.7"]
