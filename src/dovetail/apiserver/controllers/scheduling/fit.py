"""Which nodes suit a pod, and which of them suits best.

Filters run in the order a real scheduler has them, and a node is charged with the first that fails, so that messages
agree. Of the nodes that pass, the emptiest is taken, after wishes about labels and taints; equal nodes go by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.apiserver.controllers.scheduling import wording
from dovetail.apiserver.controllers.scheduling.claims import Claims
from dovetail.apiserver.controllers.scheduling.cluster import Cluster
from dovetail.apiserver.controllers.scheduling.nodes import NodeInfo
from dovetail.apiserver.controllers.scheduling.shapes import PodShape, holds
from dovetail.apiserver.controllers.scheduling.topology import HOPELESS, Domains, domains_of
from dovetail.apiserver.controllers.scheduling.wording import Refusals
from dovetail.core import resources
from dovetail.core.requirements import Requirements
from dovetail.core.taints import Effect, Taint

#: With this many nodes to choose from, looking further is not worth it; a real scheduler stops as well.
_ENOUGH: Final = 32
_CORDON: Final = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)


@dataclass(frozen=True, slots=True)
class Suiting:
    """Nodes whose own labels and taints suit a pod, and what is said of the others."""

    pod: PodShape
    nodes: list[NodeInfo]
    others: list[str]


def choose(pod: PodShape, cluster: Cluster, claims: Claims) -> tuple[NodeInfo | None, Refusals]:
    """The best node, or none and why."""
    refusals = Refusals(len(cluster.nodes))
    if claims.missing:
        refusals.everywhere = claims.missing
        return None, refusals
    suiting = _suiting(pod, cluster)
    for said in suiting.others:
        refusals.add([said], hopeless=True)
    domains = domains_of(pod, cluster)
    fitting: list[NodeInfo] = []
    start = cluster.turn % len(suiting.nodes) if suiting.nodes else 0
    for at in range(len(suiting.nodes)):
        node = suiting.nodes[(start + at) % len(suiting.nodes)]
        reasons, hopeless = _complaints(pod, node, claims, domains)
        if reasons:
            refusals.add(reasons, hopeless=hopeless)
            continue
        fitting.append(node)
        if len(fitting) == _ENOUGH:
            cluster.turn = start + at + 1
            break
    return min(fitting, key=lambda node: _cost(pod, node), default=None), refusals


def _suiting(pod: PodShape, cluster: Cluster) -> Suiting:
    """Worked out once for equal pods, as long as no node changes. A pod that names nodes is asked about those alone."""
    found = cluster.remembered.get(pod)
    if not isinstance(found, Suiting):
        asked = (
            [cluster.nodes[one] for one in sorted(pod.names) if one in cluster.nodes] if pod.names is not None else None
        )
        nodes = list(cluster.nodes.values()) if asked is None else asked
        said = [(node, _static_complaint(pod, node)) for node in nodes]
        others = [why for _, why in said if why is not None]
        others += [wording.NAMED_ANOTHER] * (len(cluster.nodes) - len(nodes))
        found = Suiting(pod, [node for node, why in said if why is None], others)
        cluster.remembered.put(pod, found)
    return found


def _complaints(pod: PodShape, node: NodeInfo, claims: Claims, domains: list[Domains]) -> tuple[list[str], bool]:
    """What the first filter that fails says of a node, and whether other pods have no part in it."""
    shape = pod.shape
    if shape.ports and node.clashes(shape.ports):
        return [wording.PORTS], False
    lacking = node.lacking(shape.requests)
    if lacking:
        said = [wording.TOO_MANY_PODS if name == resources.PODS else f"Insufficient {name}" for name in lacking]
        return said, any(shape.requests.of(name) > node.allocatable.of(name) for name in lacking)
    volume = claims.complaint(node.labels)
    if volume is not None:
        return [volume], True
    for one in domains:
        complaint = one.complaint(node.labels)
        if complaint is not None:
            return [complaint], complaint in HOPELESS
    return [], False


def _static_complaint(pod: PodShape, node: NodeInfo) -> str | None:
    """What only the node itself can change."""
    if node.going or (node.unschedulable and _is_cordoned_for(pod)):
        return wording.UNSCHEDULABLE
    if any(one.effect is not Effect.PREFER_NO_SCHEDULE for one in pod.untolerated(node.taints)):
        return wording.TAINTED
    if pod.wrong_node(node.name, node.labels):
        return wording.WRONG_NODE
    return None


def _is_cordoned_for(pod: PodShape) -> bool:
    return bool(pod.untolerated((_CORDON,)))


def _cost(pod: PodShape, node: NodeInfo) -> tuple[int, int, float, int, str]:
    disliked = sum(one.effect is Effect.PREFER_NO_SCHEDULE for one in pod.untolerated(node.taints))
    liked = sum(
        one.weight for one in pod.shape.preferred if isinstance(one.term, Requirements) and holds(one.term, node.labels)
    )
    return disliked, -liked, node.fullness(pod.shape.requests), len(node.pods), node.name
