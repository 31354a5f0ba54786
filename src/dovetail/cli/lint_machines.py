"""Lint rules over Cluster API's machines: prices nobody can pay, control planes on spot, checks that do nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovetail.api import documents, kinds
from dovetail.api.cluster_api import infra_reading, reading
from dovetail.api.documents import Document
from dovetail.api.fields import Fields, fields, settled
from dovetail.cli.lint_documents import UNREADABLE
from dovetail.core.errors import BadInput
from dovetail.core.machines import names, prices
from dovetail.core.machines.infra_objects import Wanted
from dovetail.core.machines.objects import HealthCheck
from dovetail.views.findings import Finding, Level, Rule

PRICE: Final = Rule("DV016", "impossible-max-price", "A highest price for spot machines that buys nothing")
CONTROL_PLANE: Final = Rule("DV017", "control-plane-on-spot", "A control plane on machines that may be taken away")
CHECK: Final = Rule("DV018", "idle-health-check", "A health check that never replaces a machine, or replaces all")
UNCHECKED: Final = Rule("DV019", "spot-without-health-check", "Machines on spot that nobody replaces when they go")
RULES: Final = (PRICE, CONTROL_PLANE, CHECK, UNCHECKED)

_MACHINES: Final = {kind.name: kind for kind in kinds.INFRA_MACHINES}
_TEMPLATES: Final = {f"{kind.name}Template": kind for kind in kinds.INFRA_MACHINES}
_PRICES: Final = {"aws": "spotMarketOptions.maxPrice", "gcp": "maxPrice", "azure": "spotVMOptions.maxPrice"}
_OWNERS: Final = ("MachineSet", "MachineDeployment")
#: Where a control plane refers to its machines' template: in the older version, and in the newer.
_OF_CONTROL_PLANES: Final = (
    ("spec", "machineTemplate", "infrastructureRef"),
    ("spec", "machineTemplate", "spec", "infrastructureRef"),
)
_GROUPS: Final = ("cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io")


@dataclass(frozen=True, slots=True)
class _Object:
    """One object of Cluster API, with what it wants where it is a machine or a template of some."""

    document: Document
    whole: Fields
    kind: str
    wanted: Wanted | None = None
    #: Where the machine's fields stand.
    at: str = "spec"

    @property
    def key(self) -> tuple[str, str, str]:
        about = self.whole.map("metadata")
        return self.kind, about.text("namespace") or "", about.text("name") or ""

    def finding(self, rule: Rule, path: str, told: str, fix: str, level: Level = Level.ERROR) -> Finding:
        return Finding(rule, level, documents.name_of(self.document.value), path, told, fix, self.document.place[0])

    def refers(self, *path: str) -> tuple[str, str, str]:
        """The key of what is referred to, in the same namespace."""
        found = self.whole
        for name in path:
            found = found.map(name)
        return found.text("kind") or "", self.key[1], found.text("name") or ""


def machines(read: Iterable[Document]) -> Iterator[Finding]:
    """Every rule over everything in the files that is Cluster API's."""
    found: list[_Object] = []
    for document in read:
        value = document.value
        if not isinstance(value, Mapping) or str(value.get("apiVersion")).partition("/")[0] not in _GROUPS:
            continue
        try:
            found.append(_read(document, value))
        except BadInput as bad:
            yield _unreadable(document, bad)
    world = _World(tuple(found), {one.key: one for one in found})
    for one in found:
        for rule in (_prices, _control_planes, _checks, _unchecked):
            try:
                yield from list(rule(one, world))
            except BadInput as bad:
                yield _unreadable(one.document, bad)


def _unreadable(document: Document, bad: BadInput) -> Finding:
    problem, name = settled(bad), documents.name_of(document.value)
    path, fix = ".".join(problem.place.parts), "mend the field, or take the object out"
    return Finding(UNREADABLE, Level.ERROR, name, path, problem.problem, fix, document.place[0])


@dataclass(frozen=True, slots=True)
class _World:
    """All objects, and by what they are called."""

    objects: tuple[_Object, ...]
    known: Mapping[tuple[str, str, str], _Object]


def _read(document: Document, value: Mapping[str, Any]) -> _Object:
    whole, kind = fields(value), str(value.get("kind"))
    reading.meta(whole)
    if kind in _MACHINES:
        return _Object(document, whole, kind, infra_reading.infra_machine(_MACHINES[kind], whole).wanted)
    if kind in _TEMPLATES:
        spec = whole.map("spec").map("template").map("spec")
        like = {"metadata": {"name": "template"}, "spec": spec.wire}
        wanted = infra_reading.infra_machine(_TEMPLATES[kind], fields(like)).wanted
        return _Object(document, whole, kind, wanted, "spec.template.spec")
    return _Object(document, whole, kind)


def _prices(one: _Object, world: _World) -> Iterator[Finding]:
    if one.wanted is None:
        return
    try:
        prices.max_price(one.wanted)
    except BadInput as bad:
        told, _, fix = str(bad).partition("; ")
        path = f"{one.at}.{_PRICES[one.wanted.cloud]}"
        yield one.finding(PRICE, path, told, fix or "write dollars an hour, or leave it out for the on-demand price")


def _is_spot(one: _Object | None) -> bool:
    return one is not None and one.wanted is not None and one.wanted.market.is_interruptible


def _control_planes(one: _Object, world: _World) -> Iterator[Finding]:
    """Labelled itself, made from a control plane's template, or owned by a labelled Machine."""
    fix = "leave the spot fields out: etcd loses its quorum when several machines go at once"
    labelled = names.CONTROL_PLANE in one.whole.map("metadata").labels("labels")
    if one.kind in _MACHINES and labelled and _is_spot(one):
        yield one.finding(CONTROL_PLANE, one.at, "is part of a control plane and may be taken away", fix)
    if one.kind == "Machine" and labelled and _is_spot(world.known.get(one.refers("spec", "infrastructureRef"))):
        yield one.finding(CONTROL_PLANE, "spec.infrastructureRef", "refers to a machine that may be taken away", fix)
    for path in _OF_CONTROL_PLANES if one.kind.endswith("ControlPlane") else ():
        if _is_spot(world.known.get(one.refers(*path))):
            told = "makes its machines from a template of machines that may be taken away"
            yield one.finding(CONTROL_PLANE, ".".join(path), told, fix)


def _checks(one: _Object, world: _World) -> Iterator[Finding]:
    if one.kind == kinds.HEALTH_CHECKS.name:
        yield from _idle(one, reading.health_check(one.whole))


def _idle(one: _Object, check: HealthCheck) -> Iterator[Finding]:
    new = one.whole.map("spec").has("checks") or one.whole.map("spec").has("remediation")
    most = "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo" if new else "spec.maxUnhealthy"
    span = "spec.remediation.triggerIf.unhealthyInRange" if new else "spec.unhealthyRange"
    if check.span is not None and check.span[0] > check.span[1]:
        told = f"nothing is between {check.span[0]} and {check.span[1]}, so no machine is ever replaced"
        yield one.finding(CHECK, span, told, "write the smaller number first", Level.WARNING)
    elif check.span is None and str(check.most) in ("0", "0%"):
        told = "no machine is ever replaced: one that is unhealthy is one too many"
        yield one.finding(CHECK, most, told, "allow one or more", Level.WARNING)
    for sign in check.node_signs:
        if (sign.type, sign.status) == ("Ready", "True"):
            at = "spec.checks.unhealthyNodeConditions" if new else "spec.unhealthyConditions"
            told = f"every node that has been well for {sign.timeout:g} s is replaced"
            yield one.finding(CHECK, at, told, "write status False or Unknown")
    if not check.startup and not check.node_signs and not check.machine_signs:
        told = "nothing but a failure or a Node that is gone makes a machine unhealthy"
        fix = "name conditions of the Node, such as Ready Unknown for 5 minutes"
        yield one.finding(CHECK, "spec.checks" if new else "spec", told, fix, Level.WARNING)


def _unchecked(one: _Object, world: _World) -> Iterator[Finding]:
    """Machines of a set on spot that no health check selects: what is taken away stays away."""
    if one.kind not in _OWNERS:
        return
    if not _is_spot(world.known.get(one.refers("spec", "template", "spec", "infrastructureRef"))):
        return
    labels = one.whole.map("spec").map("template").map("metadata").labels("labels")
    if not any(_selects(check, labels) for check in world.objects if check.kind == kinds.HEALTH_CHECKS.name):
        told = "its machines may be taken away, and no MachineHealthCheck selects them"
        fix = "add a MachineHealthCheck whose selector matches the template's labels"
        yield one.finding(UNCHECKED, "spec.template.metadata.labels", told, fix, Level.WARNING)


def _selects(check: _Object, labels: Mapping[str, str]) -> bool:
    """One that cannot be read selects nothing, and is told of elsewhere."""
    try:
        return reading.health_check(check.whole).selector.matches(labels)
    except BadInput:
        return False
