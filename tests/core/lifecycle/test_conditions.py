from __future__ import annotations

from dovetail.core import conditions
from dovetail.core.conditions import Condition, ConditionSet, Moment, Status

SET = ConditionSet("Ready", ("Launched", "Registered"))


def test_dependents_are_unknown_since_the_object_was_created():
    held = SET.complete((), 100.0, Moment(500.0, 1))
    assert [(one.type, one.status, one.since) for one in held] == [
        ("Launched", Status.UNKNOWN, 100.0),
        ("Registered", Status.UNKNOWN, 100.0),
        ("Ready", Status.UNKNOWN, 100.0),
    ]


def test_time_moves_with_the_status_and_not_with_the_reason():
    held = conditions.put((), Condition("Launched", Status.UNKNOWN, "A"), Moment(1.0))
    again = conditions.put(held, Condition("Launched", Status.UNKNOWN, "B"), Moment(2.0))
    assert again[0].since == 1.0
    assert again[0].reason == "B"
    assert conditions.put(again, conditions.true("Launched"), Moment(3.0))[0].since == 3.0


def test_the_root_is_true_when_every_dependent_is_and_stands_last():
    held: conditions.Conditions = ()
    for name in ("Launched", "Registered"):
        held = conditions.put(held, conditions.true(name), Moment(5.0, 1))
    held = conditions.put(held, conditions.true("Drifted"), Moment(5.0, 1))
    done = SET.complete(held, 0.0, Moment(6.0, 1))
    assert done[-1].type == "Ready"
    assert done[-1].status is Status.TRUE


def test_a_false_dependent_makes_the_root_false_and_names_it():
    held = conditions.put((), Condition("Registered", Status.FALSE, "MultipleNodesFound"), Moment(5.0, 1))
    root = SET.complete(held, 0.0, Moment(6.0, 1))[-1]
    assert (root.status, root.reason) == (Status.FALSE, "UnhealthyDependents")
    assert root.message == "Registered=False"


def test_what_was_said_of_an_older_generation_leaves_the_root_unknown():
    held = conditions.put((), conditions.true("Launched"), Moment(5.0, 1))
    held = conditions.put(held, conditions.true("Registered"), Moment(5.0, 2))
    assert SET.complete(held, 0.0, Moment(6.0, 2))[-1].status is Status.UNKNOWN


def test_what_a_deleting_object_said_is_said_of_its_last_generation():
    held = conditions.put((), conditions.true("Launched"), Moment(5.0, 1))
    (raised,) = conditions.raised(held, 2)
    assert (raised.generation, raised.since, raised.status) == (2, 5.0, Status.TRUE)
    assert conditions.raised((raised,), 2) == (raised,)
