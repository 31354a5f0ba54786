"""Kubernetes' version, as the API server tells it: images of nodes are published for one, and it changes under a
running program."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass
from typing import Final

import msgspec

from dovetail.kube.client import Client
from dovetail.kube.errors import KubeError

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
