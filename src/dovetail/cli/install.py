"""`dovetail install`: what a cluster needs, printed or applied."""

from __future__ import annotations

import asyncio
import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Final

from dovetail import __version__
from dovetail.cli import flags as shared
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.output import structured
from dovetail.core.errors import BadInput

if TYPE_CHECKING:
    from dovetail.api.install.workload import Object
    from dovetail.kube.client import Client

CLOUDS: Final = ("kwok", "aws", "cluster-api")
MACHINE_CLOUDS: Final = ("aws", "gcp", "azure", "sim")
CORES: Final = ("own", "upstream")
_NAMESPACE: Final = "kube-system"
_IMAGE: Final = f"dovetail:{__version__}"
#: Under which name the server keeps what is ours.
_MANAGER: Final = "dovetail-install"
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
EXAMPLES: Final = (
    ("dovetail install --dry-run", "print everything; no cluster is needed"),
    ("dovetail install --cloud aws --image example.com/dovetail:0.1.0", "apply it to kubectl's current cluster"),
    ("dovetail install --skip-crds -n karpenter", "beside Karpenter, with its definitions"),
    ("dovetail install --machines aws --core own", "what looks after Cluster API machines, instead"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="print everything, but change nothing; no cluster is needed"
    )
    parser.add_argument("--cloud", choices=CLOUDS, default=CLOUDS[0], help=f"whose machines (default {CLOUDS[0]})")
    parser.add_argument("--image", type=_image, metavar="IMAGE", default=_IMAGE, help=f"default {_IMAGE}")
    where = parser.add_argument_group("where to")
    where.add_argument(
        "-n", "--namespace", type=_name, metavar="NAME", default=_NAMESPACE, help=f"default {_NAMESPACE}"
    )
    where.add_argument("--create-namespace", action="store_true", help="make the namespace, too")
    where.add_argument("--kubeconfig", metavar="FILE", help="default: what kubectl would use")
    where.add_argument("--context", metavar="NAME", help="which context of it")
    parser.add_argument("--skip-crds", action="store_true", help="leave the custom resource definitions alone")
    parser.add_argument(
        "--force-conflicts", action="store_true", help="take over fields that somebody else manages, such as a chart"
    )
    parser.add_argument(
        "--handler", action="store_true", help="the termination handler, too, on nodes that may be taken away"
    )
    parser.add_argument(
        "--machines",
        choices=MACHINE_CLOUDS,
        help="instead of the controller, what looks after Cluster API machines of this cloud",
    )
    parser.add_argument(
        "--core",
        choices=CORES,
        default=CORES[0],
        help="with --machines: beside Cluster API's own controllers (upstream), or in their place (own, the default)",
    )
    shared.add_output(parser, ("yaml", "json"))


def run(flags: Namespace, console: Console) -> int:
    objects = _objects(flags)
    if not flags.dry_run:
        _install(objects, flags, console)
    elif flags.output == "json":
        structured({"apiVersion": "v1", "kind": "List", "items": objects}, "json", console)
    else:
        from dovetail.api.install.text import yaml_text

        console.write(yaml_text(objects))
    return Exit.OK


def _objects(flags: Namespace) -> list[Object]:
    from dovetail.api.install import handler, objects
    from dovetail.api.install.installation import Installation

    wanted = Installation(image=flags.image, cloud=flags.cloud, namespace=flags.namespace)
    if flags.machines:
        defined, running = _machines(flags)
    else:
        defined, running = objects.definitions(flags.cloud), objects.objects(wanted)
    on_nodes = handler.HandlerInstallation(image=flags.image, namespace=flags.namespace)
    return [
        *([] if flags.skip_crds else defined),
        *([objects.namespace(wanted)] if flags.create_namespace else []),
        *running,
        *(handler.objects(on_nodes) if flags.handler else ()),
    ]


def _machines(flags: Namespace) -> tuple[list[Object], list[Object]]:
    """Definitions, and all else."""
    from dovetail.api.install import machines

    one = machines.MachinesInstallation(
        image=flags.image, cloud=flags.machines, core=flags.core, namespace=flags.namespace
    )
    return machines.definitions(one), machines.objects(one)


def _install(objects: list[Object], flags: Namespace, console: Console) -> None:
    """Apply everything, then tell: a reader who stops reading must not stop an installation half way."""
    applied: list[str] = []
    try:
        with console.doing("applying"):
            asyncio.run(_apply(objects, flags, console, applied))
    finally:
        if flags.output == "json":
            structured({"applied": applied}, "json", console)
        else:
            console.write("".join(f"{one} applied\n" for one in applied))


async def _apply(objects: list[Object], flags: Namespace, console: Console, applied: list[str]) -> None:
    from dovetail.kube import config
    from dovetail.kube.client import Client

    cluster = config.load(flags.kubeconfig, flags.context, os.environ)
    for warning in cluster.warnings:
        console.note(warning)
    async with Client(cluster) as client:
        if flags.machines and flags.core == CORES[0]:
            await _undisturbed(client)
        for one in objects:
            # One by one: what was applied before a failure is told, too.
            applied.append(await _apply_one(client, one, force=flags.force_conflicts))  # noqa: PERF401


async def _undisturbed(client: Client) -> None:
    """Our definitions of Cluster API's kinds over its own would break it."""
    from dovetail.controllers.cluster_api import switch
    from dovetail.kube.errors import KubeError

    try:
        if await switch.is_theirs(client):
            raise BadInput(switch.THEIRS)
    except switch.NotDefined:
        return
    except KubeError as problem:
        raise BadInput(f"whether Cluster API is installed could not be looked up: {problem}") from None


async def _apply_one(client: Client, one: Object, *, force: bool) -> str:
    """Apply one object; its name, or a sentence that says what to do about it."""
    from dovetail.api.install import objects
    from dovetail.kube import errors
    from dovetail.kube.patches import Apply

    kind = objects.kind_of(one)
    name, namespace = objects.name_of(one)
    shown = f"{kind}/{name}"
    try:
        await client.patch(kind, name, Apply(one, _MANAGER, force), namespace)
    except errors.Conflict as problem:
        raise BadInput(f"{shown}: {problem}; with --force-conflicts these fields are taken over") from None
    except errors.NotFound as problem:
        hint = "; with --create-namespace it is made" if namespace else ""
        raise BadInput(f"{shown}: {problem}{hint}") from None
    except errors.KubeError as problem:
        raise BadInput(f"{shown}: {problem}") from None
    return shown


def _name(text: str) -> str:
    if _DNS_LABEL.fullmatch(text) is None:
        raise ArgumentTypeError(f"{text[:70]!r} is not the name of a namespace: small letters, digits and '-'")
    return text


def _image(text: str) -> str:
    if not text or any(char.isspace() or not char.isprintable() for char in text):
        raise ArgumentTypeError(f"{text[:70]!r} is not the name of an image")
    return text
