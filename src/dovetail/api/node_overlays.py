"""NodeOverlay (karpenter.sh/v1alpha1): a price or extra capacity for whatever matches (S2.6)."""

from __future__ import annotations

from typing import Final

from dovetail.api import requirements
from dovetail.api.fields import Fields
from dovetail.core import resources
from dovetail.core.catalog.overlays import NodeOverlay
from dovetail.core.catalog.prices import Adjustment, parse_adjustment, parse_replacement
from dovetail.core.errors import BadInput
from dovetail.core.resources import Resources

KIND: Final = "NodeOverlay"
API_VERSION: Final = "karpenter.sh/v1alpha1"
_MAX_WEIGHT: Final = 10_000


def read(wire: Fields, name: str) -> NodeOverlay:
    wire.only(("apiVersion", "kind", "metadata", "spec", "status"))
    spec = wire.map("spec").only(("requirements", "price", "priceAdjustment", "capacity", "weight"))
    if not isinstance(spec.wire.get("requirements"), list):
        raise spec.bad("requirements", "is missing; write [] to match every type")
    return NodeOverlay(
        name=name,
        requirements=requirements.read(spec, "requirements", min_values=False, pool_key=True),
        adjustment=_adjustment(spec),
        capacity=_capacity(spec),
        weight=spec.whole("weight", 1, _MAX_WEIGHT) or 0,
    )


def _adjustment(spec: Fields) -> Adjustment | None:
    if spec.has("price") and spec.has("priceAdjustment"):
        raise spec.bad("priceAdjustment", "price is set as well; keep one")
    for name, parse in (("price", parse_replacement), ("priceAdjustment", parse_adjustment)):
        if spec.has(name):
            try:
                return parse(spec.wire[name])
            except BadInput as problem:
                raise spec.bad(name, str(problem)) from None
    return None


def _capacity(spec: Fields) -> Resources:
    found = resources.parse(spec.wire.get("capacity"), "spec", "capacity")
    for name in found:
        if name in resources.CORE:
            raise spec.bad(f"capacity.{name}", "an overlay adds other resources; for this one use an InstanceType")
    return found
