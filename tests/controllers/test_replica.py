"""A replica whose controller breaks begins anew, after a rest."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, cast

import pytest

from dovetail.controllers import operator
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.operator import Replica
from dovetail.kube.client import Client


def test_a_controller_that_cannot_even_be_made_is_made_again_after_a_rest(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    made: list[int] = []
    rests: list[float] = []

    def make(_: Any) -> Any:
        made.append(1)
        raise AttributeError("half of it is missing")

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(made) == 3:
            raise asyncio.CancelledError

    async def scenario() -> None:
        monkeypatch.setattr(operator.asyncio, "sleep", rest)
        replica = Replica(cast(Client, None), make, Metrics(), None, metrics_port=0, health_port=0)
        with contextlib.suppress(asyncio.CancelledError):
            await replica.run()

    asyncio.run(scenario())
    assert len(made) == len(rests) == 3
    assert min(rests) > 0
    assert "a fault of dovetail" in caplog.text
