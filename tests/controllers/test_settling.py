"""Pods the scheduler bound elsewhere than planned are planned again once everything that was planned has come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dovetail.controllers import settling
from dovetail.controllers.batching import Batcher, Window
from dovetail.controllers.nominations import Nominations
from dovetail.controllers.settling import Settling

A, B = (("default", "a"), "uid-a"), (("default", "b"), "uid-b")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "CALM_SECONDS", 0.01)
    monkeypatch.setattr(settling, "TOGETHER_SECONDS", 0.01)


def replans_of(scene: Callable[[Nominations, Settling], Awaitable[None]]) -> int:
    async def scenario() -> int:
        replans: list[None] = []
        nominations = Nominations()
        one = Settling(nominations, lambda: replans.append(None))
        await scene(nominations, one)
        await asyncio.sleep(0.03)
        one.close()
        return len(replans)

    return asyncio.run(scenario())


def test_nobody_is_planned_again_while_a_machine_is_coming():
    async def scene(nominations: Nominations, one: Settling) -> None:
        nominations.nominate([A], "first", None)
        nominations.nominate([B], "second", None)
        assert nominations.ready("first", 0.0)
        one.stir()

    assert replans_of(scene) == 0


def test_those_left_over_are_planned_again_when_the_last_machine_is_up_and_it_is_calm():
    async def scene(nominations: Nominations, one: Settling) -> None:
        nominations.nominate([A], "first", None)
        nominations.nominate([B], "second", None)
        for target in ("first", "second"):
            nominations.ready(target, 0.0)
            one.stir()
        assert nominations.drop(A[0])
        one.stir()

    assert replans_of(scene) == 1


def test_nothing_is_planned_when_all_were_bound():
    async def scene(nominations: Nominations, one: Settling) -> None:
        nominations.nominate([A], "first", 10.0)
        one.stir()
        nominations.drop(A[0])
        one.stir()

    assert replans_of(scene) == 0


def test_displaced_pods_are_planned_together_though_machines_are_coming():
    async def scene(nominations: Nominations, one: Settling) -> None:
        nominations.nominate([A, B], "first", None, {A[1], B[1]})
        one.displaced()
        one.displaced()

    assert replans_of(scene) == 1


def test_after_displaced_pods_were_planned_the_next_are():
    async def scene(nominations: Nominations, one: Settling) -> None:
        one.displaced()
        await asyncio.sleep(0.02)
        one.displaced()

    assert replans_of(scene) == 2


def test_nobody_is_planned_after_the_end():
    async def scene(nominations: Nominations, one: Settling) -> None:
        one.displaced()
        one.close()

    assert replans_of(scene) == 0


def test_a_machine_that_is_given_up_is_not_coming_any_more():
    nominations = Nominations()
    nominations.nominate([A, B], "first", None)
    assert nominations.coming
    nominations.nominate([A], "second", 5.0)
    assert nominations.coming
    nominations.drop_target("first")
    assert not nominations.coming
    assert not nominations.ready("second", 0.0), "it was up before"


def test_while_the_scheduler_binds_others_a_pod_has_longer_but_not_for_ever():
    nominations = Nominations(20.0)
    nominations.nominate([A], "first", 20.0)
    nominations.progressed(18.0)
    assert not nominations.lapsed(21.0)
    assert nominations.lapsed(28.0), "it has bound nobody for ten seconds"
    nominations.nominate([B], "first", 20.0)
    nominations.progressed(60.0)
    assert nominations.lapsed(60.0)


def test_what_is_left_over_does_not_wait_for_a_batch_and_does_not_cut_a_burst():
    async def scenario() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        batcher = Batcher(Window(0.05, 1.0))
        began = loop.time()
        batcher.trigger_now()
        await batcher.batch()
        at_once = loop.time() - began
        batcher.trigger("new")
        batcher.trigger_now()
        began = loop.time()
        await batcher.batch()
        return at_once, loop.time() - began

    at_once, burst = asyncio.run(scenario())
    assert at_once < 0.05 <= burst + 0.001
