"""Pods and Nodes as a busy cluster stores them, for the Kubernetes benchmark: the same bytes on every machine.

A pod is about 4.9 kB, as one with two containers and the usual injected parts is: managed fields, tokens, tolerations,
status. Pods of one ReplicaSet are equal but for what a real server makes different in each: names, uids, the name of
the token volume, addresses, times and container ids.
"""

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import Any, Final

Json = dict[str, Any]
REPLICAS: Final = 50
PODS_A_NODE: Final = 20
_SIZES: Final = ("100m", "250m", "500m", "1", "2")


def _hex(*parts: object) -> str:
    return sha256("/".join(map(str, parts)).encode()).hexdigest()


def uid(*parts: object) -> str:
    digits = _hex(*parts)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def pod(number: int, version: int, phase: str = "Running") -> Json:
    """Pod `number`, as it stands at `version`."""
    app, short = number // REPLICAS, _hex("pod", number)
    return {
        "metadata": _metadata(number, version, app),
        "spec": _spec(number, app, short[:5]),
        "status": _status(number, short, phase),
    }


def pod_line(number: int, version: int, phase: str = "Running") -> bytes:
    return json.dumps(pod(number, version, phase), separators=(",", ":")).encode()


def _metadata(number: int, version: int, app: int) -> Json:
    owner = f"app-{app}-{_hex(app)[:9]}"
    return {
        "name": f"{owner}-{_hex('pod', number)[:5]}{number:x}",
        "generateName": f"{owner}-",
        "namespace": f"team-{app % 20}",
        "uid": uid("pod", number),
        "resourceVersion": str(version),
        "generation": 1,
        "creationTimestamp": f"2026-03-{1 + number % 27:02}T{number % 24:02}:{number % 60:02}:07Z",
        "labels": {"app": f"app-{app}", "pod-template-hash": _hex(app)[:9], "team": f"team-{app % 20}"},
        "annotations": {"prometheus.io/scrape": "true", "kubectl.kubernetes.io/restartedAt": "2026-02-01T10:00:00Z"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": owner,
                "uid": uid("rs", app),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "managedFields": _managed(),
    }


@cache
def _managed() -> list[Json]:
    fields = {f"f:field-{at}": {"f:name": {}, f"f:value-{at}": {".": {}}} for at in range(2)}
    container = {".": {}, "f:env": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {}}
    template = {"f:metadata": {"f:labels": fields}, "f:spec": {"f:containers": {'k:{"name":"main"}': container}}}
    entry = {"apiVersion": "v1", "operation": "Update", "time": "2026-03-01T10:00:00Z", "fieldsType": "FieldsV1"}
    kubelet = {"f:status": {"f:conditions": {}, "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}}}
    return [
        {"manager": "kube-controller-manager", **entry, "fieldsV1": template},
        {"manager": "kubelet", **entry, "subresource": "status", "fieldsV1": kubelet},
    ]


def _spec(number: int, app: int, short: str) -> Json:
    token = f"kube-api-access-{short}"
    size = _SIZES[app % len(_SIZES)]
    return {
        "volumes": [
            {"name": "config", "configMap": {"name": f"app-{app}", "defaultMode": 420}},
            {
                "name": token,
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    ],
                    "defaultMode": 420,
                },
            },
        ],
        "containers": [_container("main", app, token, size), _container("proxy", app, token, "100m")],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "nodeName": f"node-{number // PODS_A_NODE}",
        "securityContext": {},
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "podAffinityTerm": {
                            "labelSelector": {"matchLabels": {"app": f"app-{app}"}},
                            "topologyKey": "kubernetes.io/hostname",
                        },
                    }
                ]
            }
        },
        "schedulerName": "default-scheduler",
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _container(name: str, app: int, token: str, size: str) -> Json:
    return {
        "name": name,
        "image": f"registry.example/{name}/app-{app}:1.2.3",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{at}", "value": f"value-{app}-{at}"} for at in range(3)],
        "resources": {"requests": {"cpu": size, "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app"},
            {"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _status(number: int, short: str, phase: str) -> Json:
    when = f"2026-03-{1 + number % 27:02}T{number % 24:02}:{number % 60:02}:09Z"
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": phase,
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": when} for kind in kinds
        ],
        "hostIP": f"10.1.{number % 250}.{number % 199}",
        "podIP": f"10.2.{number % 250}.{number % 199}",
        "startTime": when,
        "containerStatuses": [
            {
                "name": name,
                "state": {"running": {"startedAt": when}},
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "image": f"registry.example/{name}:1.2.3",
                "imageID": f"registry.example/{name}@sha256:{_hex(name)}",
                "containerID": f"containerd://{_hex(short, name)}",
                "started": True,
            }
            for name in ("main", "proxy")
        ],
        "qosClass": "Burstable",
    }


def node(number: int, version: int) -> Json:
    """A node of about 5 kB, its list of images shortened as clusters with many set it to be."""
    room = {"cpu": "16", "ephemeral-storage": "100Gi", "memory": "64Gi", "pods": "110"}
    when = "2026-03-01T10:00:00Z"
    return {
        "metadata": {
            "name": f"node-{number}",
            "uid": uid("node", number),
            "resourceVersion": str(version),
            "creationTimestamp": when,
            "labels": {
                "kubernetes.io/hostname": f"node-{number}",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "m5.4xlarge",
                "topology.kubernetes.io/zone": f"zone-{number % 3}",
                "karpenter.sh/nodepool": "default",
                "karpenter.sh/capacity-type": "spot",
                "karpenter.sh/registered": "true",
                "karpenter.sh/initialized": "true",
            },
            "annotations": {"karpenter.sh/nodepool-hash": "123", "csi.volume.kubernetes.io/nodeid": "{}"},
            "managedFields": _managed(),
        },
        "spec": {"providerID": f"aws:///zone-{number % 3}/i-{_hex('node', number)[:17]}"},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [
                {
                    "type": kind,
                    "status": "True" if kind == "Ready" else "False",
                    "lastHeartbeatTime": when,
                    "lastTransitionTime": when,
                    "reason": "Kubelet",
                    "message": "kubelet says so",
                }
                for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
            ],
            "addresses": [{"type": "InternalIP", "address": f"10.3.{number % 250}.{number // 250}"}],
            "nodeInfo": {"machineID": uid("machine", number), "kubeletVersion": "v1.36.0", "architecture": "amd64"},
            "images": [{"names": [f"registry.example/a@sha256:{_hex(at)}"], "sizeBytes": 1000} for at in range(5)],
        },
    }


def node_line(number: int, version: int) -> bytes:
    return json.dumps(node(number, version), separators=(",", ":")).encode()


def page(lines: Iterator[bytes] | list[bytes], kind: str, version: int, more: str = "") -> bytes:
    """One page of a list, of items already written."""
    about = json.dumps({"resourceVersion": str(version), **({"continue": more} if more else {})}).encode()
    head = b'{"kind":"%sList","apiVersion":"v1","metadata":%s,"items":[' % (kind.encode(), about)
    return head + b",".join(lines) + b"]}\n"


def event(kind: str, line: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), line)
