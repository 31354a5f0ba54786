"""What disturbing a node costs, and what the node costs."""

import pytest
from tests.core.disruption.clusters import HOUR, NOW, kind, member, pods, world

from dovetail.core.disruption.candidates import Candidate, look
from dovetail.core.disruption.costs import eviction_cost, lifetime_left, stated_cost
from dovetail.core.disruption.facts import PodFacts
from dovetail.core.disruption.scenes import settle


def cost(priority: int = 0, **facts: str) -> float:
    return eviction_cost(pods("web", priority=priority)[0], PodFacts(**facts))  # type: ignore[arg-type]


def test_a_plain_pod_costs_one() -> None:
    assert cost() == 1.0


@pytest.mark.parametrize(
    ("written", "then"),
    [("134217728", 2.0), ("-134217728", 0.0), ("2147483647", 10.0), ("-2147483648", -10.0)],
)
def test_a_deletion_cost_is_scaled_and_bounded(written: str, then: float) -> None:
    assert cost(deletion_cost=written) == pytest.approx(then)


def test_priority_counts_four_times_as_much_as_deletion_cost() -> None:
    assert cost(priority=2**25) == 2.0
    assert cost(priority=2_000_000_000) == 10.0


def test_the_disruption_cost_is_read_instead_of_the_deletion_cost_even_if_it_cannot_be() -> None:
    both = PodFacts(disruption_cost="1.5", deletion_cost="134217728")
    assert stated_cost(both, writes_deletion_cost=False) is None
    assert cost(disruption_cost="134217728", deletion_cost="-134217728") == 2.0


@pytest.mark.parametrize("bad", ["1.5", "", "1e3", "2147483648", "٣", " 1"])
def test_what_is_no_int32_is_ignored(bad: str) -> None:
    assert cost(deletion_cost=bad) == 1.0


def test_the_deletion_cost_is_ours_to_write_when_the_gate_is_on() -> None:
    assert stated_cost(PodFacts(deletion_cost="7"), writes_deletion_cost=True) is None
    assert stated_cost(PodFacts(disruption_cost="7"), writes_deletion_cost=True) == 7


def candidate(*held: object, **more: object) -> Candidate:
    one = member("a", pods=held, **more)  # type: ignore[arg-type]
    made = world(one)
    return look(made, settle(made)).candidates["a"]


def test_a_node_costs_one_and_its_pods_what_they_cost_but_never_less_than_nothing() -> None:
    assert candidate(*pods("web", 3)).cost == 4.0
    assert candidate(*pods("web", 3), facts=PodFacts(deletion_cost="-2147483648")).cost == 1.0


def test_a_node_whose_pods_cost_nothing_is_empty() -> None:
    assert candidate(*pods("web", 3), facts=PodFacts(deletion_cost="-2147483648")).is_empty
    assert candidate(*pods("agent", owner="DaemonSet")).is_empty
    assert not candidate(*pods("web")).is_empty


def test_the_price_is_that_of_its_own_row_whether_or_not_it_can_be_bought() -> None:
    assert candidate().price == 200_000_000
    assert candidate(zone="z9").price is None
    assert candidate(of="unknown").price is None


def test_the_ratio_is_dollars_for_trouble() -> None:
    assert candidate(*pods("web", 3)).ratio == 200_000_000 / 4


def test_a_spot_node_has_the_spot_price() -> None:
    types = (kind("m4", 4, 0.2, spot=0.06),)
    made = world(member("a", capacity_type="spot", types=types), types=types)
    assert look(made, settle(made)).candidates["a"].price == 60_000_000


def test_what_is_left_of_a_life() -> None:
    assert lifetime_left(NOW - HOUR, 4 * HOUR, NOW) == 0.75
    assert lifetime_left(NOW - HOUR, None, NOW) == 1.0
    assert lifetime_left(NOW - 9 * HOUR, 4 * HOUR, NOW) == 0.0
