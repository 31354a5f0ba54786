"""`dovetail plan --cluster-api`: a Cluster API cluster priced, read-only (R1, R3, R6, R36, R38)."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.schemas import conforms

from dovetail.api import kinds
from dovetail.api.crds import every
from dovetail.apiserver.server import EmbeddedServer
from dovetail.kube.client import Client
from dovetail.kube.config import from_document

ROOT = Path(__file__).parents[2]
WORLD = str(ROOT / "scenarios/cluster_api/three-clouds.yaml")
SCHEMA = json.loads((ROOT / "docs/reference/plan-cluster-api.schema.json").read_text())


@pytest.fixture
def priced(dovetail: Any) -> Any:
    def run(*words: str, code: int = 0) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        ran = dovetail("plan", "--cluster-api", *words, "-o", "json")
        assert ran.code == code, ran.err
        found = json.loads(ran.out)
        conforms(found, SCHEMA)
        return found["totals"], {one["name"]: one for one in found["groups"]}

    return run


def test_every_group_is_priced_on_demand_and_on_spot(priced: Any):
    totals, groups = priced("-f", WORLD)
    assert {name: one["replicas"] for name, one in groups.items()} == {
        "shop": 3, "shop-steady": 4, "shop-spot": 6, "reports-night": 2, "mail-relay": 1,
    }  # fmt: skip
    spot = groups["shop-spot"]
    assert spot["prices"]["onDemand"]["each"] == pytest.approx(0.192)
    assert spot["pricePerHour"] == pytest.approx(6 * spot["prices"]["spot"]["each"])
    assert spot["savedPerHour"] == pytest.approx(spot["onDemandPerHour"] - spot["pricePerHour"])
    steady = groups["shop-steady"]
    assert steady["couldSavePerHour"] == pytest.approx(steady["pricePerHour"] - steady["spotPerHour"])
    assert totals["machines"] == 16
    for name in ("pricePerHour", "onDemandPerHour", "spotPerHour", "savedPerHour", "couldSavePerHour"):
        assert totals[name] == pytest.approx(sum(one[name] for one in groups.values())), name


def test_machines_stand_where_their_zone_or_their_cluster_says(priced: Any):
    _, groups = priced("-f", WORLD)
    assert (groups["shop-spot"]["region"], groups["shop-spot"]["zones"]) == ("us-east-1", ["us-east-1b"])
    assert (groups["mail-relay"]["region"], groups["mail-relay"]["zones"]) == ("eastus", ["eastus-1"])
    _, moved = priced("-f", WORLD, "--with", "awscluster/shop.region=eu-west-1")
    assert moved["shop-steady"]["region"] == "eu-west-1"
    assert moved["shop-steady"]["pricePerHour"] > groups["shop-steady"]["pricePerHour"]


def test_R36_a_control_plane_is_kept_on_demand_and_on_spot_is_forbidden(priced: Any):
    _, groups = priced("-f", WORLD)
    assert (groups["shop"]["standing"], groups["shop"]["couldSavePerHour"]) == ("kept", 0)
    change = "awsmachinetemplate/shop-masters.template.spec.spotMarketOptions={}"
    totals, groups = priced("-f", WORLD, "--with", change, code=3)
    assert (groups["shop"]["standing"], groups["shop"]["pricePerHour"]) == ("forbidden", 0)
    assert "etcd" in groups["shop"]["reason"]
    assert totals["forbiddenMachines"] == 3


def test_R38_a_price_below_the_market_waits(priced: Any):
    change = "awsmachinetemplate/shop-spot.template.spec.spotMarketOptions.maxPrice='0.001'"
    totals, groups = priced("-f", WORLD, "--with", change, code=3)
    assert groups["shop-spot"]["standing"] == "waiting"
    assert "below the spot price" in groups["shop-spot"]["reason"]
    assert totals["waitingMachines"] == 6


def test_a_type_nobody_sells_is_named_with_its_field(dovetail: Any):
    change = "awsmachinetemplate/shop-spot.template.spec.instanceType=m5.xlrge"
    ran = dovetail("plan", "--cluster-api", "-f", WORLD, "--with", change, "-o", "json")
    assert ran.code == 2
    assert "AWSMachineTemplate shop-spot: spec.template.spec.instanceType: aws us-east-1 sells no type" in ran.err
    assert "did you mean m5.xlarge?" in ran.err
    found = {one["name"]: one for one in json.loads(ran.out)["groups"]}
    assert found["shop-spot"]["standing"] == "unpriced"
    assert found["shop-steady"]["pricePerHour"] > 0


def thing(kind: str, name: str, spec: dict[str, Any], **about: Any) -> dict[str, Any]:
    group = "infrastructure.cluster.x-k8s.io" if kind.startswith(("AWS", "Azure", "GCP")) else "cluster.x-k8s.io"
    return {"apiVersion": f"{group}/v1beta2", "kind": kind, "metadata": {"name": name, **about}, "spec": spec}


def kept(kind: str, name: str, template: str = "t", of: str = "AWSMachineTemplate", **about: Any) -> dict[str, Any]:
    ref = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": of, "name": template}
    inner = {"clusterName": "c", "bootstrap": {"dataSecretName": "s"}, "infrastructureRef": ref}
    return thing(kind, name, {"clusterName": "c", "replicas": 2, "template": {"spec": inner}}, **about)


def template(**spec: Any) -> dict[str, Any]:
    return thing("AWSMachineTemplate", "t", {"template": {"spec": {"instanceType": "m5.large", **spec}}})


def owned(kind: str, name: str) -> dict[str, Any]:
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "name": name, "uid": "1", "controller": True}
    return {"ownerReferences": [owner]}


def test_what_an_owner_asks_for_is_counted_once(priced: Any, world: Any):
    ref = {"kind": "AWSMachine", "name": "m"}
    machine = thing("Machine", "m", {"clusterName": "c", "infrastructureRef": ref}, **owned("MachineSet", "s"))
    made = thing("AWSMachine", "m", {"instanceType": "m5.large"})
    sets = kept("MachineSet", "s", **owned("MachineDeployment", "d"))
    totals, groups = priced("-f", world(template(), kept("MachineDeployment", "d"), sets, machine, made))
    assert (list(groups), totals["machines"]) == (["d"], 2)
    _, groups = priced("-f", world(template(), sets, machine, made))
    assert list(groups) == ["s"], "its deployment is not here, so it counts itself"
    _, groups = priced("-f", world(machine, made))
    assert list(groups) == ["m"]


def test_a_template_that_is_missing_is_an_error_and_a_stranger_is_only_told_of(dovetail: Any, world: Any):
    ran = dovetail("plan", "--cluster-api", "-f", world(kept("MachineSet", "s")))
    assert ran.code == 2
    assert "spec.template.spec.infrastructureRef.name: there is no AWSMachineTemplate 't'" in ran.err
    ran = dovetail("plan", "--cluster-api", "-f", world(kept("MachineSet", "s", of="DockerMachineTemplate")))
    assert ran.code == 0
    assert "nobody here knows what a DockerMachineTemplate costs" in ran.out


@pytest.mark.parametrize(
    ("spec", "why"),
    [({"marketType": "CapacityBlock"}, "in advance"), ({"tenancy": "dedicated"}, "tenancy is dedicated")],
)
def test_what_the_price_list_does_not_cover_has_no_price(priced: Any, world: Any, spec: dict[str, Any], why: str):
    totals, groups = priced("-f", world(template(**spec), kept("MachineSet", "s")))
    assert (groups["s"]["standing"], totals["unpricedMachines"]) == ("unpriced", 2)
    assert why in groups["s"]["reason"]


def test_a_set_without_a_cluster_is_priced_in_the_region_of_the_flag(dovetail: Any, priced: Any, world: Any):
    file = world(template(), kept("MachineSet", "s"))
    _, groups = priced("-f", file, "--region", "eu-west-1")
    assert groups["s"]["region"] == "eu-west-1"
    assert "nothing says where machines of aws stand" in dovetail("plan", "--cluster-api", "-f", file).err


def test_prices_of_ones_own_count(priced: Any, world: Any, tmp_path: Path):
    (tmp_path / "own.csv").write_text("kind,instanceType,capacityType,price\nprice,m5.large,on-demand,0.05\n")
    _, groups = priced("-f", world(template(), kept("MachineSet", "s")), "--prices", "own.csv")
    assert groups["s"]["prices"]["onDemand"] | {"asOf": None} == {
        "each": 0.05, "source": "imported", "detail": "own.csv", "asOf": None,
    }  # fmt: skip


@pytest.mark.parametrize("words", [("--cloud", "aws"), ("--diff", WORLD)])
def test_flags_that_mean_nothing_here_are_refused(dovetail: Any, words: tuple[str, ...]):
    ran = dovetail("plan", "--cluster-api", "-f", WORLD, *words)
    assert (ran.code, "--cluster-api" in ran.err) == (2, True)


@pytest.mark.parametrize(
    "odd",
    [
        {"spec": {"template": {"spec": {"instanceType": 3}}}},
        {"spec": []},
        {"metadata": {}},
        {"metadata": {"name": "t", "labels": 3}},
        {"spec": {"template": {"spec": {}}}},
    ],
)
def test_an_object_that_cannot_be_read_costs_itself(dovetail: Any, world: Any, odd: dict[str, Any]):
    ran = dovetail("plan", "--cluster-api", "-f", world(template() | odd, kept("MachineSet", "s")), WORLD)
    assert ran.code in (0, 2)
    assert "Traceback" not in ran.err
    assert "shop-steady" in ran.out


def test_the_table_says_what_it_costs_what_it_saves_and_whose_prices_these_are(dovetail: Any):
    out = dovetail("plan", "--cluster-api", "-f", WORLD).out
    for words in ("shop-steady", "already", "more", "nothing: control plane", "months old", "all that may be on spot"):
        assert words in out


async def serve(path: Path, ready: threading.Event, end: asyncio.Event, writes: list[int]) -> None:
    async with EmbeddedServer() as server, Client(from_document(server.kubeconfig())) as client:
        for one in every.CLUSTER_API:
            await client.create(kinds.CRDS, one.manifest())
        served = {one.name: one for one in (*kinds.INFRA_TEMPLATES, *kinds.INFRA_CLUSTERS, kinds.CLUSTERS)}
        served |= {one.name: one for one in (*kinds.INFRA_MACHINES, kinds.MACHINES, kinds.MACHINE_SETS)}
        served |= {kinds.MACHINE_DEPLOYMENTS.name: kinds.MACHINE_DEPLOYMENTS}
        for one in yaml.safe_load_all(Path(WORLD).read_text()):
            if one["kind"] in served:
                await client.create(served[one["kind"]], one, "default")
        path.write_text(json.dumps(server.kubeconfig()))
        before = (await client.list(kinds.PODS)).resource_version
        ready.set()
        await end.wait()
        writes.append(int((await client.list(kinds.PODS)).resource_version) - int(before))


def test_a_live_cluster_is_priced_as_its_files_are_and_nothing_is_written(priced: Any, tmp_path: Path):
    path, ready, writes = tmp_path / "kubeconfig", threading.Event(), []
    loop, end = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(path, ready, end, writes),))
    thread.start()
    try:
        assert ready.wait(30)
        totals, groups = priced("--kubeconfig", str(path))
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(30)
        loop.close()
    _, from_files = priced("-f", WORLD)
    assert totals["machines"] == 13
    assert groups == {name: from_files[name] for name in groups}
    assert writes == [0]
