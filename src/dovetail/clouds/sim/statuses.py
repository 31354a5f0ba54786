"""What kubelets write: the status of Nodes and pods, and the leases that say they are alive."""

from __future__ import annotations

import zlib
from typing import Any, Final

from dovetail.core import timestamps

Body = dict[str, Any]

READY_REASON: Final = "KubeletReady"
SICK_REASON: Final = "KubeletNotReady"
LEASE_SECONDS: Final = 40
_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def _condition(type_: str, status: str, reason: str, message: str, now: float) -> Body:
    stamp = timestamps.text(now)
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
    }


def _address(name: str, network: int) -> str:
    """An address that a name always has, and that few share."""
    number = zlib.crc32(name.encode())
    return f"{network}.{number >> 16 & 255}.{number >> 8 & 255}.{number % 254 + 1}"


# ---- nodes


def booted(name: str, boot_id: str, arch: str, system: str, now: float) -> Body:
    """A Node that is up. Conditions others put on it are none of a kubelet's business, and stay."""
    return {
        "phase": "Running",
        "conditions": [
            *(_condition(kind, "False", reason, message, now) for kind, reason, message in _PRESSURES),
            _condition("Ready", "True", READY_REASON, "kubelet is posting ready status", now),
        ],
        "addresses": [
            {"type": "InternalIP", "address": _address(name, 10)},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "architecture": arch,
            "operatingSystem": system,
            "bootID": boot_id or f"boot-{zlib.crc32(f'{name} {now}'.encode()):08x}",
            "machineID": name,
            "systemUUID": name,
            "kernelVersion": "simulated",
            "osImage": "simulated",
            "containerRuntimeVersion": "simulated",
            "kubeletVersion": "simulated",
            "kubeProxyVersion": "simulated",
        },
    }


def sick(now: float) -> Body:
    return {"conditions": [_condition("Ready", "False", SICK_REASON, "the simulated machine is not well", now)]}


def healed(now: float) -> Body:
    return {"conditions": [_condition("Ready", "True", READY_REASON, "kubelet is posting ready status", now)]}


def lost(now: float) -> Body:
    """What a control plane says of a Node it hears nothing more of."""
    return {
        "conditions": [_condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", now)]
    }


def lease(node: str, uid: str, now: float) -> Body:
    """It goes with its Node."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": node,
            "namespace": "kube-node-lease",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}],
        },
        "spec": {
            "holderIdentity": node,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": timestamps.text(now, micros=True),
        },
    }


# ---- pods


def running(pod: str, node: str, containers: tuple[tuple[str, str], ...], now: float) -> Body:
    """A pod all of whose containers run. `containers` are names and images."""
    stamp = timestamps.text(now)
    address = _address(pod, 100)
    return {
        "phase": "Running",
        "startTime": stamp,
        "hostIP": _address(node, 10),
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [_pod_condition(one, True, stamp) for one in ("Initialized", "Ready", "ContainersReady")],
        "containerStatuses": [
            _container(name, image, {"running": {"startedAt": stamp}}, True) for name, image in containers
        ],
    }


def ended(containers: tuple[tuple[str, str], ...], well: bool, started: float, now: float) -> Body:
    """A pod whose containers have ended, well or not."""
    stamp = timestamps.text(now)
    state = {
        "terminated": {
            "exitCode": 0 if well else 137,
            "reason": "Completed" if well else "Error",
            "startedAt": timestamps.text(started),
            "finishedAt": stamp,
        }
    }
    why = {"reason": "PodCompleted"} if well else {"reason": "PodFailed"}
    return {
        "phase": "Succeeded" if well else "Failed",
        "conditions": [{**_pod_condition(one, False, stamp), **why} for one in ("Ready", "ContainersReady")],
        "containerStatuses": [_container(name, image, state, False) for name, image in containers],
    }


def _pod_condition(type_: str, status: bool, stamp: str) -> Body:
    return {"type": type_, "status": "True" if status else "False", "lastTransitionTime": stamp}


def _container(name: str, image: str, state: Body, up: bool) -> Body:
    return {
        "name": name,
        "image": image,
        "imageID": "",
        "ready": up,
        "started": up,
        "restartCount": 0,
        "state": state,
    }
