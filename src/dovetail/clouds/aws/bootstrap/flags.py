"""The kubelet's settings as flags of its command line, where an image takes them so."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.clouds.aws.bootstrap.boot import Boot

#: Settings that are one value, and their flags.
_PLAIN = (
    ("podsPerCore", "pods-per-core"),
    ("evictionMaxPodGracePeriod", "eviction-max-pod-grace-period"),
    ("imageGCHighThresholdPercent", "image-gc-high-threshold"),
    ("imageGCLowThresholdPercent", "image-gc-low-threshold"),
)
#: Settings that are maps, their flags, and what stands between a key and its value.
_TABLES = (
    ("systemReserved", "system-reserved", "="),
    ("kubeReserved", "kube-reserved", "="),
    ("evictionHard", "eviction-hard", "<"),
    ("evictionSoft", "eviction-soft", "<"),
    ("evictionSoftGracePeriod", "eviction-soft-grace-period", "="),
)


def of(boot: Boot) -> Iterator[str]:
    labels = ",".join(f"{key}={value}" for key, value in boot.node_labels)
    yield f'--node-labels="{labels}"'
    taints = ",".join(f"{one.key}={one.value}:{one.effect}" for one in boot.node_taints)
    yield f'--register-with-taints="{taints}"'
    if boot.max_pods is not None:
        yield f"--max-pods={boot.max_pods}"
    for name, flag in _PLAIN:
        if boot.setting(name) is not None:
            yield f"--{flag}={boot.setting(name)}"
    for name, flag, between in _TABLES:
        table = boot.table(name)
        if table:
            yield f"--{flag}=" + ",".join(f"{key}{between}{value}" for key, value in table.items())
    if boot.setting("cpuCFSQuota") is not None:
        yield f"--cpu-cfs-quota={str(bool(boot.setting('cpuCFSQuota'))).lower()}"
