"""One handler, put together: which cloud, which sources, and the one owner of every task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from dovetail.core.errors import BadInput
from dovetail.core.handler import azure
from dovetail.core.handler.marks import NodeFacts
from dovetail.core.handler.policy import Policy
from dovetail.handler import aws_source, gcp_source, web
from dovetail.handler.acting import Actor
from dovetail.handler.azure_source import AzureSource
from dovetail.handler.listening import Listener
from dovetail.handler.metadata import Metadata
from dovetail.handler.sources import METADATA_URL, Age, Source, uptime
from dovetail.handler.telling import COMPONENT, Telling
from dovetail.kube.client import Client
from dovetail.kube.clock import Clock
from dovetail.kube.events import Recorder

#: What a Node's provider ID begins with, and the cloud that is.
SCHEMES: Final = {"aws": "aws", "gce": "gcp", "azure": "azure"}
CLOUDS: Final = tuple(SCHEMES.values())
#: How often each cloud is asked, or for how long a question may hang.
POLLS: Final = {"aws": 2.0, "gcp": 60.0, "azure": 1.0}
#: What is kept of the notice for a kubelet to tell of the end of its pods.
RESERVES: Final = {"aws": 10.0, "gcp": 5.0, "azure": 5.0}
#: So long events may take to be written once the process is asked to end.
_LAST_WORDS: Final = 1.0
_NOT_YET: Final = 2.0
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choices:
    """What one handler is told. An empty cloud is read off the Node; a poll or reserve of None is the cloud's."""

    node: str
    cloud: str = ""
    metadata_url: str = METADATA_URL
    poll: float | None = None
    reserve: float | None = None
    max_age: float = 0.0
    events: bool = True
    bind: str = "127.0.0.1"
    port: int = -1
    own_pod: str = ""
    policy: Policy = field(default_factory=Policy)


class Process:
    """Runs until cancelled. `port` is where probes are answered, once they are."""

    def __init__(
        self, client: Client, choices: Choices, clock: Clock | None = None, up: Callable[[], float] = uptime
    ) -> None:
        self.choices, self.port = choices, choices.port
        self._client, self._clock, self._uptime = client, clock or Clock(), up
        recorder = Recorder(client, choices.node, clock=self._clock, component=COMPONENT) if choices.events else None
        self.telling = Telling(choices.cloud, recorder)
        self.actor = Actor(client, choices.node, choices.policy, self.telling, self._clock, choices.own_pod)
        self.listener: Listener | None = None

    async def run(self) -> None:
        routes = {"/healthz": self._health, "/livez": lambda: (200, "ok"), "/metrics": self._metrics}
        async with (
            web.served(self.choices.bind, self.choices.port, routes) as self.port,
            Metadata(self.choices.metadata_url) as metadata,
            asyncio.TaskGroup() as group,
        ):
            recorder = self.telling.recorder
            if recorder is not None:
                group.create_task(recorder.run(), name="events")
            try:
                await self._handle(group, metadata)
            finally:
                if recorder is not None:
                    await recorder.flush(_LAST_WORDS)

    async def _handle(self, group: asyncio.TaskGroup, metadata: Metadata) -> None:
        """A cloud that was named is listened to while the API server is away: what it says waits here until then."""
        if self.choices.cloud:
            self._listen(group, metadata, self.choices.cloud, None)
        node = await self.actor.first_look()
        while self.listener is None and not node.provider_id:
            await self._clock.sleep(_NOT_YET)  # it has joined, and its cloud has not looked at it yet
            node = await self.actor.first_look()
        if self.listener is None:
            self._listen(group, metadata, cloud_of(node), node)
        assert self.listener is not None
        _log.info("watching over node %s on %s", node.name, self.telling.cloud)
        await self.actor.run(self.listener)

    def _listen(self, group: asyncio.TaskGroup, metadata: Metadata, cloud: str, node: NodeFacts | None) -> None:
        self.telling.cloud = cloud
        reserve = self.choices.reserve
        self.actor.policy = replace(self.choices.policy, reserve=RESERVES[cloud] if reserve is None else reserve)
        found = self._sources(metadata, cloud, node)
        self.listener = Listener(found, self._clock, self.telling.metadata_failed)
        group.create_task(self.listener.run(), name="listening")

    def _sources(self, metadata: Metadata, cloud: str, node: NodeFacts | None) -> tuple[Source, ...]:
        poll = self.choices.poll or POLLS[cloud]
        own: tuple[Source, ...] = ()
        if self.choices.max_age > 0:
            own = (Age(self.choices.node, self.choices.max_age, self._uptime),)
        match cloud:
            case "aws":
                return (*aws_source.sources(metadata, self._clock.now, poll), *own)
            case "gcp":
                return (*gcp_source.sources(metadata, poll), *own)
            case _:
                source = AzureSource(metadata, azure.names_of(node.provider_id) if node is not None else (), poll)
                self.actor.acknowledge = source.acknowledge
                return (source, *own)

    def _health(self) -> tuple[int, str]:
        if self.listener is None:
            return 503, "the Node has not been seen yet"
        trouble = self.listener.trouble
        return (503, trouble) if trouble else (200, "ok")

    def _metrics(self) -> tuple[int, str]:
        return 200, self.telling.metrics.text()


def cloud_of(node: NodeFacts) -> str:
    scheme = node.provider_id.partition("://")[0]
    if scheme not in SCHEMES:
        shown = node.provider_id[:60] or "empty"
        raise BadInput(f"node {node.name}: its provider ID is {shown}; name the cloud: --cloud {'|'.join(CLOUDS)}")
    return SCHEMES[scheme]
