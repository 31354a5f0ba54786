"""What the scheduling benchmark makes of what it measured. Nothing looks at a clock."""

import pytest

from bench import bench_scheduling


def test_seconds_are_told_at_the_pace_the_target_is_for():
    slow = bench_scheduling.at_usual_pace("JSON", 1.5, (185.0 / 2, 185.0 / 2))
    assert slow.ours == pytest.approx(0.75)
    assert slow.met
    assert bench_scheduling.at_usual_pace("JSON", 1.5, (185.0, 185.0)).met is False
    assert bench_scheduling.at_usual_pace("JSON", 0.5, (185.0, None)).met is None
