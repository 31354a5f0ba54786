"""A cloud around another one: whoever adds something to a cloud starts from this, and says only what it adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dovetail.api.kinds import Kind
from dovetail.clouds.port import Cloud, Listener, NodeClasses, RepairPolicy
from dovetail.core.catalog.market import Market
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef


class Wrapped:
    """Everything of `clouds.port.Cloud` that is no call over the network, passed on as it is."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    @property
    def name(self) -> str:
        return self._cloud.name

    @property
    def node_class_kinds(self) -> tuple[Kind, ...]:
        return self._cloud.node_class_kinds

    @property
    def node_classes(self) -> NodeClasses | None:
        return self._cloud.node_classes

    @property
    def market(self) -> Market:
        return self._cloud.market

    @property
    def repair_policies(self) -> tuple[RepairPolicy, ...]:
        return self._cloud.repair_policies

    def set_node_class(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        self._cloud.set_node_class(ref, wire)

    def resume(self, claims: Iterable[NodeClaim]) -> None:
        self._cloud.resume(claims)

    def on_notice(self, listener: Listener) -> None:
        self._cloud.on_notice(listener)
