"""Where a pod was planned to go is kept in mind until it is there, has no room there, or had its time."""

from __future__ import annotations

from typing import Any

from tests.live import objects
from tests.live.live import Live
from tests.live.test_live_disruption import up
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.core.pods import Pod, PodState

#: So that the scheduler binds it nowhere.
NOWHERE = {"example.com/nowhere": "true"}


async def planned(live: Live, cpu: str) -> str:
    """One pod runs, another waits and was planned onto the same node; the name of the node."""
    live.pods(1)
    await up(live, 1)
    live.pods(1, "waits", cpu=cpu, nodeSelector=NOWHERE)
    await live.until(lambda: len(live.all(kinds.PODS)) == 2)
    await live.settle(5)
    node = str(live.node()["metadata"]["name"])
    wire = waiting(live)
    key = (wire["metadata"]["namespace"], wire["metadata"]["name"])
    live.controller.nominations.nominate([(key, wire["metadata"]["uid"])], node, live.controller.now() + 1000)
    return node


def waiting(live: Live) -> dict[str, Any]:
    (found,) = (one for one in live.all(kinds.PODS) if one["metadata"].get("labels", {}).get("app") == "waits")
    return found


def seen(live: Live) -> Pod:
    (found,) = (pod for pod in live.controller.snapshots.take().pods if pod.name == waiting(live)["metadata"]["name"])
    return found


def test_a_pod_is_seen_where_it_was_planned_to_go():
    async def scenario() -> None:
        async with Live() as live:
            node = await planned(live, cpu="100m")
            assert (seen(live).node, seen(live).state) == (node, PodState.BOUND)

    run(scenario())


def test_a_pod_that_got_the_name_of_its_node_is_still_planned_there():
    async def scenario() -> None:
        async with Live() as live:
            node = await planned(live, cpu="100m")
            name = waiting(live)["metadata"]["name"]
            status = {"status": {"nominatedNodeName": node}}
            live.edit(kinds.PODS, name, status, subresource="status", namespace="default")
            await live.settle(2)
            assert len(live.controller.nominations) == 1
            assert (seen(live).node, seen(live).state) == (node, PodState.BOUND)

    run(scenario())


def test_a_pod_whose_room_was_given_to_others_has_to_be_planned_anew():
    async def scenario() -> None:
        async with Live() as live:
            await planned(live, cpu="1000")
            assert (seen(live).node, seen(live).state) == (None, PodState.PENDING)

    run(scenario())


def test_a_pod_that_was_to_go_just_there_is_planned_anew_as_soon_as_its_room_is_taken():
    async def scenario() -> None:
        async with Live() as live:
            node = await planned(live, cpu="100m")
            # Another machine is on its way for somebody, and would have everybody wait for it.
            live.controller.nominations.nominate([(("default", "elsewhere"), "elsewhere")], "coming", None)
            wire = waiting(live)
            key, uid = (wire["metadata"]["namespace"], wire["metadata"]["name"]), wire["metadata"]["uid"]
            live.controller.nominations.nominate([(key, uid)], node, live.controller.now() + 1000, {uid})
            live.controller.provisioner.refused = 0
            assert live.node()["status"]["allocatable"]["cpu"] == "1900m"
            live.put(kinds.PODS, objects.pod("thief", cpu="850m", nodeName=node))
            await live.until(lambda: live.controller.provisioner.refused == 1, 5)
            assert seen(live).state is PodState.PENDING, "it fits nowhere, and says so rather than wait for its room"
            assert live.controller.nominations.get(key) is None

    run(scenario())


def test_a_pod_whose_room_was_taken_is_shown_to_the_scheduler_again_where_another_node_has_room():
    async def scenario() -> None:
        async with Live() as live:
            node = await planned(live, cpu="100m")
            woken: list[str] = []
            live.controller.places.wake = lambda pods: woken.extend(one.target for one in pods)  # type: ignore[method-assign]
            live.put(kinds.PODS, objects.pod("late", cpu="1", schedulerName="nobody"))
            key = ("default", "late")
            await live.until(lambda: live.controller.nominations.get(key), 30)
            uid = live.get(kinds.PODS, "late", "default")["metadata"]["uid"]
            await live.until(lambda: len(live.nodes()) == 2, 60)
            await live.settle(5)
            # It was to go to the first node and nowhere else, and there is no room left for it.
            live.controller.nominations.nominate([(key, uid)], node, live.controller.now() + 1000, {uid})
            live.put(kinds.PODS, objects.pod("thief", cpu="100m", nodeName=node))
            await live.until(lambda: woken, 5)
            other = live.controller.nominations.get(key)
            assert other is not None
            assert other.target != node

    run(scenario())


def test_a_pod_that_was_not_bound_in_its_time_is_shown_to_the_scheduler_again():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(3, cpu="1")
            await up(live, 3)
            node = str(live.node()["metadata"]["name"])
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 1}})
            await live.until(lambda: len(live.running()) == 1)
            woken: list[str] = []
            live.controller.places.wake = lambda pods: woken.extend(one.target for one in pods)  # type: ignore[method-assign]
            live.put(kinds.PODS, objects.pod("turned-away", schedulerName="nobody"))
            await live.until(lambda: live.controller.nominations.get(("default", "turned-away")), 30)
            assert not woken, "it was planned for the first time"
            await live.settle(40)
            assert set(woken) == {node}, "it had its time, and fits where it did not go"

    run(scenario())


def named(live: Live, node: str) -> None:
    """The one pod that waits has the name of a node, as if somebody had bought that node for it."""
    status = {"status": {"nominatedNodeName": node}}
    live.edit(kinds.PODS, waiting(live)["metadata"]["name"], status, subresource="status", namespace="default")


def test_a_pod_with_the_name_of_a_node_that_is_gone_is_planned_when_the_controller_starts():
    """R7: nobody alive remembers the plan it was a part of."""

    async def scenario() -> None:
        async with Live() as live:
            await live.stop()
            live.pods(1, "waits")
            await live.until(lambda: len(live.all(kinds.PODS)) == 1)
            named(live, "gone")
            await live.start()
            await live.until(lambda: len(live.running()) == 1, 30)
            assert len(live.claims()) == 1

    run(scenario())


def test_a_pod_given_the_name_of_a_node_that_is_not_there_is_planned_when_it_is_seen():
    async def scenario() -> None:
        async with Live() as live:
            made = objects.pod("late")
            made["metadata"]["labels"] = {"app": "waits"}
            live.put(kinds.PODS, made)
            named(live, "gone")
            await live.until(lambda: len(live.running()) == 1, 30)

    run(scenario())


def test_a_pod_is_planned_anew_when_the_node_it_has_the_name_of_goes():
    async def scenario() -> None:
        async with Live() as live:
            node = await planned(live, cpu="100m")
            named(live, node)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            await live.until(lambda: len(live.all(kinds.PODS)) == 1)
            await live.restart()
            await live.settle()
            assert (seen(live).node, seen(live).state) == (None, PodState.WAITING)
            assert live.controller.provisioner.refused == 0
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.until(lambda: not live.nodes(), 100)
            await live.until(lambda: seen(live).state is PodState.PENDING, 5)
            await live.until(lambda: live.controller.provisioner.refused == 1, 5)

    run(scenario())


def test_a_pod_that_something_else_holds_back_is_not_planned_whatever_its_node():
    async def scenario() -> None:
        async with Live() as live:
            await live.stop()
            live.pods(1, "waits", schedulingGates=[{"name": "example.com/not-yet"}])
            await live.until(lambda: len(live.all(kinds.PODS)) == 1)
            named(live, "gone")
            await live.start()
            await live.settle(20)
            assert not live.claims()
            assert seen(live).state is PodState.WAITING

    run(scenario())
