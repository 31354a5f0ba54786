"""A cloud's node rules in a catalogue file: how pods are counted, what is held back, what the hypervisor takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dovetail.api.fields import Fields, shown
from dovetail.core import resources
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.density import ByInterface, Density, Fixed
from dovetail.core.catalog.overhead import FlatOverhead, TieredOverhead, VmOverhead
from dovetail.core.errors import BadInput
from dovetail.core.kubelet import ReserveStrategy

_MOST: Final = 2**53


def wire_of(rules: NodeRules) -> dict[str, object]:
    return {
        "density": _density_wire(rules.density),
        "reserve": str(rules.reserve),
        "vmOverhead": _overhead_wire(rules.vm_overhead),
        "flatOverhead": rules.flat_overhead.quantities(),
    }


def _density_wire(density: Density) -> dict[str, object]:
    match density:
        case ByInterface():
            return {
                "byInterface": True,
                "reservedInterfaces": density.reserved_interfaces,
                "prefixDelegation": density.prefix_delegation,
            }
        case Fixed():
            return {"pods": density.limit, "why": density.why}


def _overhead_wire(overhead: VmOverhead) -> dict[str, object]:
    match overhead:
        case FlatOverhead():
            return {"share": str(overhead.share)}
        case TieredOverhead():
            return {"tiers": [{"upTo": end, "share": str(share)} for end, share in overhead.tiers]}


def read(wire: Fields) -> NodeRules:
    """The rules of a file; what it leaves out is Kubernetes' default."""
    wire.only(("density", "reserve", "vmOverhead", "flatOverhead"))
    default = NodeRules()
    return NodeRules(
        density=_density(wire.map("density")) if wire.has("density") else default.density,
        reserve=_strategy(wire),
        vm_overhead=_overhead(wire.map("vmOverhead")) if wire.has("vmOverhead") else default.vm_overhead,
        flat_overhead=resources.parse(wire.wire.get("flatOverhead"), *wire.path, "flatOverhead"),
    )


def _strategy(wire: Fields) -> ReserveStrategy:
    text = wire.text("reserve") or str(ReserveStrategy.NONE)
    try:
        return ReserveStrategy(text)
    except ValueError:
        raise wire.bad("reserve", f"{shown(text)} is no strategy; use one of {', '.join(ReserveStrategy)}") from None


def _density(wire: Fields) -> Density:
    wire.only(("byInterface", "reservedInterfaces", "prefixDelegation", "pods", "why"))
    if wire.flag("byInterface"):
        return ByInterface(wire.whole("reservedInterfaces", 0, _MOST) or 0, wire.flag("prefixDelegation"))
    pods = wire.whole("pods", 0, _MOST)
    if pods is None:
        raise wire.bad("pods", "is missing")
    return Fixed(pods, wire.text("why") or "")


def _overhead(wire: Fields) -> VmOverhead:
    wire.only(("share", "tiers"))
    if wire.has("share"):
        return FlatOverhead(_share(wire))
    tiers = tuple((one.whole("upTo", 1, 2**63), _share(one)) for one in wire.items("tiers"))
    if not tiers or tiers[-1][0] is not None:
        raise wire.bad("tiers", "the last tier has no end, so that every size is in one")
    return TieredOverhead(tiers)


def _share(wire: Fields) -> Fraction:
    text = wire.required("share")
    try:
        share = Fraction(text) if len(text) < 40 else None
    except (BadInput, ValueError, ZeroDivisionError):
        share = None
    if share is None or not 0 <= share < 1:
        raise wire.bad("share", f"{shown(text)} is not a share below one")
    return share
