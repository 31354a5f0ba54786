"""Claims launched as Machines of Cluster API: what is made, what happens when it fails, and dying at every step
(R3, R9, R10, R14, R38)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.contract.cloud.bridge_worlds import BridgeWorld, MemoryMachines, around, at_once, listing, template
from tests.contract.cloud.worlds import claim, order, returned

from dovetail.api import kinds
from dovetail.api.documents import Document
from dovetail.api.kinds import Kind
from dovetail.clouds.cluster_api import objects
from dovetail.clouds.cluster_api.cloud import ClusterApiCloud, Habits, Pending
from dovetail.clouds.cluster_api.market import TemplateMarket
from dovetail.clouds.cluster_api.objects import BOUGHT, CLAIM, LIVES, mark
from dovetail.clouds.port import CloudError, Misconfigured, NoCapacity, outcome
from dovetail.core import labels
from dovetail.core.instances import LaunchProblem
from dovetail.core.machines.objects import Machine
from dovetail.core.nodepools import NodeClassRef, NodePool

NAME = "general-a1b2c"


def held(world: BridgeWorld, kind: str = "Machine") -> dict[str, Any]:
    return world.api.held[kind, "fleet", NAME]


def test_R3_a_machine_is_made_with_an_exact_copy_of_its_template():
    async def scenario() -> None:
        world = BridgeWorld()
        bought = await world.cloud.launch(order(world))
        machine, infra = held(world), held(world, "AWSMachine")
        assert infra["spec"] == {"instanceType": "m5.large"}
        assert infra["metadata"]["ownerReferences"][0]["uid"] == machine["metadata"]["uid"]
        assert infra["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"] == "default"
        assert machine["spec"]["clusterName"] == "c"
        assert machine["spec"]["bootstrap"] == {"dataSecretName": "boot"}
        assert machine["spec"]["failureDomain"] == bought.labels[labels.ZONE]
        assert machine["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "c", CLAIM: NAME}
        assert json.loads(machine["metadata"]["annotations"][BOUGHT]) == bought.labels
        assert "cluster.x-k8s.io/skip-remediation" in machine["metadata"]["annotations"]
        assert bought.labels["karpenter.k8s.aws/instance-tenancy"] == "default"

    asyncio.run(scenario())


def test_R24_how_long_a_machine_may_live_is_written_on_it():
    world = BridgeWorld()
    found = world.cloud.market.held(world.node_class)
    asked = order(world)
    assert LIVES not in objects.machine(found, asked.claim, asked.options[0])["metadata"]["annotations"]
    wanted = replace(found.template.wanted, lifetime=86400.0)
    mortal = replace(found, template=replace(found.template, wanted=wanted))
    assert objects.machine(mortal, asked.claim, asked.options[0])["metadata"]["annotations"][LIVES] == "86400"


def user(bootstrap: dict[str, Any]) -> Document:
    """A MachineSet of no replicas that uses the template."""
    ref = {"apiGroup": kinds.AWS_TEMPLATES.group, "kind": "AWSMachineTemplate", "name": "default"}
    inner = {"clusterName": "c", "version": "v1.34.0", "bootstrap": bootstrap, "infrastructureRef": ref}
    about = {"name": "s", "namespace": "fleet"}
    spec = {"clusterName": "c", "replicas": 0, "selector": {}, "template": {"spec": inner}}
    return Document(
        ("s",), {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "metadata": about, "spec": spec}
    )


def test_a_machine_is_otherwise_as_the_set_says_that_uses_the_template():
    async def scenario() -> None:
        world = BridgeWorld()
        world.cloud.market.set_around((*around(), user({"dataSecretName": "of-the-set"})))
        await world.cloud.launch(order(world))
        spec = held(world)["spec"]
        assert (spec["version"], spec["bootstrap"]) == ("v1.34.0", {"dataSecretName": "of-the-set"})
        assert spec["infrastructureRef"]["kind"] == "AWSMachine"

    asyncio.run(scenario())


def test_a_bootstrap_config_is_copied_for_each_machine():
    ref = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "k"}
    kind = Kind(ref["apiGroup"], "v1beta2", ref["kind"], "kubeadmconfigtemplates", namespaced=True)

    async def scenario() -> None:
        world = BridgeWorld()
        world.cloud.market.set_around((*around(), user({"configRef": ref})))
        with pytest.raises(Misconfigured, match="there is no KubeadmConfigTemplate fleet/k"):
            await world.cloud.launch(order(world))
        wanted = {"template": {"spec": {"format": "cloud-config"}}}
        await world.api.create(kind, {"metadata": {"name": "k", "namespace": "fleet"}, "spec": wanted})
        await world.cloud.launch(order(world))
        made = held(world, "KubeadmConfig")
        assert made["spec"] == {"format": "cloud-config"}
        assert made["metadata"]["ownerReferences"][0]["kind"] == "Machine"
        assert held(world)["spec"]["bootstrap"]["configRef"] == ref | {"kind": "KubeadmConfig", "name": NAME}

    asyncio.run(scenario())


def test_an_instance_that_takes_long_is_pending_and_is_found_by_the_next_look():
    async def scenario() -> None:
        world = BridgeWorld()
        world.api.slow = 100
        with pytest.raises(Pending, match="has no instance yet") as caught:
            await world.cloud.launch(order(world))
        told = outcome(caught.value)
        assert isinstance(told, LaunchProblem)
        assert told.reason == "InstancePending"
        world.api.slow = 0
        assert (await world.another().launch(order(world))).provider_id
        assert len(await world.cloud.instances()) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("reason", "error"),
    [("InvalidConfiguration", Misconfigured), ("CreateError", CloudError), ("UpdateError", CloudError)],
)
def test_R38_a_machine_that_can_never_be_is_removed_and_says_why(reason: str, error: type[CloudError]):
    async def scenario() -> None:
        world = BridgeWorld()
        world.api.failure = {"failureReason": reason, "failureMessage": "the image is gone"}
        with pytest.raises(error, match="the image is gone"):
            await world.cloud.launch(order(world))
        assert world.api.held == {}

    asyncio.run(scenario())


def test_R10_a_machine_that_lost_its_instance_is_not_given_another():
    async def scenario() -> None:
        world = BridgeWorld()
        await world.cloud.launch(order(world))
        held(world)["status"] = {"deprecated": {"v1beta1": {"failureReason": "UpdateError", "failureMessage": "gone"}}}
        assert await world.cloud.instances() == ()
        with pytest.raises(NoCapacity, match="was lost before it became a node"):
            await world.another().launch(order(world))
        assert held(world), "it goes with its claim"
        await returned(world.cloud, claim(world))

    asyncio.run(scenario())


def test_a_name_that_somebody_else_took_is_said_and_nothing_is_touched():
    async def scenario() -> None:
        world = BridgeWorld()
        await world.foreign(NAME)
        with pytest.raises(CloudError, match="is there already and is not the claim's"):
            await world.cloud.launch(order(world))
        assert set(world.api.held) == {("Machine", "fleet", NAME)}

    asyncio.run(scenario())


AZURE = NodeClassRef(kinds.AZURE_TEMPLATES.group, kinds.AZURE_TEMPLATES.name, "default")


def azure(**spec: Any) -> tuple[TemplateMarket, NodePool]:
    market = TemplateMarket(listing)
    whole = {one.value["kind"]: one.value for one in around() if isinstance(one.value, dict)}
    ref = {"apiGroup": AZURE.group, "kind": "AzureCluster", "name": "c"}
    infra = whole["AWSCluster"] | {"kind": "AzureCluster", "spec": {"location": "eastus"}}
    market.set_around(
        (Document(("c",), whole["Cluster"] | {"spec": {"infrastructureRef": ref}}), Document(("c",), infra))
    )
    wanted = {"vmSize": "Standard_D4s_v5", "osDisk": {"osType": "Linux", "diskSizeGB": 64}, **spec}
    wire = template() | {"spec": {"template": {"spec": wanted}}}
    market.put(AZURE, wire)
    return market, NodePool("p", AZURE)


@pytest.mark.parametrize(
    ("spec", "zones"), [({}, {"0", "eastus-1", "eastus-2", "eastus-3"}), ({"failureDomain": "2"}, {"eastus-2"})]
)
def test_zones_of_azure_are_numbers_within_their_region(spec: dict[str, Any], zones: set[str]):
    from dovetail.clouds.cluster_api import objects

    market, pool = azure(**spec)
    rows = market.offerings(pool)["Standard_D4s_v5"]
    assert {row.zone for row in rows} == zones
    known = market.held(AZURE)
    assert [objects.zone_of(known, zone) for zone in ("0", "eastus-3")] == ["", "3"]
    assert market.specs(pool)["Standard_D4s_v5"].hardware.disk.size_bytes == 64 * 2**30


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"instanceType": "m5.lrge"}, "sells no type 'm5.lrge'"),
        ({"instanceType": 3}, "spec.template.spec.instanceType: expected text"),
        ({"spotMarketOptions": {"maxPrice": "0"}}, "maxPrice 0 buys nothing"),
    ],
)
def test_a_template_that_cannot_be_used_sells_nothing_and_says_why_when_asked(spec: dict[str, Any], told: str):
    world = BridgeWorld()
    before = world.cloud.market.specs_generation(NodePool("p", world.node_class))
    world.cloud.set_node_class(world.node_class, template(**spec))
    pool = NodePool("p", world.node_class)
    assert world.cloud.market.specs(pool) == {}
    assert world.cloud.market.specs_generation(pool) != before
    with pytest.raises(Misconfigured, match=told.replace(".", r"\.")):
        world.cloud.market.held(world.node_class)


def test_a_template_whose_cluster_nobody_knows_and_one_that_boots_from_nothing_say_what_is_missing():
    market = TemplateMarket(listing)
    ref = BridgeWorld().node_class
    market.put(ref, template())
    with pytest.raises(Misconfigured, match="in which region"):
        market.held(ref)
    market.set_around(around())
    bare = template()
    market.put(ref, bare | {"metadata": {"name": "default", "namespace": "fleet"}})
    with pytest.raises(Misconfigured, match=r"dovetail\.dev/bootstrap-secret"):
        market.held(ref)


def test_a_template_of_one_name_in_two_namespaces_is_nobodys():
    market, ref = TemplateMarket(listing), BridgeWorld().node_class
    twin = template() | {"kind": ref.kind}
    twin["metadata"] = {"name": "default", "namespace": "other"}
    market.set_around((*around(), Document(("t",), twin)))
    market.put(ref, template())
    with pytest.raises(Misconfigured, match="in each of the namespaces fleet, other"):
        market.held(ref)


def test_the_same_surroundings_again_are_no_news():
    market = TemplateMarket(listing)
    assert market.set_around(around())
    assert not market.set_around(around())


def test_a_claim_with_a_long_name_is_marked_with_what_fits_a_label():
    long = "a" * 80
    assert len(mark(long)) <= 63
    assert mark(long) != mark(long + "b")


# ---- dying


class Killed(BaseException):
    """The process ends here."""


class Mortal(MemoryMachines):
    """Ends the process after so many changes, done or not yet done."""

    def __init__(self, after: int, *, done: bool) -> None:
        super().__init__()
        self.left, self.done = after, done

    async def create(self, kind: Kind, body: dict[str, Any]) -> Mapping[str, Any]:
        return await self._dying(super().create(kind, body))

    async def release(self, machine: Machine) -> None:
        await self._dying(super().release(machine))

    async def _dying(self, change: Any) -> Any:
        self.left -= 1
        if self.left == 0 and not self.done:
            change.close()
            raise Killed
        found = await change
        if self.left == 0:
            raise Killed
        return found


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_R9_dying_at_any_change_leaves_one_instance_for_a_claim_and_none_after(after: int, done: bool):
    async def scenario() -> None:
        world = BridgeWorld(Mortal(after, done=done))
        try:
            bought = await world.cloud.launch(order(world))
            await world.cloud.terminate(claim(world, provider_id=bought.provider_id))
        except Killed:
            if after < 3:
                again = await world.another().launch(order(world))
                assert (await world.another().instances())[0].provider_id == again.provider_id
                assert len(await world.another().instances()) == 1
        else:
            raise AssertionError("nobody died")
        await returned(world.another(), claim(world))
        assert world.api.held == {}

    asyncio.run(scenario())


def test_what_cannot_be_seen_of_the_surroundings_now_is_seen_later():
    looks: list[float] = []

    async def scenario() -> None:
        world = BridgeWorld()
        cloud = ClusterApiCloud(TemplateMarket(listing), world.api, Habits(sleep=counted))
        cloud.set_node_class(world.node_class, template())
        world.throttle()
        with pytest.raises(Killed):
            await cloud.run()
        assert cloud.market.held(world.node_class).cluster == "c"

    async def counted(seconds: float) -> None:
        looks.append(seconds)
        await at_once(seconds)
        if len(looks) > 2:
            raise Killed

    asyncio.run(scenario())
