"""What is put on a Node and taken off again (R42)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.handler import marks
from dovetail.core.handler.marks import NodeFacts, NodeTaint
from dovetail.core.handler.notices import Kind, Notice
from dovetail.core.handler.policy import Policy, Response
from dovetail.core.handler.standing import Task

NOW = 1_800_000_000.4
SPOT = Task(Notice("spot", Kind.PREEMPT, "a", NOW + 120.7), Response.DRAIN)
REBALANCE = Task(Notice("rebalance", Kind.REBALANCE, "b", None, ends=False), Response.MARK)
REBOOT = Task(Notice("reboot", Kind.MAINTENANCE, "c", NOW + 600, ends=False), Response.DRAIN)
THEIRS = NodeTaint("theirs", "NoExecute", "x", "2027-01-01T00:00:00Z")
NODE = NodeFacts("n", "u", "1", taints=(THEIRS,), labels={"a": "b"}, annotations={"c": "d"})


def keys(node: NodeFacts) -> set[str]:
    return {one.key for one in node.taints}


def test_a_node_that_ends_is_fenced_off_and_says_so():
    after = marks.marked(NODE, SPOT, Policy(), NOW)
    assert after.unschedulable
    assert after.taints == (THEIRS, NodeTaint(marks.TAINT, "NoSchedule", "preempt"))
    assert after.labels[marks.EXCLUDED] == marks.OURS
    assert after.terminating == marks.REQUESTED
    record = marks.record_of(after)
    assert record is not None
    assert (record.id, record.deadline, record.cordoned) == ("spot", 1_800_000_121.0, True)


def test_marking_twice_changes_nothing_the_second_time():
    once = marks.marked(NODE, SPOT, Policy(), NOW)
    assert marks.marked(once, SPOT, Policy(), NOW + 5) == once


def test_a_node_that_stays_keeps_its_traffic_and_its_machine():
    after = marks.marked(NODE, REBALANCE, Policy(), NOW)
    assert (after.terminating, marks.EXCLUDED in after.labels) == ("", False)
    assert marks.TAINT in {one.key for one in after.taints}


def test_a_later_notice_takes_the_marks_over_and_keeps_what_is_ours():
    before = marks.marked(NODE, REBALANCE, Policy(), NOW)
    after = marks.marked(before, SPOT, Policy(), NOW + 60)
    record = marks.record_of(after)
    assert record is not None
    assert (record.id, record.cordoned, record.began) == ("spot", True, int(NOW + 60))
    assert [one.value for one in after.taints if one.key == marks.TAINT] == ["preempt"]


@pytest.mark.parametrize("weaker", [REBALANCE, REBOOT])
def test_what_a_withdrawn_notice_justified_goes_where_a_weaker_one_stands(weaker):
    before = marks.marked(NODE, SPOT, Policy(), NOW)
    after = marks.marked(before, weaker, Policy(), NOW + 60)
    assert after == marks.marked(NODE, weaker, Policy(), NOW + 60)
    assert (after.terminating, marks.EXCLUDED in after.labels, after.unschedulable) == ("", False, True)
    assert marks.unmarked(after) == NODE


def test_a_node_is_in_service_again_where_what_stands_does_not_empty_it():
    before = marks.out_of_service(marks.marked(NODE, SPOT, Policy(), NOW), NOW)
    assert marks.OUT_OF_SERVICE in keys(marks.marked(before, SPOT, Policy(), NOW + 60))
    assert marks.OUT_OF_SERVICE in keys(marks.marked(before, REBOOT, Policy(), NOW + 60))
    assert marks.OUT_OF_SERVICE not in keys(marks.marked(before, REBALANCE, Policy(), NOW + 60))


def test_a_weaker_notice_leaves_a_label_and_a_condition_of_somebody_else():
    theirs = replace(NODE, labels={marks.EXCLUDED: "cloud-controller"}, terminating="Decommissioned")
    rebalanced = marks.marked(marks.marked(theirs, REBALANCE, Policy(), NOW), REBOOT, Policy(), NOW + 60)
    assert (rebalanced.labels, rebalanced.terminating) == (theirs.labels, theirs.terminating)
    relabelled = replace(marks.marked(NODE, SPOT, Policy(), NOW), labels={marks.EXCLUDED: "cloud-controller"})
    assert marks.marked(relabelled, REBALANCE, Policy(), NOW + 60).labels == relabelled.labels


def test_a_stronger_notice_not_heard_yet_is_not_a_withdrawn_one():
    before = marks.marked(NODE, SPOT, Policy(), NOW)
    assert marks.marked(before, REBALANCE, Policy(), NOW + 60, heard_all=False) == before
    fresh = marks.marked(NODE, REBALANCE, Policy(), NOW)
    assert marks.marked(NODE, REBALANCE, Policy(), NOW, heard_all=False) == fresh


def test_undoing_leaves_the_node_as_it_was():
    after = marks.unmarked(marks.out_of_service(marks.marked(NODE, SPOT, Policy(), NOW), NOW))
    assert after == NODE


def test_a_cordon_of_somebody_else_stays():
    cordoned = replace(NODE, unschedulable=True)
    assert marks.unmarked(marks.marked(cordoned, SPOT, Policy(), NOW)) == cordoned


def test_a_label_and_a_condition_of_somebody_else_stay():
    theirs = replace(NODE, labels={marks.EXCLUDED: "cloud-controller"}, terminating="Decommissioned")
    after = marks.unmarked(marks.marked(theirs, REBALANCE, Policy(), NOW))
    assert after == theirs


def test_a_taint_that_evicts_says_since_when():
    after = marks.marked(NODE, SPOT, Policy(taint_effect="NoExecute"), NOW)
    assert after.taints[-1] == NodeTaint(marks.TAINT, "NoExecute", "preempt", "2027-01-15T08:00:00Z")


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"id": 1}', '{"id":"a","kind":"b","began":"?"}', "[" * 99999]
)
def test_a_note_nobody_can_read_is_as_good_as_none(text):
    node = replace(NODE, annotations={marks.NOTE: text})
    assert marks.record_of(node) is None
    assert marks.is_marked(node)
    assert marks.NOTE not in marks.unmarked(node).annotations


@given(cordoned=st.booleans(), tasks=st.lists(st.sampled_from([SPOT, REBALANCE, REBOOT]), min_size=1, max_size=4))
def test_whatever_was_said_undoing_it_leaves_what_was_there(cordoned, tasks):
    before = replace(NODE, unschedulable=cordoned)
    node = before
    for number, task in enumerate(tasks):
        node = marks.marked(node, task, Policy(), NOW + number)
    assert marks.unmarked(node) == before


def test_a_node_is_put_out_of_service_once():
    once = marks.out_of_service(NODE, NOW)
    assert [one.key for one in once.taints if one not in NODE.taints] == [marks.OUT_OF_SERVICE]
    assert marks.out_of_service(once, NOW + 60) is once
