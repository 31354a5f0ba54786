"""What is seen of any node class, whatever its cloud wrote into it."""

from __future__ import annotations

import pytest

from dovetail.api.live import classes
from dovetail.core.conditions import Status


def test_a_class_has_its_conditions_and_says_whether_it_goes():
    wire = {
        "metadata": {"name": "default", "uid": "u", "finalizers": ["f"], "deletionTimestamp": "2026-11-01T00:00:00Z"},
        "spec": {"anything": 1},
        "status": {"amis": [], "conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}]},
    }
    found = classes.read(wire)
    assert (found.meta.name, found.meta.uid, found.meta.finalizers) == ("default", "u", ("f",))
    assert found.meta.deleting is not None
    assert [(one.type, one.status) for one in found.conditions] == [("Ready", Status.TRUE)]


@pytest.mark.parametrize(
    "status", [None, {}, {"conditions": None}, {"conditions": "all good"}, {"conditions": [{"type": 1}]}, "fine"]
)
def test_conditions_that_make_no_sense_are_none(status: object):
    assert classes.read({"metadata": {"name": "default"}, "status": status}).conditions == ()
