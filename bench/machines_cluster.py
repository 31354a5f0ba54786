"""A control plane for one side of the machines benchmark: definitions, accounts, a Cluster, and a MachineSet to apply.

The core is ours or Cluster API's own manager; either way `dovetail machines` looks after the infrastructure, under the
account and roles an installation makes. The API server counts what the side's accounts write: ours; the manager's; and
the one by which the manager goes into the workload cluster, which is the same cluster here. What only plays a machine
(making its Node, being its kubelet) is counted apart and left out.
"""

import base64
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tools.control_plane.access import Refused
from tools.control_plane.find import find, find_cluster_api
from tools.control_plane.start import ControlPlane

from bench.live_cluster import WRITES, Counted, flow_schemas
from bench.report import RESULTS
from dovetail.api import kinds
from dovetail.api.install import machines as installed
from dovetail.api.install import objects
from dovetail.api.install.machines import MachinesInstallation
from dovetail.api.kinds import Kind
from dovetail.core.machines import names
from dovetail.kube import config
from dovetail.kube.client import Client

Json = dict[str, Any]
OWN: Final = "own"
UPSTREAM: Final = "upstream"
#: Cluster API's own core, with a provider that buys nothing.
NO_OP: Final = "no-op"
NAMESPACE: Final = "bench"
CLUSTER: Final = "c"
FIRST: Final = "first"
POOL: Final = {"pool": "workers"}
SYSTEM: Final = "kube-system"
_MANAGER: Final = ("capi-system", "capi-manager")
#: By whom the manager goes into the workload cluster.
_VISITOR: Final = ("capi-system", "visitor")
_ANYTHING: Final = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
_CORE: Final = ["cluster.x-k8s.io"]
COUNTED: Final[tuple[Counted, ...]] = (
    ("leases", ["coordination.k8s.io"], ["leases"], ["*"]),
    ("events", ["", "events.k8s.io"], ["events"], WRITES),
    ("machines", _CORE, ["machines", "machines/status"], WRITES),
    ("sets", _CORE, ["machinesets", "machinesets/status"], WRITES),
    ("checks", _CORE, ["machinehealthchecks", "machinehealthchecks/status"], WRITES),
    ("infrastructure", ["infrastructure.cluster.x-k8s.io"], ["*"], WRITES),
    ("kubelets", [""], ["nodes/status"], WRITES),
    ("joining", [""], ["nodes"], ["create", "delete"]),
    ("nodes", [""], ["nodes"], ["update", "patch"]),
    ("rest", ["*"], ["*"], WRITES),
)
#: Goes by the clock, or is what a machine does by itself.
LEFT_OUT: Final = frozenset({"leases", "kubelets", "joining"})


@dataclass(frozen=True, slots=True)
class Shop:
    """A cloud: its kinds (machine, template, cluster), and what is written in them."""

    name: str
    kinds: tuple[Kind, Kind, Kind]
    machine: Json
    spot: Json
    cluster: Json
    zone: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    #: Takes the instance of a Machine away without a word to anybody; None where that cannot be done.
    lose: Callable[[str], object] | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A running control plane made ready for one core and one cloud."""

    core: str
    shop: Shop
    plane: ControlPlane
    kubeconfig: Path
    logs: Path

    def admin(self) -> Client:
        """A client the API server counts nowhere and never holds back."""
        return Client(config.load(str(self.plane.kubeconfig), None, {}))


@contextmanager
def site(core: str, shop: Shop) -> Iterator[Site]:
    """Definitions, accounts, and kubelets for Nodes; no controller of ours yet."""
    logs = RESULTS / "machines" / "logs" / f"{core}-{shop.name}"
    with ControlPlane(find(os.environ), logs=logs) as plane:
        plane.start_kwok()
        if core != OWN:
            plane.start_cluster_api(find_cluster_api(os.environ))
        wanted = MachinesInstallation(image="dovetail:bench", cloud=shop.name, core=OWN if core == OWN else UPSTREAM)
        _install(plane, wanted)
        account = plane.service_account(SYSTEM, wanted.name, [])
        kubeconfig = _secret_file(plane.directory / "machines.kubeconfig", account)
        for schema in flow_schemas([(SYSTEM, wanted.name), _MANAGER, _VISITOR], COUNTED):
            plane.admin.apply("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", schema)
        yield Site(core, shop, plane, kubeconfig, logs)


def _install(plane: ControlPlane, wanted: MachinesInstallation) -> None:
    for one in (*installed.definitions(wanted), installed.service_account(wanted), *installed.rights(wanted)):
        _, namespace = objects.name_of(one)
        plane.admin.apply(objects.kind_of(one).path(namespace=namespace), one)


def is_served(made: Site) -> bool:
    """Whether what was defined can be asked for by now."""
    try:
        for kind in (kinds.MACHINE_SETS, *made.shop.kinds):
            made.plane.admin.request("GET", kind.path(namespace=NAMESPACE))
    except Refused:
        return False
    return True


def _secret_file(path: Path, content: Json) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    path.chmod(0o600)
    return path


# ---- what is asked for


def grounds(made: Site) -> Iterator[tuple[Kind, Json]]:
    """A Cluster whose network somebody else made, the way into it, bootstrap data, and one machine on demand for its
    control plane: Cluster API makes no workers before there is one."""
    visitor = made.plane.service_account(*_VISITOR, _ANYTHING)
    below, about = made.shop.kinds[2], {names.CLUSTER_NAME: CLUSTER}
    place = {"host": "127.0.0.1", "port": int(made.plane.url.rpartition(":")[2])}
    way_in = {"data": _encoded(json.dumps(visitor).encode()), "type": "cluster.x-k8s.io/secret"}
    yield _object(kinds.NAMESPACES, NAMESPACE)
    yield _object(kinds.SECRETS, "boot", data=_encoded(b"#cloud-config\n"))
    yield _object(below, CLUSTER, spec={**made.shop.cluster, "controlPlaneEndpoint": place})
    yield _object(kinds.SECRETS, f"{CLUSTER}-kubeconfig", about, **way_in)
    yield _object(kinds.CLUSTERS, CLUSTER, spec={"infrastructureRef": _ref(below, CLUSTER)})
    infra = made.shop.kinds[0]
    yield _object(infra, FIRST, spec=made.shop.machine)
    labels = {**about, names.CONTROL_PLANE: ""}
    yield _object(kinds.MACHINES, FIRST, labels, spec=_machine(made.shop, infra, FIRST))


def workers(shop: Shop, replicas: int) -> Iterator[tuple[Kind, Json]]:
    """A set of spot machines and a check that heals it; the set comes last."""
    templates = shop.kinds[1]
    yield _object(templates, "t", spec={"template": {"spec": {**shop.machine, **shop.spot}}})
    chosen = {"clusterName": CLUSTER, "selector": {"matchLabels": POOL}}
    yield _object(kinds.HEALTH_CHECKS, "h", spec={**chosen, "checks": {"nodeStartupTimeoutSeconds": 3600}})
    template = {"metadata": {"labels": POOL}, "spec": _machine(shop, templates, "t")}
    yield _object(kinds.MACHINE_SETS, "s", spec={**chosen, "replicas": replicas, "template": template})


def _machine(shop: Shop, infrastructure: Kind, name: str) -> Json:
    zone = {"failureDomain": shop.zone} if shop.zone else {}
    boot = {"dataSecretName": "boot"}
    return {"clusterName": CLUSTER, "bootstrap": boot, "infrastructureRef": _ref(infrastructure, name), **zone}


def _object(kind: Kind, name: str, labels: dict[str, str] | None = None, **more: Any) -> tuple[Kind, Json]:
    about: Json = {"name": name, **({"namespace": NAMESPACE} if kind.namespaced else {}), "labels": labels or {}}
    return kind, {"apiVersion": kind.api_version, "kind": kind.name, "metadata": about, **more}


def _ref(kind: Kind, name: str) -> Json:
    return {"apiGroup": kind.group, "kind": kind.name, "name": name}


def _encoded(value: bytes) -> Json:
    return {"value": base64.b64encode(value).decode()}
