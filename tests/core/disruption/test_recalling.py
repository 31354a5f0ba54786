"""What is remembered survives a process: it is written on claims, in bounds, and read back as it was."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import node_class
from tests.core.disruption.clusters import NOW, kind, member, policy, world

from dovetail.core import labels
from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.disruption import recalling
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.history import Attempt, Kind, Move
from dovetail.core.disruption.recalling import FAILED, MOST, NOTE, Note
from dovetail.core.disruption.spot_market import STEADY_SECONDS, Batch
from dovetail.core.nodeclaims import Meta, NodeClaim

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
kinds = st.frozensets(st.builds(Kind, words, words, words), max_size=4)
times = st.floats(0, 4e9, allow_nan=False)
moves = st.builds(Move, st.frozensets(words, max_size=4), kinds, kinds, times, times)
some_notes = st.builds(Note, moves, st.dictionaries(words, st.integers(1, 99), max_size=2))
A, B = Kind("pool", "a", "on-demand"), Kind("pool", "b", "on-demand")
MOVE = Move(frozenset({"default/web"}), frozenset({A}), frozenset({B}), NOW, NOW + 1800)


def claim(name: str, **notes: str) -> NodeClaim:
    known = {{"note": NOTE, "failed": FAILED}[key]: text for key, text in notes.items()}
    return NodeClaim(Meta(name=name, annotations=MappingProxyType(known)), node_class())


@given(some_notes)
def test_a_note_is_read_back_as_it_was(note: Note) -> None:
    assert recalling.read(recalling.written(note)) == note


@given(st.one_of(st.text(), st.lists(st.integers()).map(str)))
def test_what_is_no_note_is_as_good_as_none(text: str) -> None:
    assert recalling.read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"at":1,"until":Infinity,"owners":[],"removed":{},"added":{}}',
        '{"at":1,"until":2,"owners":[],"removed":[],"added":{}}',
        '{"at":1,"until":2,"owners":[],"removed":{},"added":{},"returned":{"general":Infinity}}',
        '{"at":"x","until":2,"owners":[],"removed":{},"added":{}}',
        "[" * 100_000,
    ],
)
def test_a_note_that_was_spoiled_is_as_good_as_none(text: str) -> None:
    assert recalling.read(text) is None


def test_a_note_is_bounded_however_many_owners_and_types_there_are() -> None:
    owners = frozenset(f"namespace-{number}/ReplicaSet/a-rather-long-name-{number}" for number in range(5000))
    many = frozenset(Kind("general", f"type-{number}.48xlarge", "spot") for number in range(1000))
    text = recalling.written(Note(replace(MOVE, owners=owners, removed=many, added=many)))
    assert len(text) < 16_384
    found = recalling.read(text)
    assert found is not None
    assert len(found.move.owners) == len(found.move.added) == MOST


def test_the_moves_of_all_claims_are_remembered_once_each_until_they_are_over() -> None:
    first, over = recalling.written(Note(MOVE)), recalling.written(Note(replace(MOVE, until=NOW + 1)))
    notes = recalling.notes([claim("x", note=first), claim("y", note=first), claim("z", note=over), claim("w")])
    assert recalling.history_of(notes, NOW + 60).moves == (MOVE,)


def test_a_move_of_the_future_bars_nothing() -> None:
    notes = recalling.notes([claim("x", note=recalling.written(Note(replace(MOVE, at=NOW + 600))))])
    assert recalling.history_of(notes, NOW).moves == ()


def test_returns_to_spot_within_one_pause_are_one_batch() -> None:
    at = (NOW - 280, NOW - 200, NOW - 60)
    notes = [Note(replace(MOVE, at=when), {"pool": 2}) for when in at]
    assert recalling.returned_of(notes, {"pool": 300.0}, NOW) == {"pool": Batch(NOW - 280, 6)}
    assert recalling.returned_of(notes, {"pool": 100.0}, NOW) == {"pool": Batch(NOW - 60, 2)}
    assert recalling.returned_of(notes, {}, NOW) == {}


def test_failures_are_remembered_by_pool_and_time_and_only_the_last_few() -> None:
    text = ""
    for number in range(10):
        text = recalling.failed_again(text, "general", NOW + 60 * number)
    text = recalling.failed_again(text, "other", NOW + 700)
    found = recalling.attempts_of([claim("x", failed=text), claim("y")])
    assert found == {
        "general": tuple(Attempt(NOW + 60 * number, ok=False) for number in (7, 8, 9)),
        "other": (Attempt(NOW + 700, ok=False),),
    }


def test_the_same_failure_is_said_once() -> None:
    once = recalling.failed_again("", "general", NOW)
    assert recalling.failed_again(once, "general", NOW) == once


@given(st.text())
def test_failures_nobody_can_read_are_none(text: str) -> None:
    assert all(one.ok is False for some in recalling.attempts_of([claim("x", failed=text)]).values() for one in some)


TYPES = (kind("m4", 4, 0.2, spot=0.05), kind("m8", 8, 0.4, spot=0.1))


def fallen_back(created: float) -> World:
    """A node bought on demand in a pool that would have taken spot."""
    one = member("a", "m4", types=TYPES, capacity_type=labels.ON_DEMAND, created=created)
    return world(one, types=TYPES, pools=(policy(),))


def test_whoever_fell_back_a_moment_ago_says_that_spot_was_short() -> None:
    found = recalling.back_of(fallen_back(NOW - 60))
    assert found[OfferingKey("m4", "z1", labels.SPOT)] == NOW - 60
    assert all(key.capacity_type == labels.SPOT for key in found)


def test_whoever_fell_back_long_ago_says_nothing() -> None:
    assert recalling.back_of(fallen_back(NOW - STEADY_SECONDS)) == {}
