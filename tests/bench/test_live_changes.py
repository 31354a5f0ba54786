"""What is seen of a live cluster that shrinks or rolls, and what is made of it. No cluster is needed."""

from dataclasses import replace

import pytest
from bench.live_change import Plan, Result, Seen, _Meta, _Object, _Spec
from bench.report import broken

from bench import bench_disruption_live, live_world
from dovetail.core.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, ZONE


def _pod(uid: str, node: str = "", namespace: str = "default") -> _Object:
    return _Object(_Meta(uid, namespace, uid), _Spec(node))


def _node(name: str, pool: str | None = "default") -> _Object:
    told = {INSTANCE_TYPE: "small", ZONE: "z1", CAPACITY_TYPE: "spot"}
    return _Object(_Meta(name, labels=told | ({NODEPOOL: pool} if pool else {})))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    monkeypatch.setattr(live_world, "_prices", lambda: {("small", "z1", "spot"): 0.5})
    return Seen()


def test_a_pod_that_came_after_the_change_was_evicted_and_one_that_only_moved_on_was_not(seen: Seen):
    seen.pod(_pod("a"), False)
    before = set(seen.born)
    seen.pod(_pod("a", "n1"), False)
    seen.pod(_pod("a", "n1"), True)
    seen.pod(_pod("b"), False)
    seen.pod(_pod("system", namespace="kube-system"), False)
    assert seen.born - before == {"b"}
    assert seen.waiting == 1


def test_only_nodes_of_a_pool_count_and_their_price_follows_them(seen: Seen):
    for name in ("n1", "n2"):
        seen.node(_node(name), False)
    seen.node(_node("control-plane", None), False)
    assert (len(seen.nodes), seen.price) == (2, 1.0)
    seen.node(_node("n1"), True)
    assert [(nodes, price) for _, nodes, price in seen.course] == [(1, 0.5), (2, 1.0), (1, 0.5)]


def test_a_heartbeat_changes_nothing_and_a_node_that_goes_does(seen: Seen):
    seen.node(_node("n1"), False)
    seen.changed = seen.gone = 0.0
    seen.node(_node("n1"), False)
    assert seen.changed == 0.0
    seen.node(_node("n1"), True)
    assert seen.changed >= seen.gone > 0.0


def _result(side: str, price: float = 2.0, seconds: float = 100.0, cut_off: bool = False) -> Result:
    return Result(side, "shrink", 150, 22.0, 30, price, seconds, 100, 0, 5, 3.0, 80.0, cut_off)


def test_a_higher_price_at_the_end_breaks_the_run_and_a_slow_end_misses_its_target():
    assert broken(bench_disruption_live.shrunk(_result("ours", price=2.1), _result("peer")))
    rows = list(bench_disruption_live.shrunk(_result("ours", seconds=60.0), _result("peer")))
    assert broken(rows) == []
    assert [row.met for row in rows if "last node went" in row.row] == [False]
    assert broken(bench_disruption_live.shrunk(_result("ours"), None)) == []


def test_a_peer_that_was_not_done_is_said_to_be_cut_off():
    (row,) = (
        one
        for one in bench_disruption_live.shrunk(_result("ours"), _result("peer", cut_off=True))
        if "last node" in one.row
    )
    assert "cut off" in row.row


def test_the_pace_of_a_roll_out_is_time_for_each_node():
    rows = list(bench_disruption_live.rolled(_result("ours", seconds=30.0), _result("peer", seconds=150.0)))
    (pace,) = (one for one in rows if "each that went" in one.row)
    assert (pace.ours, pace.peer, pace.met) == (0.2, 1.0, True)


def test_a_plan_has_the_pods_of_its_change_unless_it_says_otherwise():
    assert Plan("ours", "shrink").workload.pods == 1_000
    assert Plan("ours", "shrink", 60).workload.pods == 60


def test_the_pace_of_a_side_that_was_cut_off_is_that_of_the_nodes_that_went():
    ours, peer = _result("ours", seconds=150.0), replace(_result("peer", seconds=900.0, cut_off=True), left=60)
    row = next(one for one in bench_disruption_live.rolled(ours, peer) if "each that went" in one.row)
    assert (row.ours, row.peer) == (1.0, 10.0)
