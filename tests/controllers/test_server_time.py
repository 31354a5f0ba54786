from __future__ import annotations

from dovetail.controllers.server_time import ServerTime


def test_the_time_an_answer_takes_is_no_difference():
    time = ServerTime(lambda: 1000.0)
    time.learn(975.0)
    assert time.now() == 1000.0


def test_from_a_clock_that_is_far_off_the_servers_is_gone_by():
    for wall in (8200.0, 0.0):
        time = ServerTime(lambda wall=wall: wall)
        time.learn(1000.0)
        assert time.now() == 1000.0


def test_a_clock_that_was_put_right_counts_again():
    walls = iter((8200.0, 1001.0, 1002.0))
    time = ServerTime(lambda: next(walls))
    time.learn(1000.0)
    time.learn(1000.0)
    assert time.now() == 1002.0
