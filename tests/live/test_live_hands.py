"""Every effect has its boundaries, from the first order to the last farewell; and what a refused write means."""

from __future__ import annotations

import gc
from typing import Any

from tests.live.live import SOON, Live
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.controller import Choices
from dovetail.core.effects import Effect
from dovetail.kube.errors import Invalid
from dovetail.kube.patches import JsonPatch


def test_each_effect_is_announced_before_and_after():
    async def scenario() -> None:
        async with Live() as live:
            heard: list[tuple[str, bool]] = []

            def boundary(effect: Effect, after: bool) -> None:
                heard.append((type(effect).__name__, after))

            live.controller.hands.boundary = boundary
            live.pods(1)
            await live.until(live.ready)
            live.delete(kinds.DEPLOYMENTS, "web")
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.until(lambda: not live.claims())
            kept = {"Create", "Launch", "SaveClaim", "SaveNode", "Delete", "Terminate"}
            assert kept <= {name for name, _ in heard}
            assert sum(after for _, after in heard) * 2 == len(heard)
            assert heard.index(("Create", True)) < heard.index(("Launch", False))

    run(scenario())


def test_a_patch_whose_test_fails_is_a_conflict_and_is_looked_at_again():
    """The real server answers 422 without naming a field. A traceback would fail this test."""

    async def scenario() -> None:
        async with Live() as live:
            refused: list[str] = []
            patch = live.client.patch

            async def stale(kind: Any, name: str, body: Any, *more: Any, **how: Any) -> Any:
                if isinstance(body, JsonPatch) and len(refused) < 2:
                    refused.append(name)
                    raise Invalid("the server rejected our request due to an error in our request", status=422)
                return await patch(kind, name, body, *more, **how)

            live.client.patch = stale  # type: ignore[method-assign]
            live.pods(1)
            await live.until(live.ready)
            assert len(refused) == 2

    run(scenario())


def test_what_was_read_at_the_start_is_frozen_and_freed_with_its_term():
    async def scenario() -> None:
        before = gc.get_freeze_count()
        async with Live(Choices(window=SOON, freeze=True)) as live:
            await live.until(lambda: gc.get_freeze_count() > before)
            await live.stop()
            assert gc.get_freeze_count() == 0

    run(scenario())
