"""All of a Cluster API cluster's machines, as groups to be priced: what deployments, sets, control planes and loose
Machines ask for, where they stand, and who says so.

A machine is counted once: a set that a deployment owns, and a Machine that anything here owns, are its owner's. Where a
cluster is, its infrastructure says; where a machine is in it, its failure domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.api import kinds, manifests
from dovetail.api.cluster_api import infra_reading, reading
from dovetail.api.documents import Document
from dovetail.api.fields import Fields, fields
from dovetail.api.kinds import Kind
from dovetail.core.errors import BadField, BadInput, BadValue
from dovetail.core.machines import names
from dovetail.core.machines.infra_objects import Wanted
from dovetail.core.machines.objects import ObjectRef
from dovetail.core.machines.pricing import Group, Owner
from dovetail.core.machines.templates import Template

GROUPS: Final = (names.GROUP, kinds.AWS_MACHINES.group, kinds.CONTROL_PLANES.group)
#: By what templates are called, what machines made from them are.
TEMPLATES: Final = {f"{kind.name}Template": kind for kind in kinds.INFRA_MACHINES}
_MACHINES: Final = {kind.name: kind for kind in kinds.INFRA_MACHINES}
_CONTROL_PLANE: Final = "ControlPlane"
_SETS: Final = (kinds.MACHINE_DEPLOYMENTS.name, kinds.MACHINE_SETS.name)
#: A namespace that is left out in a file is this one when the file is applied.
_NAMESPACE: Final = "default"
_MOST: Final = 10**6
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Item:
    """One object, and where it was written."""

    document: Document
    whole: Fields
    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        return self.kind, self.namespace, self.name

    @property
    def owner(self) -> Owner:
        return Owner(*self.key)

    @property
    def infra(self) -> Kind | None:
        """Which infrastructure machine it is, or is a template of; None for all other objects."""
        return _MACHINES.get(self.kind) or TEMPLATES.get(self.kind)

    @property
    def at(self) -> str:
        """Where the fields of the instance stand."""
        return "spec.template.spec" if self.kind in TEMPLATES else "spec"

    def wanted(self, kind: Kind) -> Wanted:
        """What it asks for, as an infrastructure machine of this kind or a template of such."""
        if self.kind in TEMPLATES:
            return infra_reading.template(kind, self.whole)
        return infra_reading.infra_machine(kind, self.whole).wanted

    def bad(self, path: str, problem: str) -> BadField:
        return manifests.placed(BadValue(problem).at(path), self.document)


@dataclass(frozen=True, slots=True)
class Listed:
    """A group, and the object that says which type its machines are; None where that object is not here."""

    group: Group
    source: Item | None = None

    def bad_type(self, problem: str) -> BadField | None:
        """The problem, at the field that names the type."""
        if self.source is None or self.source.infra is None:
            return None
        return self.source.bad(f"{self.source.at}.{infra_reading.TYPES[self.source.infra]}", problem)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Everything of Cluster API's in some files or a cluster. `skipped` counts objects of other kinds, `refused` are
    those that have no name one could know them by; `problems` has them all."""

    items: Mapping[Key, Item]
    groups: tuple[Listed, ...]
    problems: tuple[BadField, ...]
    skipped: Mapping[str, int]
    refused: tuple[tuple[Document, BadInput], ...] = ()


def read(found: Iterable[Document | BadField]) -> Fleet:
    """An object that cannot be read costs itself and the machines it asks for; a later one takes an earlier's place."""
    sorted_ = _Sorted()
    for document in found:
        if isinstance(document, BadField):
            sorted_.problems.append(document)
            continue
        try:
            sorted_.take(document)
        except BadInput as problem:
            sorted_.refused.append((document, problem))
            sorted_.problems.append(manifests.placed(problem, document))
    groups = []
    for item in sorted_.items.values():
        try:
            groups += [one for one in (_listed(item, sorted_),) if one is not None]
        except BadInput as problem:
            sorted_.problems.append(manifests.placed(problem, item.document))
    return Fleet(sorted_.items, tuple(groups), tuple(sorted_.problems), sorted_.skipped, tuple(sorted_.refused))


@dataclass(slots=True)
class _Sorted:
    items: dict[Key, Item] = field(default_factory=dict)
    problems: list[BadField] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[Document, BadInput]] = field(default_factory=list)

    def take(self, document: Document) -> None:
        whole = fields(document.value)
        kind, group = whole.required("kind"), whole.required("apiVersion").partition("/")[0]
        if group not in GROUPS:
            self.skipped[kind] += 1
            return
        about = whole.map("metadata")
        item = Item(document, whole, kind, about.text("namespace") or _NAMESPACE, about.required("name"))
        self.items[item.key] = item


def _listed(item: Item, known: _Sorted) -> Listed | None:
    """The group an object asks for; None where it asks for none, or somebody else asks for it."""
    if item.kind in _SETS or item.kind == kinds.MACHINES.name:
        owner = reading.meta(item.whole).controller
        if owner is not None and (owner.kind, item.namespace, owner.name) in known.items:
            return None
        return _of_machine(item, known) if item.kind == kinds.MACHINES.name else _of_set(item, known)
    if item.kind.endswith(_CONTROL_PLANE) and item.whole.map("spec").has("machineTemplate"):
        return _of_control_plane(item, known)
    return None


def _of_machine(item: Item, known: _Sorted) -> Listed | None:
    spec, labels = item.whole.map("spec"), item.whole.map("metadata").labels("labels")
    return _group(item, _Asked(1, spec, "spec", names.CONTROL_PLANE in labels), known)


def _of_set(item: Item, known: _Sorted) -> Listed | None:
    spec = item.whole.map("spec")
    template = spec.map("template")
    labels = template.map("metadata").labels("labels")
    asked = _Asked(_replicas(spec), template.map("spec"), "spec.template.spec", names.CONTROL_PLANE in labels)
    return _group(item, asked, known)


def _of_control_plane(item: Item, known: _Sorted) -> Listed | None:
    spec = item.whole.map("spec")
    template, at = spec.map("machineTemplate"), "spec.machineTemplate"
    if not template.has("infrastructureRef"):
        template, at = template.map("spec"), f"{at}.spec"
    return _group(item, _Asked(_replicas(spec), template, at, True), known)


def _replicas(spec: Fields) -> int:
    count = spec.whole("replicas", 0, _MOST)
    return 1 if count is None else count


@dataclass(frozen=True, slots=True)
class _Asked:
    """So many, as a Machine's spec has it, which stands `at` a path."""

    replicas: int
    spec: Fields
    at: str
    control_plane: bool


def _group(item: Item, asked: _Asked, known: _Sorted) -> Listed:
    ref = reading.reference(asked.spec, "infrastructureRef")
    if ref is None:
        raise asked.spec.bad("infrastructureRef", "is missing")
    cluster = asked.spec.text("clusterName") or item.whole.map("spec").text("clusterName") or _labelled(item)
    source = known.items.get((ref.kind, item.namespace, ref.name))
    template = Owner(ref.kind, item.namespace, ref.name)
    kind = None if source is None else source.infra
    if source is None or kind is None:
        told = _missing(item, asked, ref, known)
        group = Group(item.owner, cluster, asked.replicas, template, None, "", (), asked.control_plane, told)
        return Listed(group)
    wanted = source.wanted(kind)
    made = source.whole.map("spec").map("template").map("metadata").labels("labels")
    region, zones = place(known.items, item.namespace, cluster)
    zone = asked.spec.text("failureDomain") or wanted.zone
    group = Group(
        owner=item.owner,
        cluster=cluster,
        replicas=asked.replicas,
        template=template,
        wanted=wanted,
        region=region,
        zones=(zone,) if zone else zones,
        control_plane=asked.control_plane or names.CONTROL_PLANE in made,
        problem=_unpriced(wanted),
    )
    return Listed(group, source)


def _labelled(item: Item) -> str:
    return item.whole.map("metadata").labels("labels").get(names.CLUSTER_NAME, "")


def _missing(item: Item, asked: _Asked, ref: ObjectRef, known: _Sorted) -> str:
    """Why nothing is known of a template. One of a cloud we know should be here; others are only told of."""
    if ref.kind in TEMPLATES or ref.kind in _MACHINES:
        told = f"there is no {ref.kind} {ref.name!r} in namespace {item.namespace}"
        known.problems.append(item.bad(f"{asked.at}.infrastructureRef.name", told))
        return told
    return f"nobody here knows what a {ref.kind} costs"


def _unpriced(wanted: Wanted) -> str:
    """Why the price list is not what such a machine costs."""
    spec: Mapping[str, Any] = wanted.spec
    if spec.get("marketType") == "CapacityBlock":
        return "a capacity block is paid for in advance"
    if spec.get("tenancy") in ("dedicated", "host"):
        return f"the price list is of shared machines, and tenancy is {spec['tenancy']}"
    disk = spec.get("osDisk")
    if isinstance(disk, Mapping) and disk.get("osType") == "Windows":
        return "the price list is of Linux machines, and osDisk.osType is Windows"
    return ""


def place(items: Mapping[Key, Item], namespace: str, cluster: str) -> tuple[str, tuple[str, ...]]:
    """The region of a cluster and the zones its machines may stand in, as far as its objects say."""
    whole = items.get((kinds.CLUSTERS.name, namespace, cluster))
    if whole is None:
        return "", ()
    region, zones = "", reading.cluster(whole.whole).zones
    for name in ("infrastructureRef", "controlPlaneRef"):
        ref = reading.reference(whole.whole.map("spec"), name)
        found = None if ref is None else items.get((ref.kind, namespace, ref.name))
        if found is not None:
            spec = found.whole.map("spec")
            region = region or spec.text("region") or spec.text("location") or ""
            zones = zones or _subnet_zones(spec)
    return region, zones


def _subnet_zones(spec: Fields) -> tuple[str, ...]:
    found = {one.text("availabilityZone") or "" for one in spec.map("network").items("subnets")}
    return tuple(sorted(found - {""}))


# ---- templates that pools draw on


def template_named(seen: Fleet, kind: str, name: str) -> Item:
    """The template a pool refers to. References of pools have no namespace, so its name must be the only one."""
    found = [one for one in seen.items.values() if (one.kind, one.name) == (kind, name)]
    if not found:
        raise BadValue(f"there is no {kind} {name!r}")
    if len(found) > 1:
        places = ", ".join(sorted(one.namespace for one in found))
        raise BadValue(f"there is a {kind} {name!r} in each of the namespaces {places}; give it a name of its own")
    return found[0]


def cluster_of(seen: Fleet, item: Item) -> str:
    """The cluster whose machines are made from a template: as it is labelled or owned, else that of a set that uses
    it, else the only one there is in its namespace; "" where nobody can say."""
    about = reading.meta(item.whole)
    owners = [one.name for one in about.owners if one.kind == kinds.CLUSTERS.name]
    used = sorted({one.group.cluster for one in seen.groups if one.group.template.key == item.key} - {""})
    alone = [name for kind, namespace, name in seen.items if (kind, namespace) == (kinds.CLUSTERS.name, item.namespace)]
    said = [about.labels.get(names.CLUSTER_NAME, ""), *owners, *used[:1], *(alone if len(alone) == 1 else ())]
    return next((one for one in said if one), "")


def template(seen: Fleet, item: Item, kind: Kind) -> Template:
    """What machines made from it are, and where they stand."""
    wanted = infra_reading.template(kind, item.whole)
    region, zones = place(seen.items, item.namespace, cluster_of(seen, item))
    disk = infra_reading.root_disk(kind, item.whole.map("spec").map("template").map("spec"))
    return Template(wanted, region, (wanted.zone,) if wanted.zone else zones, disk)
