"""The loop controllers share: order, retries, time, and life as a task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from tests.apiserver.controller_world import World, workload

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.bootstrap import new_cluster
from dovetail.apiserver.controllers import Controllers, Options
from dovetail.apiserver.controllers.controller import Key, Seen
from dovetail.apiserver.controllers.index import Index
from dovetail.apiserver.controllers.running import Running
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Change


class Recorder:
    """Looks at ConfigMaps, and does what their names say."""

    hears: tuple[Kind, ...] | None = (kinds.CONFIG_MAPS,)

    def __init__(self) -> None:
        self.looks: list[str] = []

    def heard(self, seen: Seen) -> Iterable[Key]:
        if seen.item.name == "unreadable":
            raise RuntimeError("no sense in this")
        return ((seen.item.name,),)

    def look(self, key: Key) -> float | None:
        (name,) = key
        self.looks.append(name)
        if name == "bad" and self.looks.count("bad") < 3:
            raise RuntimeError("this one is broken")
        return 60.0 if name == "later" else None


class Loop:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.objects: Objects = new_cluster(lambda: self.time)
        self.recorder = Recorder()
        self.running = Running(self.objects, Index(), [self.recorder])
        self.running.attach()

    def write(self, name: str, **data: str) -> None:
        found = self.objects.find(kinds.CONFIG_MAPS, name, "default")
        if found is None:
            self.objects.create(kinds.CONFIG_MAPS, {"metadata": {"name": name}, "data": data}, "default")
        else:
            self.objects.update(kinds.CONFIG_MAPS, {**found, "data": data})


def test_what_changed_often_is_looked_at_once_and_in_the_order_it_was_heard() -> None:
    loop = Loop()
    for at in range(3):
        loop.write("b", x=str(at))
        loop.write("a", x=str(at))
    loop.running.settle()
    assert loop.recorder.looks == ["b", "a"]


def test_one_that_fails_is_tried_again_and_keeps_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    loop.write("bad")
    loop.write("good")
    with caplog.at_level(logging.CRITICAL):
        loop.running.settle()
        assert loop.recorder.looks == ["bad", "good"]
        for _ in range(3):
            loop.time += timedelta(seconds=1)
            loop.running.settle()
    assert loop.recorder.looks == ["bad", "good", "bad", "bad"]
    assert loop.running.next_due() is None


def test_what_a_controller_cannot_make_sense_of_is_not_the_writers_problem(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    loop.write("unreadable")
    loop.write("good")
    loop.running.settle()
    assert loop.recorder.looks == ["good"]
    assert "Recorder cannot make sense of default/unreadable" in caplog.text


def test_a_look_may_ask_for_another_later_and_a_change_makes_it_sooner() -> None:
    loop = Loop()
    loop.write("later")
    loop.running.settle()
    loop.time += timedelta(seconds=30)
    loop.running.settle()
    assert loop.recorder.looks == ["later"]
    loop.write("later", x="1")
    loop.running.settle()
    loop.time += timedelta(seconds=31)
    loop.running.settle()
    assert loop.recorder.looks == ["later", "later"], "the first appointment is void: the change made a new one"
    loop.time += timedelta(seconds=30)
    loop.running.settle()
    assert loop.recorder.looks == ["later"] * 3


def test_what_was_there_before_is_looked_at_when_controllers_start() -> None:
    objects = new_cluster()
    objects.create(kinds.CONFIG_MAPS, {"metadata": {"name": "old"}}, "default")
    recorder = Recorder()
    running = Running(objects, Index(), [recorder])
    running.attach()
    running.settle()
    assert recorder.looks == ["old"]


def test_controllers_run_as_one_task_and_stop() -> None:
    async def scenario() -> None:
        objects = new_cluster()
        async with Controllers(objects, Options(fake_kubelet=True)):
            pods = objects.watch(kinds.PODS)
            objects.create(kinds.REPLICA_SETS, {"metadata": {"name": "a"}, "spec": workload(2)}, "default")
            async with asyncio.timeout(5):
                changes = await anext(pods)
            assert changes[0].type == "ADDED"
        before = len(objects.list(kinds.PODS, "default"))
        objects.delete(kinds.PODS, objects.list(kinds.PODS, "default")[0]["metadata"]["name"], "default")
        await asyncio.sleep(0.02)
        assert len(objects.list(kinds.PODS, "default")) == before - 1
        assert not objects.storage.listeners or all("Running" not in str(one) for one in objects.storage.listeners)

    asyncio.run(scenario())


def test_the_index_follows_every_change_and_forgets_what_is_gone() -> None:
    world = World()
    index = Index()
    world.objects.storage.listeners.append(index.apply)
    world.node("n1")
    world.create(kinds.REPLICA_SETS, "a", workload(3))
    uid = world.get(kinds.REPLICA_SETS, "a")["metadata"]["uid"]
    assert len(index.pods_of(uid)) == len(index.pods_on("n1")) == len(index.dependents(uid)) == 3
    assert all(one.ready for one in index.pods_in("default"))
    fresh = Index()
    for item in world.objects.storage.table(kinds.PODS).items.values():
        fresh.apply(kinds.PODS, Change("ADDED", item, None))
    assert fresh.pods == index.pods
    world.delete(kinds.REPLICA_SETS, "a")
    assert (index.pods, index.pods_of(uid), index.pods_on("n1"), index.dependents(uid)) == ({}, [], [], [])


def test_the_same_writes_lead_to_the_same_cluster() -> None:
    def placed() -> list[tuple[str, str]]:
        world = World()
        for at in range(4):
            world.node(f"n{at}", cpu=str(1 + at))
        for at in range(8):
            world.pod(f"p{at}", cpu="900m")
        return [(one["metadata"]["name"], one["spec"].get("nodeName", "")) for one in world.pods()]

    assert placed() == placed()
