"""Where a cluster's instances are made: its GCPCluster, read as far as machines need it. Where there is none, and with
our own core there need not be, it is the project's default network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dovetail.api.fields import Fields
from dovetail.core.errors import BadValue

#: Asks for the spec of the GCPCluster of a namespace's Cluster; None where there is none.
Clusters = Callable[[str, str], Awaitable[Mapping[str, object] | None]]
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class Home:
    """`network_project` is whose network it is: another project's where a network is shared."""

    project: str
    network: str = _DEFAULT
    network_project: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: _NONE)
    zones: tuple[str, ...] = ()

    @property
    def network_link(self) -> str:
        return f"projects/{self.network_project or self.project}/global/networks/{self.network}"

    def subnet_link(self, subnet: str, zone: str) -> str:
        """A bare name is a subnet of the zone's region."""
        if "/" in subnet:
            return subnet
        return f"projects/{self.network_project or self.project}/regions/{zone.rpartition('-')[0]}/subnetworks/{subnet}"


async def nowhere(namespace: str, cluster: str) -> None:
    """There are no GCPClusters."""


def home(project: str, cluster: Mapping[str, object] | None) -> Home:
    """Raises BadInput where the cluster asks for what cannot be had; what makers of networks read is left alone."""
    if cluster is None:
        return Home(project)
    spec = Fields(cluster, ("GCPCluster", "spec"))
    theirs = spec.text("project")
    if theirs and theirs != project:
        raise spec.bad("project", f"{theirs} is another project than {project}, in which this program buys")
    if spec.has("credentialsRef"):
        raise spec.bad("credentialsRef", "this program buys with its own credentials; leave it out")
    if spec.items("resourceManagerTags"):
        raise spec.bad("resourceManagerTags", "their ids are not looked up here; leave it out")
    network = spec.map("network")
    zones = spec.wire.get("failureDomains") or ()
    if not isinstance(zones, list | tuple) or not all(isinstance(one, str) for one in zones):
        raise BadValue("expected a list of texts").at(*spec.path, "failureDomains")
    return Home(
        project,
        network.text("name") or _DEFAULT,
        network.text("hostProject") or "",
        MappingProxyType(spec.labels("additionalLabels")),
        tuple(sorted(zones)),
    )
