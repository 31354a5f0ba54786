"""Cells of pods and nodes that take some thought: how a pod is doing, how a node is."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

_ROLE: Final = "node-role.kubernetes.io/"
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def duration(seconds: int) -> str:
    """As kubectl shortens it: the finer unit only while it says something."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds // _MINUTE, "m", seconds % _MINUTE, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds // _HOUR, "h", seconds % _HOUR // _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds // _DAY, "d", seconds % _DAY // _HOUR, "h")
    return f"{seconds // _DAY}d" if seconds < 730 * _DAY else f"{seconds // (365 * _DAY)}y"


def _two(first: int, one: str, second: int, other: str) -> str:
    return f"{first}{one}{second}{other}" if second else f"{first}{one}"


def _statuses(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return list((pod.get("status") or {}).get("containerStatuses") or ())


def ready(pod: dict[str, Any], now: datetime) -> str:
    total = len((pod.get("spec") or {}).get("containers") or ())
    return f"{sum(1 for one in _statuses(pod) if one.get('ready'))}/{total}"


def restarts(pod: dict[str, Any], now: datetime) -> str:
    return str(sum(one.get("restartCount", 0) for one in _statuses(pod)))


def status(pod: dict[str, Any], now: datetime) -> str:
    found = pod.get("status") or {}
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    shown = str(found.get("reason") or found.get("phase") or "")
    if (pod.get("spec") or {}).get("schedulingGates"):
        return "SchedulingGated"
    for one in _statuses(pod):
        state = one.get("state") or {}
        for name in ("waiting", "terminated"):
            if (state.get(name) or {}).get("reason"):
                shown = state[name]["reason"]
    return shown


def container_names(obj: dict[str, Any], now: datetime) -> str:
    return ",".join(one["name"] for one in obj["spec"]["template"]["spec"].get("containers") or ())


def images(obj: dict[str, Any], now: datetime) -> str:
    return ",".join(one.get("image", "") for one in obj["spec"]["template"]["spec"].get("containers") or ())


def node_status(node: dict[str, Any], now: datetime) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    found = next((one.get("status") for one in conditions if one.get("type") == "Ready"), None)
    shown = {"True": "Ready", "False": "NotReady"}.get(found or "", "Unknown" if found is None else "NotReady")
    return f"{shown},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else shown


def node_roles(node: dict[str, Any], now: datetime) -> str:
    labels = node["metadata"].get("labels") or {}
    roles = {label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE)}
    return ",".join(sorted(role for role in roles if role)) or "<none>"


def node_address(node: dict[str, Any], now: datetime) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((str(one.get("address")) for one in addresses if one.get("type") == "InternalIP"), "<none>")
