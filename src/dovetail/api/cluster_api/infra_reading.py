"""AWSMachine, GCPMachine and AzureMachine → one core value: what is wanted, on which market, at what price at most.

This is the one place that knows how each cloud asks for a machine that may be taken away (R2, R15, R22, R26).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dovetail.api.cluster_api import reading
from dovetail.api.fields import Fields
from dovetail.api.kinds import AWS_MACHINES, AZURE_MACHINES, GCP_MACHINES, Kind
from dovetail.core import quantity, timestamps
from dovetail.core.errors import BadInput
from dovetail.core.machines.infra_objects import InfraMachine, Market, Wanted
from dovetail.core.machines.lifetimes import DAY
from dovetail.core.machines.objects import Failure


def infra_machine(kind: Kind, whole: Fields) -> InfraMachine:
    spec, status = whole.map("spec"), whole.map("status")
    reason = status.text("failureReason")
    told = status.wire.get("interruptible")
    return InfraMachine(
        meta=reading.meta(whole),
        kind=kind.name,
        wanted=_WANTED[kind](spec),
        finalizer=f"{kind.name.lower()}.{kind.group}",
        provider_id=spec.text("providerID") or "",
        ready=status.flag("ready"),
        provisioned=status.map("initialization").flag("provisioned"),
        interruptible=told if isinstance(told, bool) else None,
        addresses=reading.addresses(status),
        zone=status.text("failureDomain") or "",
        state=status.text(STATES[kind]) or "",
        failure=Failure(reason, status.text("failureMessage") or "") if reason else None,
        conditions=reading.conditions(status),
    )


def template(kind: Kind, whole: Fields) -> Wanted:
    """The instance that machines of this kind, made from this template, ask for."""
    return _WANTED[kind](whole.map("spec").map("template").map("spec"))


def root_disk(kind: Kind, spec: Fields) -> int | None:
    """How large the disk is that machines with this spec start from, in bytes; None where it does not say."""
    inner, name, unit = _DISKS[kind]
    size = (spec.map(inner) if inner else spec).whole(name, 0, 2**20)
    return size * unit if size else None


#: Where each kind says how large that is, and in which unit.
_DISKS: Final = {
    AWS_MACHINES: ("rootVolume", "size", 2**30),
    GCP_MACHINES: ("", "rootDeviceSize", 10**9),
    AZURE_MACHINES: ("osDisk", "diskSizeGB", 2**30),
}
#: Where each kind says which type it wants.
TYPES: Final = {AWS_MACHINES: "instanceType", GCP_MACHINES: "instanceType", AZURE_MACHINES: "vmSize"}
#: Where each kind says what its cloud calls the instance's state.
STATES: Final = {AWS_MACHINES: "instanceState", GCP_MACHINES: "instanceState", AZURE_MACHINES: "vmState"}


def _aws(spec: Fields) -> Wanted:
    is_spot = spec.has("spotMarketOptions") or spec.text("marketType") == "Spot"
    return Wanted(
        cloud="aws",
        instance_type=spec.required("instanceType"),
        market=Market.SPOT if is_spot else Market.ON_DEMAND,
        max_price=spec.map("spotMarketOptions").text("maxPrice") or "",
        spec=spec.wire,
    )


def _gcp(spec: Fields) -> Wanted:
    """Spot goes before preemptible where both are said; a preemptible machine never lives longer than a day."""
    market = Market.PREEMPTIBLE if spec.flag("preemptible") else Market.ON_DEMAND
    if spec.text("provisioningModel") == "Spot":
        market = Market.SPOT
    price = spec.wire.get("maxPrice")
    return Wanted(
        cloud="gcp",
        instance_type=spec.required("instanceType"),
        market=market,
        max_price="" if price is None else str(price),
        lifetime=_lifetime(spec, market),
        spec=spec.wire,
    )


def _lifetime(spec: Fields, market: Market) -> float | None:
    written = spec.text("maxRunDuration")
    bounds = [DAY] if market is Market.PREEMPTIBLE else []
    if written:
        try:
            bounds.append(timestamps.duration(written))
        except BadInput as bad:
            raise spec.bad("maxRunDuration", str(bad)) from None
    return min(bounds, default=None)


def _azure(spec: Fields) -> Wanted:
    price = spec.map("spotVMOptions").wire.get("maxPrice")
    return Wanted(
        cloud="azure",
        instance_type=spec.required("vmSize"),
        market=Market.SPOT if spec.has("spotVMOptions") else Market.ON_DEMAND,
        max_price="" if price is None else _decimal(price),
        zone=spec.text("failureDomain") or "",
        spec=spec.wire,
    )


def _decimal(price: object) -> str:
    """A quantity as a decimal number; what is none is kept as it is, to be refused with what was written."""
    written = str(price)
    try:
        nanos = quantity.parse(written).nanos
    except BadInput:
        return written
    whole, rest = divmod(abs(nanos), quantity.NANO)
    text = f"{whole}.{rest:09d}".rstrip("0").rstrip(".")
    return f"-{text}" if nanos < 0 else text


_WANTED: Final[Mapping[Kind, Callable[[Fields], Wanted]]] = {
    AWS_MACHINES: _aws,
    GCP_MACHINES: _gcp,
    AZURE_MACHINES: _azure,
}
