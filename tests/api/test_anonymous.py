"""A dump without names plans as the world it was made of, and gives nothing away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.api import anonymous
from dovetail.api.anonymous import Names
from dovetail.api.world import World, read_world
from dovetail.clouds import load
from dovetail.clouds.listed import ListedMarket
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.scheduling.problem import Options, Plan, Problem
from dovetail.core.scheduling.solve import solve

PLANS = Path(__file__).parents[2] / "scenarios" / "plan"


def without_names(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = Names(b"key")
    return [anonymous.anonymized(one, names) for one in objects]


def planned(objects: list[dict[str, Any]]) -> tuple[World, Plan]:
    world = read_world([("world.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))])
    cache = CatalogCache(ListedMarket(load.load("aws")))
    catalogs = {pool.name: cache.catalog(pool, 0.0) for pool in world.snapshot.pools}
    return world, solve(Problem(world.snapshot, catalogs, Options()))


def outline(plan: Plan) -> tuple[object, ...]:
    """What a plan says, without names."""
    bought = sorted(
        (len(one.pods), one.choice.instance_type.name, one.choice.offering.zone or "") for one in plan.claims
    )
    return bought, sorted(len(one.pods) for one in plan.placed), sorted(len(one.pods) for one in plan.refused)


@pytest.mark.parametrize("name", ["shop.yaml", "cluster.yaml", "waiting.yaml"])
def test_a_world_plans_the_same_without_its_names(name: str):
    objects = [one for one in yaml.safe_load_all((PLANS / name).read_text()) if one]
    named, nameless = planned(objects), planned(without_names(objects))
    assert outline(named[1]) == outline(nameless[1])
    assert [str(one) for one in nameless[0].problems] == [] if not named[0].problems else True


SECRET = "acme-payments"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": f"{SECRET}-1",
        "namespace": SECRET,
        "labels": {"app": SECRET, f"{SECRET}.io/team": SECRET, "app.kubernetes.io/name": SECRET},
        "annotations": {"note": SECRET, "karpenter.sh/do-not-disrupt": "true"},
        "ownerReferences": [{"kind": "ReplicaSet", "name": SECRET, "apiVersion": "apps/v1", "controller": True}],
    },
    "spec": {
        "nodeSelector": {f"{SECRET}.io/tier": SECRET, "topology.kubernetes.io/zone": "us-east-1a"},
        "serviceAccountName": SECRET,
        "containers": [
            {
                "name": SECRET,
                "image": f"registry/{SECRET}",
                "env": [{"name": "TOKEN", "value": SECRET}],
                "command": [SECRET],
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
        "tolerations": [{"key": f"{SECRET}/only", "operator": "Equal", "value": SECRET}],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "topologyKey": "kubernetes.io/hostname",
                        "namespaces": [SECRET],
                        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": [SECRET]}]},
                    }
                ]
            }
        },
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": SECRET}}],
    },
    "status": {"message": SECRET, "podIP": "10.0.0.1", "phase": "Pending"},
}


def test_nothing_its_owner_would_recognise_is_left():
    text = json.dumps(without_names([POD]))
    assert SECRET not in text
    assert "10.0.0.1" not in text


def test_what_planning_looks_at_is_left():
    (found,) = without_names([POD])
    assert found["spec"]["nodeSelector"]["topology.kubernetes.io/zone"] == "us-east-1a"
    assert found["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1"}}
    assert found["metadata"]["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
    term = found["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    own = term["labelSelector"]["matchExpressions"][0]
    assert found["metadata"]["labels"][own["key"]] == own["values"][0]
    assert term["namespaces"] == [found["metadata"]["namespace"]]


def test_the_same_name_is_the_same_word_and_another_key_gives_another():
    first, second = Names(b"one"), Names(b"two")
    assert first.word("shop") == first.word("shop") != second.word("shop")


def test_types_and_drivers_keep_their_names():
    kept = without_names(
        [
            {"kind": "InstanceType", "metadata": {"name": "m5.large"}},
            {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [{"name": "ebs.csi.aws.com"}]}},
        ]
    )
    assert kept[0]["metadata"]["name"] == "m5.large"
    assert kept[1]["spec"]["drivers"][0]["name"] == "ebs.csi.aws.com"
    assert kept[1]["metadata"]["name"] != "n1"
