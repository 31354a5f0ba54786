"""Checks that are well are left out of an answer before it is read; nothing else is."""

from __future__ import annotations

from dovetail.clouds.aws.leaner import leaner

SHAPE = "DescribeInstanceStatusResult"
WELL = """<systemStatus>
        <status>ok</status>
        <details><item><name>reachability</name><status>passed</status></item></details>
      </systemStatus>"""
ILL = """<instanceStatus><status>impaired</status><details><item><name>reachability</name><status>failed</status>
        <impairedSince>2026-11-16T10:00:00Z</impairedSince></item></details></instanceStatus>"""
STATE = "<instanceId>i-1</instanceId><instanceState><code>16</code><name>running</name></instanceState>"
EVENT = "<eventsSet><item><code>instance-stop</code><description>ok</description></item></eventsSet>"


def answer(*items: str) -> bytes:
    return f"<R><instanceStatusSet>{''.join(f'<item>{one}</item>' for one in items)}</instanceStatusSet></R>".encode()


def test_checks_that_are_well_go_and_all_else_stays():
    assert leaner(SHAPE, answer(STATE + WELL + ILL + EVENT, STATE + ILL)) == answer(STATE + ILL + EVENT, STATE + ILL)
    quiet = WELL.replace("systemStatus", "attachedEbsStatus")
    assert leaner(SHAPE, answer(STATE + quiet + WELL, STATE)) == answer(STATE, STATE)


def test_a_check_that_is_not_told_of_to_its_end_is_left_as_it_is():
    broken = answer(STATE) + WELL.replace("</systemStatus>", "").encode()
    assert leaner(SHAPE, broken) == broken


def test_other_answers_are_nobodys_business():
    assert leaner("DescribeInstancesResult", answer(WELL)) == answer(WELL)
