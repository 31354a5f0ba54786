"""A pool's windows, time zone, waves and pauses, as its annotations have them."""

from __future__ import annotations

from typing import Any

from dovetail.api.disruption import pools, zones
from dovetail.api.fields import Fields
from dovetail.core import timestamps
from dovetail.core.disruption.budgets import problem_of
from dovetail.core.disruption.reasons import Reason


def read(annotations: dict[str, str], *budgets: dict[str, Any]) -> pools.PoolRead:
    wire = {
        "metadata": {"name": "general", "annotations": annotations},
        "spec": {
            "template": {"spec": {"nodeClassRef": {"group": "g", "kind": "K", "name": "default"}, "requirements": []}},
            "disruption": {"consolidateAfter": "0s", "budgets": list(budgets)},
        },
    }
    return pools.read(Fields(wire))


def test_everything_a_pool_says_about_time_reaches_its_policy() -> None:
    told = {
        "dovetail.dev/allow-windows": "Mon-Fri 09:00-17:00; Drifted: Sat 10:00-12:00 UTC",
        "dovetail.dev/timezone": "Europe/Berlin",
        "dovetail.dev/rollout-waves": "1, 10%/30m",
        "dovetail.dev/rollout-canary": "2",
        "dovetail.dev/return-to-spot": "Never",
    }
    found = read(told, {"nodes": "0", "schedule": "0 9 * * *", "duration": "1h"})
    assert found.problems == ()
    assert found.policy.budgets[0].zone == zones.named("Europe/Berlin")
    assert found.policy.windows.is_open(Reason.EMPTY, timestamps.seconds("2026-11-16T08:30:00Z"))
    assert (str(found.policy.waves), found.policy.canary, found.policy.return_seconds) == ("1, 10%", 2, None)


def test_each_thing_that_cannot_be_read_is_named_by_its_annotation() -> None:
    told = {
        "dovetail.dev/allow-windows": "sometimes",
        "dovetail.dev/timezone": "Mars/Olympus",
        "dovetail.dev/rollout-waves": "many",
        "dovetail.dev/return-to-spot": "soon",
    }
    found = read(told, {"nodes": "50%"}, {"nodes": "0", "schedule": "0 9 * * *", "duration": "1h"})
    assert sorted({one.place.parts[-1] for one in found.problems}) == sorted(told)
    assert [problem_of(one) is None for one in found.policy.budgets] == [True, False]
