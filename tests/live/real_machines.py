"""`dovetail machines` as its users run it: a process of its own on the real control plane, under the very account and
roles that an installation makes, and a cloud to buy from. Instances that run become Nodes: simulated ones by the
process itself, others here, where a look at the cluster plays the machines' kubelets too: they keep their leases, and
run and end the pods that are on them. What is asked for is the world `scenarios/cluster_api/interrupted.yaml`.

The core is ours, or Cluster API's own manager; what is asked for and what is seen is the same.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tests.contract.kubernetes.things import fresh
from tests.live.machine_shops import Shop
from tools.control_plane.access import Refused, kubeconfig
from tools.control_plane.ports import free_ports
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.api.install import machines as installed
from dovetail.api.install import objects
from dovetail.api.install.machines import MachinesInstallation
from dovetail.api.kinds import Kind
from dovetail.controllers.cluster_api.joining import TAKE_AWAY
from dovetail.core.machines import names

Object = dict[str, Any]
SYSTEM = "kube-system"
MERGE = "application/merge-patch+json"
# Cluster API's health checks are judged every 15 s at most, on a machine that does much else.
PATIENCE = 180.0
LOOK = 0.1
LABELS = {"pool": "workers"}
CLUSTER = "c"
CONTROL_PLANE = "control"
WORKERS, WORK = "spot-workers", "work"
WORLD = Path(__file__).parents[2] / "scenarios/cluster_api/interrupted.yaml"
#: On Nodes, and asked for by pods: others are tried on the same control plane.
SCENARIO = "scenario"
#: How often a kubelet says that it is there; after 50 seconds without, it is taken for gone.
HEARTBEAT = 5.0
NODE_LEASES = "kube-node-lease"
ROOM = {"cpu": "4", "memory": "8Gi", "pods": "110"}
WELL = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}


@dataclass
class Machinery:
    """A control plane with one `dovetail machines` on it, and a namespace for one test."""

    plane: ControlPlane
    directory: Path
    wanted: MachinesInstallation
    shop: Shop
    namespace: str = field(default_factory=lambda: fresh("machinery"))
    process: subprocess.Popen[bytes] | None = None
    ports: list[int] = field(default_factory=list)
    #: Names of Nodes by the provider ids of the instances that became them: each does once.
    joined: dict[str, str] = field(default_factory=dict)
    #: Nodes whose kubelets run, and when each said so last.
    kubelets: dict[str, float] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        return self.directory / "machines.log"

    # ---- the process

    def install(self) -> None:
        """Definitions, account and roles, as `dovetail install --machines` applies them; the process is ours."""
        for one in (
            *installed.definitions(self.wanted),
            installed.service_account(self.wanted),
            *installed.rights(self.wanted),
        ):
            _, namespace = objects.name_of(one)
            self.plane.admin.apply(objects.kind_of(one).path(namespace=namespace), one)
        self.until(lambda: all(self.list(one) is not None for one in (kinds.MACHINE_SETS, self.shop.kinds[0])))

    def start(self, *more: str) -> None:
        self.ports = list(free_ports(2))
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(self.command(*more), env=self.environment(), stdout=out, stderr=out)
        self.until(lambda: self._answer(self.ports[1], "/readyz") == "ok")

    def command(self, *more: str) -> list[str]:
        return [sys.executable, "-m", "dovetail.main", "machines", "--cloud", self.wanted.cloud, *more]

    def environment(self) -> dict[str, str]:
        settings = {
            "KUBECONFIG": str(self._account()),
            "METRICS_PORT": str(self.ports[0] if self.ports else 0),
            "HEALTH_PROBE_PORT": str(self.ports[1] if self.ports else 0),
            "LEADER_ELECTION_NAMESPACE": SYSTEM,
            "BOOT_TIME": "200ms",
        }
        return {**os.environ, **settings, **self.shop.environment}

    def end(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=120)
        self.process = None
        return code

    def metrics(self) -> str:
        return self._answer(self.ports[0], "/metrics")

    def _answer(self, port: int, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return str(answer.read().decode())

    def _account(self) -> Path:
        path = f"{kinds.SERVICE_ACCOUNTS.path(self.wanted.name, SYSTEM)}/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}}
        token = self.plane.admin.request("POST", path, asked)["status"]["token"]
        file = self.directory / "machines.kubeconfig"
        file.write_text(json.dumps(kubeconfig(self.plane.url, self.plane.authority, {"token": token})))
        return file

    def until(self, true: Callable[[], object], seconds: float = PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while not self._looked(true):
            assert self.process is None or self.process.poll() is None, f"it ended: {self._last()}"
            assert time.monotonic() < deadline, f"not within {seconds} s: {self.phases()}\n{self._last()}"
            time.sleep(LOOK)

    def _looked(self, true: Callable[[], object]) -> object:
        try:
            if self.shop.take_away is not None:
                self._join()
                self._play_kubelets()
            return true()
        except (OSError, Refused, KeyError):
            return False  # not served, or not there yet

    def _last(self) -> str:
        return "\n".join(self.log.read_text().splitlines()[-15:]) if self.log.exists() else ""

    # ---- what a real machine does by itself

    def _join(self) -> None:
        """Machines whose instances run become Nodes."""
        for one in self.list(self.shop.kinds[0]):
            provider_id = one["spec"].get("providerID")
            if provider_id and provider_id not in self.joined and (one.get("status") or {}).get("ready"):
                name = f"{self.namespace}-{one['metadata']['name']}"
                self.joined[provider_id] = name
                labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", SCENARIO: self.namespace}
                self.put(kinds.NODES, name, {"providerID": provider_id}, metadata={"labels": labels})
                now = _time()
                told = [
                    {"type": type_, "status": status, "reason": "Told", "lastTransitionTime": now}
                    for type_, status in WELL.items()
                ]
                status = {"conditions": told, "capacity": ROOM, "allocatable": ROOM}
                self.patch(kinds.NODES, name, {"status": status}, "status")
                self.kubelets[name] = 0.0

    def _play_kubelets(self) -> None:
        """Each says that it is there, runs the pods that were put on it, and ends those that are told to go."""
        for node, last in list(self.kubelets.items()):
            if time.monotonic() - last > HEARTBEAT:
                self.kubelets[node] = time.monotonic()
                self._renew(node)
        for pod in self.plane.admin.request("GET", kinds.PODS.path())["items"]:
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            if pod["spec"].get("nodeName") not in self.kubelets:
                continue
            with suppress(Refused):  # somebody else was first; the next look finds it as it is then
                if "deletionTimestamp" in pod["metadata"]:
                    now = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
                    self.plane.admin.request("DELETE", kinds.PODS.path(name, namespace), now)
                elif pod["status"].get("phase") == "Pending":
                    ready = [{"type": "Ready", "status": "True", "lastTransitionTime": _time()}]
                    status = {"phase": "Running", "conditions": ready, "podIP": "10.0.0.1", "startTime": _time()}
                    path = kinds.PODS.path(name, namespace, "status")
                    self.plane.admin.request("PATCH", path, {"status": status}, content=MERGE)

    def _renew(self, node: str) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        lease = {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": stamp}
        body = {"apiVersion": kinds.LEASES.api_version, "kind": kinds.LEASES.name, "metadata": {"name": node}}
        self.plane.admin.apply(kinds.LEASES.path(namespace=NODE_LEASES), {**body, "spec": lease})

    def take_away(self, machine: str) -> None:
        """The cloud wants the instance back: its kubelet is no more; then the cloud's controllers remove the Node."""
        node = self.node(machine)["metadata"]["name"]
        self.kubelets.pop(node, None)
        if self.shop.take_away is None:
            self.patch(kinds.NODES, node, {"metadata": {"annotations": {TAKE_AWAY: "now"}}})
            return
        self.shop.take_away(machine)
        self.delete(kinds.NODES, node)

    # ---- the cluster

    def put(self, kind: Kind, name: str, spec: Any = None, **more: Any) -> None:
        about = {"name": name, **more.pop("metadata", {})}
        body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": about, **more}
        self.plane.admin.request("POST", self._path(kind), body | ({"spec": spec} if spec is not None else {}))

    def patch(self, kind: Kind, name: str, body: Object, part: str = "") -> None:
        path = f"{self._path(kind)}/{name}{f'/{part}' if part else ''}"
        self.plane.admin.request("PATCH", path, body, content=MERGE)

    def get(self, kind: Kind, name: str) -> Object:
        return dict(self.plane.admin.request("GET", f"{self._path(kind)}/{name}"))

    def delete(self, kind: Kind, name: str) -> None:
        self.plane.admin.request("DELETE", f"{self._path(kind)}/{name}")

    def list(self, kind: Kind) -> list[Object]:
        return list(self.plane.admin.request("GET", self._path(kind))["items"])

    def _path(self, kind: Kind) -> str:
        return kind.path(namespace=self.namespace if kind.namespaced else "")

    # ---- what is asked for

    def furnish(self) -> None:
        """A Cluster whose network somebody else made, the way into it, and bootstrap data."""
        self.put(kinds.NAMESPACES, self.namespace)
        self.put(kinds.SECRETS, "boot", data={"value": base64.b64encode(b"#cloud-config\n").decode()})
        place = {"host": "127.0.0.1", "port": int(self.plane.url.rpartition(":")[2])}
        below = self.shop.kinds[2]
        self.put(below, CLUSTER, {**self.shop.cluster, "controlPlaneEndpoint": place})
        told = {"labels": {names.CLUSTER_NAME: CLUSTER}}
        secret = {"value": base64.b64encode(self.plane.kubeconfig.read_bytes()).decode()}
        self.put(kinds.SECRETS, f"{CLUSTER}-kubeconfig", data=secret, type="cluster.x-k8s.io/secret", metadata=told)
        self.put(kinds.CLUSTERS, CLUSTER, {"infrastructureRef": _ref(below, CLUSTER)})

    def control_plane(self) -> None:
        """One machine, on demand: what Cluster API takes for a control plane that is up once it is a Node."""
        infra = self.shop.kinds[0]
        self.put(infra, CONTROL_PLANE, self.shop.machine)
        labels = {names.CONTROL_PLANE: "", names.CLUSTER_NAME: CLUSTER}
        self.put(kinds.MACHINES, CONTROL_PLANE, self._machine(infra, CONTROL_PLANE), metadata={"labels": labels})

    def workers(self, check: Object | None = None, **changed: Any) -> None:
        """Two spot machines, and a check that heals them; `check` is what another one looks at."""
        templates = self.shop.kinds[1]
        world = _world()
        bought = world[templates.name]["template"]["spec"]
        self.put(templates, WORKERS, {"template": {"spec": {**bought, **self.shop.machine, **changed}}})
        checked = world[kinds.HEALTH_CHECKS.name]
        self.put(kinds.HEALTH_CHECKS, WORKERS, checked | ({} if check is None else {"checks": check}))
        wanted = world[kinds.MACHINE_SETS.name]
        wanted["template"]["spec"] |= self._machine(templates, WORKERS)
        self.put(kinds.MACHINE_SETS, WORKERS, wanted)

    def work(self) -> None:
        """Pods that go where machines may be taken away."""
        world = _world()
        wanted = world[kinds.DEPLOYMENTS.name]
        wanted["template"]["spec"]["nodeSelector"][SCENARIO] = self.namespace
        self.put(kinds.DISRUPTION_BUDGETS, WORK, world[kinds.DISRUPTION_BUDGETS.name])
        self.put(kinds.DEPLOYMENTS, WORK, wanted)

    def at_work(self) -> dict[str, str]:
        """The Nodes of pods that run and are not going."""
        return {
            one["metadata"]["name"]: one["spec"]["nodeName"]
            for one in self.list(kinds.PODS)
            if one.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]
        }

    def _machine(self, infrastructure: Kind, name: str) -> Object:
        zone = {"failureDomain": self.shop.zone} if self.shop.zone else {}
        boot = {"dataSecretName": "boot"}
        return {"clusterName": CLUSTER, "bootstrap": boot, "infrastructureRef": _ref(infrastructure, name), **zone}

    # ---- what there is

    def machines(self) -> list[Object]:
        """Those of the set."""
        return [one for one in self.list(kinds.MACHINES) if LABELS.items() <= one["metadata"].get("labels", {}).items()]

    def phases(self) -> dict[str, str]:
        try:
            return {one["metadata"]["name"]: (one.get("status") or {}).get("phase", "") for one in self.machines()}
        except Refused:
            return {}

    def are_running(self, count: int) -> bool:
        return list(self.phases().values()) == ["Running"] * count

    def node(self, machine: str) -> Object:
        return self.get(kinds.NODES, self.get(kinds.MACHINES, machine)["status"]["nodeRef"]["name"])

    def is_interruptible(self, machine: str) -> bool:
        return names.INTERRUPTIBLE in (self.node(machine)["metadata"].get("labels") or {})


def _world() -> dict[str, Object]:
    """Specs by kind, read anew."""
    return {one["kind"]: one["spec"] for one in yaml.safe_load_all(WORLD.read_text()) if one}


def _time() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _ref(kind: Kind, name: str) -> Object:
    return {"apiGroup": kind.group, "kind": kind.name, "name": name}


@contextmanager
def machinery(plane: ControlPlane, directory: Path, core: str, shop: Shop) -> Iterator[Machinery]:
    """Installed and furnished, with the process running; all of it gone afterwards."""
    one = Machinery(plane, directory, MachinesInstallation(image="dovetail:test", cloud=shop.runs_as, core=core), shop)
    one.install()
    one.start()
    try:
        one.furnish()
        yield one
    finally:
        if one.process is not None:
            one.process.kill()
            one.process.wait(timeout=120)
        for node in one.list(kinds.NODES):
            if node["spec"].get("providerID") in one.joined:
                one.delete(kinds.NODES, node["metadata"]["name"])
