"""Equal values are kept once, and not for ever."""

from tests.core.lifecycle.claims import amounts

from dovetail.api.live.shared import MEMORY, Shared
from dovetail.core.resources import Resources


def test_of_equal_values_the_first_is_kept() -> None:
    shared: Shared[Resources] = Shared()
    first, second = amounts(cpu="4"), amounts(cpu="4")
    assert first is not second
    assert shared.of(first) is first
    assert shared.of(second) is first


def test_a_value_met_again_and_again_stays_the_same_however_many_come_between() -> None:
    shared: Shared[Resources] = Shared()
    first = shared.of(amounts(cpu="4"))
    for turn in range(3):
        for other in range(MEMORY // 2):
            shared.of(amounts(cpu=f"{turn}", memory=f"{other}Mi"))
        assert shared.of(amounts(cpu="4")) is first


def test_what_is_not_met_any_more_is_forgotten() -> None:
    shared: Shared[tuple[int, ...]] = Shared()
    for one in range(10 * MEMORY):
        shared.of((one,))
    assert len(shared) <= 2 * MEMORY
