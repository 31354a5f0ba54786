"""GCPMachines from their making to their end, on the embedded API server and with Compute Engine's real SDK: bought,
labelled, preempted, failed, healed, replaced before their day is over (R1, R9–R14, R22, R24, R25, R32–R34, R38–R42)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clouds.gcp.gcp_orders import ZONE
from tests.live.live_gcp_machines import LiveGcp, live
from tools.gcp_server import Fault, GcpServer

from dovetail.api import kinds
from dovetail.core.machines import names

SPOT = {"provisioningModel": "Spot"}
PREEMPTIBLE = {"preemptible": True}


def interruptible(one: LiveGcp) -> list[bool]:
    return [names.INTERRUPTIBLE in node["metadata"].get("labels", {}) for node in one.all(kinds.NODES)]


def status(one: dict[str, Any]) -> dict[str, Any]:
    return one.get("status") or {}


@pytest.mark.parametrize("spot", [SPOT, PREEMPTIBLE])
def test_R1_R12_R25_R40_a_machine_is_made_labelled_preempted_failed_and_restored_by_its_set(
    gcp_server: GcpServer, spot: dict[str, Any]
):
    async def scenario(one: LiveGcp) -> None:
        one.check()
        one.workers(2, spot=spot)
        await one.until(lambda: one.running() == 2)
        await one.until(lambda: interruptible(one) == [True, True])
        first, second = one.machines()
        infra = one.get(kinds.GCP_MACHINES, first)
        assert infra["spec"]["providerID"] == f"gce://p/{ZONE}/{first}"
        told = status(infra)
        assert (told["instanceState"], told["interruptible"], told["failureDomain"]) == ("RUNNING", True, ZONE)
        assert told["addresses"][0]["type"] == "InternalIP"
        one.gce.world.preempt(first)
        # Seen within its half minute or soon after; then it is a corpse whose disks cost money.
        await one.until(lambda: "failureReason" in status(one.find(kinds.GCP_MACHINES, first) or {}), 60)
        failed = status(one.get(kinds.GCP_MACHINES, first))
        assert failed["instanceState"] in ("STOPPING", "TERMINATED")
        assert "is not started again" in failed["failureMessage"]
        await one.until(lambda: first not in one.machines(), 300)
        await one.until(lambda: one.running() == 2)
        assert second in one.machines()
        assert one.cloud.made == 3
        assert len(one.gce.world.instances) == len(one.gce.world.disks) == 2

    live(gcp_server, scenario)
    calls = {one.call for one in gcp_server.asked}
    assert "unknown" not in calls, "it was started, stopped or reset"


def test_R8_R34_what_did_not_ask_for_spot_is_not_labelled(gcp_server: GcpServer):
    async def scenario(one: LiveGcp) -> None:
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        await one.settle(60)
        assert interruptible(one) == [False]
        assert one.instance(one.machines()[0])["scheduling"] == {"provisioningModel": "STANDARD"}

    live(gcp_server, scenario)


def test_R24_R42_a_preemptible_machine_is_drained_and_replaced_before_its_day_is_over(gcp_server: GcpServer):
    async def scenario(one: LiveGcp) -> None:
        one.workers(1, spot=PREEMPTIBLE)
        await one.until(lambda: one.running() == 1)
        (first,) = one.machines()
        one.gce.world.age(first, 22.4 * 3600)
        await one.settle(120)
        assert one.machines() == [first]
        one.gce.world.age(first, 1.1 * 3600)
        await one.until(lambda: first not in one.machines())
        # Its instance ran to the last: nobody was ended by Compute Engine.
        assert [said.reason for said in one.said if said.reason == "Evicted"] == []
        assert any(said.reason == "LifetimeEnding" for said in one.said)
        await one.until(lambda: one.running() == 1)
        assert one.cloud.made == 2

    live(gcp_server, scenario)


def test_R24_the_day_is_the_preemptible_machines_alone(gcp_server: GcpServer):
    async def scenario(one: LiveGcp) -> None:
        one.workers(1, spot=SPOT)
        await one.until(lambda: one.running() == 1)
        (first,) = one.machines()
        for hours in (22, 2, 100):
            one.gce.world.age(first, hours * 3600)
            await one.settle(60)
        assert one.machines() == [first]
        assert (one.cloud.made, one.running()) == (1, 1)

    live(gcp_server, scenario)


def test_R10_a_machine_that_is_deleted_when_preempted_is_not_made_again(gcp_server: GcpServer):
    async def scenario(one: LiveGcp) -> None:
        one.workers(1, spot=SPOT | {"instanceTerminationAction": "DELETE"})
        await one.until(lambda: one.running() == 1)
        one.gce.world.preempt(one.machines()[0])
        await one.until(lambda: one.phases() == ["Failed"], 300)
        one.tick = 600.0
        await one.settle(3600)
        assert one.cloud.made == 1

    live(gcp_server, scenario)


def test_R14_R38_R39_a_zone_without_capacity_is_asked_three_times_and_then_it_is_visible(gcp_server: GcpServer):
    async def scenario(one: LiveGcp) -> None:
        one.gce.world.sold_out.add("n2-standard-4")
        one.workers(1, spot=SPOT)
        await one.until(lambda: one.phases() == ["Failed"], 600)
        (failed,) = one.all(kinds.GCP_MACHINES)
        told = status(failed)
        assert told["failureReason"] == "InsufficientResources"
        assert "ZONE_RESOURCE_POOL_EXHAUSTED" in told["failureMessage"]
        assert "asked 3 times" in told["failureMessage"]
        assert len(one.gce.world.orders) == 3
        # While GCP was at it that was no warning.
        warnings = [said for said in one.said if said.reason == "FailedCreate"]
        assert all("EXHAUSTED" in said.message for said in warnings)

    live(gcp_server, scenario)
    assert gcp_server.world.instances == {}


def test_R41_a_set_comes_up_once_the_quota_allows_and_is_not_in_a_hurry_before(gcp_server: GcpServer):
    async def scenario(one: LiveGcp) -> None:
        one.gce.world.quota = 0
        one.check()
        one.workers(1, spot=SPOT)
        one.tick = 60.0
        await one.settle(2400)
        # Without back-off there would have been sixty.
        assert 12 <= len(one.gce.world.orders) <= 36
        one.gce.world.quota = None
        one.tick = 1.0
        await one.until(lambda: one.running() == 1, 3600)
        assert one.cloud.made == 1

    live(gcp_server, scenario)


def test_R9_faults_of_the_api_pass_and_leave_one_instance(gcp_server: GcpServer):
    async def scenario(one: LiveGcp) -> None:
        gcp_server.faults.add(
            Fault("instances.list", 503),
            Fault("instances.insert", 429, "rateLimitExceeded", headers={"Retry-After": "5"}),
            Fault("instances.insert", 0, after=True),
            Fault("operations.get", 500),
            Fault("instances.get", 200, text="<html>a proxy of somebody's</html>"),
            Fault("instances.delete", 0, after=True),
        )
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        assert one.cloud.made == 1
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(one.is_empty, 300)

    live(gcp_server, scenario)
    assert gcp_server.world.instances == {}
    assert gcp_server.world.disks == {}


def test_R38_an_image_that_is_not_there_fails_the_machine_at_once(gcp_server: GcpServer):
    async def scenario(one: LiveGcp) -> None:
        one.gce.world.missing.add("node-1")
        one.workers(1)
        await one.until(lambda: one.phases() == ["Failed"])
        told = status(one.all(kinds.GCP_MACHINES)[0])
        assert told["failureReason"] == "CreateError"
        assert "was not found" in told["failureMessage"]
        assert gcp_server.calls("instances.insert") == 1

    live(gcp_server, scenario)


def test_R10_R39_an_instance_whose_labels_were_lost_stays_a_node_and_with_its_object_until_it_has_them_again(
    gcp_server: GcpServer,
):
    def said(one: LiveGcp, name: str) -> tuple[str, str]:
        held = status(one.get(kinds.GCP_MACHINES, name))["conditions"]
        return next((each["reason"], each["message"]) for each in held if each["type"] == "InstanceReady")

    async def scenario(one: LiveGcp) -> None:
        one.check()
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        held = one.gce.world.instances[ZONE, name].body
        labels, held["labels"] = held["labels"], {}
        await one.settle(600)
        assert (one.machines(), one.running()) == ([name], 1)
        assert status(one.get(kinds.GCP_MACHINES, name))["ready"]
        told = f"gce://p/{ZONE}/{name} carries no mark of cluster c; put the label capg-cluster-c=owned on it"
        assert said(one, name)[0] == "CloudNotAnswering"
        assert said(one, name)[1].startswith(told)
        one.delete(kinds.MACHINE_SETS, "s")
        await one.settle(300)
        assert said(one, name)[0] == "InstanceDeletionFailed"
        assert len(one.gce.world.instances) == 1
        held["labels"] = labels
        await one.until(one.is_empty, 300)

    live(gcp_server, scenario)
    assert gcp_server.world.instances == {}


def test_a_machine_deleted_while_it_is_being_made_leaves_nothing(gcp_server: GcpServer):
    async def scenario(one: LiveGcp) -> None:
        one.gce.world.operation_seconds = 30.0
        one.workers(1, spot=SPOT)
        await one.until(lambda: one.gce.world.orders)
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(one.is_empty, 300)

    live(gcp_server, scenario)
    assert gcp_server.world.instances == {}
    assert gcp_server.world.disks == {}
