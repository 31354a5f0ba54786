"""What the live benchmark makes of what it saw. No cluster is needed, and nothing looks at a clock."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bench.live_run import Plan, Result
from bench.live_watch import STAGES, Seen
from bench.live_world import Workload
from bench.report import broken, lower, write

from bench import bench_live, bench_live_large, live_world, report


def test_a_pod_is_bound_when_the_scheduler_says_so_and_not_when_the_watch_tells():
    seen = Seen(bound={"late": 9.0, "sooner": 3.0, "unsaid": 4.0})
    seen.said({"late": 7.0, "sooner": 3.5, "elsewhere": 1.0})
    assert seen.bound == {"late": 7.0, "sooner": 3.0, "unsaid": 4.0}


def _seen() -> Seen:
    seen = Seen()
    seen.created = {"a": 1.0, "b": 1.5}
    seen.claims = {
        "x": {"": 4.0, "Launched": 5.0, "Registered": 6.0, "Initialized": 7.0},
        "y": {"": 4.5, "Launched": 4.8, "Registered": 6.5, "Initialized": 9.0},
    }
    seen.bound = {"a": 6.2, "b": 8.0}
    return seen


def test_stages_end_with_the_last_claim_and_add_up_to_the_whole():
    stages = _seen().stages(began=1.0, plan=0.5)
    assert stages == pytest.approx(
        {"batch": 2.5, "plan": 0.5, "create": 0.5, "launch": 0.5, "register": 1.5, "initialize": 1.5, "bind": 0.0}
    )
    assert sum(stages.values()) == pytest.approx(8.0 - 1.0)


def test_planning_that_began_before_the_clock_leaves_no_batch():
    stages = _seen().stages(began=3.8, plan=60.0)
    assert (stages["batch"], stages["plan"]) == pytest.approx((0.0, 0.2))


def test_pods_bound_without_a_single_claim_spent_their_time_before_it():
    seen = Seen(created={"a": 1.0}, bound={"a": 3.0})
    stages = seen.stages(began=1.0, plan=0.0)
    assert stages["batch"] == 2.0
    assert sum(stages.values()) == 2.0


def _result(side: str, nodes: int = 10, price: float = 2.0) -> Result:
    writes = {"leases": 100.0, "events": 10.0, "claims": 50.0, "nodes": 30.0, "pods": 0.0, "rest": 10.0}
    return Result(side, 10.0, dict.fromkeys(STAGES, 1.0), 1.0, 2.0, nodes, price, 80.0, 3.0, writes)


def test_of_several_runs_the_one_of_median_time_is_told_whole():
    runs = [
        replace(_result("peer", nodes=nodes), seconds=seconds) for nodes, seconds in ((1, 31.0), (2, 16.0), (3, 20.0))
    ]
    assert bench_live.median(runs) is runs[2]
    assert all(count % 2 for count in bench_live.RUNS.values())


def test_both_sides_take_turns_and_each_column_is_one_run(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    seconds = iter((31.0, 9.0, 16.0, 8.0, 20.0, 12.0))

    def measure(plan: Plan) -> Result:
        asked.append(plan.side)
        return replace(_result(plan.side), seconds=next(seconds))

    monkeypatch.setattr(bench_live.live_peer, "built", lambda: True)
    monkeypatch.setattr(bench_live.live_run, "measure", measure)
    monkeypatch.setenv("LIVE_ONLY", "500")
    monkeypatch.setattr(bench_live, "with_kept", lambda _, rows: rows)
    first = bench_live.run()[0]
    assert asked == ["peer", "ours"] * 3
    assert (first.ours, first.peer) == (9.0, 20.0)


def test_leases_are_not_counted_for_a_node():
    assert _result("ours").writes_per_node == 10.0


def test_a_node_more_than_the_peer_or_a_higher_price_breaks_the_run():
    workload = Workload("plain", 500)
    dearer = bench_live.rows(_result("ours", price=2.1), _result("peer"), workload)
    larger = bench_live.rows(_result("ours", nodes=11), _result("peer"), workload)
    assert [line.split(":")[1].strip() for line in [*broken(dearer), *broken(larger)]] == ["price", "nodes"]
    assert broken(bench_live.rows(_result("ours"), _result("peer"), workload)) == []
    assert broken(bench_live.rows(_result("ours"), None, workload)) == []


def test_every_pod_of_a_workload_is_in_one_of_its_deployments():
    for kind in ("plain", "spread", "large"):
        replicas = [one["spec"]["replicas"] for one in Workload(kind, 1003).objects()]
        assert sum(replicas) == 1003
        assert max(replicas) - min(replicas) <= 1


def test_lateness_is_that_of_the_window_and_our_own_part_is_no_more_than_the_whole(tmp_path):
    before = [(0.5, 9.0, 9.0)] * 100
    during = [(2.0, 0.02, 0.5)] * 100
    path = tmp_path / "lag.json"
    path.write_text(json.dumps(before + during))
    assert bench_live_large.lateness(path, (1.0, 3.0)) == pytest.approx((0.02, 0.02))


def test_nodes_cost_what_the_types_file_says(monkeypatch, tmp_path):
    monkeypatch.setattr(live_world, "RESULTS", tmp_path)
    for cached in (live_world.types_file, live_world._prices):
        cached.cache_clear()
        monkeypatch.setattr(live_world, cached.__name__, cached.__wrapped__)
    row = json.loads(live_world.types_file().read_text())[0]
    labels = {"node.kubernetes.io/instance-type": row["name"]}
    labels |= {wish["key"]: wish["values"][0] for wish in row["offerings"][0]["Requirements"]}
    assert live_world.price([labels, labels]) == pytest.approx(2 * row["offerings"][0]["Price"])


def test_a_part_measured_anew_keeps_the_other_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    first, second = lower("500 pods: a", "s", 1.0), lower("1,000 pods: a", "s", 2.0)
    assert report.with_kept(bench_live.NAME, [first]) == [first]
    write(bench_live.NAME, [first, second], tmp_path)
    faster, new = lower("500 pods: a", "s", 0.5), lower("500 pods: b", "s", 3.0)
    assert report.with_kept(bench_live.NAME, [faster, new]) == [faster, second, new]


def test_deployments_applied_in_turn_are_a_wave_each_and_all_one_wave_otherwise():
    workload = Workload("large", 30)
    assert [len(wave) for wave in Plan("ours", workload).waves()] == [10]
    assert [len(wave) for wave in Plan("ours", workload, in_turn=True).waves()] == [1] * 10
