"""The cluster that machines join: what was said about it, and what EKS knows of the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.nodeclass.memory import Memory
from dovetail.clouds.port import Unavailable

SECONDS: Final = 300.0
_VERSION: Final = re.compile(r"[0-9]+\.[0-9]+", re.ASCII)


class Surroundings:
    """Whoever puts the cloud together says what it knows: at least the cluster's name, and Kubernetes' version, which
    may change under a running program, and the name server's address, which may be found later. EKS is asked only for
    what is missing; nodeadm needs the range of services."""

    def __init__(
        self, told: Home, kubernetes: Callable[[], str], memory: Memory, name_server: Callable[[], str] = str
    ) -> None:
        self._told, self._memory, self._kubernetes = told, memory, kubernetes
        self._name_server = name_server

    @property
    def name(self) -> str:
        return self._told.name

    def version(self) -> str:
        """Kubernetes' version as images are published for it: 1.35, whatever a server adds to that."""
        found = _VERSION.match(self._kubernetes())
        if found is None:
            raise Unavailable("the version of Kubernetes, which images are published for, is not known yet")
        return found[0]

    async def home(self, needs_cidr: bool) -> Home:
        """Raises CloudError where EKS has to be asked and does not answer."""
        told = replace(self._told, dns=self._told.dns or self._name_server())
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
