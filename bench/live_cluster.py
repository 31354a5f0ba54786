"""A fresh control plane for one side of the live benchmark, and the count of what that side writes to it.

Each side has an account of its own: ours the one `dovetail install` makes, with the rights it ships; the peer's may do
anything. What an account writes is counted by the API server itself: flow schemas, which sort requests for its priority
and fairness, also sort them for its metrics. All of them go to the level both sides would be on in a cluster.
"""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from tools.control_plane.programs import Programs
from tools.control_plane.start import ControlPlane

from bench import live_peer
from bench.live_world import Workload, node_class
from bench.report import RESULTS, ROOT
from dovetail.kube import config
from dovetail.kube.client import Client

OURS: Final = "ours"
PEER: Final = "peer"
NAMESPACE: Final = "kube-system"
ACCOUNTS: Final = {OURS: "dovetail", PEER: "karpenter"}
_ANYTHING: Final = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
#: Would run a second controller inside the cluster, or means nothing without it.
_LEFT_OUT: Final = frozenset({"Deployment", "Service", "PodDisruptionBudget"})
WRITES: Final = ["create", "update", "patch", "delete", "deletecollection"]
Counted = tuple[str, list[str], list[str], list[str]]
#: What is counted apart, first match first: name, API groups, resources, verbs.
COUNTED: Final[tuple[Counted, ...]] = (
    ("leases", ["coordination.k8s.io"], ["leases"], ["*"]),
    ("events", ["", "events.k8s.io"], ["events"], WRITES),
    ("claims", ["karpenter.sh"], ["nodeclaims", "nodeclaims/status"], WRITES),
    ("nodes", [""], ["nodes", "nodes/status"], WRITES),
    ("pods", [""], ["pods", "pods/status", "pods/eviction"], WRITES),
    ("rest", ["*"], ["*"], WRITES),
)
_DISPATCHED: Final = re.compile(
    rb'^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="bench-([a-z]+)"[^}]*\} (\S+)$', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Site:
    """A running control plane made ready for one side."""

    side: str
    control_plane: ControlPlane
    kubeconfig: Path
    logs: Path

    def admin(self) -> Client:
        """A client the API server counts nowhere and never holds back."""
        return Client(config.load(str(self.control_plane.kubeconfig), None, {}))


@contextmanager
def site(programs: Programs, side: str, workload: Workload) -> Iterator[Site]:
    """A control plane with kubelets played, definitions, account, class and pool; no controller yet."""
    logs = RESULTS / "live" / "logs" / f"{side}-{workload.kind}-{workload.pods}"
    with ControlPlane(programs, logs=logs) as control_plane:
        control_plane.start_kwok()
        if side == OURS:
            kubectl(control_plane, "apply", "--server-side", "-f", "-", given=_installed())
        else:
            kubectl(control_plane, "apply", "--server-side", "-f", str(live_peer.definitions()))
        kubectl(control_plane, "wait", "--for=condition=established", "--timeout=60s", "crd", "--all")
        rules = [] if side == OURS else _ANYTHING
        account = control_plane.service_account(NAMESPACE, ACCOUNTS[side], rules)
        kubeconfig = control_plane.directory / f"{side}.kubeconfig"
        kubeconfig.write_text(json.dumps(account), encoding="utf-8")
        kubeconfig.chmod(0o600)
        wanted = [*flow_schemas([(NAMESPACE, ACCOUNTS[side])]), node_class(), workload.pool()]
        kubectl(control_plane, "apply", "--server-side", "-f", "-", given=listed(wanted))
        yield Site(side, control_plane, kubeconfig, logs)


def kubectl(control_plane: ControlPlane, *words: str, given: str | None = None) -> str:
    command = [str(control_plane.programs.path("kubectl")), f"--kubeconfig={control_plane.kubeconfig}", *words]
    ran = subprocess.run(command, input=given, check=False, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(f"kubectl {' '.join(words[:2])} failed: {ran.stderr.strip()}")
    return ran.stdout


def _installed() -> str:
    command = [sys.executable, "-m", "dovetail.main", "install", "--dry-run", "--output", "json"]
    ran = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return listed([one for one in json.loads(ran.stdout)["items"] if one["kind"] not in _LEFT_OUT])


def listed(objects: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


# ---- counting


def flow_schemas(
    accounts: Iterable[tuple[str, str]], counted: tuple[Counted, ...] = COUNTED
) -> Iterator[dict[str, Any]]:
    """What has the API server count the requests of these accounts, each by namespace and name."""
    subjects = [
        {"kind": "ServiceAccount", "serviceAccount": {"name": name, "namespace": namespace}}
        for namespace, name in accounts
    ]
    for number, (name, groups, resources, verbs) in enumerate(counted):
        rule = {"apiGroups": groups, "resources": resources, "verbs": verbs, "clusterScope": True, "namespaces": ["*"]}
        yield {
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
            "kind": "FlowSchema",
            "metadata": {"name": f"bench-{name}"},
            "spec": {
                "matchingPrecedence": 50 + number,
                "priorityLevelConfiguration": {"name": "workload-high"},
                "distinguisherMethod": {"type": "ByUser"},
                "rules": [{"subjects": subjects, "resourceRules": [rule]}],
            },
        }


async def writes(admin: Client, counted: tuple[Counted, ...] = COUNTED) -> dict[str, float]:
    """Requests so far of the side's accounts, by what `counted` calls them."""
    text = await admin.raw("GET", "/metrics")
    found = {name: 0.0 for name, *_ in counted}
    for name, value in _DISPATCHED.findall(text):
        found[name.decode()] += float(value)
    return found


async def scheduled(admin: Client) -> dict[str, float]:
    """When the scheduler said of each pod that it had bound it, by the wall clock to the microsecond. It says so once
    the server has answered; a watch tells it later on a server that is busy."""
    found: dict[str, float] = {}
    query = {"fieldSelector": "reason=Scheduled", "limit": "1000"}
    while True:
        page = json.loads(await admin.raw("GET", "/api/v1/namespaces/default/events", query=query))
        for one in page["items"]:
            if one.get("eventTime"):
                found[one["involvedObject"]["name"]] = datetime.fromisoformat(one["eventTime"]).timestamp()
        if not page["metadata"].get("continue"):
            return found
        query["continue"] = page["metadata"]["continue"]


async def until(true: Any, what: str, seconds: float, every: float = 0.1) -> None:
    """Wait for something that is asked for, at most so long."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not await true():
        if asyncio.get_running_loop().time() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        await asyncio.sleep(every)
