"""`dovetail plan --cluster-api`: what the machines of a Cluster API cluster cost, and what spot would make of it.

Nothing is written, to a cluster or anywhere. The exit code is that of `plan`: 2 where something cannot be read or a
type is not known, 3 where machines can never be had as they are written.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from itertools import chain
from typing import Final

from dovetail.api import documents, dumps, kinds, what_if
from dovetail.api.cluster_api import fleet
from dovetail.api.cluster_api.fleet import Listed
from dovetail.api.documents import Document
from dovetail.cli import files, live, output
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.machine_prices import CLOUDS, PriceLists, UnknownType
from dovetail.core.errors import BadField, BadInput
from dovetail.core.machines import pricing
from dovetail.core.machines.pricing import Bill
from dovetail.views import machine_bills

#: What is read of a live cluster: machines, who keeps them, what they are made from, and where they stand.
KINDS: Final = (
    kinds.CLUSTERS,
    kinds.MACHINE_DEPLOYMENTS,
    kinds.MACHINE_SETS,
    kinds.MACHINES,
    kinds.CONTROL_PLANES,
    *kinds.INFRA_MACHINES,
    *kinds.INFRA_TEMPLATES,
    *kinds.INFRA_CLUSTERS,
)


def run(found: Namespace, console: Console) -> int:
    for flag in ("cloud", "diff"):
        if getattr(found, flag) is not None:
            raise BadInput(f"--{flag}: means nothing with --cluster-api; machines say themselves whose they are")
    with console.doing("reading the machines"):
        seen = _read(found, console)
        console.problems(seen.problems)
        if seen.skipped:
            console.note(f"skipped {sum(seen.skipped.values())} objects that are not Cluster API's")
        lists = PriceLists(found, console)
        if lists.own is not None and lists.own.cloud not in CLOUDS:
            raise BadInput(f"--catalog: is of {lists.own.cloud}; machines of Cluster API are of {', '.join(CLOUDS)}")
        bills = tuple(_bill(one, lists, console) for one in seen.groups)
    match found.output:
        case "table":
            console.show(machine_bills.text(bills, console.today, console.width, console.paint))
        case other:
            output.structured(machine_bills.wire(bills), other, console)
    sums = pricing.totals(bills)
    return Exit.PENDING if sums.forbidden or sums.waiting else Exit.OK


def _read(found: Namespace, console: Console) -> fleet.Fleet:
    if not found.file and not live.is_wanted(found):
        raise BadInput("name at least one file or directory with -f, - for stdin, or a live cluster with --context")
    changes = [what_if.parse(one) for one in found.changes or ()]
    seen = live.read(found, console, KINDS) if live.is_wanted(found) else []
    given = chain(seen, files.world(found.file or (), console))
    read = fleet.read(_changed(chain.from_iterable(_documents(name, held) for name, held in given), changes))
    console.problems(what_if.unmet(changes))
    return read


def _documents(name: str, held: str | files.Buffer) -> Iterator[Document | BadField]:
    return documents.read(held, name) if isinstance(held, str) else dumps.read(held, name)


def _changed(read: Iterator[Document | BadField], changes: list[what_if.Change]) -> Iterator[Document | BadField]:
    for document in read:
        if not isinstance(document, BadField):
            what_if.apply(changes, document)
        yield document


def _bill(one: Listed, lists: PriceLists, console: Console) -> Bill:
    group = lists.placed(one.group)
    try:
        return pricing.bill(group, pricing.UNKNOWN if group.problem else lists.rates(group))
    except UnknownType as problem:
        bad = one.bad_type(str(problem))
        console.problems(() if bad is None else (bad,))
        return pricing.unpriced(group, str(problem))
    except BadInput as problem:
        return pricing.unpriced(group, str(problem))
