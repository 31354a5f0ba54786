"""What `dovetail run --cloud aws` asks when there is nothing to do: `python -m bench.aws_idle [SECONDS]` prints JSON.

A whole controller with its lease, queue and prices, on a real control plane and the test server, with one class, one
pool and `NODES` machines that have joined. Once all is quiet the calls of some minutes are counted: AWS's by the server
that answers them, Kubernetes' by the API server.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tools.aws_server import WORLD, Account, AwsServer, events
from tools.aws_server.kubelets import Joined
from tools.aws_server.parameters import image_parameters, put_parameters
from tools.control_plane.access import Refused
from tools.control_plane.find import find
from tools.control_plane.ports import free_ports
from tools.control_plane.processes import Running
from tools.control_plane.start import ControlPlane

from bench import aws_world
from bench.live_cluster import WRITES, Counted, flow_schemas, kubectl, listed, writes
from bench.live_process import Controller
from bench.report import RESULTS
from dovetail.api import kinds
from dovetail.api.install import objects as installed
from dovetail.api.install.installation import NAME, NAMESPACE, Installation
from dovetail.kube import config
from dovetail.kube.client import Client

NODES: Final = 20
SECONDS: Final = 300.0
#: From the last pod until counting begins: what follows a launch is over, and so are the first, quicker rounds.
_QUIET: Final = 90.0
_PATIENCE: Final = 600.0
_CLUSTER: Final = "test"
_QUEUE: Final = "bench"
_COUNTED: Final[tuple[Counted, ...]] = (
    ("leases", ["coordination.k8s.io"], ["leases"], ["*"]),
    ("writes", ["*"], ["*"], WRITES),
    ("watches", ["*"], ["*"], ["watch"]),
    ("reads", ["*"], ["*"], ["get", "list"]),
)
_REF: Final = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
Json = dict[str, Any]


class Cluster:
    """A control plane, machines that join it, and the pods that made them necessary."""

    def __init__(self, plane: ControlPlane, account: Account) -> None:
        self.plane, self._joined = plane, Joined(self._join, lambda name: None)
        version = plane.admin.request("GET", "/version")
        put_parameters(account.region, image_parameters(f"{version['major']}.{version['minor']}", account.images))

    def _join(self, node: Json) -> None:
        path = kinds.NODES.path()
        node["metadata"]["labels"]["kwok.x-k8s.io/node"] = "fake"
        try:
            self.plane.admin.request("POST", path, node)
        except Refused as refusal:
            if refusal.status != 409:
                raise
        told, status = {"status": node["status"]}, f"{path}/{node['metadata']['name']}/status"
        self.plane.admin.request("PATCH", status, told, "application/merge-patch+json")

    def is_whole(self) -> bool:
        """Every pod runs, on a machine of its own."""
        self._joined.look()
        pods = self.plane.admin.request("GET", kinds.PODS.path(namespace="default"))["items"]
        claims = self.plane.admin.request("GET", kinds.NODE_CLAIMS.path())["items"]
        ready = [one for one in claims if _is(one, "Ready") and _is(one, "Initialized")]
        return len(ready) == NODES and sum(one["status"].get("phase") == "Running" for one in pods) == NODES


def _is(claim: Json, condition: str) -> bool:
    told = claim.get("status", {}).get("conditions", [])
    return any(one["type"] == condition and one["status"] == "True" for one in told)


def _wanted(account: Account) -> list[Json]:
    discovery = {"tags": {"karpenter.sh/discovery": _CLUSTER}}
    node_class = {
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": [discovery],
        "securityGroupSelectorTerms": [discovery],
        "role": account.role,
    }
    needs = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]},
    ]
    template = {"spec": {"nodeClassRef": _REF, "requirements": needs, "expireAfter": "Never"}}
    labels = {"app": "idle"}
    pod = {
        "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1200m"}}}],
        "tolerations": [{"operator": "Exists"}],
    }
    deployment = {
        "replicas": NODES,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return [
        _object("karpenter.k8s.aws/v1", "EC2NodeClass", spec=node_class),
        _object("karpenter.sh/v1", "NodePool", spec={"template": template}),
        _object("apps/v1", "Deployment", namespace="default", spec=deployment),
    ]


def _object(version: str, kind: str, *, namespace: str = "", **more: Any) -> Json:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "default", **place}, **more}


@contextmanager
def _controller(plane: ControlPlane, url: str) -> Iterator[Controller]:
    account = plane.service_account(NAMESPACE, NAME, [])
    kubeconfig = plane.directory / "ours.kubeconfig"
    kubeconfig.write_text(json.dumps(account), encoding="utf-8")
    kubeconfig.chmod(0o600)
    metrics_port, health_port = free_ports(2)
    told = {
        **aws_world.ENVIRONMENT,
        "KUBECONFIG": str(kubeconfig),
        "METRICS_PORT": str(metrics_port),
        "HEALTH_PROBE_PORT": str(health_port),
        "SYSTEM_NAMESPACE": NAMESPACE,
        "CLUSTER_NAME": _CLUSTER,
        "CLUSTER_ENDPOINT": "https://cluster.example",
        "INTERRUPTION_QUEUE": _QUEUE,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": url,
    }
    line = [sys.executable, "-m", "dovetail.main", "run", "--cloud", "aws"]
    running = Running("controller", line, RESULTS / "aws" / "idle.log", told)
    try:
        yield Controller(running, metrics_port, health_port)
    finally:
        running.stop()


def _install(plane: ControlPlane) -> None:
    wanted = Installation(image="dovetail:bench", cloud="aws", namespace=NAMESPACE)
    for one in (
        *installed.definitions("aws"),
        installed.service_account(wanted),
        *installed.rights(wanted),
        *installed.rights_of_cloud(wanted, "aws"),
    ):
        plane.admin.apply(installed.kind_of(one).path(namespace=installed.name_of(one)[1]), one)
    kubectl(plane, "wait", "--for=condition=established", "--timeout=60s", "crd", "--all")
    for schema in flow_schemas([(NAMESPACE, NAME)], _COUNTED):
        plane.admin.apply("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", schema)


def _until_whole(cluster: Cluster) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not cluster.is_whole():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{NODES} pods did not run within {_PATIENCE:.0f} s")
        time.sleep(0.5)


async def _kube(plane: ControlPlane) -> dict[str, float]:
    async with Client(config.load(str(plane.kubeconfig), None, {})) as admin:
        return await writes(admin, _COUNTED)


def idle(seconds: float) -> dict[str, dict[str, float]]:
    """Calls a minute, of `kube` and `aws`, by what was asked."""
    os.environ.update(aws_world.ENVIRONMENT)
    (RESULTS / "aws").mkdir(parents=True, exist_ok=True)
    with AwsServer() as server, ControlPlane(find(os.environ), logs=RESULTS / "aws" / "logs") as plane:
        account = server.furnished(cluster=_CLUSTER)
        aws_world.price_everything()
        events.queue(_QUEUE)
        plane.start_kwok(node_labels="kwok.x-k8s.io/node=fake")
        _install(plane)
        cluster = Cluster(plane, account)
        kubectl(plane, "apply", "--server-side", "-f", "-", given=listed(_wanted(account)))
        with _controller(plane, server.url):
            _until_whole(cluster)
            time.sleep(_QUIET)
            before, began = asyncio.run(_kube(plane)), time.monotonic()
            WORLD.calls.clear()
            time.sleep(seconds)
            aws, after = dict(WORLD.calls), asyncio.run(_kube(plane))
            minutes = (time.monotonic() - began) / 60
    kube = {name: count - before[name] for name, count in after.items()}
    return {"kube": _each(kube, minutes), "aws": _each(aws, minutes)}


def _each(calls: dict[str, Any], minutes: float) -> dict[str, float]:
    return {name: count / minutes for name, count in sorted(calls.items()) if count}


if __name__ == "__main__":
    print(json.dumps(idle(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)))
