"""`dovetail plan`: worlds as people have them in files, and the plans they get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.api.objects import (
    NODE_CLASS,
    bound_claim,
    container,
    expression,
    mounting,
    node,
    node_affinity,
    pod,
    pool,
    thing,
    volume,
    workload,
)
from tests.cli.schemas import conforms

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/reference/plan.schema.json").read_text())
ZONE = "topology.kubernetes.io/zone"
CAPACITY = "karpenter.sh/capacity-type"


def offering(zone: str, capacity_type: str, price: float, **more: object) -> dict:
    wanted = [expression(CAPACITY, "In", capacity_type), expression(ZONE, "In", zone)]
    return {"Price": price, "Available": True, "Requirements": [*wanted, *more.pop("labels", [])], **more}


def kind(name: str, cpu: int, *offerings: dict) -> dict:
    rows = offerings or tuple(offering(zone, "on-demand", cpu * 0.1) for zone in ("za", "zb"))
    return {
        "name": name,
        "offerings": list(rows),
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", "ephemeral-storage": "20Gi", "pods": "110"},
    }


TYPES = [kind("s-small", 2), kind("s-medium", 4), kind("s-large", 16)]


@pytest.fixture
def plan(dovetail, tmp_path):
    """Plan objects against a catalogue of three types, and check the answer against the schema."""

    def run(*objects: dict, types: list[dict] = TYPES, flags: tuple[str, ...] = (), code: int | None = None) -> dict:
        (tmp_path / "types.json").write_text(json.dumps(types))
        (tmp_path / "world.yaml").write_text(yaml.safe_dump_all(objects))
        ran = dovetail("plan", "-f", "world.yaml", "--catalog", "types.json", "--output", "json", *flags)
        found = json.loads(ran.out)
        conforms(found, SCHEMA)
        wanted = code if code is not None else 3 if found["totals"]["pendingPods"] else 0
        assert ran.code == wanted, ran.err
        return found

    return run


def reasons(found: dict) -> dict[str, str]:
    return {name: one["reason"] for one in found["pending"] for name in one["pods"]}


def test_a_pod_gets_the_cheapest_node_that_holds_it(plan):
    found = plan(pool(), pod("web", container({"cpu": "3"})))
    (one,) = found["nodes"]
    assert (one["instanceType"], one["instanceTypes"]) == ("s-medium", ["s-medium", "s-large"])
    assert (one["nodePool"], one["existing"], one["zones"]) == ("general", False, ["za", "zb"])
    assert (one["capacityType"], one["capacityTypes"], one["pricePerHour"]) == ("on-demand", ["on-demand"], 0.4)
    assert (one["pods"], one["requests"]["cpu"], one["allocatable"]["cpu"]) == (["default/web"], "3", "3900m")
    assert found["totals"] == {
        "newNodes": 1,
        "existingNodes": 0,
        "pods": 1,
        "pendingPods": 0,
        "pricePerHour": 0.4,
    }


def test_pods_that_wait_say_why_and_what_would_nearly_have_done(plan):
    found = plan(pool(), pod("huge", container({"cpu": "17"})), pod("web"))
    (one,) = found["pending"]
    assert one["pods"] == ["default/huge"]
    assert one["pools"][0]["code"] == "resources"
    assert "s-large" in one["nearestMiss"]
    assert found["totals"]["pods"] == 1


def test_a_bad_pod_is_refused_and_the_others_are_planned(plan):
    found = plan(pool(), pod("bad", container({"cpu": "1,5"})), pod("web"))
    assert reasons(found).keys() == {"default/bad"}
    assert reasons(found)["default/bad"].startswith("spec.containers[0].resources.requests.cpu: ")
    assert found["totals"]["pods"] == 1


def test_a_broken_pool_leaves_the_others_planning(plan):
    found = plan(pool("bad", requirements=[expression("a", "Is")]), pool("good"), pod("web"), code=2)
    assert [one["nodePool"] for one in found["nodes"]] == ["good"]


def test_a_pool_that_is_not_ready_buys_nothing(plan):
    found = plan(pool(status={"conditions": [{"type": "Ready", "status": "False"}]}), pod("web"))
    assert "no NodePool can buy nodes" in reasons(found)["default/web"]


def test_running_pods_take_room_and_existing_nodes_are_used_first(plan):
    running = pod("old", container({"cpu": "3"}), nodeName="node-1")
    found = plan(pool(), node(), running, pod("fits", container({"cpu": "1"})), pod("more", container({"cpu": "1"})))
    there = [one for one in found["nodes"] if one["existing"]]
    assert [(one["name"], one["pods"], one["requests"]["cpu"]) for one in there] == [("node-1", ["default/fits"], "4")]
    assert found["totals"]["existingNodes"] == 1
    assert found["totals"]["newNodes"] == 1


def test_an_existing_node_has_the_price_of_its_type(plan):
    said = {"node.kubernetes.io/instance-type": "s-medium", ZONE: "za", CAPACITY: "on-demand"}
    (one,) = plan(pool(), node(labels=said), pod("web"))["nodes"]
    assert (one["existing"], one["pricePerHour"], one["instanceTypes"]) == (True, 0.4, ["s-medium"])


def test_daemons_take_their_share_of_every_node(plan):
    agent = workload("DaemonSet", "agent", template={"containers": [container({"cpu": "1"})]})
    (one,) = plan(pool(), agent, pod("web", container({"cpu": "1"})))["nodes"]
    assert (one["instanceType"], one["requests"]["cpu"]) == ("s-medium", "2")


def test_limits_default_requests(plan):
    (one,) = plan(pool(), pod("web", container(limits={"cpu": "3"})))["nodes"]
    assert one["requests"]["cpu"] == "3"


def test_a_volume_keeps_its_zone(plan):
    here = volume("vol", [expression(ZONE, "In", "zb")])
    (one,) = plan(pool(), pod("web", volumes=mounting("data")), bound_claim(), here)["nodes"]
    assert (one["zone"], one["zones"]) == ("zb", ["zb"])


def test_a_contradiction_ends_as_a_reason(plan):
    asked = node_affinity([expression(ZONE, "In", "za"), expression(ZONE, "In", "zb")])
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}
    both = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
    }
    found = plan(pool(), pod("x", affinity=asked), pod("y", about={"labels": {"app": "a"}}, affinity=both), pod("z"))
    assert reasons(found).keys() >= {"default/x"}
    assert found["totals"]["pods"] + found["totals"]["pendingPods"] == 3


def test_pods_with_devices_are_refused_with_a_clear_reason(plan):
    found = plan(pool(), pod("gpu", resourceClaims=[{"name": "gpu"}]))
    assert "Dynamic Resource Allocation" in reasons(found)["default/gpu"]


def test_pods_that_are_not_waiting_for_a_node_are_left_alone(dovetail, plan):
    found = plan(pool(), pod("gated", schedulingGates=[{"name": "g"}]))
    assert found["totals"] == {"newNodes": 0, "existingNodes": 0, "pods": 0, "pendingPods": 0, "pricePerHour": 0}


def test_pods_of_a_node_that_leaves_are_planned_anew(plan):
    gone = node(about={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    found = plan(pool(), gone, pod("web", nodeName="node-1"))
    assert [(one["existing"], one["pods"]) for one in found["nodes"]] == [(False, ["default/web"])]


@pytest.mark.parametrize(("said", "moves"), [("true", 0), ("24h", 0), ("0s", 1), ("soon", 1), ("false", 1)])
def test_a_pod_that_may_not_be_disrupted_stays_on_a_node_that_leaves(plan, said, moves):
    """Scheduling §2.3."""
    gone = node(about={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    kept = {"annotations": {"karpenter.sh/do-not-disrupt": said}}
    assert plan(pool(), gone, pod("web", about=kept, nodeName="node-1"))["totals"]["pods"] == moves


def test_a_reservation_is_named_and_never_overbooked(plan):
    """S3.5, S3.7."""
    held = offering("za", "reserved", 0.001, labels=[expression("karpenter.kwok.sh/reservation-id", "In", "r-1")])
    types = [kind("one", 2, {**held, "ReservationCapacity": 1}, offering("za", "on-demand", 0.2))]
    found = plan(pool(), pod("a", container({"cpu": "1500m"})), pod("b", container({"cpu": "1500m"})), types=types)
    assert sorted((one["capacityType"], one["reservationID"]) for one in found["nodes"]) == [
        ("on-demand", None),
        ("reserved", "r-1"),
    ]


def test_ten_thousand_pods_apart_and_one_reservation(plan):
    """S3.13, through the command: one claim is reserved, the others are bought, in one pass."""
    held = offering("za", "reserved", 0.001, labels=[expression("karpenter.kwok.sh/reservation-id", "In", "r-1")])
    types = [kind("one", 2, {**held, "ReservationCapacity": 1}, offering("za", "on-demand", 0.2))]
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    template = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}}
    found = plan(pool(), workload("Deployment", replicas=10_000, template=template), types=types)
    assert found["totals"]["newNodes"] == 10_000
    assert sum(one["reservationID"] is not None for one in found["nodes"]) == 1


def test_min_values_is_strict_or_does_its_best(plan):
    """S4.3, S4.8."""
    wanted = {**expression("node.kubernetes.io/instance-type", "Exists"), "minValues": 4}
    strict = plan(pool(requirements=[wanted]), pod("web"))
    assert strict["pending"][0]["pools"][0]["code"] == "min-values"
    best = plan(pool(requirements=[wanted]), pod("web"), flags=("--min-values-policy", "BestEffort"))
    assert best["totals"]["pods"] == 1


def test_a_pod_that_cannot_keep_min_values_falls_to_the_next_pool(plan):
    """S4.3."""
    wanted = {**expression("node.kubernetes.io/instance-type", "Exists"), "minValues": 2}
    heavy, light = pool("heavy", spec={"weight": 50}, requirements=[wanted]), pool("light")
    assert plan(heavy, light, pod("small"))["nodes"][0]["nodePool"] == "heavy"
    assert plan(heavy, light, pod("large", container({"cpu": "10"})))["nodes"][0]["nodePool"] == "light"


def test_preferences_are_respected_or_ignored(plan):
    term = {"weight": 1, "preference": {"matchExpressions": [expression(ZONE, "In", "zb")]}}
    wishes = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    world = [pool(), pod("web", affinity=wishes)]
    assert plan(*world)["nodes"][0]["zones"] == ["zb"]
    assert plan(*world, flags=("--preference-policy", "Ignore"))["nodes"][0]["zones"] == ["za", "zb"]


def test_default_constraints_spread_pods(plan, tmp_path):
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    config = {"podTopologySpread": {"defaultConstraints": [constraint]}}
    (tmp_path / "scheduler.yaml").write_text(yaml.safe_dump(config))
    world = [pool(), workload("Deployment", replicas=4, template={"containers": [container({"cpu": "100m"})]})]
    assert len(plan(*world)["nodes"]) == 1
    spread = plan(*world, flags=("--scheduler-config", "scheduler.yaml"))["nodes"]
    assert {one["zone"]: len(one["pods"]) for one in spread} == {"za": 2, "zb": 2}


def test_the_same_world_gives_the_same_plan_whatever_its_order(plan):
    world = [pool(), pool("other"), node(), workload("Deployment", replicas=20), *(pod(f"p{at}") for at in range(9))]
    assert plan(*world) == plan(*reversed(world))


# ---- clouds


def test_pools_are_matched_to_a_cloud_by_their_node_class(dovetail, world):
    aws = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    gcp = {"group": "karpenter.k8s.gcp", "kind": "GCENodeClass", "name": "default"}
    there = [pool("a", nodeClassRef=aws), pool("g", nodeClassRef=gcp), pool("k", nodeClassRef=NODE_CLASS)]
    pods = [pod(one, nodeSelector={"karpenter.sh/nodepool": one}) for one in "agk"]
    found = json.loads(dovetail("plan", "-f", world(*there, *pods), "-o", "json").out)
    kinds = {one["nodePool"]: one["instanceType"] for one in found["nodes"]}
    assert kinds.keys() == {"a", "g", "k"}
    assert "." in kinds["a"]
    assert kinds["k"].endswith("-linux")


def test_the_region_is_the_one_the_world_speaks_of(dovetail, world):
    aws = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    there = pool(nodeClassRef=aws, requirements=[expression(ZONE, "In", "eu-west-1a")])
    ran = dovetail("plan", "-f", world(there, pod("web")), "-o", "json")
    assert json.loads(ran.out)["nodes"][0]["zone"] == "eu-west-1a"
    assert "eu-west-1" in ran.err


def test_a_pool_of_an_unknown_cloud_is_told(dovetail, world):
    strange = {"group": "example.com", "kind": "MoonNodeClass", "name": "default"}
    file = world(pool(nodeClassRef=strange), pod("web"))
    ran = dovetail("plan", "-f", file)
    assert (ran.code, "MoonNodeClass" in ran.err) == (2, True)
    assert dovetail("plan", "-f", file, "--cloud", "kwok").code == 0


# ---- input and output


def test_stdin_directories_and_several_files(dovetail, world, tmp_path):
    (tmp_path / "dir").mkdir()
    world(pool(), name="dir/pool.yaml")
    world(pod("a"), name="dir/a.yaml")
    world(pod("b"), name="b.yaml")
    text = yaml.safe_dump(pod("c"))
    ran = dovetail("plan", "-f", "dir", "b.yaml", "-f", "-", "-o", "json", stdin=text)
    assert json.loads(ran.out)["totals"]["pods"] == 3


def test_a_large_dump_is_read_item_by_item(dovetail, tmp_path, monkeypatch):
    monkeypatch.setattr("dovetail.cli.files.MAX_BYTES", 100)
    listed = {"apiVersion": "v1", "kind": "List", "items": [pool(), *(pod(f"p{at}") for at in range(20))]}
    (tmp_path / "dump.json").write_text(json.dumps(listed))
    ran = dovetail("plan", "-f", "dump.json", "-o", "json")
    assert (ran.code, json.loads(ran.out)["totals"]["pods"]) == (0, 20)
    ran = dovetail("plan", "-f", "-", "-o", "json", stdin=json.dumps(listed))
    assert (ran.code, json.loads(ran.out)["totals"]["pods"]) == (0, 20)


def test_kinds_nobody_plans_are_skipped_with_a_count(dovetail, world):
    ran = dovetail("plan", "-f", world(pool(), thing("Secret", "v1", {"name": "s"})))
    assert "skipped 1 objects planning has no use for: Secret" in ran.err
    assert ran.code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name at least one file"),
        (("-f", "missing.yaml"), "missing.yaml: cannot be read"),
        (("-f", "world.yaml", "--with", "nodepool/none.weight=1"), "there is no such object"),
        (("-f", "world.yaml", "--catalog", "none.json"), "none.json: cannot be read"),
        (("-f", "world.yaml", "--cloud", "aws", "--region", "mars-1"), "mars-1"),
        (("-f", "world.yaml", "--scheduler-config", "none.yaml"), "none.yaml: cannot be read"),
        (("-f", "world.yaml", "--preference-policy", "Maybe"), "'Maybe' is none of Respect, Ignore"),
    ],
)
def test_bad_input_exits_with_two(dovetail, world, words, told):
    world(pool(), pod("web"))
    ran = dovetail("plan", *words)
    assert ran.code == 2
    assert told in ran.err


def test_the_table_shows_nodes_fill_reasons_and_money(dovetail, world):
    ran = dovetail(
        "plan",
        "-f",
        world(pool(), node(), pod("a"), pod("b", container({"cpu": "9"})), pod("c", container({"cpu": "9999"}))),
    )
    assert ran.code == 3
    for word in ("1 node to buy", "1 node already there takes pods", "1 pod waiting", "nearest miss", "a month", "%"):
        assert word in ran.out


def test_nodes_alike_are_one_line(dovetail, world):
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    template = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}}
    ran = dovetail("plan", "-f", world(pool(), workload("Deployment", replicas=30, template=template)))
    assert "×30" in ran.out


def test_yaml_says_what_json_says(dovetail, world):
    file = world(pool(), pod("web"))
    one, two = (dovetail("plan", "-f", file, "-o", form).out for form in ("json", "yaml"))
    assert json.loads(one) == yaml.safe_load(two)


def test_an_empty_world_has_nothing_to_buy(dovetail, world):
    assert "nothing to buy" in dovetail("plan", "-f", world(pool())).out


# ---- what if


def test_a_change_gives_another_plan(plan):
    world = [pool(), pod("web")]
    changed = plan(*world, flags=("--with", f"nodepool/general.requirements[{ZONE}]=[zb]"))
    assert changed["nodes"][0]["zones"] == ["zb"]


def test_two_plans_are_compared_in_nodes_dollars_and_pods(dovetail, world):
    before = world(pool(), pod("a", container({"cpu": "3"})), name="before.yaml")
    after = world(pool(), pod("a", container({"cpu": "9"})), pod("b", container({"cpu": "9999"})), name="after.yaml")
    ran = dovetail("plan", "-f", before, "--diff", after, "-o", "json")
    found = json.loads(ran.out)
    assert ran.code == 3
    assert {(one["before"], one["after"]) for one in found["nodes"]} == {(1, 0), (0, 1)}
    assert {one["pod"]: one["after"] for one in found["moved"]}["default/b"] == "waits"
    assert found["totals"]["pricePerHour"]["by"] > 0
    assert "pods go elsewhere" in dovetail("plan", "-f", before, "--diff", after).out


def test_a_change_is_compared_with_the_world_as_it_is(dovetail, world):
    file = world(pool(), pod("a"))
    assert dovetail("plan", "-f", file, "--diff", file).out == "no differences\n"
    ran = dovetail(
        "plan", "-f", file, "--diff", file, "--with", "pod/a.containers[main].resources.requests.cpu=20", "-o", "json"
    )
    assert json.loads(ran.out)["totals"]["pricePerHour"]["by"] > 0


@pytest.mark.parametrize("name", ["shop.yaml", "cluster.yaml", "waiting.yaml"])
def test_the_scenarios_conform_to_the_schema(dovetail, name):
    base = ROOT / "scenarios/plan"
    ran = dovetail("plan", "-f", str(base / "shop.yaml"), "-f", str(base / name), "-o", "json")
    conforms(json.loads(ran.out), SCHEMA)
    assert ran.code in (0, 3)
