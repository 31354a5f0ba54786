"""Pods are given the name of the node that was bought for them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from dovetail.controllers import placing
from dovetail.controllers.nominations import Nominations
from dovetail.controllers.placing import Places, fixed
from dovetail.core.resources import Resources
from dovetail.kube.errors import Conflict, Forbidden, KubeError, NotFound

FIXED = {"uid-a", "uid-b", "uid-new"}
A, B = (("default", "a"), "uid-a"), (("default", "b"), "uid-b")


class Server:
    """Takes patches, or refuses them. What it took comes back by the watch, unless that is cut."""

    def __init__(self, refusal: KubeError | None = None, cut: bool = False) -> None:
        self.refusal, self.cut = refusal, cut
        self.places: Places | None = None
        self.asked: list[tuple[str, Any, str]] = []

    async def patch(self, kind: Any, name: str, patch: Any, namespace: str, *, subresource: str) -> dict[str, Any]:
        self.asked.append((name, patch.body, subresource))
        if self.refusal is not None:
            raise self.refusal
        if self.places is not None and not self.cut:
            self.places.saw((namespace, name), patch.body["status"]["nominatedNodeName"])
        return {}


def watching(server: Server, nominations: Nominations) -> Places:
    client: Any = server
    server.places = Places(client, nominations)
    return server.places


def planned() -> Nominations:
    nominations = Nominations()
    nominations.nominate([A, B], "claim", None, FIXED)
    return nominations


def told(server: Server, times: int = 1) -> list[tuple[str, Any, str]]:
    async def scenario() -> None:
        places = watching(server, planned())
        for _ in range(times):
            await places.tell("claim", "node")

    asyncio.run(scenario())
    return server.asked


def named(name: str) -> tuple[str, Any, str]:
    return (name, {"metadata": {"uid": f"uid-{name}"}, "status": {"nominatedNodeName": "node"}}, "status")


def test_everybody_a_machine_was_bought_for_is_given_its_name_once():
    assert told(Server(), times=3) == [named("a"), named("b")]


def test_those_who_may_go_anywhere_are_not_told():
    server = Server()

    async def scenario() -> None:
        nominations = Nominations()
        nominations.nominate([A, B], "claim", None, {"uid-b"})
        await watching(server, nominations).tell("claim", "node")

    asyncio.run(scenario())
    assert server.asked == [named("b")]


def claim(**cores: int) -> Any:
    """What of a planned claim its pods' sizes are read from."""
    pods = [
        SimpleNamespace(uid=name, shape=SimpleNamespace(requests=Resources({"cpu": milli, "memory": 1})))
        for name, milli in cores.items()
    ]
    return SimpleNamespace(pods=pods, requests=Resources({"cpu": sum(cores.values()), "memory": 1000}))


def test_everybody_has_a_place_of_his_own_unless_all_ask_for_the_same():
    assert fixed([claim(small=100), claim(middle=500, large=4000)]) == {"small", "middle", "large"}
    assert fixed([claim(a=1000, b=1000), claim(c=1000)]) == frozenset()
    assert fixed(()) == frozenset()


def test_a_pod_that_is_gone_is_no_trouble():
    assert len(told(Server(NotFound("pods default/a: there is none")))) == 2


def test_where_we_may_not_it_is_not_tried_again():
    server = Server(Forbidden("patch pods default/a: no"))

    async def scenario() -> None:
        nominations = planned()
        places = watching(server, nominations)
        await places.tell("claim", "node")
        nominations.nominate([A], "other", None, FIXED)
        await places.tell("other", "node-2")

    asyncio.run(scenario())
    assert len(server.asked) == 2


def test_a_pod_that_is_planned_elsewhere_or_made_anew_is_told_again():
    server = Server()

    async def scenario() -> None:
        nominations = planned()
        places = watching(server, nominations)
        await places.tell("claim", "node")
        nominations.nominate([A], "other", None, FIXED)
        await places.tell("other", "node-2")
        nominations.nominate([(A[0], "uid-new")], "other", None, FIXED)
        await places.tell("other", "node-2")

    asyncio.run(scenario())
    assert [body["status"]["nominatedNodeName"] for _, body, _ in server.asked] == ["node", "node", "node-2", "node-2"]
    assert server.asked[-1][1]["metadata"]["uid"] == "uid-new"


def test_names_of_pods_that_are_long_bound_are_forgotten():
    async def scenario() -> int:
        nominations = Nominations()
        places = watching(Server(), nominations)
        for number in range(3000):
            pod = (("default", f"p-{number}"), f"u-{number}")
            nominations.nominate([pod], "claim", None, {pod[1]})
            await places.tell("claim", "node")
            nominations.drop(pod[0])
        return len(places._named)

    assert asyncio.run(scenario()) <= 1001


class Slow(Server):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()

    async def patch(self, kind: Any, name: str, patch: Any, namespace: str, *, subresource: str) -> dict[str, Any]:
        await super().patch(kind, name, patch, namespace, subresource=subresource)
        if name == "b":
            await self.let.wait()
        return {}


def test_a_node_waits_until_the_pods_of_the_others_have_their_names():
    server = Slow()

    async def scenario() -> None:
        nominations = Nominations()
        nominations.nominate([A], "first", None, FIXED)
        nominations.nominate([B], "second", None, FIXED)
        places = watching(server, nominations)
        second = asyncio.create_task(places.tell("second", "node-2"))
        await asyncio.sleep(0)
        first = asyncio.create_task(places.tell("first", "node-1"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert [name for name, _, _ in server.asked] == ["b", "a"]
        assert not first.done(), "somebody has no name yet, and would take its room"
        server.let.set()
        assert await first
        assert await second
        assert not await places.tell("first", "node-1"), "there is nobody left to tell"

    asyncio.run(scenario())


class Ordered:
    """Two machines of one plan that join as soon as they are bought; the first has."""

    def __init__(self) -> None:
        self.server = Server()
        nominations = Nominations()
        nominations.nominate([A], "first", None, FIXED)
        nominations.nominate([B], "second", None, FIXED)
        self.places = watching(self.server, nominations)

    async def opens(self, *, at_once: bool = True) -> asyncio.Task[bool]:
        """The first one's Node is there; the task ends when it may take pods."""
        task = asyncio.create_task(self.places.tell("first", "node-1", at_once=at_once))
        await _turns()
        return task


async def _turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_machines_that_join_at_once_wait_for_those_bought_with_them():
    async def scenario() -> None:
        world = Ordered()
        with world.places.ordering():
            world.places.expect("first")
            first = await world.opens()
            assert not first.done(), "another claim of the plan is being written"
            world.places.expect("second")
        await _turns()
        assert not first.done(), "another machine of the plan is being bought"
        second = asyncio.create_task(world.places.tell("second", "node-2", at_once=True))
        await _turns()
        assert first.done()
        assert second.done()
        assert world.server.asked[0][0] == "a"

    asyncio.run(scenario())


def test_nobody_waits_for_a_machine_that_takes_its_time_or_never_comes():
    async def scenario() -> None:
        world = Ordered()
        world.places.expect("second")
        first = await world.opens()
        assert not first.done()
        world.places.not_soon("second")
        await _turns()
        assert first.done()

    asyncio.run(scenario())


def test_a_machine_that_took_its_time_waits_for_nobody_else():
    async def scenario() -> None:
        world = Ordered()
        world.places.expect("second")
        first = await world.opens(at_once=False)
        assert first.done()

    asyncio.run(scenario())


def woken(server: Server, pods: list[tuple[tuple[str, str], str]], times: int, bound_after: int = 0) -> list[Any]:
    """What was written as names, of pods that were turned away so many times and once were bound in between."""

    async def scenario() -> None:
        nominations = Nominations()
        nominations.nominate(pods, "open", 100.0)
        places = watching(server, nominations)
        for time in range(1, times + 1):
            places.wake(nominations.on("open"))
            await asyncio.sleep(0.01)
            if time == bound_after:
                places.settled(pods[0][0])

    asyncio.run(scenario())
    return [(name, body["status"]["nominatedNodeName"]) for name, body, _ in server.asked]


def test_one_of_those_who_were_turned_away_gets_a_name_and_loses_it_so_that_all_are_looked_at_again():
    assert woken(Server(), [A, B], 1) == [("a", "open"), ("a", None)]


def test_nobody_is_shown_to_the_scheduler_for_ever():
    assert len(woken(Server(), [A], 5)) == 2 * placing.WOKEN
    assert len(woken(Server(), [A], 5, bound_after=2)) == 2 * 5


def test_nobody_is_woken_where_names_may_not_be_written():
    assert len(woken(Server(Forbidden("patch pods default/a: no")), [A], 2)) == 1


def test_who_could_not_be_woken_is_tried_again():
    assert len(woken(Server(Conflict("patch pods default/a: no")), [A], 5)) == 5


def test_a_name_that_woke_a_pod_and_could_not_be_taken_away_goes_with_its_place():
    class Once(Server):
        async def patch(self, kind: Any, name: str, patch: Any, namespace: str, *, subresource: str) -> dict[str, Any]:
            self.refusal = Conflict("patch pods default/a: no") if len(self.asked) == 1 else None
            return await super().patch(kind, name, patch, namespace, subresource=subresource)

    server = Once()

    async def scenario() -> None:
        nominations = Nominations()
        nominations.nominate([A], "open", 100.0)
        places = watching(server, nominations)
        places.wake(nominations.on("open"))
        await asyncio.sleep(0.01)
        places.take_back(nominations.drop_target("open"))
        await asyncio.sleep(0.01)

    asyncio.run(scenario())
    assert [body["status"]["nominatedNodeName"] for _, body, _ in server.asked] == ["open", None, None]


def test_a_name_is_taken_back_from_those_who_do_not_go_there_and_only_once():
    server = Server()

    async def scenario() -> None:
        nominations = planned()
        places = watching(server, nominations)
        await places.tell("claim", "node")
        lost = nominations.drop_target("claim")
        for _ in range(2):
            places.take_back(lost)
            await asyncio.sleep(0)
        assert server.asked[2:] == [
            (name, {"metadata": {"uid": f"uid-{name}"}, "status": {"nominatedNodeName": None}}, "status")
            for name in ("a", "b")
        ]

    asyncio.run(scenario())


# ---- a name counts when it came back


def test_a_node_waits_until_names_came_back_by_the_watch():
    async def scenario() -> None:
        server = Server(cut=True)
        places = watching(server, planned())
        task = asyncio.create_task(places.tell("claim", "node"))
        await _turns()
        assert len(server.asked) == 2
        places.saw(A[0], "node")
        places.saw(B[0], "another")
        await _turns()
        assert not task.done(), "the scheduler may not have heard of it either"
        places.saw(B[0], "node")
        await _turns()
        assert task.done()

    asyncio.run(scenario())


def test_nobody_waits_for_the_name_of_a_pod_that_is_gone_or_bound():
    async def scenario() -> None:
        places = watching(Server(cut=True), planned())
        task = asyncio.create_task(places.tell("claim", "node"))
        await _turns()
        places.saw(A[0], None)
        places.saw(B[0], None)
        await _turns()
        assert task.done()

    asyncio.run(scenario())


def test_a_name_that_was_taken_away_is_given_anew_and_nodes_wait_for_that():
    server = Slow()

    async def scenario() -> None:
        nominations = Nominations()
        nominations.nominate([A], "first", None, FIXED)
        nominations.nominate([B], "second", None, FIXED)
        places = watching(server, nominations)
        server.let.set()
        await places.tell("second", "node-2")
        server.let.clear()
        places.lost(B[0])
        first = asyncio.create_task(places.tell("first", "node-1"))
        await _turns()
        assert [name for name, _, _ in server.asked] == ["b", "b", "a"]
        assert not first.done()
        server.let.set()
        await _turns()
        assert first.done()

    asyncio.run(scenario())


def test_a_name_lost_as_the_last_was_written_is_waited_for_too(monkeypatch: pytest.MonkeyPatch):
    async def scenario() -> None:
        server = Server(cut=True)
        places = watching(server, planned())
        task = asyncio.create_task(places.tell("claim", "node"))
        await _turns()
        noted, lost = places._note, [B[0]]

        def note() -> None:
            noted()
            if places._written.is_set() and lost:
                places.lost(lost.pop())

        monkeypatch.setattr(places, "_note", note)
        places.saw(A[0], "node")
        places.saw(B[0], "node")
        await _turns()
        assert [name for name, _, _ in server.asked] == ["a", "b", "b"]
        assert not task.done()
        places.saw(B[0], "node")
        await _turns()
        assert task.done()

    asyncio.run(scenario())


def test_who_is_bound_or_planned_elsewhere_or_takes_names_away_again_and_again_is_left_alone():
    server = Server()

    async def scenario() -> None:
        nominations = planned()
        places = watching(server, nominations)
        await places.tell("claim", "node")
        nominations.drop(A[0])
        places.lost(A[0])
        for _ in range(5):
            places.lost(B[0])
            await _turns()
        assert [name for name, _, _ in server.asked] == ["a", "b", "b", "b"]

    asyncio.run(scenario())


def test_a_watch_that_is_cut_holds_nodes_up_for_a_moment_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(placing, "SEEN_SECONDS", 0.01)

    async def scenario() -> None:
        places = watching(Server(cut=True), planned())
        assert await places.tell("claim", "node")
        assert not places._unseen

    asyncio.run(scenario())


def test_who_waits_for_an_older_name_of_a_pod_does_not_wait_in_vain_nor_end_the_wait_for_the_new_one():
    async def scenario() -> None:
        nominations = planned()
        places = watching(Server(cut=True), nominations)
        older = asyncio.create_task(places.tell("claim", "node"))
        await _turns()
        nominations.nominate([A], "other", None, FIXED)
        newer = asyncio.create_task(places.tell("other", "node-2"))
        await _turns()
        places.saw(B[0], "node")
        await _turns()
        assert not older.done(), "a name is still being given"
        assert list(places._unseen) == [A[0]]
        places.saw(A[0], "node-2")
        await _turns()
        assert older.done()
        assert newer.done()

    asyncio.run(scenario())


def test_a_name_that_is_taken_back_is_not_waited_for_nor_given_anew():
    server = Server(cut=True)

    async def scenario() -> None:
        nominations = planned()
        places = watching(server, nominations)
        task = asyncio.create_task(places.tell("claim", "node"))
        await _turns()
        places.take_back(nominations.drop_target("claim"))
        await _turns()
        assert task.done()
        places.lost(A[0])
        await _turns()
        assert [body["status"]["nominatedNodeName"] for _, body, _ in server.asked] == ["node", "node", None, None]

    asyncio.run(scenario())
