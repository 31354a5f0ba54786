"""Metrics under the names dashboards look for (§5.3), with what a cluster at work shows under them."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.live.live import SOON, Live
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers import web
from dovetail.controllers.controller import Choices
from dovetail.controllers.node_gauges import KNOWN, POD
from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.solve import solve

_CLAIM = {"reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"}
_NODE = {*KNOWN.values(), "node_name", "phase", "managed"}
_CONDITION = {"name", "namespace", "type", "status", "reason"}
_POD = {"name", "namespace"}
_CLOUD = {"controller", "method", "provider"}
#: The table, row by row, without what only disrupting nodes on purpose can count.
TABLE: dict[str, set[str]] = {
    "build_info": {"version", "goversion", "goarch", "commit"},
    "nodeclaims_created_total": {"reason", "nodepool", "min_values_relaxed"},
    "nodeclaims_terminated_total": {"nodepool", "capacity_type", "zone"},
    "nodeclaims_disrupted_total": _CLAIM,
    "pods_disruption_initiated_total": _CLAIM,
    "nodeclaims_instance_termination_duration_seconds": {"nodepool"},
    "nodeclaims_termination_duration_seconds": {"nodepool"},
    "nodeclaims_unhealthy_disrupted_total": {"condition", "nodepool", "capacity_type", "image_id", "termination_mode"},
    "nodes_created_total": {"nodepool", "zone"},
    "nodes_terminated_total": {"nodepool", "zone"},
    "nodes_drained_total": {"nodepool"},
    "nodes_termination_duration_seconds": {"nodepool"},
    "nodes_lifetime_duration_seconds": {"nodepool"},
    **{
        f"nodes_{name}": _NODE | {"resource_type"}
        for name in (
            *("allocatable", "total_pod_requests", "total_pod_limits", "total_daemon_requests"),
            *("total_daemon_limits", "system_overhead"),
        )
    },
    "nodes_current_lifetime_seconds": _NODE,
    "cluster_utilization_percent": {"resource_type"},
    "nodepools_limit": {"resource_type", "nodepool"},
    "nodepools_usage": {"resource_type", "nodepool"},
    "nodepools_cost_total": {"nodepool"},
    "nodepools_cost_tracker_errors_total": {"nodepool"},
    "pods_state": {
        "name",
        "namespace",
        "owner",
        "node",
        "scheduled",
        "nodepool",
        "zone",
        "arch",
        "capacity_type",
        "instance_type",
        "phase",
        "ready",
        "managed",
    },
    "pods_startup_duration_seconds": set(),
    "pods_bound_duration_seconds": {"dynamic_resources"},
    "pods_provisioning_bound_duration_seconds": {"dynamic_resources"},
    "pods_provisioning_startup_duration_seconds": set(),
    "pods_scheduling_decision_duration_seconds": set(),
    "pods_unstarted_time_seconds": _POD,
    "pods_unbound_time_seconds": _POD | {"dynamic_resources"},
    "pods_provisioning_unbound_time_seconds": _POD | {"dynamic_resources"},
    "pods_provisioning_unstarted_time_seconds": _POD,
    "pods_provisioning_scheduling_undecided_time_seconds": _POD,
    "pods_eviction_requests_total": {"code"},
    "pods_drained_total": {"reason"},
    "cluster_state_node_count": set(),
    "cluster_state_synced": set(),
    "cluster_state_unsynced_time_seconds": set(),
    "scheduler_scheduling_duration_seconds": {"controller"},
    "scheduler_unschedulable_pods_count": {"controller"},
    "scheduler_queue_depth": {"controller", "scheduling_id"},
    "scheduler_unfinished_work_seconds": {"controller", "scheduling_id"},
    "scheduler_ignored_pods_count": set(),
    "scheduler_pending_pods_by_effective_zone_count": {"controller", "zone"},
    "cloudprovider_duration_seconds": _CLOUD,
    "cloudprovider_errors_total": _CLOUD | {"error", "nodepool"},
}
OPERATOR = {
    "status_condition_transitions_total": {"type", "status", "reason"},
    "status_condition_transition_seconds": {"type", "status"},
    "status_condition_current_status_seconds": _CONDITION,
    "status_condition_count": _CONDITION,
    "termination_current_time_seconds": _POD,
    "termination_duration_seconds": set(),
}


def test_every_row_of_the_table_is_there_with_its_labels():
    async def scenario() -> None:
        async with Live() as live:
            web.declare_process(live.metrics)
            found = {one.name: set(one.labels) for one in live.metrics.families()}
            wanted = {f"karpenter_{name}": labels for name, labels in TABLE.items()}
            for kind in ("nodeclaim", "nodepool", "node", "capacitybuffer", "ec2nodeclass"):
                wanted |= {f"operator_{kind}_{name}": labels for name, labels in OPERATOR.items()}
            wanted |= {
                "operator_status_condition_transitions_total": {"group", "kind", "type", "status", "reason"},
                "operator_status_condition_transition_seconds": {"group", "kind", "type", "status"},
                "operator_termination_duration_seconds": {"group", "kind"},
            }
            assert {name: found.get(name) for name in wanted} == wanted

    run(scenario())


def test_a_cluster_at_work_shows_its_nodes_pods_and_pools():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(3)
            await live.until(lambda: len(live.running()) == 3 and live.ready())
            live.pods(1, "huge", cpu="5000")
            await live.settle(3)
            page = await live.metrics.page()
            assert page == live.metrics.text()
            name = live.node()["metadata"]["name"]
            assert re.search(rf'karpenter_nodes_total_pod_requests{{.*node_name="{name}".*"cpu"}} 3\n', page)
            assert re.search(rf'karpenter_nodes_allocatable{{.*node_name="{name}".*"cpu"}} 3.9\n', page)
            assert re.search(rf'karpenter_nodes_system_overhead{{.*node_name="{name}".*"cpu"}} 0.1\n', page)
            assert 'karpenter_nodepools_usage{resource_type="cpu",nodepool="general"} 4\n' in page
            assert re.search(r'karpenter_cluster_utilization_percent{resource_type="cpu"} 76.9', page)
            assert "karpenter_cluster_state_synced 1\n" in page
            assert "karpenter_cluster_state_node_count 1\n" in page
            assert 'karpenter_scheduler_unschedulable_pods_count{controller="provisioner"} 1\n' in page
            assert "karpenter_pods_startup_duration_seconds_count 3\n" in page
            assert re.search(r'karpenter_pods_unbound_time_seconds{name="huge-.*"} 3', page)
            assert page.count("karpenter_pods_state{") == 4
            assert re.search(
                rf'operator_nodeclaim_status_condition_count{{name="{name}".*type="Ready",status="True"', page
            )
            assert 'type="Initialized",status="True",reason="Initialized"} 1' in page
            assert (
                'karpenter_cloudprovider_duration_seconds_count{controller="",method="Create",provider="kwok"} 1'
                in page
            )
            assert len(POD) == 13

    run(scenario())


def test_a_pool_costs_what_its_machines_do_and_one_without_a_price_is_counted():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(3)
            await live.until(live.ready)
            await live.settle(1)
            claim = live.claim()
            paid = float(live.node()["metadata"]["labels"]["eks-node-viewer/instance-price"])
            found = re.search(r'karpenter_nodepools_cost_total{nodepool="general"} (\S+)\n', live.metrics.text())
            assert found
            assert float(found[1]) == pytest.approx(paid, abs=1e-6)
            assert paid > 0
            name, kind = claim["metadata"]["name"], {"node.kubernetes.io/instance-type": "no-such-type"}
            live.edit(kinds.NODE_CLAIMS, name, {"metadata": {"labels": kind}})
            await live.settle(1)
            for _ in range(2):
                assert 'karpenter_nodepools_cost_total{nodepool="general"} 0\n' in live.metrics.text()
            assert live.value("nodepools_cost_tracker_errors_total", nodepool="general") == 1

    run(scenario())


def test_a_plan_in_the_making_is_shown_while_it_is_made():
    async def scenario() -> None:
        async with Live() as live:
            pages: list[str] = []

            async def slow(problem: Problem) -> Plan:
                await asyncio.sleep(3)
                pages.append(live.metrics.text())
                return solve(problem)

            live.controller.provisioner.solve = slow
            live.pods(4)
            await live.until(lambda: len(live.running()) == 4)
            assert re.search(
                r'karpenter_scheduler_queue_depth{controller="provisioner",scheduling_id="1"} 4\n', pages[0]
            )
            assert re.search(r'karpenter_scheduler_unfinished_work_seconds{.*scheduling_id="1"} 3\n', pages[0])
            assert "karpenter_scheduler_queue_depth{" not in live.metrics.text()

    run(scenario())


def test_series_for_each_node_and_pod_can_be_left_out():
    async def scenario() -> None:
        async with Live(Choices(window=SOON, observe=False)) as live:
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            page = live.metrics.text()
            assert "karpenter_pods_state" not in page
            assert "karpenter_nodes_allocatable" not in page
            assert "karpenter_nodepools_usage{" in page

    run(scenario())


def test_a_controller_that_is_started_anew_answers_for_itself():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            metrics = live.metrics
            await live.stop()
            second = live.build()
            second.telling.metrics = metrics
            second._declare(metrics)
            assert "karpenter_cluster_state_node_count 0\n" in metrics.text()
            await asyncio.sleep(0)

    run(scenario())
