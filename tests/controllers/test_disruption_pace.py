"""How often a pass is made while changes never end."""

import pytest

from dovetail.controllers.disruption.loop import LONGEST_SECONDS, LOOP_SHARE, QUIET_SECONDS, SHARE, pause, rest


def test_a_pass_that_takes_nothing_is_made_as_soon_as_changes_had_time_to_settle() -> None:
    assert pause(0.0, 0.0) == 2 * QUIET_SECONDS


def test_passes_take_no_more_than_their_share_of_the_time() -> None:
    assert pause(1.0, 0.0) == SHARE


def test_the_event_loop_is_kept_from_its_work_for_a_much_smaller_share() -> None:
    assert pause(0.2, 0.1) == pytest.approx(0.1 * LOOP_SHARE)
    assert pause(0.2, 0.1) > pause(0.2, 0.0)


def test_times_that_come_one_after_another_leave_as_much_room_between_passes_as_changes_do() -> None:
    assert rest(0.0, 0.0) == 0
    assert rest(1.0, 0.0) == pause(1.0, 0.0)
    assert rest(0.2, 0.1) == pause(0.2, 0.1)
    assert rest(60.0, 60.0) == LONGEST_SECONDS


def test_however_long_a_pass_takes_the_next_one_comes() -> None:
    assert pause(60.0, 60.0) == LONGEST_SECONDS
