"""What `dovetail machines` may do: the least its loops need, by cloud and by whose core runs.

With Cluster API's own controllers it writes infrastructure machines of one kind and reads what they belong to. Only
where ours are the core may it make and end Machines, mark and remove Nodes, and evict their pods. Bootstrap data lies
in Secrets that nobody can name beforehand, so it may read any Secret it knows the name of; it can list none.
"""

from __future__ import annotations

from typing import Final

from dovetail.api.install.permissions import Permission
from dovetail.api.kinds import (
    AWS_CLUSTERS,
    AWS_MACHINES,
    AWS_TEMPLATES,
    AZURE_CLUSTERS,
    AZURE_MACHINES,
    AZURE_TEMPLATES,
    CLUSTERS,
    CORE_EVENTS,
    CRDS,
    GCP_CLUSTERS,
    GCP_MACHINES,
    GCP_TEMPLATES,
    HEALTH_CHECKS,
    LEASES,
    MACHINE_DEPLOYMENTS,
    MACHINE_SETS,
    MACHINES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    SECRETS,
    VOLUME_ATTACHMENTS,
    Kind,
)

_KINDS: Final = {
    "aws": ((AWS_MACHINES, AWS_TEMPLATES, AWS_CLUSTERS),),
    "gcp": ((GCP_MACHINES, GCP_TEMPLATES, GCP_CLUSTERS),),
    "azure": ((AZURE_MACHINES, AZURE_TEMPLATES, AZURE_CLUSTERS),),
}
#: The kinds of each cloud: machine, template, cluster. The simulated one has all.
KINDS: Final = {**_KINDS, "sim": tuple(one for each in _KINDS.values() for one in each)}
CLOUDS: Final = tuple(KINDS)
OWN, UPSTREAM = "own", "upstream"
CORES: Final = (OWN, UPSTREAM)
#: Clouds that end an instance at an age known beforehand: its Machine is deleted in time (R24).
_ENDING: Final = ("gcp", "sim")
_READ: Final = ("get", "list", "watch")


def _on(verbs: tuple[str, ...], *kinds: Kind, part: str = "") -> Permission:
    """All of one group."""
    resources = tuple(f"{kind.plural}/{part}" if part else kind.plural for kind in kinds)
    return Permission(kinds[0].group, resources, verbs)


def everywhere(cloud: str, core: str) -> tuple[Permission, ...]:
    """Over the whole cluster."""
    machines = tuple(machine for machine, _, _ in KINDS[cloud])
    clusters = tuple(one for _, _, one in KINDS[cloud])
    ends = core == UPSTREAM and cloud in _ENDING
    return (
        _on(_READ, CLUSTERS, MACHINES),
        _on((*_READ, "patch"), *machines),
        _on(("patch",), *machines, part="status"),
        # where the cluster's network is, and that nothing is to be made of it
        _on(_READ, *clusters),
        _on(("patch",), *clusters, part="status"),
        _on(("get",), SECRETS),
        # whose core runs
        Permission(CRDS.group, (CRDS.plural,), ("get",), (f"{MACHINES.plural}.{MACHINES.group}",)),
        _on(("create", "patch"), CORE_EVENTS),
        *((_on(("delete",), MACHINES),) if ends else ()),
        *(_of_core(cloud) if core == OWN else ()),
        *(_of_kubelets() if cloud == "sim" else ()),
    )


def _of_core(cloud: str) -> tuple[Permission, ...]:
    machines = tuple(machine for machine, _, _ in KINDS[cloud])
    templates = tuple(template for _, template, _ in KINDS[cloud])
    return (
        _on(("create", "delete", "patch"), MACHINES),
        _on((*_READ, "patch"), MACHINE_SETS, HEALTH_CHECKS),
        # which are told that nobody acts upon them
        _on(_READ, MACHINE_DEPLOYMENTS),
        _on(("patch",), CLUSTERS, MACHINES, MACHINE_SETS, MACHINE_DEPLOYMENTS, HEALTH_CHECKS, part="status"),
        # what is made for a set or a Machine blocks its deletion, which some clusters ask a right for
        _on(("update",), MACHINES, MACHINE_SETS, part="finalizers"),
        _on(("create", "delete"), *machines),
        _on(("get",), *templates),
        _on((*_READ, "patch", "delete"), NODES),
        _on(("list",), PODS),
        _on(("create",), PODS, part="eviction"),
        _on(("list",), VOLUME_ATTACHMENTS),
        # whose volumes they are, of pods that stay while others leave
        _on(("get",), PERSISTENT_VOLUME_CLAIMS),
    )


def _of_kubelets() -> tuple[Permission, ...]:
    """Simulated machines join, run pods and leave by our hand."""
    return (
        _on((*_READ, "create", "delete"), NODES),
        _on(("patch",), NODES, part="status"),
        _on((*_READ, "delete"), PODS),
        _on(("patch",), PODS, part="status"),
    )


def own_namespace(lease: str) -> tuple[Permission, ...]:
    """A right to create cannot be tied to a name."""
    return (
        Permission(LEASES.group, (LEASES.plural,), ("create",)),
        Permission(LEASES.group, (LEASES.plural,), ("get", "update"), (lease,)),
    )


def node_leases(cloud: str) -> tuple[Permission, ...]:
    """The heartbeats of simulated machines."""
    return (Permission(LEASES.group, (LEASES.plural,), ("create", "patch")),) if cloud == "sim" else ()
