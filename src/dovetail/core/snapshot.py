"""One moment of a cluster: all that planning and disruption decide from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from dovetail.core.nodepools import NodePool
from dovetail.core.nodes import Node
from dovetail.core.pods import DaemonSet, Pod, PodState


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Nodes, pods and pools as they were seen together. A what-if is an expression: `snapshot.without("node-7")`."""

    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    pools: tuple[NodePool, ...] = ()
    daemons: tuple[DaemonSet, ...] = ()
    #: Labels of every namespace, for terms that select namespaces.
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))

    def without(self, *names: str) -> Snapshot:
        """As if these nodes were leaving: their pods have to go elsewhere."""
        gone = frozenset(names)
        return replace(
            self,
            nodes=tuple(replace(node, leaving=True) if node.name in gone else node for node in self.nodes),
        )

    def with_pods(self, *pods: Pod) -> Snapshot:
        return replace(self, pods=(*self.pods, *pods))

    @property
    def pending(self) -> tuple[Pod, ...]:
        return tuple([pod for pod in self.pods if pod.state is PodState.PENDING])
