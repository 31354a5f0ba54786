"""What the machines benchmark makes of what it saw and counted. No cluster is needed, and nothing looks at a clock."""

from bench.bench_machines import alone, compared
from bench.live_cluster import WRITES, flow_schemas
from bench.machines_cluster import COUNTED, LEFT_OUT
from bench.machines_run import Plan, Result
from bench.machines_watch import Seen, _Initialization, _Metadata, _Object, _Reference, _Status


def _result(core: str, each: float = 10.0, provisioned: float = 6.0) -> Result:
    counts = {name: each for name, *_ in COUNTED}
    return Result(Plan(core, "sim", 10), 5.0, provisioned, 8.0, 2.0, 80.0, counts, idle=0.5)


def test_what_goes_by_the_clock_or_plays_a_machine_is_not_counted_for_a_machine():
    counted = _result("own").counted
    assert not LEFT_OUT & counted.keys()
    assert _result("own").writes_per_machine == len(counted) == len(COUNTED) - len(LEFT_OUT)


def test_half_as_much_again_as_the_peer_is_within_the_target_and_more_is_not():
    def verdicts(ours: Result) -> dict[str, bool | None]:
        return {row.row.partition(": ")[2]: row.met for row in compared(ours, _result("upstream"))}

    within = verdicts(_result("own", 14.9, 8.9))
    assert within["writes to the API server per Machine"] is True
    assert within["set applied to all provisioned"] is True
    beyond = verdicts(_result("own", 15.1, 9.1))
    assert beyond["writes to the API server per Machine"] is False
    assert beyond["set applied to all provisioned"] is False


def test_a_machine_beyond_those_asked_for_is_a_miss():
    plan = Plan("own", "gcp", 10)
    rows = alone(Result(plan, 5.0, 6.0, 8.0, 2.0, 80.0, {name: 1.0 for name, *_ in COUNTED}, surplus=1))
    assert [row.row for row in rows if row.met is False] == ["10 Machines, gcp: made beyond those asked for"]


def test_every_write_of_every_account_is_counted_once():
    schemas = list(flow_schemas([("a", "x"), ("b", "y")], COUNTED))
    assert [one["metadata"]["name"] for one in schemas] == [f"bench-{name}" for name, *_ in COUNTED]
    orders = [one["spec"]["matchingPrecedence"] for one in schemas]
    assert orders == sorted(set(orders))
    last = schemas[-1]["spec"]["rules"][0]
    assert len(last["subjects"]) == 2
    assert last["resourceRules"][0]["resources"] == ["*"]
    assert last["resourceRules"][0]["verbs"] == WRITES


def test_a_machine_has_its_instance_before_its_node_and_the_first_of_the_cluster_is_not_of_the_set():
    seen = Seen()
    made = _Metadata("s-1", {"pool": "workers"})
    seen.machine(_Object(made), 1.0)
    seen.machine(_Object(made, status=_Status(initialization=_Initialization(True))), 2.0)
    seen.machine(_Object(made, status=_Status(phase="Running", nodeRef=_Reference("n"))), 3.0)
    seen.machine(_Object(_Metadata("first"), status=_Status(phase="Running", nodeRef=_Reference("m"))), 4.0)
    assert (seen.created, seen.provisioned, seen.running) == ({"s-1": 1.0}, {"s-1": 2.0}, {"s-1": 3.0})
    assert seen.noted == {"s-1", "first"}
