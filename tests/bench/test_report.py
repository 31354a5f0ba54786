"""What the benchmarks say about figures. Nothing here looks at a clock."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import page, peer, report


def test_a_ratio_says_how_many_times_better_ours_is_whichever_way_the_unit_runs():
    assert report.lower("load", "s", ours=0.1, peer=0.4).ratio == pytest.approx(4)
    assert report.higher("intersects", "op/s", ours=100, peer=400).ratio == pytest.approx(0.25)


def test_without_a_peer_there_is_no_ratio_and_no_verdict_that_would_need_one():
    row = report.lower("load", "s", ours=0.1, times=2)
    assert (row.peer, row.ratio, row.met) == (None, None, None)
    assert row.target == "2× the peer"


def test_a_broken_limit_is_a_miss_even_when_the_peer_is_not_there():
    row = report.lower("load", "s", ours=0.9, limit=0.5, times=2)
    assert row.target == "at most 500 ms and 2× the peer"
    assert row.met is False


def test_a_row_without_a_promise_is_neither_met_nor_missed():
    assert report.lower("load", "s", ours=0.9, peer=0.1).met is None


def test_both_promises_must_hold():
    assert report.higher("intersects", "op/s", ours=900, peer=300, limit=500, times=3).met is True
    assert report.higher("intersects", "op/s", ours=900, peer=301, limit=500, times=3).met is False


def test_a_figure_of_nothing_has_no_ratio_rather_than_an_infinite_one():
    assert report.lower("growth", "%", ours=0.0, peer=300.0).ratio is None


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0000817, "s", "81.7 µs"),
        (0.1914, "s", "191 ms"),
        (2.5, "s", "2.5 s"),
        (0.0, "s", "0 s"),
        (584071.4, "op/s", "584,071 op/s"),
        (1395, "count", "1,395"),
        (289.02, "%", "289 %"),
        (None, "s", "–"),
    ],
)
def test_a_figure_is_shown_as_a_person_reads_it(value: float | None, unit: str, shown: str):
    assert report.figure(value, unit) == shown


def test_the_table_has_straight_columns():
    shown = report.table(
        [report.lower("load", "s", 0.1, 0.4, times=2), report.higher("intersects", "op/s", 2000.0)]
    ).splitlines()
    assert shown[0].split() == ["ours", "peer", "times", "better", "target", "met"]
    assert shown[1].split() == ["load", "100", "ms", "400", "ms", "4×", "2×", "the", "peer", "yes"]
    assert shown[0].index("ours") + 4 == shown[1].index("100 ms") + 6 == shown[2].index("op/s") + 4


def test_what_is_written_has_exactly_the_seven_keys_and_reads_back_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    rows = [report.lower("load", "s", 0.1, 0.4, limit=1), report.higher("intersects", "op/s", 2000.0)]
    path = report.write("catalog", rows, tmp_path)
    assert path == tmp_path / "catalog.json"
    entries = json.loads(path.read_text(encoding="utf-8"))
    assert all(list(entry) == ["row", "unit", "ours", "peer", "ratio", "target", "met"] for entry in entries)
    assert entries[1]["peer"] is None
    assert report.from_json(path.read_text(encoding="utf-8")) == rows
    assert "load" in capsys.readouterr().out


MACHINE = page.Machine("Fast One", 2, "CPython 3.11")


def test_the_page_names_the_machine_and_shows_each_benchmark_with_its_words():
    rows = [report.Row("a|b", "s", 0.1, None, None, None, None)]
    about = "What it costs to hold a catalogue."
    text = page.render([page.Section("catalog", about, rows, datetime.date(2026, 1, 2))], MACHINE, "peer v1")
    measured = "Measured on 2026-01-02: Fast One, 2 cores, CPython 3.11; peer peer v1."
    assert f"## catalog\n\n{about}\n\n{measured}\n\n" in text
    assert "| a\\|b | 100 ms | – | – |  |  |" in text


def test_a_page_made_anew_keeps_the_sections_there_are_no_figures_for():
    def section(name: str, seconds: float) -> page.Section:
        rows = [report.Row("a", "s", seconds, None, None, None, None)]
        return page.Section(name, f"About {name}.", rows, datetime.date(2026, 1, 2))

    whole = page.render([section(name, 0.1) for name in ("aws", "catalog", "scheduling")], MACHINE, "peer")
    assert page.render([], page.Machine("Another", 8, "PyPy"), "none", whole) == whole
    after = page.render([section("catalog", 0.2), section("live", 0.2)], MACHINE, "peer", whole)
    expected = [section("aws", 0.1), section("catalog", 0.2), section("live", 0.2), section("scheduling", 0.1)]
    assert after == page.render(expected, MACHINE, "peer")


def test_the_peers_lines_become_figures_by_name():
    lines = ['{"row":"load","unit":"s","value":0.1}', "", '{"row":"types","unit":"count","value":3}']
    assert peer.parse(lines) == {"load": 0.1, "types": 3.0}


@pytest.mark.parametrize("line", ["ready", "[]", '{"row":"load"}'])
def test_a_line_of_the_peers_that_is_no_row_is_named(line: str):
    with pytest.raises(peer.PeerFailed, match="not a row"):
        peer.parse([line])


def test_a_changed_source_changes_the_digest_and_another_file_does_not(tmp_path: Path):
    (tmp_path / "main.go").write_text("package main\n")
    before = peer.digest(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing the build reads\n")
    assert peer.digest(tmp_path) == before
    (tmp_path / "main.go").write_text("package main // changed\n")
    assert peer.digest(tmp_path) != before


def test_the_peer_is_named_with_its_version():
    assert peer.version().startswith("sigs.k8s.io/karpenter v1.")


def _parts(told: list[str]) -> dict[str, Callable[[], list[report.Row]]]:
    def part(name: str) -> Callable[[], list[report.Row]]:
        def measured() -> list[report.Row]:
            told.append(name)
            return [report.lower(name, "s", 2.0)]

        return measured

    return {name: part(name) for name in ("first", "second")}


def test_a_benchmark_has_all_its_parts_or_the_one_asked_for_with_what_is_known_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    told: list[str] = []
    assert [row.row for row in report.in_parts("x", "X_ONLY", _parts(told))] == ["first", "second"]
    report.write("x", [report.lower("first", "s", 1.0), report.lower("second", "s", 1.0)], tmp_path)
    told.clear()
    monkeypatch.setenv("X_ONLY", "second")
    assert [row.ours for row in report.in_parts("x", "X_ONLY", _parts(told))] == [1.0, 2.0]
    assert told == ["second"]


def test_a_part_there_is_not_ends_the_run_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch):
    told: list[str] = []
    monkeypatch.setenv("X_ONLY", "thrid")
    with pytest.raises(SystemExit, match="X_ONLY=thrid: there is no such part; there are first, second"):
        report.in_parts("x", "X_ONLY", _parts(told))
    assert told == []
