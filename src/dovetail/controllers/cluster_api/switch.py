"""Who looks after Machines: Cluster API's own controllers, or ours. Never both: each would undo the other's work.

Cluster API's installer labels its definitions; ours carry no such label. So the definition of Machine itself says whose
it is, and a process that is told to be the core refuses to start where somebody else is. Told nothing, it looks.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from dovetail.api.kinds import CRDS, MACHINES
from dovetail.core.errors import BadInput
from dovetail.kube.client import Client
from dovetail.kube.errors import NotFound

PROVIDER: Final = "cluster.x-k8s.io/provider"
CORE_PROVIDER: Final = "cluster-api"


THEIRS: Final = (
    "Cluster API's own controllers are installed here and would undo what ours do; leave Machines to them "
    "(--core upstream), or uninstall them"
)


class NotDefined(BadInput):
    """There are no Machines in this cluster."""


class Core(StrEnum):
    """Whose core controllers run."""

    UPSTREAM = "upstream"
    OURS = "own"


async def settled(client: Client, wanted: Core | None) -> Core:
    """Who it is to be; None is whoever is installed. Raises BadInput as `check` does."""
    if wanted is None:
        return Core.UPSTREAM if await is_theirs(client) else Core.OURS
    await check(client, wanted)
    return wanted


async def check(client: Client, core: Core) -> None:
    """Raises BadInput, with the way out, where the choice does not fit what is installed."""
    theirs = await is_theirs(client)
    if theirs and core is Core.OURS:
        raise BadInput(THEIRS)
    if not theirs and core is Core.UPSTREAM:
        raise BadInput(
            "Cluster API's own controllers are not installed here; install them, or let ours do their work (--core own)"
        )


async def is_theirs(client: Client) -> bool:
    """Whether Cluster API's own core is installed; NotDefined where there is no core at all."""
    try:
        definition = await client.get(CRDS, f"{MACHINES.plural}.{MACHINES.group}")
    except NotFound:
        raise NotDefined(
            f"{MACHINES} is not defined; install Cluster API, or apply deploy/cluster-api/machines without it"
        ) from None
    labels = definition["metadata"].get("labels") or {}
    return bool(labels.get(PROVIDER) == CORE_PROVIDER)
