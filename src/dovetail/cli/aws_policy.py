"""`dovetail aws policy`: the IAM policy the controller's role needs, for the features in use and nothing more."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from dovetail.cli import flags as shared
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.output import structured
from dovetail.core.errors import BadField, BadInput

if TYPE_CHECKING:
    from dovetail.clouds.aws.policy import Scope

_PARTITIONS: Final = ("aws", "aws-cn", "aws-us-gov")
EXAMPLES: Final = (
    ("dovetail aws policy --cluster prod", "everything but the queue and zonal shifts, as JSON for IAM"),
    (
        "dovetail aws policy --cluster prod --account 123456789012 --region eu-west-1 --role prod-nodes",
        "bound to one account, region and role",
    ),
    ("dovetail aws policy --cluster prod --queue prod -f nodeclasses.yaml", "only what these node classes need"),
    ("dovetail aws policy --cluster prod -o table", "what it allows, and why"),
    (
        'aws iam create-policy --policy-name dovetail-prod --policy-document "$(dovetail aws policy --cluster prod)"',
        "let the controller have it",
    ),
)


def configure(parser: ArgumentParser) -> None:
    where = parser.add_argument_group("whose, and where; what is left out is any")
    where.add_argument(
        "--cluster", type=_matching("0-9A-Za-z_-"), metavar="NAME", required=True, help="the EKS cluster"
    )
    where.add_argument("--region", type=_matching("a-z0-9*-"), metavar="NAME", default="*", help="its region")
    where.add_argument("--account", type=_matching("0-9*"), metavar="ID", default="*", help="its account")
    where.add_argument("--partition", choices=_PARTITIONS, default=_PARTITIONS[0], help="default aws")
    where.add_argument("--role", type=_matching("\\w+=,.@/*-"), metavar="NAME", default="*", help="the role of nodes")
    what = parser.add_argument_group("which features; without a file, all of them")
    what.add_argument("--queue", type=_matching("0-9A-Za-z_-"), metavar="NAME", help="interruptions")
    what.add_argument("--zonal-shift", action="store_true", help="zones that are shifted away from are left alone")
    what.add_argument("--isolated-vpc", action="store_true", help="the Pricing service is never asked")
    what.add_argument("--no-reboots", action="store_true", help="no node is ever repaired by a restart")
    what.add_argument(
        "-f",
        "--file",
        metavar="PATH",
        action="append",
        help="EC2NodeClasses: a file, a directory or -, for what they need and no more (repeatable)",
    )
    shared.add_output(parser, ("json", "table"))


def run(flags: Namespace, console: Console) -> int:
    from dovetail.clouds.aws import policy

    scope = _scope(flags, console)
    if flags.output == "json":
        structured(policy.policy(scope), "json", console)
        return Exit.OK
    from dovetail.views.table import Column, render

    columns = (Column("RIGHT"), Column("ACTIONS", prose=True), Column("FOR"), Column("WHY", prose=True, rank=1))
    rows = [(one.sid, " ".join(one.actions), one.feature, one.why) for one in policy.rights(scope.features)]
    console.show(render(columns, rows, console.width))
    return Exit.OK


def _scope(flags: Namespace, console: Console) -> Scope:
    from dovetail.clouds.aws import policy
    from dovetail.clouds.aws.policy import Feature, Scope

    classes = None if flags.file is None else list(_classes(flags.file, console))
    if classes == []:
        raise BadInput(f"there is no EC2NodeClass in {', '.join(flags.file)[:200]}; leave -f out for every feature")
    features = set(Feature if classes is None else policy.features_of(classes))
    for feature, wanted in (
        (Feature.PRICES, not flags.isolated_vpc),
        (Feature.REBOOTS, not flags.no_reboots),
        (Feature.QUEUE, bool(flags.queue)),
        (Feature.ZONAL_SHIFT, flags.zonal_shift),
    ):
        features = features | {feature} if wanted else features - {feature}
    return Scope(
        cluster=flags.cluster,
        region=flags.region,
        account=flags.account,
        partition=flags.partition,
        role=flags.role,
        queue=flags.queue or "",
        parameters=policy.parameters_of(classes or ()),
        features=frozenset(features),
    )


def _classes(names: list[str], console: Console) -> Iterator[dict[str, Any]]:
    from dovetail.api import documents
    from dovetail.cli import files

    for name, text in files.manifests(names, console):
        for one in documents.read(text, name):
            if isinstance(one, BadField):
                console.problems([one])
            elif isinstance(one.value, dict) and one.value.get("kind") == "EC2NodeClass":
                yield one.value


def _matching(characters: str) -> Callable[[str], str]:
    form = re.compile(f"[{characters}]{{1,256}}", re.ASCII)

    def read(text: str) -> str:
        if form.fullmatch(text) is None:
            raise ArgumentTypeError(f"{text[:70]!r} has characters that such a name cannot have")
        return text

    return read
