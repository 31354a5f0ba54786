"""`dovetail run` as its users run it: a process of its own, settings from the environment, under the very account and
roles that an installation makes, against the real control plane with kwok's controller playing kubelet."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests.live import objects
from tools.control_plane.access import Refused, kubeconfig
from tools.control_plane.ports import free_ports
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.api.install import objects as installed
from dovetail.api.install.installation import NAME, Installation
from dovetail.api.kinds import Kind
from dovetail.core import labels

Object = dict[str, Any]
NAMESPACE = "kube-system"
MERGE = "application/merge-patch+json"
# How long anything may take on a machine that does much else; what is true is seen at once. The scheduler looks again
# at pods it gave up on after five minutes at the latest.
PATIENCE = 330.0
LOOK_EVERY = 0.2


def install(plane: ControlPlane, cloud: str = "kwok") -> None:
    """Definitions, account and roles, as `dovetail install` applies them; the process is ours to start."""
    wanted = Installation(image="dovetail:test", cloud=cloud, namespace=NAMESPACE)
    for one in (
        *installed.definitions(cloud),
        installed.service_account(wanted),
        *installed.rights(wanted),
        *installed.rights_of_cloud(wanted, cloud),
    ):
        _, namespace = installed.name_of(one)
        plane.admin.apply(installed.kind_of(one).path(namespace=namespace), one)


def account(plane: ControlPlane, directory: Path) -> Path:
    """A kubeconfig with a token of the account."""
    path = f"{kinds.SERVICE_ACCOUNTS.path(NAME, NAMESPACE)}/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}}
    token = plane.admin.request("POST", path, asked)["status"]["token"]
    file = directory / "dovetail.kubeconfig"
    file.write_text(json.dumps(kubeconfig(plane.url, plane.authority, {"token": token})))
    return file


@dataclass
class Real:
    """The control plane with one dovetail on it."""

    cloud: ClassVar[str] = "kwok"
    plane: ControlPlane
    directory: Path
    process: subprocess.Popen[bytes] | None = None
    ports: list[int] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.directory / "dovetail.log"

    def start(self, **changed: str) -> None:
        self.ports = list(free_ports(2))
        settings = {
            "KUBECONFIG": str(account(self.plane, self.directory)),
            "METRICS_PORT": str(self.ports[0]),
            "HEALTH_PROBE_PORT": str(self.ports[1]),
            "SYSTEM_NAMESPACE": NAMESPACE,
            "BATCH_IDLE_DURATION": "200ms",
            "BATCH_MAX_DURATION": "2s",
            **self.settings(),
            **changed,
        }
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dovetail.main", "run", "--cloud", self.cloud],
                env={**os.environ, **settings},
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def settings(self) -> dict[str, str]:
        """What this cloud's users set besides."""
        return {"FEATURE_GATES": "StaticCapacity=true,NoSuchGate=true", "LOG_LEVEL": "info"}

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(timeout=120)
        self.process = None
        return code

    def until(self, true: Callable[[], object], seconds: float = PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while not self._looked(true):
            assert self.process is None or self.process.poll() is None, f"it ended: {self._last()}"
            assert time.monotonic() < deadline, f"not within {seconds} s: {self._last()}"
            time.sleep(LOOK_EVERY)

    def _looked(self, true: Callable[[], object]) -> object:
        try:
            return true()
        except (OSError, Refused, http.client.HTTPException):
            return False  # the server is away, or the process not there yet

    def _last(self) -> str:
        return "\n".join(self.log.read_text().splitlines()[-15:])

    # ---- the cluster

    def all(self, kind: Kind, query: str = "") -> list[Object]:
        return list(self.plane.admin.request("GET", f"{kind.path()}{query}")["items"])

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        return dict(self.plane.admin.request("GET", kind.path(name, namespace)))

    def put(self, kind: Kind, obj: Object, namespace: str = "") -> None:
        self.plane.admin.ensure(kind.path(namespace=namespace), obj)

    def edit(self, kind: Kind, name: str, body: Object, namespace: str = "") -> None:
        self.plane.admin.request("PATCH", kind.path(name, namespace), body, MERGE)

    def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        try:
            self.plane.admin.request("DELETE", kind.path(name, namespace))
        except Refused as refusal:
            if refusal.status != 404:
                raise

    def pods(self, name: str, count: int, **changed: Any) -> None:
        wanted = {"kwok-live": "true"}
        body = objects.deployment(name, count, nodeSelector=wanted, **changed)
        self.put(kinds.DEPLOYMENTS, body, "default")

    def delete_workloads(self) -> None:
        """With their pods, which the next to ask may call by the same names. They are scaled down first: whoever
        collects garbage on a server whose definitions come and go may take minutes."""
        found = (one["metadata"] for one in self.all(kinds.DEPLOYMENTS))
        names = [one["name"] for one in found if one["namespace"] == "default"]
        for name in names:
            self.edit(kinds.DEPLOYMENTS, name, {"spec": {"replicas": 0}}, "default")
        self.until(lambda: not any(self.all(kinds.PODS, f"?labelSelector=app%3D{name}") for name in names))
        for name in names:
            self.delete(kinds.DEPLOYMENTS, name, "default")

    def delete_pool(self, name: str) -> None:
        """With its claims, for which whoever collects garbage may take minutes as well."""
        self.delete(kinds.NODE_POOLS, name)
        self.delete_claims(name)

    def delete_claims(self, pool: str) -> None:
        for one in self.claims():
            about = one["metadata"]
            if about["labels"].get(labels.NODEPOOL) == pool and "deletionTimestamp" not in about:
                self.delete(kinds.NODE_CLAIMS, about["name"])

    def running(self, name: str) -> list[Object]:
        found = self.all(kinds.PODS, f"?labelSelector=app%3D{name}")
        return [
            one
            for one in found
            if one.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]
        ]

    def claims(self) -> list[Object]:
        return self.all(kinds.NODE_CLAIMS)

    def nodes(self) -> list[Object]:
        return self.all(kinds.NODES, "?labelSelector=kwok-live%3Dtrue")

    def lease(self) -> Object:
        return dict(self.get(kinds.LEASES, "karpenter-leader-election", NAMESPACE)["spec"])

    def ask(self, port: int, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
                return int(answer.status), str(answer.read().decode())
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    @property
    def ready(self) -> bool:
        return self.ask(self.ports[1], "/readyz")[0] == 200


@contextmanager
def at_work(plane: ControlPlane, directory: Path, pool: str) -> Iterator[Real]:
    """It runs, with one pool; at the end nothing of it is left."""
    install(plane)
    plane.start_kwok()
    real = Real(plane, directory)
    real.until(lambda: [real.all(one) for one in (kinds.NODE_POOLS, kinds.NODE_CLAIMS, kinds.KWOK_NODE_CLASSES)])
    real.put(kinds.KWOK_NODE_CLASSES, objects.node_class())
    real.put(kinds.NODE_POOLS, objects.pool(pool, labels={"kwok-live": "true"}))
    real.start()
    try:
        real.until(lambda: real.ready and real.lease()["holderIdentity"])
        yield real
    finally:
        _cleared(real, pool)
        real.end()
        plane.stop_kwok()


def _cleared(real: Real, pool: str) -> None:
    """It is started again where a test failed while it was away: what comes after expects an empty cluster."""
    if real.process is None or real.process.poll() is not None:
        real.start()
    real.delete_workloads()
    real.delete_pool(pool)

    def is_empty() -> bool:
        real.delete_claims(pool)  # one that was being bought meanwhile is left to whoever collects garbage, too
        return not real.nodes() and not real.claims()

    real.until(is_empty)
