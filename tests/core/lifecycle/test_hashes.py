"""The drift hash agrees with numbers computed by the peer: a fleet that changes over does not drift."""

from __future__ import annotations

import pytest

from dovetail.core.lifecycle.hashes import NANOSECONDS, Int32, Pointer, Struct, Template, hashed, pool_hash
from dovetail.core.nodepools import NodeClassRef
from dovetail.core.taints import Effect, Taint

KWOK = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
AB = Taint("a", Effect.NO_SCHEDULE, "b")
HOUR = 3600 * NANOSECONDS

KNOWN = {
    "a bare template": (Template(KWOK), "7428780003907761376"),
    "another class": (Template(NodeClassRef(KWOK.group, KWOK.kind, "other")), "17415748214931351599"),
    "a label": (Template(KWOK, labels={"team": "a"}), "17635322776537082774"),
    "an empty label value": (Template(KWOK, labels={"team": "", "tier": "web"}), "5442198492525067125"),
    "an expiry, however it is spelled": (Template(KWOK, expire_after=720 * HOUR), "12745407319442031341"),
    "expiry Never is no expiry": (Template(KWOK, expire_after=None), "7428780003907761376"),
    "a grace period": (Template(KWOK, grace=300 * NANOSECONDS), "18347649501313215075"),
    "a grace period of nothing counts": (Template(KWOK, grace=0), "14245545481296229771"),
    "both": (Template(KWOK, grace=HOUR * 3 // 2, expire_after=720 * HOUR), "13003578316845842123"),
    "a taint": (Template(KWOK, taints=(AB,)), "5414689983597882797"),
    "two taints": (Template(KWOK, taints=(Taint("c", Effect.NO_EXECUTE), AB)), "13380486881148545580"),
    "two taints, the other way round": (
        Template(KWOK, taints=(AB, Taint("c", Effect.NO_EXECUTE))),
        "13380486881148545580",
    ),
    "an empty list of taints is not none": (Template(KWOK, taints=()), "2957312098354489946"),
    "a startup taint": (Template(KWOK, startup_taints=(AB,)), "6372045421330034508"),
}


@pytest.mark.parametrize(("template", "number"), KNOWN.values(), ids=KNOWN)
def test_a_template_hashes_to_the_peers_number(template: Template, number: str):
    assert pool_hash(template) == number


def test_two_equal_list_elements_cancel_out_as_they_do_for_the_peer():
    assert hashed(["x", "x"]) == hashed([])


def test_a_zero_counts_only_behind_a_pointer():
    bare, zero = Struct("T", ()), Struct("T", (("Count", Int32(0)),))
    assert hashed(zero) == hashed(bare)
    assert hashed(Struct("T", (("Count", Pointer(Int32(0))),))) != hashed(bare)


def test_true_false_and_nothing_are_three_values():
    assert hashed(None) == 0
    assert len({hashed(True), hashed(False), hashed(None)}) == 3
    assert hashed(True) != hashed("\x00")
