"""Whose an instance is (R9).

It is called what its GCPMachine is called, so that a zone cannot hold two of it, and carries the order's token as a
label, so that it is found in whatever zone it stands and told apart from an instance of the same name that somebody
else made. Request ids come from the token too: the same order is the same request, however often it is sent. The labels
of the cluster are those the provider before us put on, so that firewalls and bills go on working.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Final

from dovetail.clouds.gcp.machines.answers import Instance
from dovetail.clouds.machines import Sought, Unmarked
from dovetail.core.errors import BadValue
from dovetail.core.machines.infra_objects import Purchase

#: The label with the token.
TOKEN: Final = "dovetail-machine"  # noqa: S105  (the name of a label)
NAMESPACE: Final = "dovetail-namespace"
ROLE: Final = "capg-role"
OWNED: Final = "owned"
_CLUSTER: Final = "capg-cluster-"
#: What Compute Engine takes as a name and as a network tag; a label's value may have as many characters.
_LONGEST: Final = 63
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_PROVIDER_ID: Final = re.compile(r"gce://(?P<project>[^/]+)/(?P<zone>[^/]+)/(?P<name>[^/]+)", re.ASCII)
#: Of request ids: anything, as long as nobody else has it and it stays.
_REQUESTS: Final = uuid.UUID("6f0d5a52-5f0e-5d0c-9d6e-3a5d3f4f7c11")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an instance is, which is also which one it is."""

    project: str
    zone: str
    name: str

    @property
    def provider_id(self) -> str:
        return f"gce://{self.project}/{self.zone}/{self.name}"


def place_of(provider_id: str) -> Place | None:
    """None for an id that is none of Compute Engine's."""
    found = _PROVIDER_ID.fullmatch(provider_id)
    return None if found is None else Place(found["project"], found["zone"], found["name"])


def label_of(token: str) -> str:
    return token[:_LONGEST]


def request_id(token: str, attempt: int, again: int = 0) -> str:
    """Each attempt has its own: Compute Engine answers an id it knows with what became of it, failures included."""
    return str(uuid.uuid5(_REQUESTS, f"{token}/{attempt}/{again}"))


def cluster_label(cluster: str) -> str | None:
    """The key of the label that says which cluster owns something; None for a name that cannot be in one."""
    key = _CLUSTER + cluster
    return key if len(key) <= _LONGEST and _NAME.fullmatch(cluster) else None


def role_of(purchase: Purchase) -> str:
    return "control-plane" if purchase.control_plane else "node"


def labels_of(purchase: Purchase) -> dict[str, str]:
    """Ours, which nobody may overwrite: without them an instance could not be found again."""
    cluster = cluster_label(purchase.cluster)
    if cluster is None:
        most = _LONGEST - len(_CLUSTER)
        problem = f"Cluster {purchase.cluster} cannot be in a label of GCP: {most} small letters, digits and - at most"
        raise BadValue(problem)
    labels = {cluster: OWNED, ROLE: role_of(purchase), TOKEN: label_of(purchase.token)}
    return labels | ({NAMESPACE: purchase.namespace} if purchase.namespace else {})


def checked_name(name: str) -> str:
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        raise BadValue(
            f"metadata.name {name!r} cannot be an instance's: a letter, then small letters, digits and -, "
            f"{_LONGEST} at most"
        )
    return name


def is_of(one: Instance, sought: Sought) -> bool:
    """An id is only what somebody wrote. Without a token it was made by another provider, and is the object's if it is
    its cluster's. With another one it is so if name and namespace are as well: one that was moved or restored has
    another uid."""
    token, cluster = one.labels.get(TOKEN), cluster_label(sought.cluster)
    owned = cluster is not None and one.labels.get(cluster) == OWNED
    moved = (one.name, one.labels.get(NAMESPACE, "")) == (sought.name, sought.namespace)
    return token == label_of(sought.token) or (owned and (token is None or moved))


def is_others(one: Instance, sought: Sought) -> bool:
    """Whether it was made for some object, or is owned by another cluster."""
    clusters = {key for key, value in one.labels.items() if key.startswith(_CLUSTER) and value == OWNED}
    return TOKEN in one.labels or bool(clusters - {cluster_label(sought.cluster)})


def unmarked(sought: Sought) -> Unmarked:
    key = cluster_label(sought.cluster)
    return Unmarked(sought, f"the label {key}={OWNED}" if key is not None else None)


def made_for(token: str) -> str:
    """A filter for what was made for one order."""
    return f'labels.{TOKEN} = "{label_of(token)}"'


def made_for_cluster(key: str) -> str:
    """A filter for what was made here for a cluster; what another provider made in its name has no token."""
    return f'(labels.{key} = "{OWNED}") (labels.{TOKEN}:*)'


def ordered(zone: str, name: str) -> str:
    """A filter for the operations that made, or were to make, an instance; `eq` takes patterns."""
    return f'(operationType eq insert) (targetLink eq ".*/zones/{zone}/instances/{name}")'


def running_of_cluster(key: str) -> str:
    """A filter for what runs of a cluster, whoever made it."""
    return f'(labels.{key} = "{OWNED}") (status = "RUNNING")'
