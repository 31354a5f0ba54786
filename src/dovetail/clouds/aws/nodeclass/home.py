"""The cluster that machines join: what was said about it, and what EKS knows of the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.nodeclass.memory import Memory

SECONDS: Final = 300.0


class Surroundings:
    """Whoever puts the cloud together says what it knows: at least the cluster's name, and Kubernetes' version, which
    may change under a running program. EKS is asked only for what is missing; nodeadm needs the range of services."""

    def __init__(self, told: Home, kubernetes: Callable[[], str], memory: Memory) -> None:
        self._told, self._memory = told, memory
        self.kubernetes = kubernetes

    @property
    def name(self) -> str:
        return self._told.name

    async def home(self, needs_cidr: bool) -> Home:
        """Raises CloudError where EKS has to be asked and does not answer."""
        told = self._told
        if told.endpoint and told.authority and (told.cidr or not needs_cidr):
            return told
        answer = await self._memory.one(calls.DESCRIBE_CLUSTER, {"name": told.name}, SECONDS)
        wire = answer.value["cluster"]
        network = wire.get("kubernetesNetworkConfig") or {}
        return replace(
            told,
            endpoint=told.endpoint or wire.get("endpoint", ""),
            authority=told.authority or (wire.get("certificateAuthority") or {}).get("data", ""),
            cidr=told.cidr or network.get("serviceIpv6Cidr") or network.get("serviceIpv4Cidr") or "",
        )
