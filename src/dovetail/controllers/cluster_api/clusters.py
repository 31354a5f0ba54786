"""Where a cluster's machines are made: the spec of the infrastructure cluster that a Cluster refers to.

Clouds that find a machine's network there ask for it at every purchase, and a thousand purchases ask for the same, so
an answer is kept for a while. An infrastructure cluster is not ours to change: whoever made the network wrote it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.kube.client import Client
from dovetail.kube.errors import NotFound

FRESH_SECONDS: Final = 30.0
KINDS: Final = {"aws": kinds.AWS_CLUSTERS, "gcp": kinds.GCP_CLUSTERS, "azure": kinds.AZURE_CLUSTERS}
Spec = Mapping[str, object]


@dataclass(slots=True)
class InfraClusters:
    """Specs of one kind of infrastructure cluster, by the Cluster they belong to."""

    client: Client
    kind: Kind
    now: Callable[[], float] = time.monotonic
    _known: dict[tuple[str, str], tuple[float, Spec]] = field(default_factory=dict)

    async def __call__(self, namespace: str, cluster: str) -> Spec | None:
        """None where there is none, or one of another kind."""
        key = (namespace, cluster)
        known = self._known.get(key)
        if known is not None and self.now() - known[0] < FRESH_SECONDS:
            return known[1]
        found = await self._asked(namespace, cluster)
        if found is None:
            self._known.pop(key, None)
        else:
            self._known[key] = (self.now(), found)
        return found

    async def _asked(self, namespace: str, cluster: str) -> Spec | None:
        try:
            whole = await self.client.get(kinds.CLUSTERS, cluster, namespace)
            ref: dict[str, Any] = (whole.get("spec") or {}).get("infrastructureRef") or {}
            if ref.get("kind") != self.kind.name or not ref.get("name"):
                return None
            answer = await self.client.get(self.kind, str(ref["name"]), namespace)
        except NotFound:
            return None
        spec: Spec = answer.get("spec") or {}
        return spec
