"""Lint rules over Cluster API's machines: prices nobody can pay or need not, control planes on spot, spot machines that
nobody looks after. What a health check can do wrong is in `lint_health_checks`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.api import documents
from dovetail.api.cluster_api import fleet
from dovetail.api.cluster_api.fleet import Fleet, Item, Listed
from dovetail.api.crds.cluster_api import gcp
from dovetail.api.documents import Document
from dovetail.api.fields import settled
from dovetail.cli import lint_health_checks
from dovetail.cli.lint_documents import UNREADABLE
from dovetail.cli.lint_health_checks import CHECK, finding
from dovetail.core.errors import BadInput
from dovetail.core.machines import names, prices, pricing
from dovetail.core.machines.infra_objects import Wanted
from dovetail.core.machines.pricing import Group, Owner, Rates
from dovetail.views.findings import Finding, Level, Rule

PRICE: Final = Rule(
    "DV016",
    "impossible-max-price",
    "A highest price for spot machines that buys nothing, or bounds it not",
    (Level.ERROR, Level.WARNING),
    "a `maxPrice` of an AWSMachine or AzureMachine (or template) that is no decimal number or buys nothing "
    "(Azure: 0 or less, but for -1), and any on GCP, `spotMarketOptions` among them; as a warning one above the "
    "on-demand price where its machines stand, which nobody ever pays",
)
CONTROL_PLANE: Final = Rule(
    "DV017",
    "control-plane-on-spot",
    "A control plane on machines that may be taken away",
    (Level.ERROR,),
    "a machine of a control plane, or the template of a control plane or of a set labelled as one, that may be "
    "taken away",
)
UNCHECKED: Final = Rule(
    "DV019",
    "spot-without-health-check",
    "Machines on spot that nobody replaces when they go",
    (Level.WARNING,),
    "a MachineSet or MachineDeployment on spot whose machines no MachineHealthCheck of its namespace and cluster "
    "selects",
)
RULES: Final = (PRICE, CONTROL_PLANE, CHECK, UNCHECKED)

_PRICES: Final = {"aws": "spotMarketOptions.maxPrice", "azure": "spotVMOptions.maxPrice"}
_OWNERS: Final = ("MachineSet", "MachineDeployment")
#: Where a control plane refers to its machines' template: in the older version, and in the newer.
_OF_CONTROL_PLANES: Final = (
    ("spec", "machineTemplate", "infrastructureRef"),
    ("spec", "machineTemplate", "spec", "infrastructureRef"),
)
#: What a machine costs where it stands, and which region that is.
Priced = Callable[[Group], tuple[str, Rates]]


@dataclass(frozen=True, slots=True)
class _World:
    """All objects, what they want where they are machines or templates, and what of that is priced how."""

    seen: Fleet
    wanted: Mapping[fleet.Key, Wanted]
    priced: Priced

    def refers(self, item: Item, *path: str) -> Wanted | None:
        """What is wanted by whatever is referred to, in the same namespace."""
        found = item.whole
        for name in path:
            found = found.map(name)
        return self.wanted.get((found.text("kind") or "", item.namespace, found.text("name") or ""))

    def group_of(self, item: Item) -> Listed | None:
        return next((one for one in self.seen.groups if one.group.owner == item.owner), None)


def machines(read: Iterable[Document], priced: Priced) -> Iterator[Finding]:
    """Every rule over everything in the files that is Cluster API's."""
    seen = fleet.read(one for one in read if _is_ours(one))
    for document, bad in seen.refused:
        yield _unreadable(document, bad)
    wanted: dict[fleet.Key, Wanted] = {}
    for item in seen.items.values():
        try:
            if item.infra is not None:
                wanted[item.key] = item.wanted(item.infra)
        except BadInput as bad:
            yield _unreadable(item.document, bad)
    world = _World(seen, wanted, priced)
    for item in seen.items.values():
        for rule in (_prices, _control_planes, _checks, _unchecked):
            try:
                yield from list(rule(item, world))
            except BadInput as bad:
                yield _unreadable(item.document, bad)


def _is_ours(document: Document) -> bool:
    value = document.value
    return isinstance(value, Mapping) and str(value.get("apiVersion")).partition("/")[0] in fleet.GROUPS


def _unreadable(document: Document, bad: BadInput) -> Finding:
    problem, name = settled(bad), documents.name_of(document.value)
    path, fix = ".".join(problem.place.parts), "mend the field, or take the object out"
    return Finding(UNREADABLE, Level.ERROR, name, path, problem.problem, fix, document.place[0])


def _bids_on_gcp(item: Item, wanted: Wanted) -> Iterator[Finding]:
    """What an API server with our definitions refuses, in the same words."""
    for name, said in gcp.NO_BIDS.items():
        if wanted.spec.get(name) is not None:
            told, _, fix = said.partition("; ")
            yield finding(item, PRICE, f"{item.at}.{name}", (told, fix))


def _prices(item: Item, world: _World) -> Iterator[Finding]:
    wanted = world.wanted.get(item.key)
    if wanted is not None and wanted.cloud == "gcp":
        yield from _bids_on_gcp(item, wanted)
        return
    if wanted is None or not wanted.max_price:
        return
    path = f"{item.at}.{_PRICES[wanted.cloud]}"
    try:
        prices.max_price(wanted)
    except BadInput as bad:
        told, _, fix = str(bad).partition("; ")
        yield finding(
            item, PRICE, path, (told, fix or "write dollars an hour, or leave it out for the on-demand price")
        )
        return
    users = [one.group for one in world.seen.groups if one.source is not None and one.source.key == item.key]
    alone = Group(item.owner, "", 1, Owner(*item.key), wanted)
    for region, known in sorted({world.priced(one) for one in users or [alone]}, key=lambda one: one[0]):
        if told := pricing.above_on_demand(wanted, known):
            told = f"{told} of {wanted.instance_type} in {region}: nobody pays more than that for spot"
            yield finding(
                item, PRICE, path, (told, "leave it out: the on-demand price is the bound then"), Level.WARNING
            )
            return


def _is_spot(wanted: Wanted | None) -> bool:
    return wanted is not None and wanted.market.is_interruptible


def _control_planes(item: Item, world: _World) -> Iterator[Finding]:
    """Labelled itself, made from a control plane's template, or owned by a labelled Machine or set."""
    fix = "leave the spot fields out: etcd loses its quorum when several machines go at once"
    labelled = names.CONTROL_PLANE in item.whole.map("metadata").labels("labels")
    made = item.infra is not None and item.kind not in fleet.TEMPLATES
    if made and labelled and _is_spot(world.wanted.get(item.key)):
        yield finding(item, CONTROL_PLANE, item.at, ("is part of a control plane and may be taken away", fix))
    if item.kind == "Machine" and labelled and _is_spot(world.refers(item, "spec", "infrastructureRef")):
        yield finding(
            item, CONTROL_PLANE, "spec.infrastructureRef", ("refers to a machine that may be taken away", fix)
        )
    told = "makes its machines from a template of machines that may be taken away"
    for path in _OF_CONTROL_PLANES if item.kind.endswith("ControlPlane") else ():
        if _is_spot(world.refers(item, *path)):
            yield finding(item, CONTROL_PLANE, ".".join(path), (told, fix))
    if item.kind in _OWNERS:
        found = world.group_of(item)
        if found is not None and found.group.control_plane and _is_spot(found.group.wanted):
            yield finding(
                item, CONTROL_PLANE, "spec.template.spec.infrastructureRef", (f"is a control plane and {told}", fix)
            )


def _checks(item: Item, world: _World) -> Iterator[Finding]:
    return lint_health_checks.findings(item, world.seen)


def _unchecked(item: Item, world: _World) -> Iterator[Finding]:
    """Machines of a set on spot that no health check selects: what is taken away stays away (R40)."""
    if item.kind not in _OWNERS:
        return
    if not _is_spot(world.refers(item, "spec", "template", "spec", "infrastructureRef")):
        return
    if not lint_health_checks.is_checked(item, world.seen):
        told = "its machines may be taken away, and no MachineHealthCheck selects them"
        fix = "add a MachineHealthCheck of the same namespace and cluster whose selector matches the template's labels"
        yield finding(item, UNCHECKED, "spec.template.metadata.labels", (told, fix), Level.WARNING)
