"""`dovetail run --cloud aws` as its users run it: a process of its own under the account and roles an installation
makes, the real control plane, the test server as AWS, and machines that join when they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests.clouds.aws.classes import node_class
from tests.live import objects
from tests.live.live_aws import REF, TYPES, needs
from tests.live.real import PATIENCE, Real, install
from tools.aws_server import Account, AwsServer
from tools.aws_server.kubelets import Joined, provider_id
from tools.aws_server.parameters import image_parameters, put_parameters
from tools.control_plane.access import Refused
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.core import labels

Object = dict[str, Any]
CLUSTER = "test"
MARK = {"aws-live": "true"}


@dataclass
class RealAws(Real):
    """The control plane with one dovetail on it, and the account it buys from."""

    cloud: ClassVar[str] = "aws"
    server: AwsServer | None = None
    joined: Joined = field(init=False)

    def __post_init__(self) -> None:
        self.joined = Joined(self._join, self._lost)

    def settings(self) -> dict[str, str]:
        assert self.server is not None
        return {
            "CLUSTER_NAME": CLUSTER,
            "CLUSTER_ENDPOINT": "https://cluster.example",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.server.url,
            "ISOLATED_VPC": "true",
        }

    def until(self, true: Callable[[], object], seconds: float = PATIENCE) -> None:
        def looked() -> object:
            self.joined.look()
            return true()

        super().until(looked, seconds)

    def _join(self, node: Object) -> None:
        node["metadata"]["labels"]["kwok.x-k8s.io/node"] = "fake"
        try:
            self.plane.admin.request("POST", kinds.NODES.path(), node)
        except Refused as refusal:
            if refusal.status != 409:
                raise
        # A Node is made without what only its kubelet may say.
        path = f"{kinds.NODES.path(node['metadata']['name'])}/status"
        self.plane.admin.request("PATCH", path, {"status": node["status"]}, "application/merge-patch+json")

    def _lost(self, name: str) -> None:
        """kwok plays kubelet, and stops when the Node goes."""

    def pods(self, name: str, count: int, **changed: Any) -> None:
        self.put(kinds.DEPLOYMENTS, objects.deployment(name, count, nodeSelector=MARK, **changed), "default")

    def nodes(self) -> list[Object]:
        return self.all(kinds.NODES, "?labelSelector=aws-live%3Dtrue")

    def machines(self) -> set[str]:
        return {provider_id(one) for one in self.joined.machines()}

    def claims(self) -> list[Object]:
        """Those of its own pool: claims of other clouds' tests may still be on their way out."""
        return self.all(kinds.NODE_CLAIMS, "?labelSelector=karpenter.sh%2Fnodepool%3Daws-live")

    def is_whole(self) -> bool:
        claimed = {(one.get("status") or {}).get("providerID") for one in self.claims()}
        return claimed == self.machines() == {one["spec"]["providerID"] for one in self.nodes()}


@contextmanager
def at_work(plane: ControlPlane, directory: Path, server: AwsServer, place: Account) -> Iterator[RealAws]:
    """It runs, with one class and one pool; at the end nothing of it is left."""
    install(plane, "aws")
    plane.start_kwok(node_labels="kwok.x-k8s.io/node=fake")
    real = RealAws(plane, directory, server=server)
    version = plane.admin.request("GET", "/version")
    put_parameters(place.region, image_parameters(f"{version['major']}.{version['minor']}", place.images))
    real.until(
        lambda: [real.all(one) for one in (kinds.NODE_POOLS, kinds.NODE_CLAIMS, kinds.EC2_NODE_CLASSES)] and True
    )
    wanted = [*objects.LINUX, needs(labels.INSTANCE_TYPE, *TYPES), needs(labels.CAPACITY_TYPE, labels.ON_DEMAND)]
    real.put(
        kinds.EC2_NODE_CLASSES,
        {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"},
         "spec": node_class(place)["spec"]},
    )  # fmt: skip
    real.put(kinds.NODE_POOLS, objects.pool("aws-live", labels=MARK, nodeClassRef=REF, requirements=wanted))
    real.start()
    try:
        real.until(lambda: real.ready and real.lease()["holderIdentity"])
        yield real
    finally:
        if real.process is None or real.process.poll() is not None:
            real.start()
        _cleared(real)
        real.end()
        plane.stop_kwok()


def _cleared(real: RealAws) -> None:
    real.delete_workloads()
    real.delete_pool("aws-live")
    real.until(lambda: not real.nodes() and not real.claims() and not real.machines())
    real.delete(kinds.EC2_NODE_CLASSES, "default")
    real.until(lambda: not real.all(kinds.EC2_NODE_CLASSES))
