"""NodeClaims: orders for one machine each, and what has become of them; and Nodes as the API server holds them.

A claim is written down before anything is bought, with the finalizer that keeps it until its machine is gone. From
then on it is the memory of the machine: which one it is, which Node it became, how far it has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions, labels
from dovetail.core.conditions import Conditions, ConditionSet
from dovetail.core.nodepools import NodeClassRef
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.taints import Effect, Taint

FINALIZER: Final = "karpenter.sh/termination"

LAUNCHED: Final = "Launched"
REGISTERED: Final = "Registered"
INITIALIZED: Final = "Initialized"
READY: Final = "Ready"
CONSOLIDATABLE: Final = "Consolidatable"
DRIFTED: Final = "Drifted"
DRAINED: Final = "Drained"
VOLUMES_DETACHED: Final = "VolumesDetached"
INSTANCE_TERMINATING: Final = "InstanceTerminating"
CONSISTENT: Final = "ConsistentStateFound"
DISRUPTION_REASON: Final = "DisruptionReason"
REBOOTING: Final = "Rebooting"

#: What a claim is judged by, and Ready, which sums it up.
CLAIM_CONDITIONS: Final = ConditionSet(READY, (LAUNCHED, REGISTERED, INITIALIZED))

REGISTERED_LABEL: Final = "karpenter.sh/registered"
INITIALIZED_LABEL: Final = "karpenter.sh/initialized"
DO_NOT_SYNC_TAINTS: Final = "karpenter.sh/do-not-sync-taints"
EXCLUDE_FROM_BALANCERS: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
POOL_HASH: Final = "karpenter.sh/nodepool-hash"
POOL_HASH_VERSION: Final = "karpenter.sh/nodepool-hash-version"
TERMINATION_TIME: Final = "karpenter.sh/nodeclaim-termination-timestamp"
MIN_VALUES_RELAXED: Final = "karpenter.sh/nodeclaim-min-values-relaxed"

UNREGISTERED: Final = Taint("karpenter.sh/unregistered", Effect.NO_EXECUTE)
DISRUPTED: Final = Taint("karpenter.sh/disrupted", Effect.NO_SCHEDULE)

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom an object belongs to."""

    kind: str
    name: str
    uid: str
    api_version: str = ""


@dataclass(frozen=True, slots=True)
class Meta:
    """What every API object has. Times are seconds since 1970; `deleting` is None unless it is being deleted."""

    name: str
    uid: str = ""
    version: str = ""
    generation: int = 1
    created: float = 0.0
    deleting: float | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    finalizers: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """One order. The spec never changes; everything from `provider_id` on is what became of it.

    `grace` (terminationGracePeriod) and `expire_after` are seconds; None is no bound, and never.
    """

    meta: Meta
    node_class: NodeClassRef
    requirements: Requirements = EMPTY
    requests: Resources = NOTHING
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    grace: float | None = None
    expire_after: float | None = None
    provider_id: str = ""
    image_id: str = ""
    node_name: str = ""
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    conditions: Conditions = ()
    last_pod_event: float | None = None

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def pool(self) -> str | None:
        return self.meta.labels.get(labels.NODEPOOL)

    @property
    def is_deleting(self) -> bool:
        return self.meta.deleting is not None

    def is_true(self, type_: str) -> bool:
        return conditions.is_true(self.conditions, type_)


@dataclass(frozen=True, slots=True)
class NodeObject:
    """A Node as the API server holds it; `core.nodes.Node` is what planning makes of it and its claim."""

    meta: Meta
    provider_id: str = ""
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    conditions: Conditions = ()
    boot_id: str = ""
    #: CSI drivers and how many volumes each may attach, from the CSINode beside it.
    volume_limits: tuple[tuple[str, int], ...] = ()

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def is_ready(self) -> bool:
        return conditions.is_true(self.conditions, READY)

    @property
    def is_registered(self) -> bool:
        """Whether its claim was found to be registered: the Node says so first."""
        return self.meta.labels.get(REGISTERED_LABEL) == "true"

    @property
    def is_initialized(self) -> bool:
        """Whether its claim was found to be initialized, likewise."""
        return self.meta.labels.get(INITIALIZED_LABEL) == "true"

    @property
    def is_deleting(self) -> bool:
        return self.meta.deleting is not None
