"""What every infrastructure machine, template and cluster shares: the part Cluster API's core reads.

The contract is versioned apart from the kinds: a label on each definition maps a version of the contract to the
versions of the kind that keep it. Ours keep both: `status.ready` is what the older one reads, and
`status.initialization.provisioned` the newer.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dovetail.api.crds.definition import AGE, READY, Column, Definition
from dovetail.api.crds.parts import Condition, ResourceList
from dovetail.api.crds.schema import BY_TYPE, Limits, Rule, Wire
from dovetail.api.kinds import Kind

CATEGORY: Final = ("cluster-api",)
CLUSTER_NAME: Final = "cluster.x-k8s.io/cluster-name"
#: The words a failed machine gives as its reason; the contract's own list.
FAILURES: Final = (
    "InvalidConfiguration",
    "UnsupportedChange",
    "InsufficientResources",
    "CreateError",
    "UpdateError",
    "DeleteError",
    "JoinClusterTimeoutError",
)
ADDRESS_TYPES: Final = ("Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS")
IMMUTABLE: Final = Rule("self == oldSelf", "spec of a template cannot be changed; make a new template and refer to it")


def contract_labels(kind: Kind) -> tuple[tuple[str, str], ...]:
    """Both versions of the contract are kept by the one version that is served."""
    return tuple((f"cluster.x-k8s.io/{contract}", kind.version) for contract in ("v1beta1", "v1beta2"))


def kept(required: tuple[str, ...], optional: tuple[str, ...]) -> Rule:
    """Fields that stay what they were, for a machine is never made into another one: not given stays not given."""
    parts = [f"self.{name} == oldSelf.{name}" for name in required]
    parts += [
        f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
        for name in optional
    ]
    named = ", ".join((*required, *optional))
    return Rule(" && ".join(f"({part})" for part in parts), f"{named} cannot be changed; replace the Machine instead")


class Address(Wire, frozen=True):
    """An address of a machine."""

    type: Annotated[str, Limits(enum=ADDRESS_TYPES), "What kind of address it is."]
    address: Annotated[str, Limits(min_length=1, max_length=256), "The address."]


class Initialization(Wire, frozen=True):
    """How far a machine has come for the first time; what is true here stays true."""

    provisioned: Annotated[bool | None, "Whether the machine has been there, whatever became of it."] = None


class InfraMachineStatus(Wire, frozen=True):
    """What became of a machine."""

    ready: Annotated[bool, "Whether the machine runs; the older contract reads this."] = False
    initialization: Annotated[Initialization | None, "How far it has come; the newer contract reads this."] = None
    interruptible: Annotated[bool, "Whether the cloud may take the machine away at any time."] = False
    addresses: Annotated[tuple[Address, ...], "Addresses of the machine."] = ()
    failure_domain: Annotated[str, "Zone the machine stands in."] = ""
    failure_reason: Annotated[str | None, Limits(enum=FAILURES), "Why it failed for good, as one word."] = None
    failure_message: Annotated[str, "Why it failed for good, as a sentence."] = ""
    conditions: Annotated[tuple[Condition, ...], BY_TYPE, "What holds of it."] = ()


class TemplateMetadata(Wire, frozen=True):
    """What every object made from a template carries."""

    labels: Annotated[dict[str, str], "Labels."] = msgspec.field(default_factory=dict)
    annotations: Annotated[dict[str, str], "Annotations."] = msgspec.field(default_factory=dict)


class NodeInfo(Wire, frozen=True):
    """What a node made from a template would be."""

    architecture: Annotated[str | None, Limits(enum=("amd64", "arm64", "s390x", "ppc64le")), "Its architecture."] = None
    operating_system: Annotated[str | None, Limits(enum=("linux", "windows")), "Its operating system."] = None


class TemplateStatus(Wire, frozen=True):
    """What a machine made from a template would have, for whoever scales from nothing."""

    capacity: Annotated[ResourceList, "What it would have."] = msgspec.field(default_factory=dict)
    node_info: NodeInfo | None = None


class Endpoint(Wire, frozen=True):
    """Where the control plane is reached."""

    host: Annotated[str, "Name or address."] = ""
    port: Annotated[int | None, Limits(format="int32", minimum=0, maximum=65535), "Port."] = None


class FailureDomain(Wire, frozen=True):
    """A zone machines may stand in."""

    control_plane: Annotated[bool | None, "Whether control planes may stand here."] = None
    attributes: Annotated[dict[str, str], "What else is known of it."] = msgspec.field(default_factory=dict)


class InfraClusterStatus(Wire, frozen=True):
    """What became of a cluster's infrastructure."""

    ready: Annotated[bool, "Whether machines can be made; the older contract reads this."] = False
    initialization: Annotated[Initialization | None, "The same, for the newer contract."] = None
    failure_domains: Annotated[dict[str, FailureDomain], "Zones, by name."] = msgspec.field(default_factory=dict)
    conditions: Annotated[tuple[Condition, ...], BY_TYPE, "What holds of it."] = ()


_CLUSTER: Final = Column("Cluster", ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name")


def machine_columns(state: str, size: str) -> tuple[Column, ...]:
    """Columns of an infrastructure machine; where its state and its size stand differs."""
    return (
        _CLUSTER,
        Column("State", state),
        READY,
        Column("ProviderID", ".spec.providerID"),
        Column("Machine", '.metadata.ownerReferences[?(@.kind=="Machine")].name'),
        AGE,
        Column("Size", size, priority=1),
        Column("Interruptible", ".status.interruptible", priority=1),
        Column("Failure", ".status.failureReason", priority=1),
    )


CLUSTER_COLUMNS: Final = (_CLUSTER, Column("Ready", ".status.ready"), AGE)


def infrastructure(
    kind: Kind, struct: type[Wire], columns: tuple[Column, ...] = (AGE,), short_names: tuple[str, ...] = ()
) -> Definition:
    """A kind of a cloud, as Cluster API wants it defined."""
    return Definition(
        kind=kind,
        struct=struct,
        categories=CATEGORY,
        short_names=short_names,
        columns=columns,
        labels=contract_labels(kind),
    )
