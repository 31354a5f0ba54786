"""Processes of machines on one cluster, in virtual time: one for each cloud, whose core runs, and what they stand on
(R1, R5, R38, R45)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.live.live_machines import LiveMachines
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.clouds.port import Misconfigured
from dovetail.clouds.sim.machines import CREATE, Fault, SimMachines
from dovetail.controllers.cluster_api import gauges, switch
from dovetail.controllers.cluster_api.clusters import FRESH_SECONDS, InfraClusters
from dovetail.controllers.cluster_api.grounds import Grounds
from dovetail.controllers.cluster_api.joining import TAKE_AWAY, Joining
from dovetail.controllers.cluster_api.loops import MachineController
from dovetail.controllers.cluster_api.process import MachineProcess
from dovetail.controllers.cluster_api.switch import Core
from dovetail.controllers.metrics import Metrics
from dovetail.core.errors import BadInput
from dovetail.core.machines.infra_objects import State

THEIRS = {"metadata": {"labels": {"cluster.x-k8s.io/provider": "cluster-api"}}}
DEFINITION = "machines.cluster.x-k8s.io"


class OneCloud(LiveMachines):
    """The process of AWS alone."""

    kinds: tuple[kinds.Kind, ...] = (kinds.AWS_MACHINES,)

    def start(self) -> None:
        super().start()
        self.controller.infra_kinds = self.kinds


def gcp_machine(live: LiveMachines, name: str) -> None:
    live.put(kinds.GCP_MACHINES, {"metadata": {"name": name}, "spec": {"instanceType": "n2-standard-4"}})
    ref = {"apiGroup": kinds.GCP_MACHINES.group, "kind": kinds.GCP_MACHINES.name, "name": name}
    spec = {"clusterName": "c", "bootstrap": {"dataSecretName": "boot"}, "infrastructureRef": ref}
    live.put(kinds.MACHINES, {"metadata": {"name": name, "labels": {"pool": "gcp"}}, "spec": spec})


def test_a_process_leaves_the_machines_of_other_clouds_alone() -> None:
    async def scenario() -> None:
        async with OneCloud() as live:
            gcp_machine(live, "g")
            live.workers(1, spot={})
            await live.until(lambda: live.running() == 1)
            assert not live.get(kinds.MACHINES, "g").get("status")
            assert not live.get(kinds.MACHINES, "g")["metadata"].get("finalizers")

    run(scenario())


def test_a_check_over_two_clouds_is_judged_by_one_process() -> None:
    """By the one whose Machine comes first: here it is the other cloud's."""

    async def scenario() -> None:
        async with OneCloud() as live:
            gcp_machine(live, "a-first")
            live.check(selector={"matchExpressions": [{"key": "pool", "operator": "Exists"}]})
            live.workers(1)
            await live.until(lambda: live.running() == 1)
            await live.settle(5.0)
            assert not live.get(kinds.HEALTH_CHECKS, "h").get("status")
            live.delete(kinds.MACHINES, "a-first")
            await live.until(lambda: live.get(kinds.HEALTH_CHECKS, "h").get("status"))

    run(scenario())


def test_R38_what_can_never_be_is_asked_for_once_however_long_it_stays() -> None:
    async def scenario() -> None:
        async with LiveMachines() as live:
            live.tick = 600.0
            live.cloud.fail(*(Fault(CREATE, Misconfigured("the image is not there")) for _ in range(9)))
            live.workers(1, spot={"maxPrice": "0.01"})
            await live.until(lambda: live.phases() == ["Failed"])
            await live.settle(3600.0)
            assert [call for call, _ in live.cloud.calls].count(CREATE) == 1
            assert live.phases() == ["Failed"]

    run(scenario())


def test_R45_a_machine_in_a_reservation_is_no_machine_that_may_be_taken_away() -> None:
    """Reserved capacity is another way to pay less; nothing about it is interruptible."""

    async def scenario() -> None:
        async with LiveMachines() as live:
            live.put(
                kinds.AWS_MACHINES,
                {"metadata": {"name": "r"}, "spec": {"instanceType": "m5.large", "capacityReservationId": "cr-1"}},
            )
            ref = {"apiGroup": kinds.AWS_MACHINES.group, "kind": kinds.AWS_MACHINES.name, "name": "r"}
            spec = {"clusterName": "c", "bootstrap": {"dataSecretName": "boot"}, "infrastructureRef": ref}
            live.put(kinds.MACHINES, {"metadata": {"name": "r"}, "spec": spec})
            await live.until(lambda: live.running() == 1)
            assert live.get(kinds.AWS_MACHINES, "r")["status"]["interruptible"] is False
            node = live.get(kinds.NODES, "node-r")["metadata"]
            assert "cluster.x-k8s.io/interruptible" not in (node.get("labels") or {})

    run(scenario())


# ---- whose core


def test_whose_core_runs_is_told_by_the_definition_and_both_at_once_is_refused() -> None:
    async def scenario() -> None:
        async with LiveMachines() as live:
            assert await switch.settled(live.client, None) is Core.OURS
            with pytest.raises(BadInput, match="are not installed here"):
                await switch.settled(live.client, Core.UPSTREAM)
            live.edit(kinds.CRDS, DEFINITION, THEIRS)
            assert await switch.settled(live.client, None) is Core.UPSTREAM
            with pytest.raises(BadInput, match="would undo what ours do"):
                await switch.settled(live.client, Core.OURS)

    run(scenario())


def test_a_process_ends_with_a_sentence_when_cluster_api_is_installed_while_it_runs() -> None:
    async def scenario() -> None:
        async with LiveMachines() as live:
            process = MachineProcess(live.client, {"aws": live.cloud}, Core.OURS, gauges.declare(Metrics()))
            watching = asyncio.create_task(process.watch_core())
            await live.settle(300.0)
            assert not watching.done()
            live.edit(kinds.CRDS, DEFINITION, THEIRS)
            with pytest.raises(BadInput, match="would undo what ours do"):
                await asyncio.wait_for(watching, 120.0)

    run(scenario())


def test_a_process_without_the_lease_does_nothing() -> None:
    async def scenario() -> None:
        async with LiveMachines() as live:
            await live.stop()
            leads = False
            controller = MachineController(
                live.client,
                {"aws": live.cloud},
                kinds.INFRA_MACHINES,
                core=True,
                failed=lambda key, problem: live.problems.append(f"{key}: {problem!r}"),
                now=live.world.now,
                may_act=lambda: leads,
            )
            task = asyncio.create_task(controller.run())
            live.workers(1)
            await live.settle(30.0)
            assert live.machines() == []
            leads = True
            await live.until(lambda: live.running() == 1, 300.0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    run(scenario())


# ---- what machines stand on


def test_a_cluster_comes_up_with_the_infrastructure_it_names() -> None:
    async def scenario() -> None:
        async with LiveMachines() as live:
            failed: list[Any] = []
            grounds = Grounds(
                live.client, (kinds.AWS_CLUSTERS,), True, lambda key, problem: failed.append(problem), live.world.now
            )
            task = asyncio.create_task(grounds.run())
            ref = {"apiGroup": kinds.AWS_CLUSTERS.group, "kind": kinds.AWS_CLUSTERS.name, "name": "d"}
            live.put(kinds.CLUSTERS, {"metadata": {"name": "d"}, "spec": {"infrastructureRef": ref}})
            await live.settle(5.0)
            assert "infrastructureProvisioned" not in _begun(live, "d")
            live.put(kinds.AWS_CLUSTERS, {"metadata": {"name": "d"}, "spec": {"region": "eu-west-1"}})
            await live.until(lambda: _begun(live, "d").get("infrastructureProvisioned"))
            assert live.get(kinds.AWS_CLUSTERS, "d")["status"]["ready"] is True
            assert failed == []
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    run(scenario())


def _begun(live: LiveMachines, name: str) -> dict[str, Any]:
    return dict((live.get(kinds.CLUSTERS, name).get("status") or {}).get("initialization") or {})


def test_where_machines_are_made_is_asked_once_in_a_while() -> None:
    async def scenario() -> None:
        async with LiveMachines() as live:
            now = 0.0
            clusters = InfraClusters(live.client, kinds.AZURE_CLUSTERS, lambda: now)
            ref = {"apiGroup": kinds.AZURE_CLUSTERS.group, "kind": kinds.AZURE_CLUSTERS.name, "name": "net"}
            live.put(kinds.CLUSTERS, {"metadata": {"name": "z"}, "spec": {"infrastructureRef": ref}})
            assert await clusters("default", "z") is None
            live.put(kinds.AZURE_CLUSTERS, {"metadata": {"name": "net"}, "spec": {"location": "westeurope"}})
            assert (await clusters("default", "z") or {})["location"] == "westeurope"
            live.edit(kinds.AZURE_CLUSTERS, "net", {"spec": {"resourceGroup": "mine"}})
            assert "resourceGroup" not in (await clusters("default", "z") or {})
            now = FRESH_SECONDS
            assert (await clusters("default", "z") or {})["resourceGroup"] == "mine"
            assert await clusters("default", "c") is None

    run(scenario())


# ---- simulated instances


def test_a_simulated_instance_becomes_a_node_and_is_taken_away_on_request() -> None:
    async def scenario() -> None:
        async with LiveMachines() as live:
            live.join = False
            cloud: SimMachines = live.cloud
            joining = Joining(live.client, (cloud,))
            live.workers(1, spot={})
            await live.until(lambda: [one for one in cloud.running if one.state is State.RUNNING])
            await joining.look()
            (name,) = (one["metadata"]["name"] for one in live.all(kinds.NODES))
            await joining.look()
            assert len(live.all(kinds.NODES)) == 1
            live.edit(kinds.NODES, name, {"metadata": {"annotations": {TAKE_AWAY: "now"}}})
            await joining.look()
            assert cloud.running == ()
            assert live.all(kinds.NODES) == []

    run(scenario())
