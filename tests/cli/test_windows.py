"""`dovetail windows preview`: when each pool lets nodes go, and for which reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.api.objects import node, pool

ROOT = Path(__file__).resolve().parents[2]
WORLD = str(ROOT / "scenarios/worlds/half-empty.yaml")
MONDAY = ("--now", "2026-11-16T00:00:00Z")
OFFICE = {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}


@pytest.fixture
def preview(dovetail, world):
    def run(*objects: dict, flags: tuple[str, ...] = MONDAY, output: str = "json"):
        ran = dovetail("windows", "preview", "-f", world(*objects), "-o", output, *flags)
        assert ran.code == 0, ran.err
        return json.loads(ran.out) if output == "json" else ran.out

    return run


def limited(*budgets: dict, notes: dict | None = None) -> dict:
    made = pool(spec={"disruption": {"budgets": list(budgets)}})
    made["metadata"] |= {"annotations": notes} if notes else {}
    return made


def rows(text: str) -> dict[str, str]:
    """The marks of the first chart, by day."""
    chart = text.partition("21\n")[2].partition("\n\n")[0].splitlines()
    return {line[4:14]: line[16:] for line in chart if line[4:7] in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")}


def stretches(found: dict, reason: str = "Empty") -> list[tuple[str, str, int | None]]:
    listed = next(one for one in found["pools"][0]["reasons"] if one["reason"] == reason)["stretches"]
    return [(one["from"][5:16], one["until"][5:16], one["nodes"]) for one in listed]


def test_a_budget_by_day_is_drawn_by_day(preview):
    found = rows(preview(limited({"nodes": "100%"}, OFFICE), output="table"))
    assert [day[:6] for day in found] == ["Mon 16", "Tue 17", "Wed 18", "Thu 19", "Fri 20", "Sat 21", "Sun 22"]
    assert found["Mon 16 Nov"] == "█" * 18 + "·" * 16 + "█" * 14
    assert found["Sat 21 Nov"] == "█" * 48


def test_some_is_drawn_otherwise_than_all(preview):
    text = preview(limited({"nodes": "20%"}), node("a"), output="table")
    assert set(rows(text)["Tue 17 Nov"]) == {"▄"}
    assert "general  100 assumed, times of UTC" in text
    assert "▄ budgets[0] (nodes 20%) allows 20" in text


def test_percentages_are_of_the_nodes_there_are(preview):
    labelled = {"karpenter.sh/nodepool": "general"}
    found = preview(limited({"nodes": "20%"}), *(node(f"n{at}", labelled) for at in range(9)))
    assert (found["pools"][0]["nodes"], found["pools"][0]["assumed"]) == (9, False)
    assert stretches(found) == [("11-16T00:00", "11-23T00:00", 2)]


def test_stretches_follow_one_another_without_a_hole(preview):
    found = stretches(preview(limited({"nodes": "5"}, OFFICE), flags=(*MONDAY, "--next", "1d")))
    assert found == [
        ("11-16T00:00", "11-16T09:00", 5),
        ("11-16T09:00", "11-16T17:00", 0),
        ("11-16T17:00", "11-17T00:00", 5),
    ]


def test_nothing_limits_what_no_budget_speaks_of(preview):
    found = preview(limited({"nodes": "1", "reasons": ["Drifted"]}))
    assert stretches(found, "Drifted")[0][2] == 1
    assert stretches(found, "Underutilized")[0][2] is None


def test_reasons_that_are_allowed_the_same_share_a_chart(preview):
    text = preview(limited({"nodes": "1", "reasons": ["Drifted"]}), output="table")
    assert "\n  Empty, Underutilized, Unhealthy\n" in text
    assert "\n  Drifted\n" in text


def test_a_budget_that_cannot_be_read_is_drawn_shut_and_named(dovetail, world):
    ran = dovetail("windows", "preview", "-f", world(limited({"nodes": "few"})), *MONDAY)
    assert ran.code == 2
    assert "allows nothing as it cannot be read: nodes: 'few'" in ran.out
    assert "spec.disruption.budgets[0]" in ran.err


# ---- where people live


def test_days_are_those_of_the_zone_asked_for(preview):
    flags = ("--now", "2026-11-16T00:00:00Z", "--next", "1d", "--timezone", "America/New_York")
    found = rows(preview(limited(OFFICE), flags=flags, output="table"))
    assert found["Sun 15 Nov"] == " " * 38 + "█" * 10
    assert found["Mon 16 Nov"] == "█" * 8 + "·" * 16 + "█" * 14


def test_the_hour_that_does_not_come_is_left_blank(preview):
    flags = ("--now", "2026-03-28T23:00:00Z", "--next", "23h", "--timezone", "Europe/Berlin")
    found = rows(preview(limited({"nodes": "100%"}), flags=flags, output="table"))
    assert found == {"Sun 29 Mar": "█" * 4 + "  " + "█" * 42}


def test_the_hour_that_comes_twice_shares_its_marks(preview):
    flags = ("--now", "2026-10-24T22:00:00Z", "--next", "25h", "--timezone", "Europe/Berlin")
    shut = {"nodes": "0", "schedule": "30 0 25 10 *", "duration": "30m"}
    found = rows(preview(limited(shut), flags=flags, output="table"))
    assert found == {"Sun 25 Oct": "█" * 5 + "░" + "█" * 42}


def test_windows_that_allow_appear_by_themselves(preview):
    notes = {"dovetail.dev/allow-windows": "Mon-Fri 09:00-17:00 Europe/Berlin"}
    found = rows(preview(limited({"nodes": "100%"}, notes=notes), output="table"))
    assert found["Mon 16 Nov"] == "·" * 16 + "█" * 16 + "·" * 16
    assert found["Sun 22 Nov"] == "·" * 48


def test_repair_is_not_held_back_by_windows_that_do_not_name_it(preview):
    found = preview(limited({"nodes": "1"}, notes={"dovetail.dev/allow-windows": "Sat 10:00-12:00"}))
    assert stretches(found, "Unhealthy") == [("11-16T00:00", "11-23T00:00", 1)]
    assert stretches(found, "Drifted")[1] == ("11-21T10:00", "11-21T12:00", 1)


# ---- what is asked


def test_one_pool_of_many(preview):
    assert [one["nodePool"] for one in preview(pool("a"), pool("b"), flags=(*MONDAY, "--nodepool", "b"))["pools"]] == [
        "b"
    ]


def test_no_pools_is_no_fault(dovetail, world):
    ran = dovetail("windows", "preview", "-f", world(node("a")))
    assert (ran.code, ran.out) == (0, "")
    assert "there is no NodePool here" in ran.err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--next", "soon"), "write it as 7d, 36h or 1d12h"),
        (("--next", "0d"), "is not between a moment and 92 days"),
        (("--next", "365d"), "is not between a moment and 92 days"),
        (("--timezone", "Mars/Olympus"), "is no time zone"),
        (("--nodepool", "c"), "there is no NodePool 'c' here; there are general"),
    ],
)
def test_what_cannot_be_drawn_says_why(dovetail, world, flags, told):
    ran = dovetail("windows", "preview", "-f", world(pool()), *flags)
    assert ran.code == 2
    assert told in ran.err
