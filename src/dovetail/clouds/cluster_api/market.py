"""What pools can buy whose node class is a machine template: exactly what the template says, where its cluster stands.

Templates come one by one, as the API server has them; clusters and sets are looked at now and then, all at once. A
template nobody can use sells nothing; whoever launches with it is told why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.cluster_api import fleet
from dovetail.api.cluster_api.fleet import Fleet, Item
from dovetail.api.documents import Document
from dovetail.api.fields import Fields
from dovetail.clouds.listed import ListedMarket
from dovetail.clouds.port import Misconfigured, NoCapacity, NoClass
from dovetail.core.catalog.generations import ChangeSource, Generations
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.specs import Spec, SpecRules
from dovetail.core.errors import BadField, BadInput
from dovetail.core.machines import templates
from dovetail.core.machines.templates import Template
from dovetail.core.nodepools import NodeClassRef, NodePool

#: A Secret with bootstrap data, named on a template that no set uses.
BOOTS_FROM: Final = "dovetail.dev/bootstrap-secret"
ListingOf = Callable[[str, str], Listing]
Wire = Mapping[str, object]
#: It numbers the zones within each region.
_AZURE: Final = "azure"


@dataclass(frozen=True, slots=True)
class Held:
    """A template that can be launched with. `spec` is the Machine's, without what is the claim's own."""

    item: Item
    template: Template
    cluster: str
    spec: Mapping[str, Any]
    market: ListedMarket

    @property
    def namespace(self) -> str:
        return self.item.namespace


@dataclass(slots=True)
class TemplateMarket:
    """`core.catalog.market.Market`. `listing_of` a cloud and a region raises BadInput if there is none."""

    listing_of: ListingOf
    _wires: dict[NodeClassRef, Wire] = field(default_factory=dict)
    _around: tuple[Document, ...] = ()
    _held: dict[NodeClassRef, Held | BadInput] = field(default_factory=dict)
    _seen: Fleet | None = None
    _generations: Generations = field(default_factory=Generations)

    # ---- what it is told

    def put(self, ref: NodeClassRef, wire: Wire | None) -> None:
        if wire is None:
            self._wires.pop(ref, None)
        else:
            self._wires[ref] = wire
        self._changed(ref)

    def set_around(self, around: Iterable[Document]) -> bool:
        """Clusters, their infrastructure, templates and the sets that use them. Whether they say anything new."""
        news = tuple(around)
        if [one.value for one in news] == [one.value for one in self._around]:
            return False
        self._around = news
        self._changed(None)
        return True

    def _changed(self, ref: NodeClassRef | None) -> None:
        self._seen = None
        self._held.clear()
        self._generations = self._generations.bumped(ChangeSource.TYPES, ref).bumped(ChangeSource.PRICES, ref)

    # ---- templates

    def held(self, ref: NodeClassRef) -> Held:
        """Raises NoClass if there is no such template, Misconfigured if it cannot be used."""
        if ref not in self._wires:
            raise NoClass(f"there is no {ref.kind} {ref.name}")
        if ref not in self._held:
            self._held[ref] = self._read(ref)
        found = self._held[ref]
        if isinstance(found, BadInput):
            raise Misconfigured(f"{ref.kind} {ref.name}: {found}")
        return found

    def _read(self, ref: NodeClassRef) -> Held | BadInput:
        try:
            item = fleet.template_named(self._fleet(), ref.kind, ref.name)
            cluster = fleet.cluster_of(self._fleet(), item)
            one = fleet.template(self._fleet(), item, fleet.TEMPLATES[ref.kind])
            numbered = one.wanted.cloud == _AZURE
            zones = tuple(f"{one.region}-{zone}" if numbered and zone.isdigit() else zone for zone in one.zones)
            if not one.region:
                raise BadInput("nothing says in which region it is; is there a Cluster, and has it an infrastructure?")
            listing = self.listing_of(one.wanted.cloud, one.region)
            market = ListedMarket(templates.narrowed(listing, replace(one, zones=zones)))
            return Held(item, one, cluster, _machine_spec(self._fleet(), item, cluster), market)
        except BadField as bad:
            return BadInput(f"{'.'.join(bad.place.parts)}: {bad.problem}")
        except BadInput as bad:
            return bad

    def _fleet(self) -> Fleet:
        if self._seen is None:
            own = (Document((f"{ref.kind} {ref.name}",), _named(ref, wire)) for ref, wire in self._wires.items())
            self._seen = fleet.read((*self._around, *own))
        return self._seen

    # ---- the four questions

    def _market(self, pool: NodePool) -> ListedMarket:
        try:
            return self.held(pool.node_class).market
        except (NoCapacity, Misconfigured):
            return _EMPTY

    def spec_rules(self, pool: NodePool) -> SpecRules:
        return self._market(pool).spec_rules(pool)

    def specs(self, pool: NodePool) -> Mapping[str, Spec]:
        return self._market(pool).specs(pool)

    def specs_generation(self, pool: NodePool) -> int:
        return self._generations.specs_of(pool.node_class)

    def offerings(self, pool: NodePool) -> Mapping[str, tuple[Offering, ...]]:
        return self._market(pool).offerings(pool)

    def offerings_generation(self, pool: NodePool) -> int:
        return self._generations.offerings_of(pool.node_class)


_EMPTY: Final = ListedMarket(Listing("", "", (), {}, {}))


def _named(ref: NodeClassRef, wire: Wire) -> dict[str, object]:
    """A list of a server leaves out what its items are."""
    return {**wire, "kind": ref.kind, "apiVersion": wire.get("apiVersion") or f"{ref.group}/v1beta2"}


def _machine_spec(seen: Fleet, item: Item, cluster: str) -> Mapping[str, Any]:
    """What a Machine of this template is besides its template: as the sets say that use it, the first by name, or with
    the Secret that the template's annotation names."""
    users = sorted(one.group.owner.key for one in seen.groups if one.group.template.key == item.key)
    for key in users:
        spec = seen.items[key].whole.map("spec").map("template").map("spec")
        if key[0] in (kinds.MACHINE_SETS.name, kinds.MACHINE_DEPLOYMENTS.name):
            return spec.wire
    secret = Fields(item.whole.wire).map("metadata").labels("annotations").get(BOOTS_FROM)
    if not cluster:
        raise BadInput("nothing says whose machines it makes; label it cluster.x-k8s.io/cluster-name")
    if not secret:
        raise BadInput(
            f"nothing says what its machines boot from; name a Secret in the annotation {BOOTS_FROM}, "
            "or let a MachineSet use it, of no replicas"
        )
    return {"clusterName": cluster, "bootstrap": {"dataSecretName": secret}}
