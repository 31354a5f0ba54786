"""What nodes are told of the cluster they join, as the API server tells it.

Kubernetes' version: images of nodes are published for one, and it changes under a running program. And the address of
the cluster's name server: without it a node guesses, which is wrong wherever services do not have the usual range.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from dataclasses import dataclass
from typing import Final

import msgspec

from dovetail.api.install.permissions import NAME_SERVER
from dovetail.api.kinds import SERVICES
from dovetail.kube.client import Client
from dovetail.kube.errors import KubeError, NotFound

SECONDS: Final = 300.0
#: While nobody knows it.
SOON: Final = 10.0
_NUMBER: Final = re.compile(r"[0-9]+", re.ASCII)
_log: Final = logging.getLogger(__name__)


class _Told(msgspec.Struct):
    major: str = ""
    minor: str = ""


@dataclass(slots=True)
class Version:
    """`text` is such as 1.35, "" before the server has answered; what it once said stays."""

    client: Client
    text: str = ""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(SECONDS if self.text else SOON)
            await self.look()

    async def look(self) -> None:
        try:
            told = msgspec.json.decode(await self.client.raw("GET", "/version"), type=_Told)
        except (KubeError, msgspec.MsgspecError) as failed:
            _log.warning("the version of Kubernetes is not known: %s", failed)
            return
        # Some servers write 35+.
        major, minor = _NUMBER.match(told.major), _NUMBER.match(told.minor)
        if major and minor:
            self.text = f"{major[0]}.{minor[0]}"


class _Addresses(msgspec.Struct, rename={"cluster_ip": "clusterIP"}):
    cluster_ip: str = ""


class _Service(msgspec.Struct):
    spec: _Addresses = msgspec.field(default_factory=_Addresses)


@dataclass(slots=True)
class NameServer:
    """`text` is its address, "" where there is none, or nobody may say: nodes then find it by themselves."""

    client: Client
    text: str = ""

    async def run(self) -> None:
        """Until cancelled: once it is there it stays where it is."""
        while True:
            await asyncio.sleep(SECONDS)
            if not self.text:
                await self.look()

    async def look(self) -> None:
        try:
            found = await self.client.get(SERVICES, NAME_SERVER, "kube-system", into=_Service)
        except NotFound:
            return  # a cluster may do without, or call it otherwise
        except (KubeError, msgspec.MsgspecError) as failed:
            _log.warning("nodes are not told where the name server is: %s", failed)
            return
        self.text = _address(found.spec.cluster_ip)


def _address(text: str) -> str:
    """Services without an address of their own say None."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""
