"""`dovetail lint`: each rule finds what it is about, says where, and is quiet otherwise."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.api.objects import NODE_CLASS, container, expression, node, pod, pool, thing, workload

CLASS = thing("KWOKNodeClass", "karpenter.kwok.sh/v1alpha1", {"name": "default"})
TYPE = "node.kubernetes.io/instance-type"
CAPACITY = "karpenter.sh/capacity-type"


@pytest.fixture
def lint(dovetail, tmp_path):
    def run(*objects: dict, code: int = 1) -> list[tuple[str, str, str]]:
        (tmp_path / "w.yaml").write_text(yaml.safe_dump_all([CLASS, *objects]))
        ran = dovetail("lint", "-f", "w.yaml", "-o", "json")
        found = json.loads(ran.out)
        assert all(one["fix"] and one["message"] for one in found)
        assert ran.code == code, (ran.out, ran.err)
        return [(one["code"], one["object"], one["path"]) for one in found]

    return run


def disrupted(*budgets: dict) -> dict:
    return pool(spec={"disruption": {"consolidateAfter": "0s", "budgets": list(budgets)}})


def test_a_sound_world_has_nothing_to_complain_about(dovetail, world, lint):
    assert lint(pool(), pod("web"), code=0) == []
    assert dovetail("lint", "-f", world(CLASS, pool())).out == "nothing to complain about\n"


def test_requirements_no_type_meets(lint):
    wanted = [expression(CAPACITY, "In", "spot"), expression("kubernetes.io/arch", "In", "sparc")]
    assert lint(pool(requirements=wanted)) == [("DV001", "NodePool general", "spec.template.spec.requirements[1]")]


def test_min_values_nothing_reaches(lint):
    wanted = {**expression("kubernetes.io/arch", "Exists"), "minValues": 40}
    path = "spec.template.spec.requirements[0].minValues"
    assert lint(pool(requirements=[wanted])) == [("DV002", "NodePool general", path)]


@pytest.mark.parametrize("limits", [{"cpu": "500m"}, {"nodes": 0}, {"memory": "1Mi"}])
def test_limits_smaller_than_one_node(lint, limits):
    (name,) = limits
    assert lint(pool(spec={"limits": limits})) == [("DV003", "NodePool general", f"spec.limits.{name}")]


def test_limits_that_hold_a_node_are_fine(lint):
    assert lint(pool(spec={"limits": {"cpu": "10", "nodes": 1}}), code=0) == []


def test_pools_of_equal_weight_that_sell_the_same(lint):
    assert lint(pool("a"), pool("b")) == [("DV004", "NodePool a", "spec.weight")]


def test_pools_that_can_be_told_apart_do_not_overlap(lint):
    taint = [{"key": "gpu", "effect": "NoSchedule"}]
    assert lint(pool("a"), pool("b", taints=taint), code=0) == []
    assert lint(pool("a", requirements=[expression("team", "In", "a")]), pool("b"), code=0) == []
    spot, other = ([expression(CAPACITY, "In", one)] for one in ("spot", "on-demand"))
    assert lint(pool("a", requirements=spot), pool("b", requirements=other), code=0) == []


@pytest.mark.parametrize(
    ("budget", "path"),
    [
        ({"nodes": "0"}, "[0].nodes"),
        ({"nodes": "0%"}, "[0].nodes"),
        ({"nodes": "1", "schedule": "0 0 30 2 *", "duration": "8h"}, "[0].schedule"),
        ({"nodes": "1", "schedule": "0 0 30", "duration": "8h"}, "[0].schedule"),
        ({"nodes": "1", "schedule": "0 25 * * *", "duration": "8h"}, "[0].schedule"),
        ({"nodes": "1", "schedule": "@daily"}, "[0]"),
        ({"nodes": "1", "schedule": "@daily", "duration": "soon"}, "[0].duration"),
        ({"nodes": "0", "schedule": "@daily", "duration": "24h"}, "[0].duration"),
    ],
)
def test_budgets_that_never_open(lint, budget, path):
    assert lint(disrupted(budget)) == [("DV005", "NodePool general", f"spec.disruption.budgets{path}")]


@pytest.mark.parametrize(
    "budget",
    [
        {"nodes": "10%"},
        {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"},
        {"nodes": "0", "schedule": "@daily", "duration": "23h30m"},
        {"nodes": "1", "schedule": "*/15 0-6 29 feb *", "duration": "10m"},
        {"nodes": "1", "schedule": "0 0 30 2 1", "duration": "8h"},
    ],
)
def test_budgets_that_open(lint, budget):
    assert lint(disrupted(budget), code=0) == []


def test_a_pool_in_the_shadow_of_a_heavier_one(lint):
    small = [expression(CAPACITY, "In", "spot")]
    heavy, light = pool("heavy", spec={"weight": 10}), pool("light", requirements=small)
    assert lint(heavy, light) == [("DV006", "NodePool light", "spec.weight")]


def test_a_heavier_pool_with_limits_or_taints_shadows_nobody(lint):
    light = pool("light")
    assert lint(pool("heavy", spec={"weight": 10, "limits": {"cpu": "100"}}), light, code=0) == []
    taint = [{"key": "gpu", "effect": "NoSchedule"}]
    assert lint(pool("heavy", spec={"weight": 10}, taints=taint), light, code=0) == []
    assert (
        lint(pool("heavy", spec={"weight": 10}), pool("light", requirements=[expression("t", "In", "a")]), code=0) == []
    )


def preferring(*wanted: dict) -> dict:
    term = {"weight": 1, "preference": {"matchExpressions": list(wanted)}}
    return pod("web", affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}})


def test_preferences_nothing_can_meet(lint):
    path = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
    assert lint(pool(), preferring(expression("disk", "In", "ssd"))) == [("DV007", "Pod default/web", path)]
    assert lint(pool(), preferring(expression("disk", "In", "ssd")), node(labels={"disk": "ssd"}), code=0) == []
    assert lint(pool(), preferring(expression("kubernetes.io/arch", "In", "arm64")), code=0) == []


def test_node_classes_that_are_not_there(lint):
    missing = pool(nodeClassRef={**NODE_CLASS, "name": "other"})
    assert lint(missing) == [("DV008", "NodePool general", "spec.template.spec.nodeClassRef.name")]


def test_a_node_class_may_be_in_the_cluster(dovetail, world):
    ran = dovetail("lint", "-f", world(pool()), "-o", "json")
    assert (ran.code, [one["level"] for one in json.loads(ran.out)]) == (0, ["note"])


def test_old_names_have_new_ones(lint, dovetail, world):
    old = pod(
        "web",
        nodeSelector={"beta.kubernetes.io/arch": "amd64"},
        about={"annotations": {"karpenter.sh/do-not-evict": "true"}},
    )
    assert sorted(lint(pool(), old)) == [
        ("DV009", "Pod web", "metadata.annotations.karpenter.sh/do-not-evict"),
        ("DV009", "Pod web", "spec.nodeSelector.beta.kubernetes.io/arch"),
    ]
    gone = thing("Provisioner", "karpenter.sh/v1alpha5", {"name": "old"})
    assert ("DV009", "Provisioner old", "kind") in lint(gone)
    wanted = pool(requirements=[expression("beta.kubernetes.io/os", "In", "linux")])
    assert lint(wanted) == [("DV009", "NodePool general", "spec.template.spec.requirements[0].key")]


def test_labels_kubelets_write_are_not_the_users_to_mend(lint):
    assert lint(pool(), node(labels={"beta.kubernetes.io/arch": "amd64"}), code=0) == []


def test_what_cannot_be_read_is_told_with_its_field(lint):
    found = lint(pool(), pool("bad", spec={"limits": {"cpu": "many"}}), pod("web", container({"cpu": "1,5"})))
    assert found == [
        ("DV010", "Pod default/web", "spec.containers[0].resources.requests.cpu"),
        ("DV010", "NodePool bad", "spec.limits.cpu"),
    ]
    assert lint(pool("bad", spec={"weight": 1000})) == [("DV011", "NodePool bad", "spec.weight")]


def test_sarif_names_file_line_rule_and_object(dovetail, world):
    file = world(CLASS, pool(spec={"limits": {"cpu": "1m"}}))
    ran = dovetail("lint", "-f", file, "-o", "sarif")
    found = json.loads(ran.out)
    (run,) = found["runs"]
    (result,) = run["results"]
    assert (found["version"], ran.code) == ("2.1.0", 1)
    assert result["ruleId"] in {one["id"] for one in run["tool"]["driver"]["rules"]}
    place = result["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "world.yaml"
    assert place["physicalLocation"]["region"]["startLine"] > 1
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "NodePool general: spec.limits.cpu"


def test_the_table_has_the_worst_first_and_a_count(dovetail, world):
    wanted = pool(requirements=[expression("beta.kubernetes.io/os", "In", "linux")], spec={"limits": {"nodes": 0}})
    ran = dovetail("lint", "-f", world(CLASS, wanted))
    assert ran.out.index("error DV003") < ran.out.index("warning DV009")
    assert ran.out.endswith("1 error, 1 warning\n")


def test_no_files_is_bad_input(dovetail):
    assert dovetail("lint").code == 2
    assert dovetail("lint", "-f", "missing.yaml").code == 2


# ---- when nodes may go


def shut_by(*budgets: dict, notes: dict | None = None) -> dict:
    made = disrupted(*budgets)
    made["metadata"] |= {"annotations": notes} if notes else {}
    return made


@pytest.mark.parametrize(
    ("budget", "path"),
    [
        ({"nodes": "ten"}, "[0]"),
        ({"nodes": 10}, "[0].nodes"),
        ({"nodes": "1", "reasons": ["Drift"]}, "[0].reasons"),
        ({"node": "1"}, "[0].node"),
    ],
)
def test_budgets_that_cannot_be_read(lint, budget, path):
    assert lint(disrupted(budget)) == [("DV012", "NodePool general", f"spec.disruption.budgets{path}")]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("payback", "half an hour"),
        ("min-savings", "much"),
        ("eviction-charge", "-1"),
        ("rollout-canary", "a few"),
        ("allow-windows", "whenever"),
        ("timezone", "Mars/Olympus"),
    ],
)
def test_annotations_that_cannot_be_read(lint, key, value):
    key = f"dovetail.dev/{key}"
    found = lint(shut_by({"nodes": "10%"}, notes={key: value}))
    assert found[0] == ("DV012", "NodePool general", f"metadata.annotations.{key}")


def test_settings_that_cannot_be_read(lint):
    wrong = pool(spec={"disruption": {"consolidateAfter": "soon", "consolidationPolicy": "Sometimes"}})
    assert lint(wrong) == [
        ("DV012", "NodePool general", "spec.disruption.consolidateAfter"),
        ("DV012", "NodePool general", "spec.disruption.consolidationPolicy"),
    ]


def test_budgets_that_each_open_and_together_never_do(lint):
    day = {"nodes": "0", "schedule": "0 6 * * *", "duration": "12h"}
    night = {"nodes": "0", "schedule": "0 18 * * *", "duration": "12h"}
    assert lint(disrupted(day, night)) == [("DV013", "NodePool general", "spec.disruption")]
    assert lint(disrupted(day, {**night, "duration": "11h"}), code=0) == []


def test_windows_and_budgets_that_never_meet(lint):
    weekend = {"nodes": "0", "schedule": "0 0 * * sat", "duration": "48h"}
    notes = {"dovetail.dev/allow-windows": "Sat-Sun 10:00-12:00"}
    assert lint(shut_by(weekend, notes=notes)) == [("DV013", "NodePool general", "spec.disruption")]
    assert lint(shut_by({"nodes": "1"}, notes=notes), code=0) == []


def pod_budget(name: str = "web", **spec: object) -> dict:
    spec = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    return thing("PodDisruptionBudget", "policy/v1", {"name": name, "namespace": "default"}, spec=spec)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"maxUnavailable": 0}, "spec.maxUnavailable"),
        ({"minAvailable": "100%"}, "spec.minAvailable"),
        ({"minAvailable": 3}, "spec.minAvailable"),
    ],
)
def test_pod_budgets_that_never_let_a_pod_go(lint, spec, path):
    web = workload("Deployment", "web", replicas=3)
    assert lint(pool(), web, pod_budget(**spec)) == [("DV014", "PodDisruptionBudget default/web", path)]


def test_pod_budgets_that_let_pods_go(lint):
    web = workload("Deployment", "web", replicas=3)
    assert lint(pool(), web, pod_budget(minAvailable=2), code=0) == []
    assert lint(pool(), pod_budget(minAvailable=2), code=0) == [], "nobody knows how many pods there will be"


def test_pods_that_two_budgets_cover(lint):
    web = workload("Deployment", "web", replicas=3)
    found = lint(pool(), web, pod_budget("a", maxUnavailable=1), pod_budget("b", maxUnavailable=1))
    assert found == [("DV015", "PodDisruptionBudget default/a", "spec.selector")]
