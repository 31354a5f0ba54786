"""NodePool, row by row (contract §1)."""

from __future__ import annotations

from typing import Final

from tests.contract.crds.rows import GONE, Table
from tests.contract.crds.shared_rows import (
    AWS_KEYS,
    AWS_PLACES,
    DUPLICATE,
    LEAST,
    MOST,
    PATTERN,
    REQUIRED,
    RESERVED,
    TOO_LONG,
    TOO_MANY,
    TYPE,
    UNSUPPORTED,
    conditions,
    domains,
    durations,
    node_class_refs,
    quantities,
    requirement,
    requirements,
    taints,
)

from dovetail.api.kinds import NODE_POOLS

NODE: Final = "spec.template.spec"
LABELS: Final = "spec.template.metadata.labels"
BUDGETS: Final = "spec.disruption.budgets"
CLASS: Final = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}

POOLS: Final = Table(NODE_POOLS, {"template": {"spec": {"nodeClassRef": CLASS, "requirements": []}}})


def _shape() -> None:
    POOLS.accepts(
        "what is left out is filled in",
        {},
        {
            f"{NODE}.expireAfter": "720h",
            "spec.disruption": {
                "consolidateAfter": "0s",
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "budgets": [{"nodes": "10%"}],
            },
            "spec.weight": GONE,
            "spec.replicas": GONE,
        },
    )
    POOLS.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)
    POOLS.refuses("no template", {"spec.template": GONE}, "spec.template", REQUIRED)
    POOLS.refuses("no template spec", {NODE: GONE}, NODE, REQUIRED)
    POOLS.accepts(
        "what nobody knows is dropped",
        {"spec.unknown": 1, f"{NODE}.kubelet": {}, "spec.template.metadata.name": "a"},
        {"spec.unknown": GONE, f"{NODE}.kubelet": GONE, "spec.template.metadata.name": GONE},
    )


def _labels() -> None:
    POOLS.accepts("100 labels", {LABELS: {f"a{at}": "" for at in range(100)}})
    POOLS.refuses("101 labels", {LABELS: {f"a{at}": "" for at in range(101)}}, LABELS, "must have at most 100")
    POOLS.refuses("a label value of 64 characters", {LABELS: {"a": "b" * 64}}, f"{LABELS}.a", TOO_LONG)
    POOLS.refuses("an odd label value", {LABELS: {"a": "b c"}}, f"{LABELS}.a", PATTERN)
    POOLS.accepts("annotations are free", {"spec.template.metadata.annotations": {"karpenter.sh/x": "a b" * 99}})
    POOLS.accepts("P4: the capacity type", {LABELS: {"karpenter.sh/capacity-type": "spot"}})
    for bad in ("karpenter.sh/x", "a.karpenter.sh/x"):
        POOLS.refuses(f"P4: label {bad} is reserved", {LABELS: {bad: "a"}}, LABELS, RESERVED)
    for odd in ("notkarpenter.sh/x", "karpenter.sh"):
        POOLS.refuses(f"P4 [Q]: label {odd} is refused as well", {LABELS: {odd: "a"}}, LABELS, RESERVED)
    POOLS.refuses("P5: the pool's own label", {LABELS: {"karpenter.sh/nodepool": "a"}}, LABELS, "nodepool is set by")
    POOLS.refuses("P6: the hostname", {LABELS: {"kubernetes.io/hostname": "a"}}, LABELS, "hostname is each node's")
    known = {f"karpenter.k8s.aws/{name}": "a" for name in (*AWS_KEYS, *AWS_PLACES)}
    POOLS.accepts("every label of AWS", {LABELS: known})
    POOLS.refuses("label karpenter.k8s.aws/x is reserved", {LABELS: {"karpenter.k8s.aws/x": "a"}}, LABELS, RESERVED)
    POOLS.accepts("labels of kwok's domain are not judged", {LABELS: {"karpenter.kwok.sh/x": "a"}})


def _node() -> None:
    node_class_refs(POOLS, f"{NODE}.nodeClassRef")
    POOLS.refuses_change(
        "P7", {}, {f"{NODE}.nodeClassRef.group": "b"}, f"{NODE}.nodeClassRef", "group cannot be changed"
    )
    POOLS.refuses_change("P8", {}, {f"{NODE}.nodeClassRef.kind": "B"}, f"{NODE}.nodeClassRef", "kind cannot be changed")
    POOLS.accepts_change("the node class may be another of its kind", {}, {f"{NODE}.nodeClassRef.name": "b"})
    requirements(POOLS, f"{NODE}.requirements", min_values=True)
    POOLS.refuses(
        "P14: the pool itself",
        {f"{NODE}.requirements": [requirement("karpenter.sh/nodepool")]},
        f"{NODE}.requirements[0].key",
        "nodepool is set by the pool",
    )
    domains(POOLS, f"{NODE}.requirements")
    taints(POOLS, f"{NODE}.taints")
    taints(POOLS, f"{NODE}.startupTaints")
    durations(POOLS, f"{NODE}.expireAfter", never=True)
    durations(POOLS, f"{NODE}.terminationGracePeriod", never=False)


def _disruption() -> None:
    POOLS.accepts(
        "an empty disruption is filled in",
        {"spec.disruption": {}},
        {
            "spec.disruption.consolidateAfter": "0s",
            "spec.disruption.consolidationPolicy": "WhenEmptyOrUnderutilized",
            "spec.disruption.budgets": [{"nodes": "10%"}],
        },
    )
    POOLS.accepts("no budget at all", {BUDGETS: []}, {BUDGETS: []})
    durations(POOLS, "spec.disruption.consolidateAfter", never=True)
    policy = "spec.disruption.consolidationPolicy"
    for good in ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"):
        POOLS.accepts(f"policy {good}", {policy: good})
    POOLS.refuses("an unknown policy", {policy: "WhenUnderutilized"}, policy, UNSUPPORTED)


def _budgets() -> None:
    POOLS.accepts("50 budgets", {BUDGETS: [{"nodes": "1"}] * 50})
    POOLS.refuses("51 budgets", {BUDGETS: [{"nodes": "1"}] * 51}, BUDGETS, TOO_MANY)
    POOLS.accepts("a budget's nodes are filled in", {BUDGETS: [{}]}, {f"{BUDGETS}.0.nodes": "10%"})
    for good in ("0", "0%", "99%", "100%", "12345"):
        POOLS.accepts(f"a budget of {good}", {BUDGETS: [{"nodes": good}]})
    for bad in ("101%", "-1", "1.5", "", "10 %"):
        POOLS.refuses(f"a budget of {bad!r}", {BUDGETS: [{"nodes": bad}]}, f"{BUDGETS}[0].nodes", PATTERN)
    POOLS.refuses("a budget that is a number", {BUDGETS: [{"nodes": 1}]}, f"{BUDGETS}[0].nodes", TYPE)
    reasons = ["Underutilized", "Empty", "Drifted", "Unhealthy"]
    POOLS.accepts("every reason", {BUDGETS: [{"reasons": reasons}]})
    field = f"{BUDGETS}[0].reasons"
    POOLS.refuses("an unknown reason", {BUDGETS: [{"reasons": ["Expired"]}]}, f"{field}[0]", UNSUPPORTED)
    POOLS.refuses("one reason twice", {BUDGETS: [{"reasons": ["Empty", "Empty"]}]}, f"{field}[1]", DUPLICATE)
    POOLS.refuses("51 reasons", {BUDGETS: [{"reasons": ["Empty"] * 51}]}, field, TOO_MANY)


def _schedules() -> None:
    def scheduled(schedule: str, duration: str = "1h") -> dict[str, object]:
        return {BUDGETS: [{"nodes": "1", "schedule": schedule, "duration": duration}]}

    for good in ("@daily", "@annually", "0 9 * * mon-fri", "*/5 0-3 1,2 * *"):
        POOLS.accepts(f"schedule {good}", scheduled(good))
    for odd in ("@dailyfoo", "@hourly a b c d", "x 0 9 * * *"):
        POOLS.accepts(f"[Q] schedule {odd!r}, as the pattern is open at its ends", scheduled(odd))
    for bad in ("daily", "", "* * * *", "@often"):
        POOLS.refuses(f"schedule {bad!r}", scheduled(bad), f"{BUDGETS}[0].schedule", PATTERN)
    for good in ("1h", "30m", "1h30m", "90m0s", "1h30m0s"):
        POOLS.accepts(f"duration {good} of a budget", scheduled("@daily", good))
    for bad in ("30s", "1h30s", "", "1d", "1m1h"):
        POOLS.refuses(f"duration {bad!r} of a budget", scheduled("@daily", bad), f"{BUDGETS}[0].duration", PATTERN)
    both = "schedule and duration"
    POOLS.refuses("P16: a schedule alone", {BUDGETS: [{"nodes": "1", "schedule": "@daily"}]}, BUDGETS, both)
    POOLS.refuses("P16: a duration alone", {BUDGETS: [{"nodes": "1", "duration": "1h"}]}, BUDGETS, both)


def _size() -> None:
    quantities(POOLS, "spec.limits")
    for good in (1, 100):
        POOLS.accepts(f"weight {good}", {"spec.weight": good})
    POOLS.refuses("weight 0", {"spec.weight": 0}, "spec.weight", LEAST)
    POOLS.refuses("weight 101", {"spec.weight": 101}, "spec.weight", MOST)
    POOLS.refuses("a weight that is a text", {"spec.weight": "1"}, "spec.weight", TYPE)
    POOLS.accepts("replicas 0", {"spec.replicas": 0})
    POOLS.refuses("replicas -1", {"spec.replicas": -1}, "spec.replicas", LEAST)
    kept = "neither added to nor removed"
    POOLS.refuses_change("P1: replicas added", {}, {"spec.replicas": 1}, "spec", kept)
    POOLS.refuses_change("P1: replicas removed", {"spec.replicas": 1}, {"spec.replicas": GONE}, "spec", kept)
    POOLS.accepts_change("P1: replicas changed", {"spec.replicas": 1}, {"spec.replicas": 2})
    static = {"spec.replicas": 1}
    POOLS.accepts("P2: a static pool limits nodes", static | {"spec.limits": {"nodes": 5}})
    POOLS.accepts("P2: a static pool with no limit", static | {"spec.limits": {}})
    for limits in ({"cpu": 5}, {"cpu": 5, "nodes": 5}):
        POOLS.refuses(f"P2: a static pool limits {limits}", static | {"spec.limits": limits}, "spec", "name nodes only")
    POOLS.refuses("P3: a static pool with a weight", static | {"spec.weight": 1}, "spec", "weight may not be set")


def _status() -> None:
    conditions(POOLS)
    POOLS.accepts_status("nodes are filled in", {}, {"status.nodes": 0})
    POOLS.accepts_status("all of a status", {"nodes": 3, "nodeClassObservedGeneration": 2, "resources": {"cpu": "1"}})
    POOLS.refuses_status("a resource that is none", {"resources": {"cpu": "x"}}, "status.resources.cpu", PATTERN)


_shape()
_labels()
_node()
_disruption()
_budgets()
_schedules()
_size()
_status()
