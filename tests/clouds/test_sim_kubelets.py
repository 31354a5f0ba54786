"""Kubelets that pretend: driven by what they are told, writing no more than they must."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from dovetail.clouds.sim.kubelets import Key, Kubelets, NodeKey, Pace, PodKey, SeenNode, SeenPod

T = 1_000_000.0
NODE = SeenNode("a", "uid-a", "kwok://a", T)
WEB = SeenPod("default", "web", "uid-web", "a", containers=(("main", "nginx"),))


@dataclass
class Written:
    """`KubeletApi` that remembers."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    pods: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    leases: list[str] = field(default_factory=list)

    async def set_node_status(self, name: str, status: dict[str, Any]) -> None:
        self.nodes.append(status)

    async def set_pod_status(self, pod: SeenPod, status: dict[str, Any]) -> None:
        self.pods.append((pod.name, status))

    async def end_pod(self, pod: SeenPod) -> None:
        self.ended.append(pod.name)

    async def renew_lease(self, lease: dict[str, Any]) -> None:
        self.leases.append(lease["metadata"]["name"])


class House:
    """Kubelets with a queue that a test can run dry, and a clock it can move."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.now = T
        self.api = Written()
        self.woken: dict[Key, None] = {}
        self.due: dict[Key, float] = {}
        self.looks = 0
        self.kubelets = Kubelets(self.api, self._wake, pace, lambda: self.now)

    def _wake(self, key: Key) -> None:
        self.woken[key] = None

    def run(self) -> None:
        """Everything that is due now."""

        async def until_dry() -> None:
            while self.woken:
                key = next(iter(self.woken))
                del self.woken[key]
                self.due.pop(key, None)
                self.looks += 1
                again = await self.kubelets.look(key)
                if again is not None:
                    self.due[key] = self.now + again
                for key in [key for key, when in self.due.items() if when <= self.now]:
                    self._wake(key)

        asyncio.run(until_dry())

    def forward(self, seconds: float) -> None:
        until = self.now + seconds
        while self.due and min(self.due.values()) <= until:
            self.now = max(self.now, min(self.due.values()))
            for key in [key for key, when in self.due.items() if when <= self.now]:
                self._wake(key)
            self.run()
        self.now = until

    @property
    def phases(self) -> list[tuple[str, str]]:
        return [(name, status["phase"]) for name, status in self.api.pods]


def up(pace: Pace | None = None, *nodes: SeenNode) -> House:
    house = House(pace)
    for node in nodes or (NODE,):
        house.kubelets.node_seen(node)
    house.run()
    return house


def ready(status: dict[str, Any]) -> str:
    (one,) = [one["status"] for one in status["conditions"] if one["type"] == "Ready"]
    return str(one)


# ---- nodes


def test_a_node_is_ready_after_it_has_booted_and_says_so_in_one_write() -> None:
    house = up(Pace(boot=30.0))
    house.forward(29.9)
    assert house.api.nodes == []
    house.forward(0.1)
    (status,) = house.api.nodes
    assert (ready(status), status["phase"]) == ("True", "Running")
    assert status["nodeInfo"]["bootID"]
    house.kubelets.node_seen(replace(NODE, ready="True"))
    house.run()
    assert len(house.api.nodes) == 1


def test_a_node_that_is_ready_already_is_taken_over_without_a_write() -> None:
    """dovetail was started anew."""
    house = up(Pace(boot=30.0), replace(NODE, ready="True"))
    assert house.api.nodes == []
    assert house.api.leases == ["a"]


def test_a_boot_id_given_by_a_restart_is_kept() -> None:
    (status,) = up(None, replace(NODE, boot_id="kwok-1")).api.nodes
    assert status["nodeInfo"]["bootID"] == "kwok-1"


def test_a_node_somebody_else_calls_unready_says_that_it_is_well() -> None:
    house = up()
    house.kubelets.node_seen(replace(NODE, ready="Unknown"))
    house.run()
    assert [ready(status) for status in house.api.nodes] == ["True", "True"]


def test_a_node_marked_unhealthy_is_left_as_it_is() -> None:
    house = up()
    house.kubelets.node_seen(replace(NODE, ready="False", left_alone=True))
    house.run()
    assert len(house.api.nodes) == 1


def test_an_idle_node_costs_one_lease_in_ten_seconds_and_nothing_else() -> None:
    house = up()
    before = house.looks
    house.forward(600.0)
    assert 60 <= len(house.api.leases) <= 62
    assert house.looks - before == len(house.api.leases) - 1
    assert len(house.api.nodes) == 1


def test_many_nodes_beat_slower_and_not_all_at_once() -> None:
    nodes = [SeenNode(f"n{number}", f"u{number}", f"kwok://n{number}", T) for number in range(400)]
    house = up(None, *nodes)
    house.api.leases.clear()
    house.forward(60.0)
    assert 400 * 2 <= len(house.api.leases) <= 400 * 4
    assert len(set(house.due.values())) > 50


@pytest.mark.parametrize("count", [1, 5000])
def test_no_lease_is_renewed_later_than_it_runs_out(count: int) -> None:
    house = House()
    for number in range(count):
        house.kubelets.node_seen(SeenNode(f"n{number}", f"u{number}", f"kwok://n{number}", T))
    assert 10.0 <= house.kubelets._beat_seconds() <= 25.0


def test_a_dead_machine_is_silent() -> None:
    house = up()
    house.kubelets.silence("kwok://a")
    house.kubelets.node_seen(replace(NODE, ready="Unknown"))
    house.kubelets.pod_seen(WEB)
    house.run()
    leases = len(house.api.leases)
    house.forward(120.0)
    assert len(house.api.leases) == leases
    assert (len(house.api.nodes), house.api.pods) == (1, [])


def test_a_dead_machines_node_is_unknown_after_a_while_where_nobody_else_says_so() -> None:
    house = up(Pace(missed=40.0))
    house.kubelets.silence("kwok://a")
    house.run()
    house.forward(39.0)
    assert [ready(status) for status in house.api.nodes] == ["True"]
    house.forward(60.0)
    assert [ready(status) for status in house.api.nodes] == ["True", "Unknown"]


def test_a_sick_machine_says_so_and_gets_well() -> None:
    house = up()
    house.kubelets.sicken("kwok://a")
    house.run()
    house.kubelets.heal("kwok://a")
    house.run()
    assert [ready(status) for status in house.api.nodes] == ["True", "False", "True"]


def test_trouble_for_a_machine_nobody_knows_is_no_trouble() -> None:
    house = up()
    for befall in (house.kubelets.silence, house.kubelets.sicken, house.kubelets.heal):
        befall("kwok://nobody")
    house.run()
    assert len(house.api.nodes) == 1


def test_a_node_that_is_gone_beats_no_more() -> None:
    house = up()
    house.kubelets.node_gone("a")
    leases = len(house.api.leases)
    house.forward(60.0)
    assert len(house.api.leases) == leases


def test_another_node_of_the_same_name_boots_anew() -> None:
    house = up()
    house.kubelets.node_seen(replace(NODE, uid="another"))
    house.run()
    assert len(house.api.nodes) == 2


# ---- pods


def test_a_pod_runs_once_its_node_is_up() -> None:
    house = House(Pace(boot=30.0))
    house.kubelets.pod_seen(WEB)
    house.kubelets.node_seen(NODE)
    house.run()
    assert house.api.pods == []
    house.forward(30.0)
    ((name, status),) = house.api.pods
    assert (name, status["phase"]) == ("web", "Running")
    assert status["startTime"] == "1970-01-12T13:47:10Z"
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
    }
    assert [(one["name"], one["ready"]) for one in status["containerStatuses"]] == [("main", True)]


def test_a_pod_takes_as_long_to_start_as_it_is_told_to() -> None:
    house = up(Pace(start=5.0))
    house.forward(60.0)
    house.kubelets.pod_seen(replace(WEB, bound=house.now))
    house.run()
    house.forward(4.9)
    assert house.phases == []
    house.kubelets.pod_seen(replace(WEB, bound=house.now - 4.9))
    house.forward(0.2)
    assert house.phases == [("web", "Running")]


def test_a_pod_that_is_seen_running_needs_nothing() -> None:
    house = up()
    house.kubelets.pod_seen(replace(WEB, phase="Running", started=T))
    house.run()
    assert house.api.pods == []


def test_a_pod_of_a_job_succeeds_after_a_while() -> None:
    house = up()
    house.kubelets.pod_seen(replace(WEB, run_for=90.0))
    house.run()
    house.forward(89.0)
    assert house.phases == [("web", "Running")]
    house.forward(1.0)
    assert house.phases == [("web", "Running"), ("web", "Succeeded")]
    (_, _), (_, status) = house.api.pods
    (container,) = status["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 0
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "Ready": "False",
        "ContainersReady": "False",
    }


def test_a_pod_that_was_running_before_dovetail_was_started_anew_ends_when_it_would_have() -> None:
    house = up()
    house.kubelets.pod_seen(replace(WEB, phase="Running", started=T - 80.0, run_for=90.0))
    house.run()
    house.forward(10.0)
    assert house.phases == [("web", "Succeeded")]


def test_a_pod_told_to_go_has_ended_after_it_stopped_and_never_later_than_its_grace() -> None:
    house = up(Pace(stop=10.0))
    slow = replace(WEB, phase="Running", deleted=T + 30.0, grace=30)
    quick = replace(WEB, name="quick", phase="Running", deleted=T + 2.0, grace=2)
    for pod in (slow, quick):
        house.kubelets.pod_seen(pod)
    house.run()
    house.forward(2.0)
    assert house.api.ended == ["quick"]
    house.forward(7.9)
    assert house.api.ended == ["quick"]
    house.forward(0.1)
    assert house.api.ended == ["quick", "web"]


def test_a_pod_that_somebody_holds_is_told_as_ended_first_and_asked_to_go_once() -> None:
    house = up()
    held = replace(WEB, phase="Running", deleted=T, grace=30, held=True)
    house.kubelets.pod_seen(held)
    house.run()
    house.forward(30.0)
    house.kubelets.pod_seen(replace(held, phase="Failed", grace=0))
    house.run()
    assert house.phases == [("web", "Failed")]
    assert house.api.ended == ["web"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_stays_until_it_is_told_to_go(phase: str) -> None:
    house = up()
    house.kubelets.pod_seen(replace(WEB, phase=phase))
    house.run()
    assert (house.api.pods, house.api.ended) == ([], [])
    house.kubelets.pod_seen(replace(WEB, phase=phase, deleted=T))
    house.run()
    assert house.api.ended == ["web"]


def test_pods_of_other_nodes_are_nobodys_business_here() -> None:
    house = up()
    house.kubelets.pod_seen(replace(WEB, node="real"))
    assert not house.woken
    house.kubelets.pod_gone(PodKey("default", "web"))
    house.kubelets.pod_gone(PodKey("default", "never-seen"))
    assert house.kubelets._on == {}


def test_what_is_gone_is_looked_at_without_harm() -> None:
    house = up()
    house.woken = {NodeKey("gone"): None, PodKey("default", "gone"): None}
    house.run()
    assert house.api.ended == []
