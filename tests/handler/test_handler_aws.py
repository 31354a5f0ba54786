"""A handler on EC2 (R21, R42): the interruption, the recommendation, and a metadata service on its bad days."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.handler.handled import ITN, NODE, Handled
from tests.live.virtual_time import run
from tools.metadata_server.server import Fault

from dovetail.core.handler import aws, marks
from dovetail.core.handler.notices import Kind
from dovetail.core.handler.policy import RESPONSES, Policy, Response


def test_R21_an_interruption_marks_the_node_within_a_second_of_the_poll():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.interrupt()
            began = one.world.now()
            await one.until(one.tainted, 5)
            assert one.world.now() - began <= 2.0 + 1.0
            await one.until(lambda: one.condition() == ("True", marks.REQUESTED))
            assert one.taints()[marks.TAINT] == "preempt"
            assert one.cordoned()
            assert one.node()["metadata"]["labels"][marks.EXCLUDED] == marks.OURS
            await one.until(lambda: "TerminationNotice" in one.reasons())
            assert one.value("termination_notices_total", cloud="aws", kind="preempt") == 1

    run(scenario())


def test_the_node_is_empty_before_the_end_and_daemons_stay():
    async def scenario() -> None:
        async with Handled("aws") as one:
            for number in range(5):
                one.pod(f"web-{number}", grace=300)
            one.pod("agent", owner="DaemonSet")
            one.interrupt(120)
            ends = one.world.now() + 120
            await one.until(lambda: one.pods() == {"agent"}, 120)
            assert one.world.now() < ends - 10
            await one.until(lambda: "Drained" in one.reasons())
            assert one.value("termination_pods_evicted_total") == 5

    run(scenario())


def test_a_node_that_is_cordoned_already_is_drained_all_the_same():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.edit({"spec": {"unschedulable": True}})
            one.pod("web")
            one.interrupt()
            await one.until(lambda: not one.pods(), 60)

    run(scenario())


def test_a_pod_that_takes_its_time_is_given_what_there_is_and_no_more():
    async def scenario() -> None:
        async with Handled("aws", takes=1e9) as one:
            one.pod("slow-0", grace=3600)
            one.interrupt(120)
            ends = one.world.now() + 120
            await one.until(lambda: not one.pods(), 130)
            assert ends - 20 <= one.world.now() <= ends - 9

    run(scenario())


def test_a_disruption_budget_is_heeded_for_half_of_the_time():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.pod("web-0")
            one.budget("web")
            await one.settle(0.1)
            began = one.world.now()
            one.interrupt(120)
            await one.until(lambda: not one.pods(), 100)
            assert 54 <= one.world.now() - began <= 62
            assert one.value("termination_pods_deleted_total") == 1
            assert any("does not leave yet" in line for line in one.log.lines)

    run(scenario())


def test_a_recommendation_only_keeps_new_pods_away():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.pod("web")
            one.metadata.aws.notices[aws.REBALANCE] = f'{{"noticeTime": "{one.at(0)}"}}'
            await one.until(one.tainted)
            await one.settle(60)
            assert one.taints()[marks.TAINT] == "rebalance"
            assert one.reasons() == ["RebalanceRecommendation"]
            assert one.condition() == ("", "")
            assert one.pods() == {"web"}
            one.interrupt()
            await one.until(lambda: not one.pods())
            assert one.taints()[marks.TAINT] == "preempt"

    run(scenario())


def test_a_recommendation_drains_where_that_is_wanted():
    async def scenario() -> None:
        policy = Policy(responses={**RESPONSES, Kind.REBALANCE: Response.DRAIN})
        async with Handled("aws", policy=policy) as one:
            one.pod("web")
            one.metadata.aws.notices[aws.REBALANCE] = '{"noticeTime": "2027-01-15T08:00:00Z"}'
            await one.until(lambda: not one.pods())
            assert one.condition() == ("True", marks.REQUESTED)

    run(scenario())


def test_a_notice_that_vanishes_for_one_answer_undoes_nothing():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.interrupt()
            await one.until(one.tainted)
            said = one.metadata.aws.notices.pop(ITN)
            await one.settle(3)
            one.metadata.aws.notices[ITN] = said
            await one.settle(20)
            assert one.tainted()
            assert marks.WITHDRAWN not in one.reasons()

    run(scenario())


def test_a_notice_taken_back_is_undone_to_the_last_mark():
    async def scenario() -> None:
        async with Handled("aws") as one:
            before = one.node()
            one.interrupt()
            await one.until(one.tainted)
            del one.metadata.aws.notices[ITN]
            await one.until(lambda: not one.tainted())
            await one.until(lambda: one.condition() == ("False", marks.WITHDRAWN))
            after = one.node()
            assert after["spec"] == before["spec"]
            assert not after["metadata"].get("annotations")
            assert marks.EXCLUDED not in (after["metadata"].get("labels") or {})
            one.interrupt()
            await one.until(lambda: one.condition() == ("True", marks.REQUESTED))

    run(scenario())


def test_a_notice_taken_back_leaves_what_a_recommendation_asks_for():
    async def scenario() -> None:
        async with Handled("aws", policy=Policy(out_of_service=True)) as one:
            one.metadata.aws.notices[aws.REBALANCE] = f'{{"noticeTime": "{one.at(0)}"}}'
            one.interrupt()
            await one.until(lambda: marks.OUT_OF_SERVICE in one.taints())
            await one.settle(15)  # the recommendation is asked for less often
            assert one.condition() == ("True", marks.REQUESTED)
            del one.metadata.aws.notices[ITN]
            await one.until(lambda: one.condition() == ("False", marks.WITHDRAWN))
            assert marks.EXCLUDED not in (one.node()["metadata"].get("labels") or {})
            assert one.taints()[marks.TAINT] == "rebalance"
            assert marks.OUT_OF_SERVICE not in one.taints()
            assert one.cordoned()
            await one.until(lambda: marks.WITHDRAWN in one.reasons())
            one.interrupt()
            await one.until(lambda: marks.OUT_OF_SERVICE in one.taints())
            assert one.condition() == ("True", marks.REQUESTED)
            assert one.value("termination_notices_total", cloud="aws", kind="preempt") == 2

    run(scenario())


def test_a_new_process_waits_for_every_answer_before_a_node_that_ends_is_said_to_stay():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.metadata.aws.notices[aws.REBALANCE] = f'{{"noticeTime": "{one.at(0)}"}}'
            one.interrupt()
            await one.settle(15)
            assert one.condition() == ("True", marks.REQUESTED)
            await one.stop()
            before = one.node()
            one.metadata.faults.append(Fault(503, times=10**6, path=ITN))
            await one.start(client=one.client)
            await one.settle(40)
            assert one.node() == before
            one.metadata.faults.clear()
            await one.settle(20)
            assert one.node() == before

    run(scenario())


def test_scheduled_maintenance_waits_until_it_is_near_and_goes_when_it_is_cancelled():
    async def scenario() -> None:
        async with Handled("aws", policy=Policy(lead=60)) as one:
            one.pod("web")

            def told(state: str) -> str:
                date = one.world.date().strftime("%d Jan %Y 08:05:00 GMT")  # five minutes after the scenario begins
                return f'[{{"NotBefore": "{date}", "Code": "system-reboot", "EventId": "e1", "State": "{state}"}}]'

            one.metadata.aws.notices[aws.MAINTENANCE] = told("active")
            await one.settle(120)
            assert not one.tainted()
            await one.until(one.tainted, 180)
            assert one.condition() == ("", "")
            await one.until(lambda: not one.pods())
            one.metadata.aws.notices[aws.MAINTENANCE] = told("canceled")
            await one.until(lambda: not one.tainted(), 120)

    run(scenario())


# ---- bad days


def test_a_token_that_is_refused_is_asked_for_once_more():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.metadata.aws.revoke()
            one.interrupt()
            await one.until(one.tainted, 5)
            assert one.metadata.aws.tokens == 2

    run(scenario())


def test_a_token_is_kept_until_it_is_nearly_over():
    async def scenario() -> None:
        async with Handled("aws", start=False) as one:
            one.metadata.aws.ttl = 120
            await one.start()
            await one.settle(60)
            assert one.metadata.aws.tokens == 1
            await one.settle(30)
            assert one.metadata.aws.tokens == 2

    run(scenario())


def test_a_service_of_version_one_is_asked_without_a_token():
    async def scenario() -> None:
        async with Handled("aws", start=False) as one:
            one.metadata.aws.version_2 = False
            await one.start()
            one.interrupt()
            await one.until(one.tainted, 5)

    run(scenario())


@pytest.mark.parametrize("fault", [Fault(0), Fault(0, seconds=10.0), Fault(503), Fault(200, text="")])
def test_where_no_token_can_be_had_the_service_is_asked_without(fault):
    async def scenario() -> None:
        async with Handled("aws", start=False) as one:
            one.metadata.aws.version_2 = False
            one.metadata.faults.append(replace(fault, times=10**6, path="api/token"))
            await one.start()
            one.interrupt()
            await one.until(one.tainted, 5)
            asked = one.metadata.paths().count("/latest/api/token")
            await one.settle(60)
            assert one.metadata.paths().count("/latest/api/token") == asked

    run(scenario())


def test_a_token_that_does_not_come_where_one_is_needed_is_told_with_what_to_do():
    async def scenario() -> None:
        async with Handled("aws", start=False) as one:
            one.metadata.faults.append(Fault(0, times=10**6, seconds=10.0, path="api/token"))
            process = await one.start(client=one.client)
            await one.settle(90)
            assert process.listener is not None
            assert "PUT /latest/api/token: no answer within 2 s" in process.listener.trouble
            assert "use the host's network, or a hop limit of 2" in process.listener.trouble
            one.metadata.faults.clear()
            one.interrupt()
            await one.until(one.tainted, 20)

    run(scenario())


def test_a_token_is_had_again_after_the_service_was_away():
    async def scenario() -> None:
        async with Handled("aws", start=False) as one:
            one.metadata.aws.ttl = 60
            await one.start()
            one.metadata.faults.append(Fault(0, times=10**6))
            await one.settle(60)
            one.metadata.faults.clear()
            one.interrupt()
            await one.until(one.tainted, 10)

    run(scenario())


def test_errors_garbage_and_silence_are_outlived():
    async def scenario() -> None:
        async with Handled("aws") as one:
            one.interrupt()
            one.metadata.faults += [
                Fault(503, times=2),
                Fault(0, times=2),
                Fault(200, times=1, seconds=10.0),
                Fault(200, times=2, text="<html>"),
                Fault(401, times=1, path="token"),
            ]
            await one.until(one.tainted, 60)
            assert one.value("metadata_errors_total", cloud="aws", source=ITN) >= 1
            assert one.processes[0].listener is not None
            assert not one.processes[0].listener.trouble

    run(scenario())


def test_a_minute_of_silence_is_told_and_a_notice_stays_through_it():
    async def scenario() -> None:
        async with Handled("aws") as one:
            process = one.processes[0]
            assert process.listener is not None
            one.interrupt()
            await one.until(one.tainted)
            one.metadata.faults.append(Fault(500, times=10**6))
            await one.settle(50)
            assert process.listener.trouble == ""
            await one.settle(60)
            assert "no answer for" in process.listener.trouble
            assert one.tainted()
            one.metadata.faults.clear()
            await one.settle(35)
            assert process.listener.trouble == ""

    run(scenario())


def test_no_proxy_is_ever_asked(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    async def scenario() -> None:
        async with Handled("aws") as one:
            one.interrupt()
            await one.until(one.tainted)

    run(scenario())


def test_a_dry_run_tells_and_changes_nothing():
    async def scenario() -> None:
        async with Handled("aws", policy=Policy(dry_run=True)) as one:
            before = one.node()
            one.pod("web")
            one.interrupt()
            await one.until(lambda: any("a dry run does nothing" in line for line in one.log.lines))
            await one.settle(60)
            assert one.node() == before
            assert one.pods() == {"web"}

    run(scenario())


def test_the_end_of_a_quiet_process_leaves_the_node_alone():
    async def scenario() -> None:
        async with Handled("aws") as one:
            before = one.node()
            await one.settle(60)
            await one.stop()
            assert one.node() == before
            assert one.metadata.asked
            assert {task.get_name() for task in asyncio.all_tasks()} & {"handler", "listening"} == set()

    run(scenario())


def test_age_makes_a_node_leave_before_its_day_is_over():
    async def scenario() -> None:
        async with Handled("gcp", max_age=1900.0) as one:
            one.pod("web")
            await one.settle(90)
            assert not one.tainted()
            await one.until(one.tainted, 1000)
            assert one.taints()[marks.TAINT] == "age-limit"
            await one.until(lambda: one.condition() == ("True", marks.REQUESTED))
            await one.until(lambda: not one.pods())
            assert one.node()["metadata"]["name"] == NODE

    run(scenario())
