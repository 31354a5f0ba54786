"""A last look at a node that is marked, before it is given up to save money.

Between the moment a command is started and the one its node can take no more pods somebody may have bound a pod there,
and while a replacement comes up somebody may have asked that a pod be left alone. Nobody has planned a place for the
first, and the second would keep the node, and its replacement, running for as long as it likes. What PodDisruption-
Budgets leave is not asked again: it changes with every pod that moves, and whoever evicts waits for it.
"""

from __future__ import annotations

from typing import Final

from dovetail.controllers.cluster import Cluster
from dovetail.controllers.disruption import ordering
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.reasons import Reason
from dovetail.core.lifecycle import protection

#: What is done for money alone.
_SAVING: Final = frozenset({Reason.EMPTY, Reason.UNDERUTILIZED})


def objection(command: Command, node: str, cluster: Cluster, now: float) -> str:
    """Why a node is not to be given up after all; "" if nothing speaks against it."""
    if command.reason not in _SAVING:
        return ""
    planned = {pod.uid for pod in command.evicted}
    for pod in cluster.pods.on_node(node):
        if pod.rare.deletion or not ordering.holds(pod):
            continue
        name = f"{pod.namespace}/{pod.name}"
        if pod.uid not in planned:
            return f"pod {name} came to {node} meanwhile"
        if protection.holds(pod.rare.do_not_disrupt, pod.started, now):
            return f"pod {name} has do-not-disrupt now"
    return ""
