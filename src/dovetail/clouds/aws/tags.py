"""Tags: whose a machine is, and for which claims it was bought.

A fleet gives all its machines the same tags. One bought for one claim says so under `karpenter.sh/nodeclaim`. When a
fleet fills many claims at once their names stand on each of its machines, in as few tags as they fit in: which machine
is whose is written on the claims, and if that could not be done any more, any undealt machine of the fleet will do for
any of them, since they asked for the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dovetail.core import labels
from dovetail.core.nodeclaims import NodeClaim

NODE_CLAIM: Final = "karpenter.sh/nodeclaim"
NODE_CLASS: Final = "karpenter.k8s.aws/ec2nodeclass"
NODE_POOL: Final = labels.NODEPOOL
CLUSTER: Final = "eks:eks-cluster-name"
NAME: Final = "Name"
#: Names of many claims: `dovetail.dev/nodeclaims-0`, `-1` …, each "<common beginning> <rest> <rest> …".
MANY_CLAIMS: Final = "dovetail.dev/nodeclaims-"
#: The last restart that was asked for, so that the same is not made twice.
RESTARTED: Final = "dovetail.dev/restarted-for"
#: Annotations of a claim whose machine has its tags; the second is for peers of an older make.
TAGGED: Final = "karpenter.k8s.aws/tagged"
CLUSTER_TAGGED: Final = "compatibility.karpenter.k8s.aws/cluster-name-tagged"
#: EC2's limits.
LONGEST_VALUE: Final = 256
MOST_TAGS: Final = 50
#: Tags that others put on the machine later: its name, its claim's, and whatever the account's tools add.
_SPARE: Final = 8

Tags = Mapping[str, str]


def of_cluster(cluster: str) -> dict[str, str]:
    return {f"kubernetes.io/cluster/{cluster}": "owned", CLUSTER: cluster}


def of_machine(claim: NodeClaim, cluster: str, wanted: Tags) -> dict[str, str]:
    """What a machine of this claim is tagged with, but for the claim itself."""
    told = {NODE_POOL: claim.pool or "", NODE_CLASS: claim.node_class.name}
    return {**wanted, **of_cluster(cluster), **told}


def of_claims(names: Sequence[str]) -> dict[str, str]:
    """For whom a fleet buys."""
    if len(names) == 1:
        return {NODE_CLAIM: names[0]}
    shared = _common_beginning(names)
    values, current = [], shared
    for name in sorted(names):
        rest = f" {name[len(shared) :]}"
        if len(current) + len(rest) > LONGEST_VALUE:
            values.append(current)
            current = shared
        current += rest
    return {f"{MANY_CLAIMS}{number}": value for number, value in enumerate((*values, current))}


def _common_beginning(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    length = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:length]


def room_for_claims(beside: Tags) -> int:
    """How many tags are left for the names of claims."""
    return max(1, MOST_TAGS - _SPARE - len(beside))


def claims_in(tags: Tags) -> tuple[str, ...]:
    """For whom a machine may have been bought. Its own tag, once it has one, says it alone."""
    if NODE_CLAIM in tags:
        return (tags[NODE_CLAIM],)
    found: list[str] = []
    for key, value in sorted(tags.items()):
        if key.startswith(MANY_CLAIMS):
            shared, *rests = value.split(" ")
            found += (f"{shared}{rest}" for rest in rests)
    return tuple(found)


def on_wire(tags: Tags) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def specification(kind: str, tags: Tags) -> dict[str, Any]:
    return {"ResourceType": kind, "Tags": on_wire(tags)}


def read(wire: Iterable[Mapping[str, str]] | None) -> dict[str, str]:
    return {one["Key"]: one.get("Value", "") for one in wire or ()}
