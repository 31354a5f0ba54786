"""One turn's trouble ends nothing but that turn: it is told, counted, and tried again later and later."""

from __future__ import annotations

import asyncio
import logging

import pytest
from tests.live.virtual_time import run

from dovetail.clouds.port import CloudError
from dovetail.controllers import declared
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.supervision import METRIC, Done, Failures, Later, Rest, attempted, keep_on
from dovetail.core.effects import Count

REST = Rest(first=1.0, last=5.0)


def turns(*outcomes: float | Exception) -> tuple[list[float], list[str]]:
    """When each turn began, and what was told of those that failed; one more turn is begun than there are outcomes."""
    began: list[float] = []
    told: list[str] = []

    async def turn() -> float:
        began.append(asyncio.get_running_loop().time())
        if len(began) > len(outcomes):
            raise asyncio.CancelledError
        outcome = outcomes[len(began) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def scenario() -> None:
        with pytest.raises(asyncio.CancelledError):
            await keep_on(turn, lambda problem: told.append(str(problem)), REST)

    run(scenario())
    return [round(one - began[0], 3) for one in began], told


def test_a_turn_says_when_it_wants_the_next():
    assert turns(3.0, 0.5) == ([0.0, 3.0, 3.5], [])


def test_after_a_failure_a_loop_rests_and_longer_each_time_in_a_row():
    broken = [ValueError(str(number)) for number in range(5)]
    assert turns(*broken) == ([0.0, 1.0, 3.0, 7.0, 12.0, 17.0], ["0", "1", "2", "3", "4"])


def test_a_turn_that_goes_well_ends_the_row():
    began, _ = turns(ValueError(), ValueError(), 10.0, ValueError())
    assert began == [0.0, 1.0, 3.0, 13.0, 14.0]


def test_what_is_only_too_early_is_tried_again_and_told_to_nobody():
    assert turns(Later()) == ([0.0, 1.0], [])


def test_whoever_is_cancelled_ends_at_once():
    async def scenario() -> None:
        async def turn() -> float:
            await asyncio.sleep(1000)
            return 0.0

        told: list[Exception] = []
        task = asyncio.create_task(keep_on(turn, told.append, REST))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not told

    run(scenario())


def test_what_an_attempt_returns_is_told_apart_from_one_that_failed():
    async def none() -> None:
        return None

    async def broken() -> None:
        raise ValueError

    assert asyncio.run(attempted(none, lambda problem: None)) == Done(None)
    assert asyncio.run(attempted(broken, lambda problem: None)) is None


@pytest.mark.parametrize(("problem", "fault"), [(CloudError("busy"), "false"), (ValueError("oh"), "true")])
def test_a_fault_of_ours_is_logged_with_a_traceback_and_everything_is_counted(
    problem: Exception, fault: str, caplog: pytest.LogCaptureFixture
):
    counted: list[Count] = []
    with caplog.at_level(logging.WARNING, "dovetail"):
        Failures(counted.append).of("upkeep")("machines", problem)
    (record,) = caplog.records
    assert record.getMessage() == f"upkeep machines: {problem}"
    assert (record.exc_info is not None) == (fault == "true")
    assert counted == [Count(METRIC, {"loop": "upkeep", "fault": fault})]


def test_the_count_is_a_metric_of_ours():
    metrics = declared.declare(Metrics())
    metrics.count(METRIC, {"loop": "upkeep", "fault": "true"})
    assert metrics.value(METRIC, {"loop": "upkeep", "fault": "true"}) == 1
