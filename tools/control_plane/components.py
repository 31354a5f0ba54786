"""What each program is told on its command line. All of it on 127.0.0.1, none of it for production.

etcd skips fsync (a test's data may die with the machine); clients of the API server get high limits, else their default
queries per second decide every end-to-end time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Files of one control plane, all under one directory that is removed with it."""

    directory: Path
    ports: Ports

    def file(self, name: str) -> str:
        return str(self.directory / name)

    @property
    def etcd_url(self) -> str:
        return f"http://{HOST}:{self.ports.etcd}"

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.ports.apiserver}"


def etcd(layout: Layout) -> list[str]:
    peer = f"http://{HOST}:{layout.ports.etcd_peer}"
    return [
        f"--data-dir={layout.file('etcd')}",
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--listen-client-urls={layout.etcd_url}",
        f"--advertise-client-urls={layout.etcd_url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    ]


def apiserver(layout: Layout) -> list[str]:
    return [
        f"--etcd-servers={layout.etcd_url}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",
        f"--secure-port={layout.ports.apiserver}",
        f"--tls-cert-file={layout.file('server.crt')}",
        f"--tls-private-key-file={layout.file('server.key')}",
        f"--client-ca-file={layout.file('ca.crt')}",
        "--authorization-mode=Node,RBAC",
        # As on clusters that ask for a right to whatever an owner reference blocks.
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.file('tokens.key')}",
        f"--service-account-signing-key-file={layout.file('tokens.key')}",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def controller_manager(layout: Layout) -> list[str]:
    kubeconfig = layout.file("controller-manager.kubeconfig")
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={HOST}",
        f"--secure-port={layout.ports.controller_manager}",
        f"--tls-cert-file={layout.file('server.crt')}",
        f"--tls-private-key-file={layout.file('server.key')}",
        "--leader-elect=false",
        f"--service-account-private-key-file={layout.file('tokens.key')}",
        f"--root-ca-file={layout.file('ca.crt')}",
        "--use-service-account-credentials=true",
        "--kube-api-qps=200",
        "--kube-api-burst=300",
        "--profiling=false",
    ]


def scheduler(layout: Layout) -> list[str]:
    kubeconfig = layout.file("scheduler.kubeconfig")
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 500, "burst": 1000},
    }
    Path(layout.file("scheduler.yaml")).write_text(json.dumps(config), encoding="utf-8")
    return [
        f"--config={layout.file('scheduler.yaml')}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={HOST}",
        f"--secure-port={layout.ports.scheduler}",
        f"--tls-cert-file={layout.file('server.crt')}",
        f"--tls-private-key-file={layout.file('server.key')}",
    ]


def kwok(layout: Layout, node_labels: str) -> list[str]:
    config = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": {
            "cidr": "10.0.0.0/8",
            "manageAllNodes": False,
            "manageNodesWithLabelSelector": node_labels,
            "enableCRDs": ["Stage"],
            "nodePlayStageParallelism": 16,
            "podPlayStageParallelism": 16,
            "nodeLeaseDurationSeconds": 40,
            # Kubelets do not wait for one another; kwok's own 4 make each Node wait for all before it to get its lease.
            "nodeLeaseParallelism": 16,
        },
    }
    Path(layout.file("kwok.yaml")).write_text(json.dumps(config), encoding="utf-8")
    return [
        f"--config={layout.file('kwok.yaml')}",
        f"--kubeconfig={layout.file('kwok.kubeconfig')}",
        f"--server-address={HOST}:{layout.ports.kwok}",
    ]


def cluster_api(layout: Layout, health: int, webhooks: int) -> list[str]:
    return [
        f"--kubeconfig={layout.file('cluster-api.kubeconfig')}",
        f"--health-addr={HOST}:{health}",
        f"--diagnostics-address={HOST}:0",
        "--insecure-diagnostics=true",
        f"--webhook-port={webhooks}",
        f"--webhook-cert-dir={layout.directory}",
        "--webhook-cert-name=server.crt",
        "--webhook-key-name=server.key",
        "--kube-api-qps=200",
        "--kube-api-burst=300",
    ]
