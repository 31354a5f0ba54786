"""Handlers on Compute Engine and Azure (R25, R31, R42): questions that hang, lists that change, answers sent back."""

from __future__ import annotations

import pytest
from tests.handler.handled import Handled
from tests.live.virtual_time import run
from tools.metadata_server.server import Fault

from dovetail.core.handler import gcp, marks
from dovetail.core.handler.notices import Kind
from dovetail.core.handler.policy import RESPONSES, Policy, Response

# ---- GCP


def test_a_preemption_is_seen_at_once_by_a_question_that_hangs():
    async def scenario() -> None:
        async with Handled("gcp") as one:
            await one.settle(200)
            asked = len(one.metadata.asked)
            assert asked <= 12, "two keys, one long question a minute"
            began = one.world.now()
            one.metadata.gcp.set(gcp.PREEMPTED, "TRUE")
            await one.until(one.tainted, 5)
            assert one.world.now() - began < 1.0

    run(scenario())


def test_R25_thirty_pods_are_gone_within_half_a_minute_budgets_or_not():
    async def scenario() -> None:
        async with Handled("gcp", takes=6.0) as one:
            for number in range(29):
                one.pod(f"web-{number}", grace=60)
            one.pod("db-0", grace=60)
            one.budget("db")
            began = one.world.now()
            one.metadata.gcp.set(gcp.PREEMPTED, "TRUE")
            await one.until(lambda: not one.pods(), 30)
            assert one.world.now() - began < 30

    run(scenario())


def test_a_server_that_does_not_wait_is_not_asked_without_a_pause():
    async def scenario() -> None:
        async with Handled("gcp", start=False) as one:
            one.metadata.gcp.waits = False
            await one.start()
            await one.settle(30)
            assert len(one.metadata.asked) <= 80
            one.metadata.gcp.set(gcp.PREEMPTED, "TRUE")
            await one.until(one.tainted, 5)

    run(scenario())


def test_an_answer_of_somebody_else_is_none():
    async def scenario() -> None:
        async with Handled("gcp", start=False) as one:
            one.metadata.gcp.values[gcp.PREEMPTED] = "TRUE"
            one.metadata.gcp.flavour = "Captive"
            one._tasks.clear()
            process = await one.start(client=one.client)
            await one.settle(20)
            assert not one.tainted()
            assert process.listener is not None
            assert not process.listener.standing.settled
            one.metadata.gcp.flavour = "Google"
            await one.until(one.tainted)

    run(scenario())


def test_a_server_in_maintenance_itself_is_asked_again():
    async def scenario() -> None:
        async with Handled("gcp") as one:
            one.metadata.faults.append(Fault(503, times=6))
            await one.settle(70)
            one.metadata.gcp.set(gcp.PREEMPTED, "TRUE")
            await one.until(one.tainted, 10)

    run(scenario())


def test_a_stop_for_maintenance_ends_a_preemptible_machine():
    async def scenario() -> None:
        async with Handled("gcp") as one:
            one.pod("web")
            one.metadata.gcp.set(gcp.MAINTENANCE, "TERMINATE_ON_HOST_MAINTENANCE")
            await one.until(lambda: not one.pods(), 30)
            assert one.condition() == ("True", marks.REQUESTED)

    run(scenario())


def test_a_live_migration_is_left_alone_unless_asked_for():
    async def scenario() -> None:
        async with Handled("gcp") as one:
            one.metadata.gcp.set(gcp.MAINTENANCE, "MIGRATE_ON_HOST_MAINTENANCE")
            await one.settle(30)
            assert not one.tainted()
        policy = Policy(responses={**RESPONSES, Kind.FREEZE: Response.MARK})
        async with Handled("gcp", policy=policy) as one:
            one.metadata.gcp.set(gcp.MAINTENANCE, "MIGRATE_ON_HOST_MAINTENANCE")
            await one.until(one.tainted)
            one.metadata.gcp.set(gcp.MAINTENANCE, "NONE")
            await one.until(lambda: not one.tainted())

    run(scenario())


def test_a_word_that_changes_twice_ends_where_it_ends():
    async def scenario() -> None:
        async with Handled("gcp") as one:
            for word in ("TRUE", "FALSE", "TRUE"):
                one.metadata.gcp.set(gcp.PREEMPTED, word)
                await one.settle(3)
            assert one.tainted()
            one.metadata.gcp.set(gcp.PREEMPTED, "FALSE")
            await one.until(lambda: not one.tainted())

    run(scenario())


# ---- Azure


def http_time(one: Handled, seconds: float) -> str:
    from datetime import timedelta

    return (one.world.date() + timedelta(seconds=seconds)).strftime("%a, %d %b %Y %H:%M:%S GMT")


def test_R31_a_preemption_is_acknowledged_once_the_node_is_empty():
    async def scenario() -> None:
        async with Handled("azure") as one:
            one.pod("web")
            one.metadata.azure.schedule("Preempt", NotBefore=http_time(one, 30))
            await one.until(one.tainted, 4)
            assert one.metadata.azure.started == []
            await one.until(lambda: one.metadata.azure.started, 30)
            assert not one.pods()
            await one.settle(20)
            assert one.metadata.azure.started == ["e-1"]

    run(scenario())


def test_an_acknowledgement_that_fails_is_sent_again():
    async def scenario() -> None:
        async with Handled("azure") as one:
            one.metadata.azure.schedule("Preempt", NotBefore=http_time(one, 30))
            await one.until(one.tainted, 4)

        async with Handled("azure", start=False) as one:
            await one.start()
            answer, failures = one.processes[0].actor.acknowledge, [2]
            assert answer is not None

            async def failing(event: str) -> None:
                from dovetail.handler.metadata import Unreachable

                if failures[0]:
                    failures[0] -= 1
                    raise Unreachable("no answer")
                await answer(event)

            one.processes[0].actor.acknowledge = failing
            one.metadata.azure.schedule("Preempt", NotBefore=http_time(one, 30))
            await one.until(lambda: one.metadata.azure.started == ["e-1"], 30)

    run(scenario())


@pytest.mark.parametrize("resources", [["pool_0", "pool_1"], ["POOL_0", "other"]])
def test_an_event_of_several_machines_is_not_ours_to_start(resources: list[str]):
    async def scenario() -> None:
        async with Handled("azure") as one:
            one.metadata.azure.schedule("Preempt", Resources=resources, NotBefore=http_time(one, 30))
            await one.until(one.tainted)
            await one.settle(20)
            assert one.metadata.azure.started == []

    run(scenario())


def test_an_event_of_a_neighbour_is_not_ours():
    async def scenario() -> None:
        async with Handled("azure") as one:
            one.metadata.azure.schedule("Preempt", Resources=["pool_7"])
            await one.settle(20)
            assert not one.tainted()

    run(scenario())


def test_an_event_that_vanishes_was_called_off():
    async def scenario() -> None:
        async with Handled("azure") as one:
            one.metadata.azure.schedule("Reboot", NotBefore=http_time(one, 900))
            await one.until(one.tainted)
            assert one.condition() == ("", "")
            one.metadata.azure.withdraw()
            await one.until(lambda: not one.tainted(), 20)
            assert not one.cordoned()

    run(scenario())


def test_a_machine_that_fails_is_told_of_when_it_has_begun():
    async def scenario() -> None:
        async with Handled("azure", takes=1e9) as one:
            one.pod("web-0", grace=600)
            one.metadata.azure.schedule("Terminate", status="Started")
            await one.until(lambda: not one.pods(), 10)
            assert one.metadata.azure.started == []

    run(scenario())


def test_an_event_may_change_its_time_twice():
    async def scenario() -> None:
        async with Handled("azure", takes=1e9) as one:
            one.pod("web-0", grace=3600)
            for seconds in (900, 600, 60):
                one.metadata.azure.schedule("Terminate", NotBefore=http_time(one, seconds))
                await one.settle(3)
            ends = one.world.now() + 57
            await one.until(lambda: not one.pods(), 90)
            assert one.world.now() <= ends

    run(scenario())


def test_the_first_answer_may_take_two_minutes():
    async def scenario() -> None:
        async with Handled("azure", start=False) as one:
            one.metadata.faults.append(Fault(200, seconds=110.0, text='{"Events": []}', path="scheduledevents"))
            process = await one.start(client=one.client)
            await one.settle(100)
            one.metadata.azure.schedule("Preempt")
            await one.until(one.tainted, 20)
            assert process.telling.metrics.value("metadata_errors_total", {"cloud": "azure", "source": "x"}) == 0

    run(scenario())


def test_every_question_carries_its_header_and_no_forwarding():
    async def scenario() -> None:
        async with Handled("azure") as one:
            await one.settle(3)
            for asked in one.metadata.asked:
                assert asked.headers.get("Metadata") == "true"
                assert "X-Forwarded-For" not in asked.headers

    run(scenario())
