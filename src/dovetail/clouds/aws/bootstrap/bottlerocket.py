"""Bottlerocket: settings in TOML, the user's and ours merged, ours having the last word."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Final

from dovetail.clouds.aws.bootstrap import toml
from dovetail.clouds.aws.bootstrap.boot import Boot
from dovetail.core.errors import BadValue

Table = dict[str, Any]
#: Settings that are maps of texts.
_TABLES: Final = (
    ("systemReserved", "system-reserved"),
    ("kubeReserved", "kube-reserved"),
    ("evictionHard", "eviction-hard"),
    ("evictionSoft", "eviction-soft"),
    ("evictionSoftGracePeriod", "eviction-soft-grace-period"),
)
#: Settings that are one value; Bottlerocket wants percentages as text.
_PLAIN: Final = (
    ("evictionMaxPodGracePeriod", "eviction-max-pod-grace-period", False),
    ("imageGCHighThresholdPercent", "image-gc-high-threshold-percent", True),
    ("imageGCLowThresholdPercent", "image-gc-low-threshold-percent", True),
    ("cpuCFSQuota", "cpu-cfs-quota-enforced", False),
)


def user_data(boot: Boot) -> str:
    return toml.written(_merged(_users(boot.custom), {"settings": {"kubernetes": _kubernetes(boot)}}))


def _users(text: str) -> Table:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise BadValue(f"userData of Bottlerocket must be TOML: {wrong}") from None


def _kubernetes(boot: Boot) -> Table:
    home = boot.home
    found: Table = {"cluster-name": home.name, "api-server": home.endpoint}
    if home.authority:
        found["cluster-certificate"] = home.authority
    if boot.name_servers:
        found["cluster-dns-ip"] = boot.name_servers[0]
    if boot.max_pods is not None:
        found["max-pods"] = boot.max_pods
    found["node-labels"] = dict(boot.node_labels)
    taints: dict[str, list[str]] = {}
    for one in boot.node_taints:
        taints.setdefault(one.key, []).append(f"{one.value}:{one.effect}")
    found["node-taints"] = taints
    for name, setting in _TABLES:
        if boot.table(name):
            found[setting] = boot.table(name)
    for name, setting, as_text in _PLAIN:
        value = boot.setting(name)
        if value is not None:
            found[setting] = str(value) if as_text else value
    return found


def _merged(first: Mapping[str, Any], last: Mapping[str, Any]) -> Table:
    """Tables are merged; of anything else the last one holds."""
    found = dict(first)
    for key, value in last.items():
        mine = found.get(key)
        both = isinstance(mine, Mapping) and isinstance(value, Mapping)
        found[key] = _merged(mine, value) if both else value  # type: ignore[arg-type]
    return found
