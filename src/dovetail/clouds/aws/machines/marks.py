"""Tags: whose an instance is, and which object it was made for.

Cluster and role are tagged as Cluster API's own provider does, so that load balancers, the cloud controller and people
find what they look for. The token says which object's it is: a name may be used again, a token is not, and it is
written together with the instance, so an instance whose buyer died is found by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail.clouds.aws.tags import LONGEST_VALUE, MOST_TAGS, NAME
from dovetail.core.errors import BadField, BadValue
from dovetail.core.machines.infra_objects import Purchase

TOKEN: Final = "dovetail.dev/machine-token"  # noqa: S105  (the key of a tag)
MACHINE: Final = "MachineName"
OWNED: Final = "owned"
_PROVIDER: Final = "sigs.k8s.io/cluster-api-provider-aws"
ROLE: Final = f"{_PROVIDER}/role"
#: Roles of subnets.
PUBLIC, PRIVATE = "public", "private"
_LONGEST_KEY: Final = 128


def owner(cluster: str) -> str:
    """The key under which everything of a cluster is `owned`."""
    return f"{_PROVIDER}/cluster/{cluster}"


def kubernetes(cluster: str) -> str:
    """The key that Kubernetes itself looks for."""
    return f"kubernetes.io/cluster/{cluster}"


def is_others(held: Mapping[str, str], cluster: str) -> bool:
    """Whether it was made for some object, or is owned by another cluster."""
    own = (owner(cluster), kubernetes(cluster))
    prefixes = (owner(""), kubernetes(""))
    owned = (key for key, value in held.items() if key.startswith(prefixes) and value == OWNED)
    return TOKEN in held or any(key not in own for key in owned)


def namespace_in(held: Mapping[str, str]) -> str:
    """The namespace of the object an instance was made for, as its tags say."""
    return held.get(MACHINE, "").rpartition("/")[0]


def of(purchase: Purchase, further: Mapping[str, str], inherited: Mapping[str, str]) -> dict[str, str]:
    """All tags of an instance; raises BadField for further ones that would undo ours, or that EC2 does not take. Those
    it has of its cluster give way to all others."""
    ours = {
        NAME: purchase.name,
        owner(purchase.cluster): OWNED,
        kubernetes(purchase.cluster): OWNED,
        ROLE: "control-plane" if purchase.control_plane else "node",
        MACHINE: f"{purchase.namespace}/{purchase.owner}" if purchase.namespace else purchase.owner,
        TOKEN: purchase.token,
    }
    for key, value in further.items():
        if ours.get(key, value) != value:
            raise _bad(key, f"is set to {ours[key]!r} here, by which instances are found; take it out")
        if key.lower().startswith("aws:"):
            raise _bad(key, "begins with aws:, which is AWS's own")
        if len(key) > _LONGEST_KEY or len(value) > LONGEST_VALUE:
            raise _bad(key[:_LONGEST_KEY], f"is too long: EC2 takes keys of {_LONGEST_KEY}, values of {LONGEST_VALUE}")
    found = {**inherited, **further, **ours}
    if len(found) > MOST_TAGS:
        told = f"are too many: an instance has {MOST_TAGS} tags at most, and {len(ours)} of them are taken"
        raise BadValue(told).at("spec", "additionalTags")
    return found


def _bad(key: str, problem: str) -> BadField:
    return BadValue(problem).at("spec", "additionalTags", key)
