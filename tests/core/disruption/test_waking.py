"""The loop wakes for what time alone changes."""

from __future__ import annotations

from dataclasses import replace

from tests.core.disruption.clusters import HOUR, NOW, policy, world

from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.history import Attempt
from dovetail.core.disruption.rollouts import MEMORY_SECONDS
from dovetail.core.disruption.spot_market import STEADY_SECONDS, Batch, Market
from dovetail.core.disruption.waking import next_wake


def test_a_world_in_which_nothing_waits_wakes_nobody() -> None:
    assert next_wake(world()) is None


def test_the_first_of_all_reasons_to_look_wakes() -> None:
    daily = policy(budgets=(Budget("0", schedule="@hourly", duration=HOUR / 2),))
    start: World = world(pools=[daily])
    opens = next_wake(start)
    assert opens is not None
    assert 0 < opens - NOW <= HOUR / 2
    forgotten = replace(start, pools={}, attempts={"pool": (Attempt(NOW - MEMORY_SECONDS + 60, False),)})
    assert next_wake(forgotten) == NOW + 60
    market = Market(back={OfferingKey("m4", "z1", "spot"): NOW - STEADY_SECONDS + 30})
    assert next_wake(replace(forgotten, market=market)) == NOW + 30
    returned = replace(start, pools={"pool": policy()}, market=Market(returned={"pool": Batch(NOW - 290, 1)}))
    assert next_wake(returned) == NOW + 10
