"""Every metric there is, with what it means."""

from __future__ import annotations

from dovetail.controllers import aws_metrics, costs, dry_run, supervision, transitions
from dovetail.controllers.disruption import deletion_costs, reboots, telling
from dovetail.controllers.metrics import Metrics

#: What only dovetail has.
OURS = "dovetail_"
_CLAIM = ("reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode")


def declare(metrics: Metrics) -> Metrics:
    """Counters and histograms; gauges are declared by whoever can answer them."""
    counter, histogram = metrics.counter, metrics.histogram
    counter("nodeclaims_created_total", "NodeClaims written down.", "reason", "nodepool", "min_values_relaxed")
    counter("nodeclaims_terminated_total", "NodeClaims that ended.", "nodepool", "capacity_type", "zone")
    counter("nodeclaims_disrupted_total", "NodeClaims given up or taken down, by reason.", *_CLAIM)
    counter("pods_disruption_initiated_total", "Pods on NodeClaims that were taken down.", *_CLAIM)
    counter("nodes_created_total", "Nodes that registered.", "nodepool", "zone")
    counter("nodes_terminated_total", "Nodes that ended.", "nodepool", "zone")
    counter("nodes_drained_total", "Nodes whose pods have all left.", "nodepool")
    counter("pods_eviction_requests_total", "Evictions asked for, by the answer's code.", "code")
    counter("pods_drained_total", "Pods evicted, by why.", "reason")
    unhealthy = ("condition", "nodepool", "capacity_type", "image_id", "termination_mode")
    counter("nodeclaims_unhealthy_disrupted_total", "NodeClaims replaced for their health.", *unhealthy)
    histogram("pods_startup_duration_seconds", "From making a pod until it runs.")
    histogram("pods_bound_duration_seconds", "From making a pod until it has a node.", "dynamic_resources")
    histogram("pods_provisioning_bound_duration_seconds", "From seeing a pod until it has a node.", "dynamic_resources")
    histogram("pods_provisioning_startup_duration_seconds", "From seeing a pod until it runs.")
    histogram("pods_scheduling_decision_duration_seconds", "From seeing a pod until it is decided about.")
    cloud = ("controller", "method", "provider")
    histogram("cloudprovider_duration_seconds", "How long the cloud took to answer.", *cloud)
    counter("cloudprovider_errors_total", "What the cloud refused.", *cloud, "error", "nodepool")
    histogram("nodeclaims_registration_duration_seconds", "From order to a registered Node.", "nodepool")
    histogram("nodeclaims_instance_termination_duration_seconds", "From asking until a machine is gone.", "nodepool")
    histogram("nodeclaims_termination_duration_seconds", "From deletion until a claim is gone.", "nodepool")
    histogram("nodes_termination_duration_seconds", "From deletion until a Node is gone.", "nodepool")
    histogram("nodes_lifetime_duration_seconds", "How long Nodes lived.", "nodepool")
    counter(costs.ERRORS, "Machines whose price is not known.", "nodepool")
    histogram("scheduler_scheduling_duration_seconds", "How long planning took.", "controller")
    transitions.declare(metrics)
    telling.declare(metrics)
    reboots.declare(metrics)
    deletion_costs.declare(metrics)
    aws_metrics.declare(metrics)
    supervision.declare(metrics, OURS)
    counter(dry_run.METRIC, "What a dry run would have done.", "effect", prefix=OURS)
    return metrics
