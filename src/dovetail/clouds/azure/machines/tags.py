"""Tags: whose something is. A tag's name may hold no slash, so `_` stands where Kubernetes would have one.

The cluster's and the role's are those of Cluster API's provider for Azure, so that whoever looks for a cluster's
resources by them finds ours too. The token says for which object something was made (R9).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail.core.machines.infra_objects import Purchase

TOKEN: Final = "dovetail.dev_token"  # noqa: S105  (a tag's name)
MACHINE: Final = "dovetail.dev_machine"
NAME: Final = "Name"
OWNED: Final = "owned"
_PROVIDER: Final = "sigs.k8s.io_cluster-api-provider-azure"
ROLE: Final = f"{_PROVIDER}_role"


def cluster_tag(cluster: str) -> str:
    return f"{_PROVIDER}_cluster_{cluster}"


def of_purchase(purchase: Purchase, *given: Mapping[str, str]) -> dict[str, str]:
    """What a user gives, the later going before the earlier, and ours, which nobody changes. Azure does not tell large
    letters from small ones in a tag's name."""
    ours = {
        NAME: purchase.name,
        cluster_tag(purchase.cluster): OWNED,
        ROLE: "control-plane" if purchase.control_plane else "node",
        MACHINE: f"{purchase.namespace}_{purchase.owner}",
        TOKEN: purchase.token,
    }
    found: dict[str, tuple[str, str]] = {}
    for each in (*given, ours):
        found |= {name.lower(): (name, value) for name, value in each.items()}
    return dict(found.values())


def token_in(tags: Mapping[str, str] | None) -> str:
    return (tags or {}).get(TOKEN, "")


def namespace_in(tags: Mapping[str, str] | None) -> str:
    """The namespace of the object it was made for; no namespace has a `_` in its name."""
    return (tags or {}).get(MACHINE, "").partition("_")[0]


def is_of(tags: Mapping[str, str] | None, cluster: str) -> bool:
    """Whether we made it for a machine of this cluster."""
    return bool(token_in(tags)) and is_owned(tags, cluster)


def is_others(tags: Mapping[str, str] | None, cluster: str) -> bool:
    """Whether it was made for some object, or is owned by another cluster."""
    owned = {name for name, value in (tags or {}).items() if name.startswith(cluster_tag("")) and value == OWNED}
    return bool(token_in(tags) or owned - {cluster_tag(cluster)})


def is_owned(tags: Mapping[str, str] | None, cluster: str) -> bool:
    """Whether it is this cluster's, whoever made it."""
    return (tags or {}).get(cluster_tag(cluster)) == OWNED
