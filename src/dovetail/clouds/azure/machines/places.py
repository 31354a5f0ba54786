"""AzureCluster → where its machines are made: region, resource group, network, tags.

What Cluster API's provider for Azure would have made under names of its own is called the same here, so that a cluster
whose network it made needs no word about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

from dovetail.api.fields import Fields
from dovetail.clouds.port import Misconfigured
from dovetail.core.errors import BadInput

PUBLIC: Final = "AzurePublicCloud"
_NODE, _CONTROL_PLANE, _BOTH = "node", "control-plane", "cluster"
_NO_TAGS: Final[Mapping[str, str]] = MappingProxyType({})


class Clusters(Protocol):
    """Whoever knows the AzureCluster of a Cluster."""

    async def __call__(self, namespace: str, cluster: str) -> Mapping[str, object] | None:
        """Its spec, None if there is none."""


@dataclass(frozen=True, slots=True)
class Subnet:
    name: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where machines of one cluster are made."""

    subscription: str
    cluster: str
    location: str
    group: str
    network: str
    network_group: str
    subnets: tuple[Subnet, ...] = ()
    #: Resource ids of the pools that machines answer or leave through, by whether they are of the control plane.
    pools: Mapping[bool, tuple[str, ...]] = field(default_factory=lambda: {False: (), True: ()})
    tags: Mapping[str, str] = field(default_factory=lambda: _NO_TAGS)

    def subnet(self, wanted: str, *, control_plane: bool) -> str:
        """Resource id of the subnet that was asked for, or of the only one there is for such machines."""
        return f"{self._network}/subnets/{wanted or self._own(control_plane)}"

    def _own(self, control_plane: bool) -> str:
        role = _CONTROL_PLANE if control_plane else _NODE
        fitting = [one.name for one in self.subnets if one.role in (role, _BOTH)]
        if len(fitting) > 1:
            several = ", ".join(fitting)
            raise Misconfigured(f"spec.subnetName: is missing, and there are several for such machines: {several}")
        own = "controlplane" if control_plane else "node"
        return fitting[0] if fitting else f"{self.cluster}-{own}-subnet"

    @property
    def _network(self) -> str:
        owner = f"/subscriptions/{self.subscription}/resourceGroups/{self.network_group}"
        return f"{owner}/providers/Microsoft.Network/virtualNetworks/{self.network}"


def place(spec: Mapping[str, object], cluster: str, subscription: str) -> Place:
    """Raises Misconfigured, with the field's name, for what cannot be honoured."""
    try:
        return _place(Fields(spec, ("AzureCluster", "spec")), cluster, subscription)
    except BadInput as bad:
        raise Misconfigured(str(bad)) from None


def _place(spec: Fields, cluster: str, subscription: str) -> Place:
    theirs = spec.text("subscriptionID")
    if theirs and theirs.lower() != subscription.lower():
        raise spec.bad("subscriptionID", f"is {theirs}, and machines are made in {subscription}")
    if spec.text("azureEnvironment") not in (None, "", PUBLIC):
        raise spec.bad("azureEnvironment", f"only {PUBLIC} is known here")
    if spec.has("extendedLocation"):
        raise spec.bad("extendedLocation", "machines at the edge are not made here; leave it out")
    group = spec.text("resourceGroup") or cluster
    network = spec.map("networkSpec")
    vnet = network.map("vnet")
    return Place(
        subscription=subscription,
        cluster=cluster,
        location=spec.required("location"),
        group=group,
        network=vnet.text("name") or f"{cluster}-vnet",
        network_group=vnet.text("resourceGroup") or group,
        subnets=tuple(_subnet(one) for one in network.items("subnets")),
        pools=_pools(network, f"/subscriptions/{subscription}/resourceGroups/{group}", cluster),
        tags=MappingProxyType(spec.labels("additionalTags")),
    )


def _subnet(one: Fields) -> Subnet:
    return Subnet(one.required("name"), one.text("role") or "")


def _pools(network: Fields, group: str, cluster: str) -> Mapping[bool, tuple[str, ...]]:
    """Only those that are named: a cluster may well do without."""
    of_nodes = _pool(network, "nodeOutboundLB", group, cluster, f"{cluster}-outboundBackendPool")
    answering = _pool(network, "apiServerLB", group, f"{cluster}-public-lb", "")
    leaving = _pool(network, "controlPlaneOutboundLB", group, f"{cluster}-outbound-lb", "")
    return {False: of_nodes, True: (*answering, *leaving)}


def _pool(network: Fields, name: str, group: str, balancer: str, pool: str) -> tuple[str, ...]:
    if not network.has(name):
        return ()
    one = network.map(name)
    called = one.text("name") or balancer
    inside = one.map("backendPool").text("name") or pool or f"{called}-backendPool"
    return (f"{group}/providers/Microsoft.Network/loadBalancers/{called}/backendAddressPools/{inside}",)
