"""A live cluster, read once: every list planning looks at, in the form of a dump. Nothing is written, ever."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.cli.console import Console
from dovetail.core.errors import BadInput

if TYPE_CHECKING:
    from dovetail.kube.client import Client

#: What planning looks at. Workloads are not here: in a cluster their pods exist already; secrets never are.
KINDS: Final = (
    kinds.NAMESPACES,
    kinds.NODES,
    kinds.PODS,
    kinds.DAEMON_SETS,
    kinds.DISRUPTION_BUDGETS,
    kinds.PERSISTENT_VOLUME_CLAIMS,
    kinds.PERSISTENT_VOLUMES,
    kinds.STORAGE_CLASSES,
    kinds.CSI_NODES,
    kinds.LIMIT_RANGES,
    kinds.PRIORITY_CLASSES,
    kinds.RUNTIME_CLASSES,
    kinds.NODE_POOLS,
    kinds.NODE_CLAIMS,
    kinds.NODE_OVERLAYS,
    kinds.INSTANCE_TYPES,
    kinds.KWOK_NODE_CLASSES,
    kinds.EC2_NODE_CLASSES,
    kinds.CAPACITY_BUFFERS,
    kinds.POD_TEMPLATES,
)
#: What is looked at besides where a NodePool draws on machines of Cluster API.
MACHINE_KINDS: Final = (
    kinds.CLUSTERS,
    kinds.MACHINE_DEPLOYMENTS,
    kinds.MACHINE_SETS,
    *kinds.INFRA_TEMPLATES,
    *kinds.INFRA_CLUSTERS,
)
_ATTEMPTS_SECONDS: Final = 15.0
#: By group and version, the version before it, which is read as well: an older Cluster API serves no other.
_OLDER: Final = {
    (kind.group, "v1beta2"): "v1beta1" for kind in (kinds.MACHINES, kinds.AWS_MACHINES, kinds.CONTROL_PLANES)
}


def add_flags(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("which cluster")
    group.add_argument(
        "--context", metavar="NAME", help="a live cluster instead of files, read only; '' is kubectl's current one"
    )
    group.add_argument("--kubeconfig", metavar="FILE", help="where its context is; default: what kubectl would use")


def is_wanted(flags: Namespace) -> bool:
    return getattr(flags, "context", None) is not None or bool(getattr(flags, "kubeconfig", None))


def read(
    flags: Namespace, console: Console, wanted: Sequence[Kind] = KINDS, drawn_on: Sequence[Kind] = MACHINE_KINDS
) -> list[tuple[str, bytes]]:
    """Every list, as (what it is called, a JSON List); those of `drawn_on` if a pool draws on machines."""
    import asyncio  # slow to load, and only a live cluster needs it

    return asyncio.run(_read(flags, console, wanted, drawn_on))


async def _read(
    flags: Namespace, console: Console, wanted: Sequence[Kind], drawn_on: Sequence[Kind]
) -> list[tuple[str, bytes]]:
    from dovetail.kube import config, errors
    from dovetail.kube.client import Client

    cluster = config.load(flags.kubeconfig, flags.context or None, os.environ)
    for warning in cluster.warnings:
        console.note(warning)
    try:
        async with Client(cluster) as client:
            asked = client.within(_ATTEMPTS_SECONDS)
            found = [await _listed(asked, kind, console) for kind in wanted]
            if _draw_on_machines(found):
                found += [await _listed(asked, kind, console) for kind in drawn_on]
    except errors.KubeError as problem:
        raise BadInput(f"{cluster.server}: {problem}") from None
    return [one for one in found if one is not None]


def _draw_on_machines(found: Sequence[tuple[str, bytes] | None]) -> bool:
    """Whether any NodePool speaks of Cluster API; most clusters have none, and are not asked for its kinds."""
    group = kinds.AWS_TEMPLATES.group.encode()
    return any(one is not None and one[0] == str(kinds.NODE_POOLS) and group in one[1] for one in found)


async def _listed(client: Client, kind: Kind, console: Console) -> tuple[str, bytes] | None:
    """One list. A kind that is not served has nothing in it; one we may not read is told of, and planned without."""
    from dovetail.kube import errors

    items: list[bytes] = []
    try:
        async for page in client.pages(kind, into=msgspec.Raw):
            if page.first:
                items.clear()
            items += (bytes(one) for one in page.items)
    except errors.UnknownKind:
        older = _OLDER.get((kind.group, kind.version))
        return None if older is None else await _listed(client, replace(kind, version=older), console)
    except errors.Forbidden as problem:
        console.note(f"{kind} is left out: {problem}")
        return None
    head = f'{{"kind":"{kind.name}List","apiVersion":"{kind.api_version}","items":['.encode()
    return f"{kind}", head + b",".join(items) + b"]}"
