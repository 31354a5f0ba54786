"""Whether a class's kubelet block can be given to its nodes: which settings there are, and which an image takes.

The schema checks most of this where it is ours. A cluster may have the peer's newer one, which checks nothing and lets
any setting of the kubelet through; then it is checked here. AL2023 hands every setting on; the images of the other
families take those in `UNDERSTOOD`, and of a Custom image nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovetail.api.fields import near
from dovetail.core import expressions, kubelet, timestamps
from dovetail.core.errors import BadInput, shown
from dovetail.core.kubelet import KubeletSettings

INVALID: Final = "InvalidKubeletConfiguration"
UNSUPPORTED: Final = "UnsupportedKubeletConfiguration"
DISABLED: Final = "KubeletExpressionDisabled"
UNREADABLE: Final = "KubeletExpressionInvalid"
UNWORKABLE: Final = "KubeletExpressionEvaluationFailed"
UNDERSTOOD: Final = (
    *("clusterDNS", "maxPods", "podsPerCore", "systemReserved", "kubeReserved", "evictionHard", "evictionSoft"),
    *("evictionSoftGracePeriod", "evictionMaxPodGracePeriod", "imageGCHighThresholdPercent"),
    *("imageGCLowThresholdPercent", "cpuCFSQuota"),
)
#: Ours, beside the kubelet's: how kubeReserved is worked out (S2.11).
_OURS: Final = ("kubeReservedStrategy", "evictionThreshold")
#: The rest of kubelet.config.k8s.io/v1beta1.
_OTHERS: Final = """
    address allowedUnsafeSysctls authentication authorization cgroupDriver cgroupRoot cgroupsPerQOS clusterDomain
    configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize containerLogMaxWorkers
    containerLogMonitorInterval containerRuntimeEndpoint contentType cpuCFSQuotaPeriod cpuManagerPolicy
    cpuManagerPolicyOptions cpuManagerReconcilePeriod crashLoopBackOff enableContentionProfiling
    enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers enableProfilingHandler enableServer
    enableSystemLogHandler enableSystemLogQuery enforceNodeAllocatable eventBurst eventRecordQPS
    evictionMinimumReclaim evictionPressureTransitionPeriod failCgroupV1 failSwapOn featureGates fileCheckFrequency
    hairpinMode healthzBindAddress healthzPort httpCheckFrequency imageMaximumGCAge imageMinimumGCAge
    imagePullCredentialsVerificationPolicy imageServiceEndpoint iptablesDropBit iptablesMasqueradeBit
    kernelMemcgNotification kubeAPIBurst kubeAPIQPS kubeReservedCgroup kubeletCgroups localStorageCapacityIsolation
    logging makeIPTablesUtilChains maxOpenFiles maxParallelImagePulls memoryManagerPolicy memorySwap
    memoryThrottlingFactor mergeDefaultEvictionSettings nodeLeaseDurationSeconds nodeStatusMaxImages
    nodeStatusReportFrequency nodeStatusUpdateFrequency oomScoreAdj podCIDR podLogsDir podPidsLimit port
    preloadedImagesVerificationAllowlist protectKernelDefaults providerID qosReserved readOnlyPort registerNode
    registryBurst registryPullQPS reservedMemory reservedSystemCPUs resolvConf rotateCertificates runOnce
    runtimeRequestTimeout seccompDefault serializeImagePulls serverTLSBootstrap showHiddenMetricsForVersion
    shutdownGracePeriod shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods singleProcessOOMKill
    staticPodPath staticPodURL staticPodURLHeader streamingConnectionIdleTimeout syncFrequency systemCgroups
    systemReservedCgroup tlsCertFile tlsCipherSuites tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy
    topologyManagerPolicyOptions topologyManagerScope tracing userNamespaces volumePluginDir volumeStatsAggPeriod
"""
KNOWN: Final = frozenset((*UNDERSTOOD, *_OURS, *_OTHERS.split()))
_WHOLE: Final = (
    "podsPerCore",
    "evictionMaxPodGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
)
_SOFT, _GRACE = "evictionSoft", "evictionSoftGracePeriod"


@dataclass(frozen=True, slots=True)
class Wrong:
    """What cannot be: a reason for the condition and a sentence that names the field."""

    reason: str
    message: str


def wrong(block: Mapping[str, Any], family: str, *, formulas: bool = False) -> Wrong | None:
    """The first thing that is wrong with a kubelet block, None if its nodes can have it. `formulas`: it may have
    expressions, which are worked out elsewhere (`market.unworkable`)."""
    return next(_everything(block, family, formulas), None)


def handed_on(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """The block in the kubelet's own words: what stands under `evictionThreshold`, which is no setting of it, goes
    where it reads it, unless something stands there already."""
    nested = block.get("evictionThreshold")
    if not isinstance(nested, Mapping):
        return block
    found = {name: value for name, value in block.items() if name != "evictionThreshold"}
    for short, name in (("hard", "evictionHard"), ("soft", _SOFT)):
        if nested.get(short) and not found.get(name):
            found[name] = nested[short]
    return found


def settings(block: Mapping[str, Any]) -> KubeletSettings:
    """What of a block that `wrong` lets pass decides how much room there is on a node."""
    return kubelet.parse_settings(_understood(block), "spec", "kubelet", formulas=True)


def _understood(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key in UNDERSTOOD}


def _everything(block: Mapping[str, Any], family: str, formulas: bool) -> Iterator[Wrong]:
    yield from _names(block)
    yield from _unreadable(block) if formulas else _expressions(block)
    try:
        kubelet.parse_settings(_understood(block), "spec", "kubelet", formulas=formulas)
    except BadInput as bad:
        yield Wrong(INVALID, str(bad))
    yield from _numbers(block)
    yield from _graces(block)
    yield from _unsupported(block, family)


def _names(block: Mapping[str, Any]) -> Iterator[Wrong]:
    if "registerWithTaints" in block:
        told = "spec.kubelet.registerWithTaints may not be set; write the taints in the NodePool"
        yield Wrong(INVALID, told)
    for name in block:
        if name not in KNOWN:
            told = f"spec.kubelet.{name} is no setting of the kubelet; {near(name, UNDERSTOOD)}"
            yield Wrong(INVALID, told)


def _expressions(block: Mapping[str, Any]) -> Iterator[Wrong]:
    """Where expressions are not enabled, those there are. What cannot be read as one is judged as an amount."""
    for name, text in _texts(block):
        try:
            expressions.parse(text, kubelet.VARIABLES)
        except BadInput:
            if name != kubelet.MAX_PODS:
                continue
        told = f"spec.kubelet.{name} is {shown(text)}, an expression; they are not enabled: write a number"
        yield Wrong(DISABLED, f"{told}, or set AWS_FEATURE_GATES=NodeClassCEL=true for the controller")


def _unreadable(block: Mapping[str, Any]) -> Iterator[Wrong]:
    for name, text in _texts(block):
        try:
            expressions.parse(text, kubelet.VARIABLES)
        except BadInput as bad:
            told = f"spec.kubelet.{name} is {shown(text)}, which is neither an amount nor an expression: {bad}"
            yield Wrong(UNREADABLE, told)


def _texts(block: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for setting, resource, text in kubelet.texts(block):
        yield f"{setting}.{resource}" if resource else setting, text


def _numbers(block: Mapping[str, Any]) -> Iterator[Wrong]:
    for name in _WHOLE:
        value = block.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            yield Wrong(INVALID, f"spec.kubelet.{name} is {shown(value)}; write a whole number, 0 or more")
    high, low = block.get("imageGCHighThresholdPercent"), block.get("imageGCLowThresholdPercent")
    for name, value in (("imageGCHighThresholdPercent", high), ("imageGCLowThresholdPercent", low)):
        if isinstance(value, int) and value > 100:
            yield Wrong(INVALID, f"spec.kubelet.{name} is {value}; a percentage is from 0 to 100")
    if isinstance(high, int) and isinstance(low, int) and high <= low:
        told = f"spec.kubelet.imageGCHighThresholdPercent ({high}) must be above imageGCLowThresholdPercent ({low})"
        yield Wrong(INVALID, told)
    for name in ("kubeReserved", "systemReserved"):
        for key, value in (block.get(name) or {}).items():
            if str(value).startswith("-"):
                yield Wrong(INVALID, f"spec.kubelet.{name}.{key} is {value}; it may not be negative")


def _graces(block: Mapping[str, Any]) -> Iterator[Wrong]:
    soft, graces = block.get(_SOFT) or {}, block.get(_GRACE) or {}
    for signal in soft:
        if signal not in graces:
            yield Wrong(INVALID, f"spec.kubelet.{_SOFT}.{signal} has no grace period; add it to {_GRACE}")
    for signal, period in graces.items():
        if signal not in soft:
            yield Wrong(INVALID, f"spec.kubelet.{_GRACE}.{signal} has no threshold; add it to {_SOFT}")
        try:
            timestamps.duration(str(period))
        except BadInput as bad:
            yield Wrong(INVALID, f"spec.kubelet.{_GRACE}.{signal}: {bad}")


def _unsupported(block: Mapping[str, Any], family: str) -> Iterator[Wrong]:
    if family in ("AL2023", "Custom"):
        return
    for name in block:
        if name not in UNDERSTOOD and name not in _OURS:
            told = f"spec.kubelet.{name} cannot be set on {family}; remove it, or use AL2023, which takes all settings"
            yield Wrong(UNSUPPORTED, told)
    if family == "Bottlerocket" and block.get("podsPerCore") is not None:
        told = "spec.kubelet.podsPerCore cannot be set on Bottlerocket; use maxPods"
        yield Wrong(UNSUPPORTED, told)
    if len(block.get("clusterDNS") or ()) > 1:
        yield Wrong(UNSUPPORTED, f"spec.kubelet.clusterDNS may have one address on {family}")
