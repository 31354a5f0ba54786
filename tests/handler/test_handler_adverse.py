"""Bad days of the cluster (R42, R44): no API server, two handlers, a process that dies half way, others at the Node."""

from __future__ import annotations

import asyncio

import pytest
from tests.handler.handled import NODE, Handled
from tests.live.killing import Killed, Mortal
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.core.errors import BadInput
from dovetail.core.handler import gcp, marks
from dovetail.core.handler.policy import Policy
from dovetail.handler.machines import VERSIONS


def test_an_api_server_that_is_away_finds_the_notice_waiting_when_it_is_back():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.pod("web")
            await one.server.faults.begin_outage()
            one.interrupt(120)
            await one.settle(30)
            assert not one.tainted()
            await one.server.faults.end_outage()
            await one.until(one.tainted, 3)
            await one.until(lambda: not one.pods(), 30)

    run(scenario())


def test_an_api_server_that_comes_back_too_late_is_told_all_the_same():
    async def scenario() -> None:
        async with Handled("gcp") as one:
            one.pod("web-0", grace=600)
            await one.server.faults.begin_outage()
            one.metadata.gcp.set(gcp.PREEMPTED, "TRUE")
            await one.settle(45)
            await one.server.faults.end_outage()
            await one.until(one.tainted, 5)
            await one.until(lambda: not one.pods(), 5)
            assert one.condition() == ("True", marks.REQUESTED)

    run(scenario())


def test_a_cloud_that_is_named_is_listened_to_before_the_api_server_is_there():
    async def scenario() -> None:
        async with Handled("aws", start=False) as one:
            await one.server.faults.begin_outage()
            one.interrupt()
            process = await one.start(client=one.client, cloud="aws")
            await one.settle(10)
            assert process.listener is not None
            assert process.listener.standing.notices
            await one.server.faults.end_outage()
            await one.until(one.tainted, 3)

    run(scenario())


def test_errors_of_the_server_cost_a_moment_and_nothing_else():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.pod("web")
            one.server.faults.answer(500, times=3)
            one.server.faults.answer(409, times=2)
            one.interrupt()
            await one.until(one.tainted, 10)
            await one.until(lambda: not one.pods(), 30)

    run(scenario())


def test_marks_half_written_are_taken_off_when_the_notice_is_taken_back():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.server.faults.answer(403, times=10**6, meant=lambda request: request.path.endswith("/status"))
            one.interrupt()
            await one.until(one.tainted)
            one.metadata.aws.notices.clear()
            await one.until(lambda: not one.tainted(), 20)

    run(scenario())


def test_two_handlers_do_what_one_does():
    async def scenario() -> None:
        async with Handled("aws") as one:
            await one.start()
            for number in range(6):
                one.pod(f"web-{number}")
            one.interrupt()
            await one.until(lambda: not one.pods(), 60)
            await one.settle(30)
            assert list(one.taints()).count(marks.TAINT) == 1
            one.metadata.aws.notices.clear()
            await one.until(lambda: not one.tainted(), 20)
            await one.settle(30)
            assert not one.tainted()
            assert not one.cordoned()
            assert one.note() is None

    run(scenario())


def test_a_new_process_goes_on_where_the_old_one_was():
    async def scenario() -> None:
        async with Handled("gcp", takes=1e9) as one:
            one.pod("web-0", grace=600)
            one.metadata.gcp.set(gcp.PREEMPTED, "TRUE")
            began = one.world.now()
            await one.until(one.tainted)
            await one.stop()
            note = one.note()
            await one.settle(8)
            await one.start()
            await one.until(lambda: not one.pods(), 30)
            assert one.world.now() - began <= 26, "the end is when the first process saw it"
            assert one.note() == note

    run(scenario())


def test_marks_of_a_notice_that_is_over_are_taken_off_by_the_next_process():
    async def scenario() -> None:
        async with Handled("gcp") as one:
            one.metadata.gcp.set(gcp.PREEMPTED, "TRUE")
            await one.until(one.tainted)
            await one.stop()
            one.metadata.gcp.set(gcp.PREEMPTED, "FALSE")  # it was stopped, and started again
            await one.start()
            await one.until(lambda: not one.tainted(), 10)
            await one.until(lambda: one.condition() == ("False", marks.WITHDRAWN))
            assert not one.cordoned()

    run(scenario())


def test_a_new_process_undoes_nothing_while_metadata_are_silent():
    async def scenario() -> None:
        async with Handled("gcp") as one:
            one.metadata.gcp.set(gcp.PREEMPTED, "TRUE")
            await one.until(one.tainted)
            await one.stop()
            one.metadata.gcp.flavour = "Nobody"
            await one.start(client=one.client)
            await one.settle(30)
            assert one.tainted()

    run(scenario())


async def _boundaries(at: int | None) -> int:
    """One notice from beginning to end, by a process that dies at its `at`-th write; how many there are."""
    async with Handled("aws", start=False) as one:
        for number in range(2):
            one.pod(f"web-{number}")
        one.interrupt()
        mortal = Mortal(one.client, at)
        mortal_client = _Within(mortal)
        process = await one.start(client=mortal_client)
        task = one._tasks[-1]
        while not mortal.dead and not (one.tainted() and not one.pods() and "Drained" in " ".join(one.reasons())):
            await asyncio.sleep(0.1)
            if task.done():
                break
        if at is None:
            assert process is not None
            return len(mortal.crossed)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        one._tasks.clear()
        await one.start()
        await one.until(lambda: one.tainted() and not one.pods(), 60)
        await one.until(lambda: one.condition() == ("True", marks.REQUESTED))
        return 0


class _Within:
    """The actor asks for a client that gives up sooner; this one dies as it would."""

    def __init__(self, mortal: Mortal) -> None:
        self._mortal = mortal

    def within(self, budget: float) -> _Within:
        return self

    def __getattr__(self, name: str) -> object:
        return getattr(self._mortal, name)


def test_killed_at_any_write_another_process_finishes_what_was_begun():
    writes = run(_boundaries(None))
    assert writes >= 5, "before anything, the marks, the condition, two evictions"
    for at in range(writes):
        try:
            run(_boundaries(at))
        except* Killed:
            pytest.fail(f"the death at write {at} was not the process's own")


def test_others_write_to_the_node_and_nothing_of_theirs_is_lost():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.edit(
                {"spec": {"taints": [{"key": "theirs", "effect": "NoSchedule"}]}, "metadata": {"labels": {"a": "b"}}}
            )
            writing = asyncio.create_task(_scribble(one))
            one.interrupt()
            await one.until(one.tainted, 5)
            writing.cancel()
            assert "theirs" in one.taints()
            assert one.node()["metadata"]["labels"]["a"] == "b"

    run(scenario())


async def _scribble(one: Handled) -> None:
    number = 0
    while True:
        number += 1
        one.edit({"metadata": {"annotations": {"number": str(number)}}})
        await asyncio.sleep(0.05)


def test_a_taint_that_somebody_takes_off_is_put_back():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.interrupt()
            await one.until(one.tainted)
            one.edit({"spec": {"taints": None}})
            await one.until(one.tainted, 15)

    run(scenario())


def test_the_machine_is_deleted_where_that_is_wanted():
    async def scenario() -> None:
        async with Handled("aws", policy=Policy(delete_machine=True)) as one:
            for kind in VERSIONS[:1]:
                one.store.create(kinds.CRDS, _machines(kind), "")
            machine = {"apiVersion": VERSIONS[0].api_version, "kind": "Machine", "metadata": {"name": "m"}, "spec": {}}
            one.store.create(VERSIONS[0], machine, "default")
            one.edit(
                {
                    "metadata": {
                        "annotations": {
                            "cluster.x-k8s.io/machine": "m",
                            "cluster.x-k8s.io/cluster-namespace": "default",
                        }
                    }
                }
            )
            one.interrupt()
            await one.until(lambda: not one.store.list(VERSIONS[0]), 10)
            assert one.tainted()

    run(scenario())


def _machines(kind: kinds.Kind) -> dict:
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": _ANYTHING}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"kind": kind.name, "plural": kind.plural, "singular": "machine", "listKind": "MachineList"},
            "versions": [version],
        },
    }


_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_an_empty_node_is_out_of_service_where_that_is_wanted():
    async def scenario() -> None:
        async with Handled("gcp", policy=Policy(out_of_service=True)) as one:
            one.pod("web")
            one.metadata.gcp.set(gcp.PREEMPTED, "TRUE")
            await one.until(lambda: marks.OUT_OF_SERVICE in one.taints(), 30)
            assert not one.pods()
            one.metadata.gcp.set(gcp.PREEMPTED, "FALSE")
            await one.until(lambda: not {marks.TAINT, marks.OUT_OF_SERVICE} & set(one.taints()), 10)

    run(scenario())


def test_a_node_of_no_cloud_we_know_is_refused_with_the_way_out():
    async def scenario() -> None:
        async with Handled("aws", start=False) as one:
            one.store.delete(kinds.NODES, NODE, "")
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "spec": {"providerID": "kind://x"}}
            one.store.create(kinds.NODES, node, "")
            await one.start(client=one.client)
            await one.settle(5)

    with pytest.raises(BaseExceptionGroup) as caught:
        run(scenario())
    (bad,) = caught.value.exceptions
    assert isinstance(bad, BadInput)
    assert "--cloud" in str(bad)
