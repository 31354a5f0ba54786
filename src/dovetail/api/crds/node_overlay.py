"""NodeOverlay (karpenter.sh/v1alpha1): a price, or more capacity, for whatever matches (S2.6)."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dovetail.api.crds.definition import AGE, READY, Column, Definition
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.parts import Condition, ResourceList
from dovetail.api.crds.requirements import OverlayRequirements
from dovetail.api.crds.schema import BY_TYPE, Limits, Rule, Wire
from dovetail.api.kinds import NODE_OVERLAYS

_ADJUSTMENT: Final = r"^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$"
_NO_CORE: Final = Rule(
    "self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
    "capacity may not name cpu, memory, ephemeral-storage or pods; an InstanceType can",
)


class NodeOverlaySpec(Wire, frozen=True):
    """What is overlaid, and with what."""

    requirements: Annotated[OverlayRequirements, "Labels that tell what is overlaid; [] is everything."]
    price: Annotated[str | None, Limits(pattern=r"^\d+(\.\d+)?$"), "The price an hour."] = None
    price_adjustment: Annotated[
        str | None, Limits(pattern=_ADJUSTMENT), "A change of the price, such as -10% or +0.05."
    ] = None
    capacity: Annotated[ResourceList, _NO_CORE, "Resources the nodes have besides."] = msgspec.field(
        default_factory=dict
    )
    weight: Annotated[int | None, Limits(format="int32", minimum=1, maximum=10000), "The heaviest overlay wins."] = None


class NodeOverlayStatus(Wire, frozen=True):
    """What became of an overlay."""

    conditions: Annotated[tuple[Condition, ...], BY_TYPE, "What holds of it."] = ()


class NodeOverlay(Resource, kw_only=True, frozen=True):
    """A NodeOverlay sets prices, or adds capacity, for whatever it matches."""

    api_version: str = NODE_OVERLAYS.api_version
    kind: str = NODE_OVERLAYS.name
    spec: Annotated[
        NodeOverlaySpec,
        Rule("!has(self.price) || !has(self.priceAdjustment)", "price and priceAdjustment exclude each other"),
    ]
    status: NodeOverlayStatus = NodeOverlayStatus()


DEFINITION: Final = Definition(
    kind=NODE_OVERLAYS,
    struct=NodeOverlay,
    short_names=("overlays",),
    columns=(READY, AGE, Column("Weight", ".spec.weight", "integer", 1)),
)
