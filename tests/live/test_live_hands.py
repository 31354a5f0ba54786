"""Every effect has its boundaries, from the first order to the last farewell."""

from __future__ import annotations

from tests.live.live import Live
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.core.effects import Effect


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
