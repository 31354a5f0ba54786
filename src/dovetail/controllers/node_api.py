"""Nodes for a cloud that keeps its machines in the cluster itself.

To such a cloud the API server is the cloud's own: what it refuses, and that it cannot be reached, are troubles of the
cloud.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from dovetail.api import kinds
from dovetail.api.live.nodes import NodeReader, NodeWire
from dovetail.clouds.port import Throttled, Unavailable
from dovetail.core.errors import BadInput
from dovetail.core.nodeclaims import NodeObject
from dovetail.kube.client import Client
from dovetail.kube.errors import AlreadyExists, Conflict, KubeError, NotFound, TooManyRequests
from dovetail.kube.patches import MergePatch


@contextmanager
def as_cloud() -> Iterator[None]:
    """Troubles of the API server, said as a cloud says them."""
    try:
        yield
    except TooManyRequests as busy:
        raise Throttled(busy.sentence, 1.0 if busy.wait is None else busy.wait) from busy
    except KubeError as failed:
        raise Unavailable(failed.sentence) from failed
    except (BadInput, msgspec.ValidationError) as bad:
        raise Unavailable(f"a Node cannot be read: {bad}") from bad


class Nodes:
    """`clouds.sim.cloud.NodeApi` over the Kubernetes client."""

    def __init__(self, client: Client, labels: str) -> None:
        """`labels` select the Nodes that are ours."""
        self._client, self._labels = client, labels
        self._reader = NodeReader()

    async def create(self, body: dict[str, Any]) -> NodeObject:
        with as_cloud():
            try:
                return self._read(await self._client.create(kinds.NODES, body))
            except AlreadyExists:
                return self._read(await self._client.get(kinds.NODES, body["metadata"]["name"]))

    async def get(self, name: str) -> NodeObject | None:
        with as_cloud():
            try:
                return self._read(await self._client.get(kinds.NODES, name))
            except NotFound:
                return None

    async def all(self) -> tuple[NodeObject, ...]:
        """All or none: a machine left out because its Node cannot be read would count as gone."""
        with as_cloud():
            found = await self._client.list(kinds.NODES, labels=self._labels, into=NodeWire)
            return tuple(self._reader.of(one) for one in found.items)

    async def delete(self, name: str, uid: str) -> None:
        """A conflict means that another Node has taken the name: the one meant is gone."""
        with as_cloud():
            try:
                await self._client.delete(kinds.NODES, name, uid=uid)
            except (NotFound, Conflict):
                return

    async def set_boot_id(self, name: str, boot_id: str) -> None:
        patch = MergePatch({"status": {"nodeInfo": {"bootID": boot_id}}})
        with as_cloud():
            await self._client.patch(kinds.NODES, name, patch, subresource="status")

    def _read(self, answer: dict[str, Any]) -> NodeObject:
        return self._reader.of(msgspec.convert(answer, NodeWire))
