"""What a machine does once it runs: its kubelet makes a Node, which says what the machine is and where.

    joined = Joined(backend, create, lost)
    joined.look()          # whenever time has passed

Everything about the Node comes from EC2's side: what the machine was bought as, not what anybody planned. Its pods are
run by whoever plays kubelet in the cluster (the annotation of kwok says that somebody may).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from moto.ec2.models import ec2_backends
from moto.ec2.models.instance_types import INSTANCE_TYPES
from tools.aws_server.account import REGION
from tools.aws_server.lives import everyone, state_of
from tools.aws_server.parameters import ACCOUNT
from tools.aws_server.world import WORLD

UNREGISTERED: Final = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
#: Of a machine's memory, in MiB for each; what the hypervisor and the kernel keep, measured on real ones.
_KEPT: Final = 0.02
Node = dict[str, Any]


class Joined:
    """The machines of one region, each of which joins when it runs and is lost when it ends. `deaf` are machines whose
    kubelet never comes up."""

    def __init__(self, create: Callable[[Node], object], lost: Callable[[str], object], region: str = REGION) -> None:
        self._create, self._lost, self._region = create, lost, region
        self.nodes: dict[str, str] = {}
        self.deaf: set[str] = set()

    def machines(self) -> list[Any]:
        """Those that are there, or on their way."""
        return [one for one in everyone(self._backend) if state_of(one) in ("pending", "running")]

    def look(self) -> None:
        for one in everyone(self._backend):
            state = state_of(one)
            if state == "running" and one.id not in self.nodes and one.id not in self.deaf:
                node = node_of(one)
                self.nodes[one.id] = node["metadata"]["name"]
                self._create(node)
            elif state in ("shutting-down", "terminated") and self.nodes.get(one.id):
                self._lost(self.nodes[one.id])
                self.nodes[one.id] = ""

    @property
    def _backend(self) -> Any:
        return ec2_backends[ACCOUNT][self._region]


def provider_id(instance: Any) -> str:
    return f"aws:///{instance.placement.availability_zone}/{instance.id}"


def node_of(instance: Any) -> Node:
    kind = {**INSTANCE_TYPES, **WORLD.extra_types}[instance.instance_type]
    zone = instance.placement.availability_zone
    name = instance.private_dns_name
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _ARCHITECTURES[kind["ProcessorInfo"]["SupportedArchitectures"][0]],
        "node.kubernetes.io/instance-type": instance.instance_type,
        "topology.kubernetes.io/zone": zone,
        "topology.kubernetes.io/region": zone[:-1],
    }
    capacity, allocatable = sizes_of(kind)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {"providerID": provider_id(instance), "taints": [UNREGISTERED]},
        "status": {"capacity": capacity, "allocatable": allocatable},
    }


def sizes_of(kind: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """What EKS's own image tells of a machine: capacity and allocatable."""
    cores, network = int(kind["VCpuInfo"]["DefaultVCpus"]), kind["NetworkInfo"]
    pods = network["MaximumNetworkInterfaces"] * (network["Ipv4AddressesPerInterface"] - 1) + 2
    memory = math.floor(kind["MemoryInfo"]["SizeInMiB"] * (1 - _KEPT))
    kept = 255 + 11 * pods + 100
    millis = cores * 1000 - (60 + 10 * min(1, cores - 1) + 5 * max(0, min(2, cores - 2)) + 2.5 * max(0, cores - 4))
    capacity = {"cpu": str(cores), "memory": f"{memory}Mi", "pods": str(pods), "ephemeral-storage": "20Gi"}
    return capacity, {**capacity, "cpu": f"{math.floor(millis)}m", "memory": f"{memory - kept}Mi",
                      "ephemeral-storage": "17Gi"}  # fmt: skip
