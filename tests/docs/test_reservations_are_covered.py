"""What was promised of capacity reservations (S3.1–S3.14), and the tests that hold us to it, from the smallest part to
the whole loop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIVE = "tests/live/test_live_aws_reservations.py"
RULES = "tests/core/scheduling/test_rules_reservations.py"
ROWS = "tests/clouds/aws/test_aws_reserved_rows.py"
LAUNCHING = "tests/clouds/aws/test_aws_launching_reserved.py"
RESOLVING = "tests/clouds/aws/test_aws_nodeclass_resolving.py"
UPKEEP = "tests/clouds/aws/test_aws_upkeep.py"
SELECTING = "tests/clouds/test_aws_selecting.py"
CATALOG = "tests/core/catalog/test_reservations.py"
MOVING = "tests/core/disruption/test_spot_and_reserved.py"
CHECKS = "tests/core/disruption/test_drift_checks.py"
PROMISES: dict[str, dict[str, str]] = {
    "S3.1 terms": {
        "test_s3_1_a_reservation_is_selected_by_id_alone_or_by_any_of_the_rest": SELECTING,
        "test_reservations_are_selected_and_told_with_their_counts": RESOLVING,
    },
    "S3.2 status": {
        "test_reservations_are_selected_and_told_with_their_counts": RESOLVING,
        "test_thousands_of_reservations_are_all_used_and_shown_as_far_as_they_fit": RESOLVING,
    },
    "S3.3 capacity types": {"test_a_pool_takes_reserved_capacity_first_and_then_what_else_it_allows": LIVE},
    "S3.4 one offering": {
        "test_reservations_of_one_type_and_zone_are_one_row_with_one_count": ROWS,
        "test_several_reservations_behind_one_row_have_their_room_together": RULES,
    },
    "S3.5 counts": {
        "test_no_more_claims_are_planned_into_a_reservation_than_it_has_room": RULES,
        "test_what_we_launch_and_end_is_counted_at_once": SELECTING,
        "test_a_launch_is_counted_at_once_and_moves_the_generation_of_that_class": ROWS,
    },
    "S3.6 prices": {
        "test_a_reserved_row_costs_a_thousandth_of_on_demand": ROWS,
        "test_reserved_prices_keep_the_order_of_on_demand_and_are_near_nothing_S3_6": CATALOG,
    },
    "S3.7 used first": {
        "test_reserved_capacity_is_used_before_spot_and_on_demand": RULES,
        "test_reserved_capacity_is_used_only_as_needed": RULES,
        "test_a_pool_takes_reserved_capacity_first_and_then_what_else_it_allows": LIVE,
    },
    "S3.8 named, or opted out": {
        "test_a_reserved_machine_runs_in_the_reservation_it_was_planned_for": LAUNCHING,
        "test_open_reservations_outside_the_selection_are_never_drained": LAUNCHING,
        "test_open_reservations_of_others_stay_as_they_are": LIVE,
    },
    "S3.9 expiry": {
        "test_a_reservation_that_ends_is_sold_until_then_and_no_longer": ROWS,
        "test_a_machine_whose_reservation_expired_is_on_demand_from_then_on": UPKEEP,
        "test_machines_of_a_block_are_told_to_go_ten_minutes_before_ec2_takes_them": UPKEEP,
        "test_a_reservation_that_ends_leaves_its_machine_on_demand_and_sells_no_more": LIVE,
        "test_a_capacity_block_is_empty_before_ec2_takes_its_machines": LIVE,
    },
    "S3.10 consolidation": {
        "test_an_on_demand_node_moves_into_a_free_reservation_S3_10": MOVING,
        "test_a_spot_node_moves_into_a_free_reservation_though_the_spot_gate_is_off_S3_10": MOVING,
        "test_a_larger_reservation_is_left_for_a_smaller_one_S3_10": MOVING,
        "test_machines_move_into_a_reservation_that_has_room": LIVE,
    },
    "S3.11 drift": {
        "test_a_pool_that_demands_reserved_capacity_lets_a_fallback_node_drift_S3_11": CHECKS,
        "test_a_fallback_machine_is_not_moved_because_a_reservation_went_away": "tests/clouds/aws/test_aws_drift.py",
        "test_a_reservation_that_is_no_longer_selected_is_left": LIVE,
        "test_a_pool_that_demands_reserved_capacity_moves_on_when_its_reservation_ends": LIVE,
    },
    "S3.12 races": {
        "test_a_race_for_the_last_reserved_machine_falls_back_and_says_so": LAUNCHING,
        "test_another_cluster_takes_the_last_one_and_the_pod_runs_all_the_same": LIVE,
    },
    "S3.13 one pass": {
        "test_of_ten_thousand_pods_that_keep_apart_one_gets_the_one_reserved_instance_in_one_pass": RULES,
    },
    "S3.14 thousands": {
        "test_ten_thousand_reservations_are_one_row_and_are_never_looked_through_to_schedule_S3_14": CATALOG,
        "test_thousands_of_reservations_over_many_types_make_a_row_per_type_and_zone_S3_14": CATALOG,
    },
}


def test_no_promise_is_left_out() -> None:
    assert [name.split()[0] for name in PROMISES] == [f"S3.{number}" for number in range(1, 15)]


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_has_tests_that_exist(promise: str) -> None:
    for name, path in PROMISES[promise].items():
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE), f"{path} has no {name}"
