"""`dovetail consolidate --plan`: what would go now, what it saves, and why everything else stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.api.objects import container, node, pod, pool, thing
from tests.cli.schemas import conforms
from tests.cli.test_plan import TYPES

ROOT = Path(__file__).resolve().parents[2]
WORLD = str(ROOT / "scenarios/worlds/half-empty.yaml")
SCHEMA = json.loads((ROOT / "docs/reference/consolidate.schema.json").read_text())
NOON = ("--now", "2026-11-16T12:00:00Z")
OURS = {
    "karpenter.sh/nodepool": "general",
    "karpenter.sh/capacity-type": "on-demand",
    "node.kubernetes.io/instance-type": "s-medium",
    "topology.kubernetes.io/zone": "za",
}


@pytest.fixture
def consolidate(dovetail, tmp_path):
    """Decide about objects, or about the half-empty cluster, and check the answer against the schema."""

    def run(*objects: dict, flags: tuple[str, ...] = (), code: int = 0) -> dict:
        path, catalog = WORLD, ()
        if objects:
            (tmp_path / "types.json").write_text(json.dumps(TYPES))
            (tmp_path / "world.json").write_text(json.dumps(list(objects)))
            path, catalog = "world.json", ("--catalog", "types.json")
        ran = dovetail("consolidate", "--plan", "-f", path, *catalog, "-o", "json", *NOON, *flags)
        assert ran.code == code, ran.err
        found = json.loads(ran.out)
        conforms(found, SCHEMA)
        return found

    return run


def why(found: dict) -> dict[str, str]:
    return {one["name"]: one["code"] for one in found["staying"]}


def running(name: str, on: str, cpu: str = "1", **about: object) -> dict:
    return pod(name, container({"cpu": cpu}), about={"labels": {"app": name}, **about}, nodeName=on)


# ---- the half-empty cluster


def test_the_half_empty_cluster_gives_up_four_nodes_in_order(consolidate):
    found = consolidate()
    commands = [(one["reason"], one["decision"], [each["name"] for each in one["nodes"]]) for one in found["commands"]]
    assert commands == [
        ("Empty", "delete", ["general-empty"]),
        ("Drifted", "delete", ["general-old"]),
        ("Underutilized", "replace", ["general-large"]),
        ("Underutilized", "delete", ["general-few"]),
    ]
    (bought,) = found["commands"][2]["replacements"]
    assert bought["instanceType"] == "m-8x-amd64-linux"
    moved = [pod for one in found["commands"][3]["takenBy"] for pod in one["pods"]]
    assert moved == ["shop/api-7c4-0", "shop/api-7c4-1"]


def test_every_other_node_says_why_it_stays(consolidate):
    assert why(consolidate()) == {
        "batch-1": "NodePoolBudget",
        "general-db": "PodDisruptionBudget",
        "general-db-2": "PodDisruptionBudget",
        "general-report": "PodDoNotDisrupt",
        "general-full": "DoesNotPayBack",
        "general-busy": "PodsExpected",
        "general-kept": "NodeDoNotDisrupt",
    }


def test_a_held_node_names_the_pods_that_hold_it_and_what_they_cost(consolidate):
    (one,) = (one for one in consolidate()["staying"] if one["name"] == "general-report")
    assert one["pods"] == ["shop/report-1-x7"]
    assert one["blockedPerHour"] == pytest.approx(one["pricePerHour"])
    assert one["reason"].startswith(
        "1 pod: pod shop/report-1-x7 has do-not-disrupt until 2026-11-16T14:00:00Z; without"
    )


def test_dollars_blocked_are_summed_by_cause(consolidate):
    found = consolidate()
    by_cause: dict[str, float] = {}
    for one in found["staying"]:
        by_cause[one["code"]] = by_cause.get(one["code"], 0.0) + one["blockedPerHour"]
    assert {one["code"]: one["blockedPerHour"] for one in found["blocked"]} == pytest.approx(by_cause)
    assert found["totals"]["blockedPerHour"] == pytest.approx(sum(by_cause.values()))


def test_totals_are_the_sums_of_the_commands(consolidate):
    found = consolidate()
    totals = found["totals"]
    assert totals["nodes"] == sum(len(one["nodes"]) for one in found["commands"]) == 4
    assert totals["evictions"] == sum(one["evictions"] for one in found["commands"]) == 4
    assert totals["savingsPerHour"] == pytest.approx(sum(one["savingsPerHour"] for one in found["commands"]))
    assert (totals["stayingNodes"], totals["foreignNodes"], totals["replacements"]) == (7, 0, 1)


def test_time_opens_windows_and_ends_protection(consolidate):
    found = consolidate(flags=("--now", "2026-11-16T20:00:00Z"))
    assert "batch-1" not in why(found)
    assert why(found)["general-report"] == "OthersWereWorthMore"
    assert found["now"] == "2026-11-16T20:00:00Z"


def test_the_whole_cluster_may_have_a_budget(consolidate):
    found = consolidate(flags=("--disruption-budget", "2; Underutilized: 0"))
    assert [one["reason"] for one in found["commands"]] == ["Empty", "Drifted"]
    assert why(found)["general-large"] == "NodePoolBudget"


def test_payback_times_are_compared_in_their_order(consolidate):
    table = consolidate(flags=("--payback", "0s, 10m,30m"))["payback"]
    assert [one["payback"] for one in table] == ["0s", "600s", "1800s"]
    assert [one["nodes"] for one in table] == [4, 2, 4]
    assert table[1]["savingsPerHour"] < table[2]["savingsPerHour"] <= table[0]["savingsPerHour"]


def test_the_table_says_the_same_to_people(dovetail):
    ran = dovetail("consolidate", "--plan", "-f", WORLD, "--payback", "0s,10m", *NOON)
    assert ran.code == 0, ran.err
    assert ran.err == ""
    for told in (
        "4 commands now, in this order",
        "3. Underutilized: replace  saves $0.2687 an hour ($196.17 a month), evicts 1 pod, pays back in 14 min",
        "7 nodes stay",
        "pod shop/db-0 is held by PodDisruptionBudget db, 0 disruptions left; without it this node is worth $0.1344/h",
        "if moves had to pay back within",
        "4 nodes go, 1 comes; 4 pods evicted; saves $0.8062 an hour ($588.50 a month)",
        "; $0.6343 an hour more stays blocked",
    ):
        assert told in ran.out


def test_a_narrow_terminal_is_enough(dovetail, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ran = dovetail("consolidate", "--plan", "-f", WORLD, *NOON)
    table = ran.out.partition("7 nodes stay")[2].partition("what keeps them")[0]
    assert all(len(line) <= 80 for line in table.splitlines())


# ---- a pool that is being renewed


def test_a_rollout_says_how_far_it_is_and_which_wave_waits(dovetail):
    ran = dovetail("consolidate", "--plan", "-f", str(ROOT / "scenarios/worlds/rolling.yaml"), "-o", "json", *NOON)
    found = json.loads(ran.out)
    conforms(found, SCHEMA)
    (one,) = found["rollouts"]
    assert (one["nodePool"], one["total"], one["done"], one["wave"], one["waves"]) == ("web", 6, 1, 2, 2)
    assert one["etaSeconds"] > 3600, "the second wave is looked at for an hour"
    assert one["stoppedBecause"] == ""
    assert [each["decision"] for each in found["commands"]] == ["replace", "replace"]
    waiting = [each for each in found["staying"] if each["also"]]
    assert {each["also"]["code"] for each in waiting} == {"CanaryFirst"}


def test_nodes_to_buy_are_told_apart(dovetail):
    ran = dovetail("consolidate", "--plan", "-f", str(ROOT / "scenarios/worlds/rolling.yaml"), "-o", "json", *NOON)
    names = [each["name"] for one in json.loads(ran.out)["commands"] for each in one["replacements"]]
    assert names == ["web-new-1", "web-new-2"]


# ---- explain node tells the same


def test_explain_node_shows_the_same_refusal(dovetail, consolidate):
    wanted = next(one for one in consolidate()["staying"] if one["name"] == "general-db")
    ran = dovetail("explain", "node", "general-db", "-f", WORLD, "-o", "json", *NOON)
    found = json.loads(ran.out)
    assert (found["staying"], found["going"]) == (
        {key: wanted[key] for key in ("code", "reason", "pods", "blockedPerHour")},
        None,
    )
    told = dovetail("explain", "node", "general-db", "-f", WORLD, *NOON).out
    assert "why it is still here" in told
    assert wanted["reason"] in told


def test_explain_node_shows_the_command_by_which_it_goes(dovetail):
    ran = dovetail("explain", "node", "general-few", "-f", WORLD, *NOON)
    assert "it goes now" in ran.out
    assert "Underutilized: delete general-few" in ran.out
    assert json.loads(dovetail("explain", "node", "general-few", "-f", WORLD, "-o", "json", *NOON).out)["going"]


# ---- what files leave out


def test_a_node_without_a_claim_is_its_pools_and_up(consolidate):
    found = consolidate(pool(), node("empty", OURS), node("other", OURS), running("web", "other"))
    assert [one["name"] for one in found["commands"][0]["nodes"]] == ["empty"]


def test_a_node_of_nobody_is_not_looked_at(consolidate):
    found = consolidate(pool(), node("alien", {}))
    assert (found["commands"], found["staying"], found["totals"]["foreignNodes"]) == ([], [], 1)


def test_a_node_whose_pool_is_not_there_says_so(consolidate):
    assert why(consolidate(node("lost", {**OURS, "karpenter.sh/nodepool": "gone"}))) == {"lost": "NodePoolNotFound"}


def test_a_claim_that_has_not_come_up_is_left_alone(consolidate):
    spec = pool()["spec"]["template"]["spec"]
    claim = thing("NodeClaim", "karpenter.sh/v1", {"name": "young", "labels": OURS}, spec=spec, status={})
    assert why(consolidate(pool(), claim)) == {"young": "NoNode"}


def test_drift_that_only_the_cloud_knows_of_is_believed(consolidate):
    spec = pool()["spec"]["template"]["spec"]
    told = [{"type": one, "status": "True", "reason": one} for one in ("Launched", "Registered", "Initialized")]
    drifted = {"type": "Drifted", "status": "True", "reason": "AMIDrift"}
    status = {"nodeName": "old", "conditions": [*told, drifted]}
    claim = thing("NodeClaim", "karpenter.sh/v1", {"name": "old-claim", "labels": OURS}, spec=spec, status=status)
    up = {**OURS, "karpenter.sh/initialized": "true", "karpenter.sh/registered": "true"}
    found = consolidate(pool(), claim, node("old", up), running("web", "old", "3"))
    assert [one["reason"] for one in found["commands"]] == ["Drifted"]


def test_inside_consolidate_after_a_node_stays(consolidate):
    spec = pool()["spec"]["template"]["spec"]
    told = [
        {"type": one, "status": "True", "lastTransitionTime": "2026-11-16T11:50:00Z"}
        for one in ("Launched", "Registered", "Initialized")
    ]
    status = {"nodeName": "new", "conditions": told}
    claim = thing("NodeClaim", "karpenter.sh/v1", {"name": "new-claim", "labels": OURS}, spec=spec, status=status)
    up = {**OURS, "karpenter.sh/initialized": "true", "karpenter.sh/registered": "true"}
    patient = pool(spec={"disruption": {"consolidateAfter": "30m"}})
    assert why(consolidate(patient, claim, node("new", up))) == {"new": "InsideConsolidateAfter"}
    later = ("--now", "2026-11-16T12:30:00Z")
    assert consolidate(patient, claim, node("new", up), flags=later)["totals"]["nodes"] == 1


# ---- bad input


def test_without_plan_it_says_who_consolidates(dovetail):
    ran = dovetail("consolidate", "-f", WORLD)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: the controller consolidates (dovetail run); to see what it would do now, add --plan\n"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--now", "noon"), "is not a time"),
        (("--payback", "0s,soon"), "is not a duration"),
        (("--payback", ""), "is not a duration"),
        (("--disruption-budget", "most"), "neither a number nor a percentage"),
    ],
)
def test_flags_that_cannot_be_read(dovetail, flags, told):
    ran = dovetail("consolidate", "--plan", "-f", WORLD, *flags)
    assert ran.code == 2
    assert told in ran.err


def test_a_bad_budget_is_named_and_shuts_its_pool_only(dovetail, tmp_path, consolidate):
    bad = pool("general", spec={"disruption": {"budgets": [{"nodes": "some"}]}})
    other = {**OURS, "karpenter.sh/nodepool": "other"}
    objects = (bad, pool("other"), node("a", OURS), node("b", other))
    found = consolidate(*objects, code=2)
    assert why(found) == {"a": "NodePoolBudget"}
    assert [one["name"] for one in found["commands"][0]["nodes"]] == ["b"]
    err = dovetail("consolidate", "--plan", "-f", "world.json", "--catalog", "types.json").err
    assert "NodePool general: spec.disruption.budgets[0]: nodes: 'some' is neither a number nor a percentage" in err


def test_a_node_that_cannot_be_read_whole_costs_itself(consolidate):
    broken = node("broken", OURS)
    broken["status"]["conditions"] = "fine"
    found = consolidate(pool(), broken, node("empty", OURS), code=2)
    assert [one["name"] for one in found["commands"][0]["nodes"]] == ["empty"]
