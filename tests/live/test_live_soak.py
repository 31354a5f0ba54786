"""Twenty seconds of chaos, in virtual time: `python -m tools.soak` has the long one."""

from __future__ import annotations

from tests.live.live import here, solve_here
from tests.live.virtual_time import World, run
from tools.soak.soak import soak
from tools.soak.world import Around


def test_after_chaos_nothing_is_left():
    report = run(soak(20.0, 2, Around(World().clock(), solve_here, here)))
    assert not report.wrong
    assert report.bought > 2
    assert sum(report.happened.values()) > 15
