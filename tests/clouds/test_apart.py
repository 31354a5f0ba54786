"""A door in a process of its own: it answers, is ended when nobody asks, and outlives nobody."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.clouds.door_apart import raised

from dovetail.clouds.apart import Apart
from dovetail.clouds.port import NotFound, Unavailable

PATIENCE = 120.0


def door(idle: float = 1e6, seconds: float = PATIENCE, **told: str) -> Apart:
    return Apart("tests.clouds.door_apart", told, raised, seconds, idle)


@pytest.fixture
def one() -> Iterator[Apart]:
    made = door(greeting="hello")
    yield made
    made.close()


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_is_another_process_that_was_told_what_it_must_know_and_is_started_by_the_first_call(one: Apart):
    assert one.pid is None
    first, second = one.ask("who", name="a"), one.ask("who", name="b")
    assert first == {"pid": one.pid, "greeting": "hello", "name": "a"}
    assert second["pid"] == first["pid"] != os.getpid()


def test_what_it_refuses_is_raised_here_and_so_is_what_it_cannot_be_opened_for(one: Apart):
    with pytest.raises(NotFound, match="no such thing"):
        one.ask("refuse")
    closed = door(refused="no credentials")
    for _ in range(2):
        with pytest.raises(NotFound, match="no credentials"):
            closed.ask("who")
    closed.close()


def test_what_an_sdk_prints_is_no_answer(one: Apart):
    assert one.ask("print") == "printed"
    assert one.ask("who")["greeting"] == "hello"


def test_calls_are_under_way_together(one: Apart):
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(one.ask, ["meet", "meet"])) == ["met", "met"]


def test_R9_one_that_dies_is_a_cloud_that_did_not_answer_and_the_next_call_starts_another(one: Apart):
    first = one.ask("who")["pid"]
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(one.ask, "never")
        while not one._waiting:
            threading.Event().wait(0.01)
        with pytest.raises(Unavailable, match="ended before it answered"):
            one.ask("die")
        with pytest.raises(Unavailable, match="ended before it answered"):
            waiting.result()
    assert one.ask("who")["pid"] != first
    pid = one.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    answers = []
    while not answers:
        try:
            answers.append(one.ask("who")["pid"])
        except Unavailable:
            continue
    assert answers != [pid]


def test_a_fault_of_ours_in_it_leaves_nobody_waiting(one: Apart):
    with pytest.raises(Unavailable, match="ended before it answered"):
        one.ask("nonsense")


def test_what_takes_too_long_is_given_up_on(one: Apart):
    one.ask("who")
    one._seconds = 0.05
    with pytest.raises(Unavailable, match=r"within 0\.05 s"):
        one.ask("never")
    one._seconds = PATIENCE
    assert one.ask("who")["greeting"] == "hello"


def test_nobody_asks_and_it_is_ended_and_its_memory_given_back():
    idle = door(idle=0.01)
    child = idle.ask("who")["pid"]
    while is_there(child):
        threading.Event().wait(0.01)
    assert idle.pid is None
    assert idle.ask("who")["pid"] != child
    idle.close()


def test_closed_it_is_gone():
    one = door()
    child = one.ask("who")["pid"]
    one.close()
    assert not is_there(child)
    one.close()
