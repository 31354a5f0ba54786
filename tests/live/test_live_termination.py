"""The end of claims and Nodes on a whole cluster: drain, budgets, deadlines, volumes, machines (§2.10–§2.12)."""

from __future__ import annotations

from typing import Any

from tests.live import objects
from tests.live.live import Live, condition, is_true
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.clouds.port import Unavailable
from dovetail.core.nodeclaims import NodeClaim
from dovetail.kube.errors import Conflict

DISRUPTED = "karpenter.sh/disrupted"


async def up(live: Live, count: int = 1, **changed: Any) -> str:
    """So many pods on one node; the claim's name."""
    live.pods(count, **changed)
    await live.until(lambda: len(live.running()) == count and live.ready())
    return str(live.claim()["metadata"]["name"])


def test_a_node_is_fenced_drained_and_gone_before_its_claim_is():
    async def scenario() -> None:
        async with Live() as live:
            name = await up(live, 2)
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: DISRUPTED in taints(live, name))
            about = live.get(kinds.NODES, name)["metadata"]
            assert about["labels"]["node.kubernetes.io/exclude-from-external-load-balancers"] == "karpenter"
            await live.until(lambda: name not in live.names())
            assert not [one for one in live.nodes() if one["metadata"]["name"] == name]
            await live.until(lambda: len(live.running()) == 2)
            assert live.value("nodes_drained_total", nodepool="general") == 1
            assert live.value("pods_drained_total", reason="Forceful Termination") == 2
            assert live.value("pods_eviction_requests_total", code="200") == 2
            await live.until(lambda: live.events("Evicted"))

    run(scenario())


def taints(live: Live, name: str) -> set[str]:
    node = live.store.find(kinds.NODES, name)
    return {one["key"] for one in (node or {}).get("spec", {}).get("taints", ())}


def test_deleting_the_node_ends_the_claim_too():
    async def scenario() -> None:
        async with Live() as live:
            name = await up(live)
            live.delete(kinds.NODES, name)
            await live.until(lambda: name not in live.names() and name not in live.market.ledger)
            await live.until(lambda: len(live.running()) == 1)

    run(scenario())


def test_a_drained_node_is_watched_five_seconds_for_pods_bound_before_the_taint_was_seen():
    async def scenario() -> None:
        async with Live(pool={}) as live:
            live.put(kinds.NODE_CLAIMS, objects.claim("mine"))
            await live.until(lambda: live.ready())
            live.delete(kinds.NODE_CLAIMS, "mine")
            await live.until(lambda: condition(live.claim(), "Drained"))
            assert condition(live.claim(), "Drained")["status"] == "Unknown"
            await live.settle(4)
            assert live.nodes()
            await live.until(lambda: not live.nodes(), 5)

    run(scenario())


def test_a_budget_without_room_holds_the_drain_and_room_lets_it_go_on():
    async def scenario() -> None:
        async with Live() as live:
            name = await up(live, 2)
            live.put(kinds.DISRUPTION_BUDGETS, objects.budget(maxUnavailable=0))
            await live.settle(1)
            live.delete(kinds.NODE_CLAIMS, name)
            await live.settle(60)
            assert len(live.running()) == 2
            assert name in live.names()
            assert live.events("FailedDraining")
            asked = live.value("pods_eviction_requests_total", code="429")
            assert 2 <= asked < 60, "asked again and again, ever more rarely"
            live.edit(kinds.DISRUPTION_BUDGETS, "web", {"spec": {"maxUnavailable": "100%"}})
            await live.until(lambda: name not in live.names())

    run(scenario())


def test_do_not_disrupt_holds_a_drain_and_the_grace_period_ends_it():
    async def scenario() -> None:
        async with Live(pool=objects.pool(terminationGracePeriod="5m")) as live:
            name = await up(live, notes={"karpenter.sh/do-not-disrupt": "true"})
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: live.events("TerminationGracePeriodExpiring"))
            assert "karpenter.sh/nodeclaim-termination-timestamp" in live.claims()[0]["metadata"]["annotations"]
            pod = live.running()[0]["metadata"]["name"]
            await live.settle(260)
            assert pod in {one["metadata"]["name"] for one in live.running()}
            await live.until(lambda: pod not in {one["metadata"]["name"] for one in live.running()}, 15)
            await live.until(lambda: live.events("Disrupted"))
            await live.until(lambda: name not in live.names())

    run(scenario())


def test_a_deadline_that_is_there_is_never_moved():
    async def scenario() -> None:
        async with Live(pool=objects.pool(terminationGracePeriod="1h")) as live:
            name = await up(live, notes={"karpenter.sh/do-not-disrupt": "true"})
            sooner = "2027-01-15T08:05:00Z"
            notes = {"karpenter.sh/nodeclaim-termination-timestamp": sooner}
            live.edit(kinds.NODE_CLAIMS, name, {"metadata": {"annotations": notes}})
            live.delete(kinds.NODE_CLAIMS, name)
            await live.settle(10)
            held = live.get(kinds.NODE_CLAIMS, name)["metadata"]["annotations"]
            assert held["karpenter.sh/nodeclaim-termination-timestamp"] == sooner
            await live.until(lambda: name not in live.names(), 400)

    run(scenario())


def test_a_deadline_that_cannot_be_read_is_told_of_and_forces_nobody():
    async def scenario() -> None:
        async with Live() as live:
            name = await up(live)
            notes = {"karpenter.sh/nodeclaim-termination-timestamp": "soon"}
            live.edit(kinds.NODE_CLAIMS, name, {"metadata": {"annotations": notes}})
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: live.events("FailedTermination"))
            await live.until(lambda: name not in live.names())

    run(scenario())


def test_daemons_leave_after_pods_and_critical_ones_last():
    async def scenario() -> None:
        async with Live() as live:
            live.put(kinds.DAEMON_SETS, objects.daemon_set("agent", cpu="100m"))
            critical = {"priorityClassName": "system-node-critical"}
            live.put(kinds.DAEMON_SETS, objects.daemon_set("core", cpu="100m", **critical))
            live.pods(1)
            await live.until(lambda: len(live.running()) == 3)
            gone: list[str] = []
            live.store.storage.listeners.append(
                lambda kind, change: (
                    gone.append(change.item.name.split("-")[0])
                    if kind == kinds.PODS and change.type == "DELETED"
                    else None
                )
            )
            name = live.claim()["metadata"]["name"]
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: name not in live.names())
            firsts = [one for at, one in enumerate(gone) if one not in gone[:at]]
            assert firsts == ["web", "agent", "core"]

    run(scenario())


def test_pods_that_tolerate_the_fence_are_not_waited_for():
    async def scenario() -> None:
        async with Live() as live:
            name = await up(live, tolerations=[{"key": DISRUPTED, "operator": "Exists"}])
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: name not in live.names(), 10)
            assert live.value("pods_eviction_requests_total", code="200") == 0

    run(scenario())


def test_volumes_are_waited_for_until_the_deadline():
    async def scenario() -> None:
        async with Live(pool=objects.pool(terminationGracePeriod="2m")) as live:
            name = await up(live)
            attach(live, name)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: condition(live.claim(), "VolumesDetached"))
            assert condition(live.claim(), "VolumesDetached")["reason"] == "AwaitingVolumeDetachment"
            await live.until(lambda: live.events("AwaitingVolumeDetachment"))
            await live.settle(60)
            assert live.nodes()
            await live.until(lambda: not live.claims(), 120)

    run(scenario())


def test_a_volume_that_is_detached_lets_its_node_go():
    async def scenario() -> None:
        async with Live() as live:
            name = await up(live)
            attach(live, name)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: condition(live.claim(), "VolumesDetached"))
            live.delete(kinds.VOLUME_ATTACHMENTS, "one")
            await live.until(lambda: not live.claims(), 5)

    run(scenario())


def attach(live: Live, node: str) -> None:
    spec = {"attacher": "csi.example", "nodeName": node, "source": {"persistentVolumeName": "disk"}}
    live.put(kinds.VOLUME_ATTACHMENTS, {"metadata": {"name": "one"}, "spec": spec})


def test_a_machine_that_takes_its_time_is_asked_again_until_it_is_gone():
    async def scenario() -> None:
        live = Live()
        live.shutdown = 30.0
        async with live:
            name = await up(live)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: condition(live.claim(), "InstanceTerminating"), 30)
            await live.settle(20)
            assert live.nodes()
            await live.until(lambda: not live.claims(), 30)
            taken = live.metrics.text()
            assert 'karpenter_nodeclaims_instance_termination_duration_seconds_count{nodepool="general"} 1' in taken

    run(scenario())


def test_a_drained_node_says_so_while_its_cloud_refuses_to_end_the_machine(monkeypatch):
    async def scenario() -> None:
        async with Live() as live:
            name = await up(live)
            ends = live.cloud.terminate

            async def refused(claim: NodeClaim) -> None:
                raise Unavailable("come back later")

            monkeypatch.setattr(live.cloud, "terminate", refused)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: is_true(live.claim(), "Drained"), 30)
            assert is_true(live.claim(), "VolumesDetached")
            assert not condition(live.claim(), "InstanceTerminating")
            monkeypatch.setattr(live.cloud, "terminate", ends)
            await live.until(lambda: not live.claims() and not live.nodes(), 120)

    run(scenario())


def test_a_machine_that_is_gone_at_once_is_asked_for_once_and_its_claim_goes_unwritten(monkeypatch):
    async def scenario() -> None:
        async with Live() as live:
            name = await up(live)
            client, asked, refusals = live.controller.hands.client, [], [Conflict("somebody wrote in between")]
            ends, patch = live.cloud.terminate, client.patch

            async def terminate(claim: NodeClaim) -> None:
                asked.append(claim.name)
                await ends(claim)

            async def patched(kind: Kind, name: str, change: Any, *args: Any, **more: Any) -> Any:
                if kind is kinds.NODES and "finalizers" in str(change) and refusals:
                    raise refusals.pop()
                return await patch(kind, name, change, *args, **more)

            monkeypatch.setattr(live.cloud, "terminate", terminate)
            monkeypatch.setattr(client, "patch", patched)
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: not live.claims() and not live.nodes(), 60)
            assert asked == [name, name], "once for each time its Node was to go"
            assert live.value("nodes_drained_total", nodepool="general") == 1
            turned = 'operator_nodeclaim_status_condition_transitions_total{type="InstanceTerminating"'
            assert turned not in live.metrics.text()

    run(scenario())


def test_a_claim_made_anew_under_its_name_has_a_machine_that_is_there():
    async def scenario() -> None:
        async with Live() as live:
            for _ in range(2):
                live.put(kinds.NODE_CLAIMS, objects.claim("mine"))
                await live.until(live.ready, 60)
                assert [one.provider_id for one in await live.cloud.instances()] == ["kwok://mine"]
                live.delete(kinds.NODE_CLAIMS, "mine")
                await live.until(lambda: not live.claims() and not live.nodes(), 60)

    run(scenario())


def test_an_unready_node_whose_machine_is_gone_is_not_drained():
    async def scenario() -> None:
        async with Live() as live:
            name = await up(live, notes={"karpenter.sh/do-not-disrupt": "true"})
            sick = [{"type": "Ready", "status": "False", "lastTransitionTime": "2027-01-15T08:00:00Z"}]
            live.edit(kinds.NODES, name, {"status": {"conditions": sick}}, subresource="status")
            live.cloud._gone_at[name] = 0.0  # the machine died by itself
            live.delete(kinds.NODE_CLAIMS, name)
            await live.until(lambda: name not in live.names(), 10)

    run(scenario())


def test_a_pool_that_is_deleted_takes_its_claims_along():
    async def scenario() -> None:
        async with Live() as live:
            await up(live)
            live.delete(kinds.NODE_POOLS, "general")
            await live.until(lambda: not live.claims() and not live.nodes())
            assert not live.market.ledger

    run(scenario())


def test_a_pool_deleted_while_its_claim_is_launched_leaves_nothing():
    async def scenario() -> None:
        async with Live() as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "20s"}})
            live.pods(1)
            await live.until(lambda: live.claims())
            live.delete(kinds.NODE_POOLS, "general")
            await live.until(lambda: not live.claims())
            await live.settle(60)
            assert not live.nodes()
            assert not live.market.ledger

    run(scenario())


def test_a_claim_that_never_registered_leaves_nodes_alone_and_returns_its_machine():
    async def scenario() -> None:
        async with Live(pool={}) as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "10m"}})
            live.put(kinds.NODE_CLAIMS, objects.claim("mine"))
            await live.until(lambda: live.market.ledger)
            live.delete(kinds.NODE_CLAIMS, "mine")
            await live.until(lambda: not live.claims(), 10)
            await live.settle(900)
            assert not live.market.ledger
            assert not live.nodes()

    run(scenario())
