"""NodePools that draw on Machines of Cluster API, on the embedded API server: one claim, one Machine, one instance
(R3, R4, R9, R10, R12, R14)."""

from __future__ import annotations

from typing import Any

from tests.live.live import condition
from tests.live.live_bridge import LiveBridge, drawing
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.api.install import permissions
from dovetail.clouds.cluster_api.cloud import Habits
from dovetail.clouds.cluster_api.objects import LIVES
from dovetail.controllers.controller import Controller
from dovetail.kube.calls import Call
from dovetail.kube.client import Client
from dovetail.kube.config import from_document
from dovetail.kube.transport import Options as ClientOptions


def test_R9_a_claim_becomes_one_machine_with_one_instance_and_its_pods_run():
    async def scenario() -> None:
        async with LiveBridge() as live:
            live.pods(3)
            await live.until(lambda: len(live.running()) == 3 and live.ready(), 180)
            claim, machine, infra = (
                live.claim(),
                live.machine(),
                live.get(kinds.AWS_MACHINES, live.claim()["metadata"]["name"]),
            )
            assert machine["metadata"]["name"] == claim["metadata"]["name"]
            owner = machine["metadata"]["ownerReferences"][0]
            assert (owner["kind"], owner["uid"], owner["controller"]) == ("NodeClaim", claim["metadata"]["uid"], True)
            assert infra["spec"]["instanceType"] == "m5.xlarge"
            assert machine["spec"]["failureDomain"] == claim["metadata"]["labels"]["topology.kubernetes.io/zone"]
            assert claim["status"]["providerID"] == machine["spec"]["providerID"] == live.node()["spec"]["providerID"]
            assert live.node()["metadata"]["labels"]["karpenter.sh/capacity-type"] == "on-demand"
            assert live.instances.made == 1

    run(scenario())


def test_the_end_of_a_claim_is_the_end_of_its_machine_and_of_its_instance():
    async def scenario() -> None:
        async with LiveBridge() as live:
            live.pods(1)
            await live.until(lambda: live.running() and live.ready(), 180)
            live.delete(kinds.DEPLOYMENTS, "web")
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.until(lambda: not live.claims(), 180)
            assert live.all(kinds.MACHINES) == live.all(kinds.AWS_MACHINES) == live.nodes() == []
            assert live.instances.running == ()

    run(scenario())


def test_R4_the_cheaper_template_is_drawn_on_and_its_machines_are_spot():
    async def scenario() -> None:
        async with LiveBridge(pool=drawing("a-steady", "steady")) as live:
            live.put(kinds.NODE_POOLS, drawing("b-thrifty", "thrifty"))
            await live.settle(2)
            live.pods(2)
            await live.until(lambda: len(live.running()) == 2 and live.ready(), 180)
            assert live.claim()["metadata"]["labels"]["karpenter.sh/nodepool"] == "b-thrifty"
            assert live.get(kinds.AWS_MACHINES, live.claim()["metadata"]["name"])["spec"]["spotMarketOptions"] == {}
            assert live.node()["metadata"]["labels"]["karpenter.sh/capacity-type"] == "spot"

    run(scenario())


def test_R9_a_process_that_dies_while_the_instance_is_pending_finds_it_again():
    async def scenario() -> None:
        async with LiveBridge() as live:
            live.instances.boot_seconds = 40.0
            live.pods(1)
            await live.until(lambda: live.all(kinds.MACHINES), 60)
            await live.restart()
            await live.until(lambda: live.running(), 240)
            assert (len(live.claims()), len(live.all(kinds.MACHINES)), live.instances.made) == (1, 1, 1)

    run(scenario())


def test_R14_a_template_nobody_sells_gives_way_to_the_next():
    async def scenario() -> None:
        async with LiveBridge() as live:
            live.template("scarce", instanceType="m5.2xlarge")
            live.put(kinds.NODE_POOLS, drawing("scarce", "scarce", weight=10))
            live.instances.sold_out.add("m5.2xlarge")
            await live.settle(2)
            live.pods(1)
            await live.until(lambda: live.running(), 1200)
            assert live.claim()["metadata"]["labels"]["karpenter.sh/nodepool"] == "general"
            assert "InsufficientCapacityError" in live.reasons()
            await live.until(lambda: len(live.all(kinds.MACHINES)) == 1, 60)

    run(scenario())


def test_R10_an_instance_that_is_taken_away_is_another_claims_business():
    async def scenario() -> None:
        async with LiveBridge() as live:
            live.pods(1)
            await live.until(lambda: live.running() and live.ready(), 180)
            first = live.claim()["metadata"]["name"]
            live.instances.forget(first)
            live.edit(kinds.AWS_MACHINES, first, {"metadata": {"annotations": {"looked": "again"}}})
            await live.until(lambda: first not in live.names(), 900)
            await live.until(lambda: live.running() and live.ready(), 300)
            assert live.claim()["metadata"]["name"] != first
            assert [one["metadata"]["name"] for one in live.all(kinds.MACHINES)] == [live.claim()["metadata"]["name"]]

    run(scenario())


def test_R24_R42_a_machine_whose_day_is_nearly_over_is_replaced_and_its_pods_run_elsewhere():
    async def scenario() -> None:
        async with LiveBridge() as live:
            live.pods(1)
            await live.until(lambda: live.running() and live.ready(), 180)
            first = live.claim()["metadata"]["name"]
            live.edit(kinds.MACHINES, first, {"metadata": {"annotations": {LIVES: "86400"}}})
            await live.bridge.tell_of_ends()
            await live.settle(30)
            assert first in live.names()
            live.bridge._habits = Habits(now=lambda: live.world.now() + 86400.0 - 1800.0)
            await live.bridge.tell_of_ends()
            await live.until(lambda: first not in live.names(), 600)
            await live.until(lambda: live.running() and live.ready(), 300)
            assert "LifetimeEnding" in live.reasons()
            assert [one["metadata"]["name"] for one in live.all(kinds.MACHINES)] == [live.claim()["metadata"]["name"]]
            assert live.instances.made == 2

    run(scenario())


def test_a_pool_whose_template_is_gone_is_not_ready_and_says_so():
    async def scenario() -> None:
        async with LiveBridge(pool=drawing("general", "gone")) as live:
            await live.until(lambda: condition(live.get(kinds.NODE_POOLS, "general"), "NodeClassReady"))
            told = condition(live.get(kinds.NODE_POOLS, "general"), "NodeClassReady")
            assert told is not None
            assert (told["status"], told["message"]) == ("False", "there is no AWSMachineTemplate gone")
            live.template("gone")
            await live.until(
                lambda: condition(live.get(kinds.NODE_POOLS, "general"), "NodeClassReady")["status"] == "True"
            )

    run(scenario())


class Recording(Client):
    """Remembers what was asked of the server: group, resource and verb."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: set[tuple[str, str, str]] = set()

    async def _send(self, call: Call) -> Any:
        parts = call.path.split("/")[1:]
        group, rest = (parts[1], parts[3:]) if parts[0] == "apis" else ("", parts[2:])
        rest = rest[2:] if rest[0] == "namespaces" and len(rest) > 2 else rest
        resource = "/".join((rest[0], *rest[2:]))
        self.asked.add((group, resource, "patch" if call.verb == "apply" else call.verb))
        return await super()._send(call)


class WatchedBridge(LiveBridge):
    async def start(self) -> None:
        options = ClientOptions(clock=self.world.clock())
        self.recording = await self._opened.enter_async_context(
            Recording(from_document(self.server.kubeconfig()), options)
        )
        await super().start()

    def build(self, client: Client | None = None, **changed: Any) -> Controller:
        return super().build(self.recording, **changed)


def test_nothing_is_asked_of_the_server_that_its_rights_do_not_allow():
    granted = {
        (one.group, resource, verb)
        for one in (*permissions.EVERYWHERE, *permissions.OF_CLOUD["cluster-api"])
        for resource in one.resources
        for verb in one.verbs
    }

    async def scenario() -> None:
        async with WatchedBridge() as live:
            live.pods(1)
            await live.until(lambda: live.running() and live.ready(), 180)
            live.delete(kinds.DEPLOYMENTS, "web")
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.until(lambda: not live.claims(), 180)
            asked = live.recording.asked
            assert {("cluster.x-k8s.io", "machines", verb) for verb in ("list", "create", "delete")} <= asked
            assert ("infrastructure.cluster.x-k8s.io", "awsmachines", "create") in asked
            assert asked - granted == set()

    run(scenario())
