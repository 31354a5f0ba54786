"""The kubelet block of an EC2NodeClass: what nodes hold back, and when they begin to evict.

Settings that are not named here are kept, for the images that take them; whether they do is for the class's conditions
to say, as is whether expressions are enabled, which the schema tells from typing errors by the variables they mention.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dovetail.api.crds.parts import QUANTITY_BODY
from dovetail.api.crds.schema import IntOrString, Limits, Rule, Wire
from dovetail.core.kubelet import LARGEST_COUNT, VARIABLES

_PERCENT: Final = r"(\d{1,2}(\.\d{1,2})?|100(\.0{1,2})?)%"
#: A percentage, nothing at all, or a quantity of either sign: wider than the kubelet's own reading.
_THRESHOLD: Final = f"^({_PERCENT}||{QUANTITY_BODY})$"
_SIGNALS: Final = (
    "self.all(x, x in ['memory.available','nodefs.available','nodefs.inodesFree',"
    "'imagefs.available','imagefs.inodesFree','pid.available'])"
)


def _reserved(field: str) -> tuple[Rule, Rule]:
    return (
        Rule(
            "self.all(x, x=='cpu' || x=='memory' || x=='ephemeral-storage' || x=='pid')",
            f"{field} may name cpu, memory, ephemeral-storage and pid only",
        ),
        Rule("self.all(x, !self[x].startsWith('-'))", f"{field} may not be negative"),
    )


def _signals(field: str) -> Rule:
    return Rule(_SIGNALS, f"{field} may name the kubelet's eviction signals only")


_VARIABLE: Final = f"({'|'.join(VARIABLES)})"
Reserved = dict[str, Annotated[str, Limits(pattern=f"^{QUANTITY_BODY}$|{_VARIABLE}")]]
CountOrFormula = Annotated[int | str | None, IntOrString(), Limits(pattern=_VARIABLE, minimum=0, maximum=LARGEST_COUNT)]
Thresholds = dict[str, Annotated[str, Limits(pattern=_THRESHOLD)]]
Percent = Annotated[int | None, Limits(format="int32", minimum=0, maximum=100)]
Count = Annotated[int | None, Limits(format="int32", minimum=0)]

KUBELET_RULES: Final = (
    Rule(
        "has(self.imageGCHighThresholdPercent) && has(self.imageGCLowThresholdPercent) ?  "
        "self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent  : true",
        "imageGCHighThresholdPercent must be above imageGCLowThresholdPercent",
    ),
    Rule(
        "has(self.evictionSoft) ? self.evictionSoft.all(e, (e in self.evictionSoftGracePeriod)):true",
        "evictionSoft may name signals only that evictionSoftGracePeriod names too",
    ),
    Rule(
        "has(self.evictionSoftGracePeriod) ? self.evictionSoftGracePeriod.all(e, (e in self.evictionSoft)):true",
        "evictionSoftGracePeriod may name signals only that evictionSoft names too",
    ),
)


class Kubelet(Wire, frozen=True):
    """How the kubelet of the nodes is set up."""

    cluster_dns: Annotated[tuple[str, ...], "Addresses of the cluster's name server."] = msgspec.field(
        default=(), name="clusterDNS"
    )
    max_pods: Annotated[
        CountOrFormula, "At most so many pods on a node: a number, or with the gate NodeClassCEL an expression."
    ] = None
    pods_per_core: Annotated[Count, "At most so many pods for each core."] = None
    kube_reserved: Annotated[Reserved, *_reserved("kubeReserved"), "Held back for Kubernetes itself."] = msgspec.field(
        default_factory=dict
    )
    system_reserved: Annotated[Reserved, *_reserved("systemReserved"), "Held back for the system."] = msgspec.field(
        default_factory=dict
    )
    eviction_hard: Annotated[Thresholds, _signals("evictionHard"), "Below this, pods are evicted at once."] = (
        msgspec.field(default_factory=dict)
    )
    eviction_soft: Annotated[
        Thresholds, _signals("evictionSoft"), "Below this, pods are evicted after the grace period."
    ] = msgspec.field(default_factory=dict)
    eviction_soft_grace_period: Annotated[
        dict[str, str], _signals("evictionSoftGracePeriod"), "How long each soft threshold may be crossed."
    ] = msgspec.field(default_factory=dict)
    eviction_max_pod_grace_period: Annotated[
        int | None, Limits(format="int32"), "Seconds a pod evicted for a soft threshold may take to end."
    ] = None
    image_gc_high_threshold_percent: Annotated[Percent, "Above this use of the disk, images are removed."] = (
        msgspec.field(default=None, name="imageGCHighThresholdPercent")
    )
    image_gc_low_threshold_percent: Annotated[Percent, "Down to this use of the disk, images are removed."] = (
        msgspec.field(default=None, name="imageGCLowThresholdPercent")
    )
    cpu_cfs_quota: Annotated[bool | None, "Whether CPU limits are enforced."] = msgspec.field(
        default=None, name="cpuCFSQuota"
    )
