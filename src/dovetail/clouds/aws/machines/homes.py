"""What a machine has of its AWSCluster: subnets, tags, a key to log in with, for what the AWSMachine leaves open.

An AWSCluster may also say where and in whose name its machines are bought. A process buys in one region and in its own
name: a cluster of another region or with an identity of its own is refused, and not bought for in the wrong place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from dovetail.api.fields import Fields
from dovetail.clouds.aws.machines import marks

#: The spec of the AWSCluster of a Cluster, by namespace and name; None where there is none.
Clusters = Callable[[str, str], Awaitable[Mapping[str, object] | None]]
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
#: The identity of whoever runs the controller, which is what the provider writes where nobody says anything.
_OWN_IDENTITY: Final = "AWSClusterControllerIdentity"
_PATH: Final = ("AWSCluster", "spec")


async def nowhere(namespace: str, cluster: str) -> None:
    """No AWSCluster is known."""


@dataclass(frozen=True, slots=True)
class Home:
    """`subnets` are as DescribeSubnets would have them."""

    tags: Mapping[str, str] = field(default_factory=lambda: _NONE)
    key: str = ""
    subnets: tuple[Mapping[str, Any], ...] = ()


def read(wire: Mapping[str, object] | None, region: str) -> Home:
    """Raises BadField for a cluster whose machines cannot be bought from here."""
    if wire is None:
        return Home()
    spec = Fields(wire, _PATH)
    where = spec.text("region")
    if where and where != region:
        raise spec.bad("region", f"is {where}, and this process buys in {region}; run one with --aws-region {where}")
    identity = spec.map("identityRef")
    if identity.text("kind") not in (None, "", _OWN_IDENTITY):
        raise identity.bad("kind", "machines are bought in the name of this process only; run one with that identity")
    listed = spec.map("network").items("subnets")
    return Home(
        tags=MappingProxyType(spec.labels("additionalTags")),
        key=spec.text("sshKeyName") or "",
        subnets=tuple(found for one in listed if (found := _subnet(one))["SubnetId"]),
    )


def _subnet(one: Fields) -> Mapping[str, Any]:
    """A subnet that the provider made has a name of its own choice as its id, and EC2's beside it."""
    role = marks.PUBLIC if one.flag("isPublic") else marks.PRIVATE
    return {
        "SubnetId": one.text("resourceID") or one.text("id") or "",
        "AvailabilityZone": one.text("availabilityZone") or "",
        "Tags": [{"Key": marks.ROLE, "Value": role}],
    }
