"""Pools that draw on machine templates of Cluster API, planned from files (R3, R4, R7, R16, R38)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.api import kinds
from dovetail.api.crds import every
from dovetail.apiserver.server import EmbeddedServer
from dovetail.core.catalog.listing import Listing
from dovetail.core.errors import BadInput
from dovetail.core.machines.infra_objects import Market, Wanted
from dovetail.core.machines.templates import Template, narrowed
from dovetail.kube.client import Client
from dovetail.kube.config import from_document

WORLD = Path(__file__).parents[2] / "scenarios/cluster_api/drawing.yaml"
SPOT = "awsmachinetemplate/thrifty.template.spec"


@pytest.fixture
def plan(dovetail: Any) -> Any:
    def run(*words: str, code: int = 0, file: str = str(WORLD)) -> list[dict[str, Any]]:
        ran = dovetail("plan", "-f", file, "-o", "json", *words)
        assert ran.code == code, ran.err
        return json.loads(ran.out)["nodes"]

    return run


def test_a_pool_buys_exactly_what_its_template_says(plan: Any):
    nodes = plan()
    assert {(one["nodePool"], one["instanceType"], one["capacityType"]) for one in nodes} == {
        ("a-steady", "m5.xlarge", "on-demand"),
        ("b-thrifty", "m5.xlarge", "spot"),
    }
    assert all(one["instanceTypes"] == ["m5.xlarge"] for one in nodes)
    assert all(set(one["zones"]) <= {"us-east-1a", "us-east-1b"} for one in nodes), "the cluster has no other subnets"


def test_R4_the_cheaper_template_goes_first_and_on_demand_only_to_who_asks_for_it(plan: Any):
    pods = {pod: one["nodePool"] for one in plan() for pod in one["pods"]}
    assert pods.pop("default/ledger-0") == "a-steady"
    assert set(pods.values()) == {"b-thrifty"}


def test_R38_a_template_that_bids_too_low_buys_nothing_and_the_next_one_is_drawn_on(plan: Any):
    nodes = plan("--with", f"{SPOT}.spotMarketOptions.maxPrice='0.001'")
    assert {one["nodePool"] for one in nodes} == {"a-steady"}


def test_a_heavier_pool_goes_before_a_cheaper_one(plan: Any):
    assert {one["nodePool"] for one in plan("--with", "nodepool/a-steady.weight=10")} == {"a-steady"}


def test_the_root_disk_is_the_templates_and_does_not_grow(plan: Any):
    (node,) = [one for one in plan() if one["nodePool"] == "a-steady"]
    assert node["diskSize"] is None
    small = [
        one["nodePool"] for one in plan("--with", "awsmachinetemplate/steady.template.spec.rootVolume.size=20", code=3)
    ]
    assert "a-steady" not in small


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (f"{SPOT}.instanceType=m5.xlrge", "sells no type 'm5.xlrge'"),
        (f"{SPOT}.spotMarketOptions.maxPrice=cheap", "maxPrice 'cheap' is not a decimal number"),
        ("nodepool/b-thrifty.nodeClassRef.name=gone", "there is no AWSMachineTemplate 'gone'"),
        (f"{SPOT}=[]", "expected a map"),
    ],
)
def test_a_template_that_cannot_be_used_is_the_pools_problem_and_costs_no_other(dovetail: Any, change: str, told: str):
    ran = dovetail("plan", "-f", str(WORLD), "--with", change, "-o", "json")
    assert ran.code == 2
    assert told in ran.err
    assert {one["nodePool"] for one in json.loads(ran.out)["nodes"]} == {"a-steady"}


def test_a_template_in_two_namespaces_is_nobodys(dovetail: Any, world: Any):
    held = list(yaml.safe_load_all(WORLD.read_text()))
    (twin,) = [one for one in held if one["metadata"]["name"] == "thrifty"]
    twin = twin | {"metadata": {"name": "thrifty", "namespace": "other"}}
    ran = dovetail("plan", "-f", world(*held, twin))
    assert ran.code == 2
    assert "in each of the namespaces default, other" in ran.err


@pytest.mark.parametrize(
    ("kind", "spec", "place", "zone", "how"),
    [
        (
            "GCP",
            {"instanceType": "n2-standard-4", "preemptible": True},
            {"region": "us-central1"},
            "us-central1-",
            "spot",
        ),
        ("Azure", {"vmSize": "Standard_D4s_v5", "failureDomain": "2"}, {"location": "eastus"}, "eastus-2", "on-demand"),
    ],
)
def test_templates_of_the_other_clouds(plan: Any, world: Any, kind: str, spec: Any, place: Any, zone: str, how: str):
    group = "infrastructure.cluster.x-k8s.io"
    ref = {"apiGroup": group, "kind": f"{kind}Cluster", "name": "c"}
    about = {"name": "c", "namespace": "default"}
    infra = {"apiVersion": f"{group}/v1beta1", "metadata": about}
    pool = {"nodeClassRef": {"group": group, "kind": f"{kind}MachineTemplate", "name": "c"}, "requirements": []}
    pod = {"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "1"}}}]}
    nodes = plan(
        file=world(
            {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": about}
            | {"spec": {"infrastructureRef": ref}},
            infra | {"kind": f"{kind}Cluster", "spec": place},
            infra | {"kind": f"{kind}MachineTemplate", "spec": {"template": {"spec": spec}}},
            {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}}
            | {"spec": {"template": {"spec": pool}}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": pod},
        )
    )
    (node,) = nodes
    assert (node["capacityType"], node["pricePerHour"] > 0) == (how, True)
    assert node["zone"].startswith(zone)


def test_objects_of_cluster_api_that_no_pool_draws_on_are_skipped_as_before(dovetail: Any, world: Any):
    held = [one for one in yaml.safe_load_all(WORLD.read_text()) if one["kind"] != "NodePool"]
    ran = dovetail("plan", "-f", world(*held))
    assert "skipped 4 objects planning has no use for: AWSCluster, AWSMachineTemplate, Cluster" in ran.err


def test_a_region_that_sells_nothing_of_the_kind_says_so():
    empty = Listing("aws", "us-east-1", (), {}, {})
    with pytest.raises(BadInput, match=r"sells no type 'm5\.large'"):
        narrowed(empty, Template(Wanted("aws", "m5.large", Market.SPOT)))


async def serve(path: Path, ready: threading.Event, end: asyncio.Event) -> None:
    served = {
        one.name: one for one in (*kinds.INFRA_TEMPLATES, *kinds.INFRA_CLUSTERS, kinds.CLUSTERS, kinds.NODE_POOLS)
    }
    async with EmbeddedServer() as server, Client(from_document(server.kubeconfig())) as client:
        for one in (*every.CORE, *every.CLUSTER_API):
            await client.create(kinds.CRDS, one.manifest())
        for one in yaml.safe_load_all(WORLD.read_text()):
            if one["kind"] in served:
                kind = served[one["kind"]]
                await client.create(kind, one, "default" if kind.namespaced else "")
        path.write_text(json.dumps(server.kubeconfig()))
        ready.set()
        await end.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A kubeconfig for a cluster with these pools and templates, and no pods."""
    path, ready = tmp_path / "kubeconfig", threading.Event()
    loop, end = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(path, ready, end),))
    thread.start()
    assert ready.wait(30)
    yield str(path)
    loop.call_soon_threadsafe(end.set)
    thread.join(30)
    loop.close()


def test_templates_of_a_live_cluster_are_read_where_a_pool_draws_on_them(dovetail: Any, cluster: str, world: Any):
    pods = [one for one in yaml.safe_load_all(WORLD.read_text()) if one["kind"] == "Deployment"]
    ran = dovetail("plan", "--kubeconfig", cluster, "-f", world(*pods), "-o", "json")
    assert ran.code == 0, ran.err
    assert {one["nodePool"] for one in json.loads(ran.out)["nodes"]} == {"a-steady", "b-thrifty"}


def test_templates_are_in_a_dump_and_in_no_anonymous_one(dovetail: Any, cluster: str):
    assert "AWSMachineTemplate" in dovetail("dump", "--kubeconfig", cluster).out
    hidden = dovetail("dump", "--kubeconfig", cluster, "--anonymize").out
    assert '"kind":"AWSMachineTemplate","metadata"' not in hidden
    assert "rootVolume" not in hidden


def test_a_template_without_a_name_costs_itself(dovetail: Any, world: Any):
    held = list(yaml.safe_load_all(WORLD.read_text()))
    ran = dovetail("plan", "-f", world(*held, held[2] | {"metadata": []}), "-o", "json")
    assert ran.code == 2
    assert {one["nodePool"] for one in json.loads(ran.out)["nodes"]} == {"a-steady", "b-thrifty"}
