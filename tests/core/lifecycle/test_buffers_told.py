"""§1.3, §1.4: what buffers, overlays and instance types say of themselves."""

from __future__ import annotations

import pytest
from tests.core.lifecycle.claims import START, meta

from dovetail.core import conditions
from dovetail.core.conditions import Conditions, Moment, Status
from dovetail.core.lifecycle import buffers, declared
from dovetail.core.lifecycle.buffers import PROVISIONING, READY, Room
from dovetail.core.lifecycle.declared import CONFLICT, INVALID, VALIDATED, Declared

AT = Moment(START, 1)
KNOWN = buffers.resolved((), buffers.RESOLVED, "", AT)


def said(held: Conditions, type_: str) -> tuple[str, str, str]:
    found = conditions.found(held, type_)
    assert found is not None
    return str(found.status), found.reason, found.message


def test_a_buffer_says_whether_its_pods_are_known():
    assert said(KNOWN, READY) == ("True", "Resolved", "")
    lost = buffers.resolved(KNOWN, buffers.NO_TEMPLATE, "there is no PodTemplate web", AT)
    assert said(lost, READY) == ("False", "PodTemplateNotFound", "there is no PodTemplate web")


@pytest.mark.parametrize(
    ("held", "replicas", "room", "answer"),
    [
        ((), 3, Room(there=3), ("False", "NotReadyForProvisioning", "the buffer is not resolved")),
        (KNOWN, 0, Room(), ("False", "BufferEmpty", "the buffer comes to no pods")),
        (
            KNOWN,
            3,
            Room(there=2, new=1),
            ("False", "RequiresNewCapacity", "1/3 virtual pods required new capacity, 0 failed"),
        ),
        (
            KNOWN,
            3,
            Room(there=2, refused=1),
            ("False", "RequiresNewCapacity", "0/3 virtual pods required new capacity, 1 failed"),
        ),
        (KNOWN, 3, Room(there=3), ("True", "FitsExistingCapacity", "there is room for all 3 virtual pods")),
    ],
)
def test_a_buffer_says_whether_there_is_room_for_it(
    held: Conditions, replicas: int, room: Room, answer: tuple[str, str, str]
):
    assert said(buffers.provisioned(held, replicas, room, AT), PROVISIONING) == answer


def test_of_a_buffer_whose_pods_were_not_all_in_the_plan_nothing_new_is_known():
    before = buffers.provisioned(KNOWN, 3, Room(there=3), AT)
    room = Room(there=2)
    assert room.seen == 2
    assert buffers.provisioned(before, 3, room, AT) is before


def test_what_was_declared_and_can_be_used_is_ready():
    held = declared.judged(Declared(meta("overlay"), (), "value"), "", START)
    assert [(one.type, one.status) for one in held] == [(VALIDATED, Status.TRUE), ("Ready", Status.TRUE)]


def test_what_cannot_be_read_says_why_before_it_says_what_it_contradicts():
    unread: Declared[str] = Declared(meta("overlay"), (), None, "spec: price: no number")
    assert said(declared.judged(unread, "overlay b", START), VALIDATED) == ("False", INVALID, "spec: price: no number")


def test_what_contradicts_another_is_not_in_force():
    held = declared.judged(Declared(meta("overlay"), (), "value"), "overlay b has the same weight", START)
    assert said(held, VALIDATED) == ("False", CONFLICT, "overlay b has the same weight")
    assert said(held, "Ready")[0] == "False"
