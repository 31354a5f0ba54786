"""Simulated life: prices wobble, load comes and goes, and nothing goes there and back.

Each life is eight simulated hours in which every command is carried out at once; that is some hundred decisions, and
takes a second or two.
"""

import pytest
from tests.core.disruption.simulated import Life

STEPS = 48


def lived(seed: int, **more: object) -> Life:
    life = Life(seed, **more)  # type: ignore[arg-type]
    for _ in range(STEPS):
        life.step()
    return life


@pytest.mark.parametrize("seed", [3, 5])
def test_nothing_is_swapped_back_within_the_time_it_has_to_pay_back(seed: int) -> None:
    life = lived(seed)
    assert life.swaps, "a life without moves proves nothing"
    assert life.returns() == []


def test_without_memory_and_payback_the_same_life_goes_in_circles_and_evicts_more() -> None:
    """The counter-example: did this life go straight by itself, the test above would show nothing."""
    careful, eager = lived(5), lived(5, remembers=False, payback=0.0)
    assert eager.returns()
    assert careful.evicted < eager.evicted
    assert careful.dollars < eager.dollars * 1.05
