"""A simulated machine as the Node it joins as, the way the kwok provider makes them (§6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from dovetail.clouds.kwok.labels import RESERVATION_ID
from dovetail.clouds.sim.market import Sale
from dovetail.core import labels, timestamps
from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.catalog.prices import NANO
from dovetail.core.errors import BadInput
from dovetail.core.instances import Instance, Option
from dovetail.core.nodeclaims import UNREGISTERED, Meta, NodeClaim, NodeObject

PREFIX: Final = "kwok://"
PARTITION: Final = "kwok-partition"
FAKE: Final = "kwok.x-k8s.io/node"
#: Where viewers of nodes look for what one costs an hour.
PRICE: Final = "eks-node-viewer/instance-price"
#: On a claim: when its Node is to join. The machine is a promise until then, and the claim is where it is written.
JOINS: Final = "karpenter.kwok.sh/joins-at"
RESERVATION_SUFFIX: Final = "reservation-id"
_OLD_NAMES: Final = {"beta.kubernetes.io/arch": labels.ARCH, "beta.kubernetes.io/os": labels.OS}
Body = dict[str, Any]


def name_of(claim: NodeClaim) -> str:
    """The machine's name: what its provider id says, or the claim's own before there is one."""
    return claim.provider_id.removeprefix(PREFIX) or claim.name


def labels_of(option: Option, claim: NodeClaim, sale: Sale) -> dict[str, str]:
    """Every label the type and the row it was bought by decide. Where several values would do, as for a type that
    runs several systems, the claim's wish decides, then the alphabet."""
    wanted = claim.requirements
    found: dict[str, str] = {}
    for one in (*option.instance_type.spec.requirements, *option.offering.requirements):
        if one.complement or not one.values:
            continue
        if (
            sale.reservation_id is not None
            and sale.reservation_id in one.values
            and one.key.endswith(RESERVATION_SUFFIX)
        ):
            found[one.key] = sale.reservation_id
            continue
        narrowed = wanted.get(one.key)
        values = sorted(value for value in one.values if narrowed is None or narrowed.admits(value))
        found[one.key] = (values or sorted(one.values))[0]
    if sale.reservation_id is not None:
        found[RESERVATION_ID] = sale.reservation_id
    if option.offering.price is not None:
        found[PRICE] = f"{option.offering.price.nanodollars / NANO:f}"
    return found


def sale_of(told: Meta) -> Sale | None:
    """What a Node, or a claim that was launched, says was bought for it."""
    held = told.labels
    if labels.INSTANCE_TYPE not in held:
        return None
    key = OfferingKey(held[labels.INSTANCE_TYPE], held.get(labels.ZONE), held.get(labels.CAPACITY_TYPE))
    return Sale(key, None, held.get(RESERVATION_ID))


def bought(option: Option, claim: NodeClaim, sale: Sale, partition: str, now: float) -> Instance:
    """The machine that fills a claim. It is named after the claim, so that buying it twice is buying it once."""
    marks = {PARTITION: partition, FAKE: "fake", labels.HOSTNAME: claim.name}
    return Instance(
        provider_id=f"{PREFIX}{claim.name}",
        claim=claim.name,
        pool=claim.pool or "",
        labels=MappingProxyType({**labels_of(option, claim, sale), **claim.meta.labels, **marks}),
        capacity=option.instance_type.capacity,
        allocatable=option.instance_type.allocatable,
        created=now,
    )


def body(machine: Instance, claim: NodeClaim) -> Body:
    """The Node as it joins: tainted until it is registered, Pending until a kubelet takes it."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.provider_id.removeprefix(PREFIX),
            "labels": {**machine.labels, **_of_kubelet(machine.labels)},
            "annotations": {**claim.meta.annotations, FAKE: "fake"},
        },
        "spec": {
            "providerID": machine.provider_id,
            "taints": [{"key": UNREGISTERED.key, "effect": str(UNREGISTERED.effect)}],
        },
        "status": {
            "capacity": machine.capacity.quantities(),
            "allocatable": machine.allocatable.quantities(),
            "phase": "Pending",
        },
    }


def _of_kubelet(told: Mapping[str, str]) -> dict[str, str]:
    """The old names of two labels, which every kubelet sets: the controller manager would write them, Node by Node."""
    return {old: told[new] for old, new in _OLD_NAMES.items() if new in told}


def instance_of(node: NodeObject, leaving: bool = False) -> Instance:
    """The machine behind a Node, ours or one that the kwok provider made: both call the host after the claim."""
    told = MappingProxyType({key: value for key, value in node.meta.labels.items() if key not in _OLD_NAMES})
    return Instance(
        provider_id=node.provider_id,
        claim=told.get(labels.HOSTNAME, node.name),
        pool=told.get(labels.NODEPOOL, ""),
        labels=told,
        capacity=node.capacity,
        allocatable=node.allocatable,
        created=node.meta.created,
        leaving=leaving or node.is_deleting,
    )


def joining(machine: Instance, at: float) -> Instance:
    """The machine with the time at which it joins, for its claim to remember."""
    return replace(machine, annotations=MappingProxyType({JOINS: timestamps.text(at, micros=True)}))


def joins_at(claim: NodeClaim) -> float | None:
    """When the claim's Node is to join, where that was written down and can be read."""
    written = claim.meta.annotations.get(JOINS)
    try:
        return timestamps.seconds(written) if written else None
    except BadInput:
        return None


def promised(claim: NodeClaim) -> Instance:
    """The machine of a claim that was launched, as its claim remembers it."""
    return Instance(
        provider_id=claim.provider_id,
        claim=claim.name,
        pool=claim.pool or "",
        labels=claim.meta.labels,
        capacity=claim.capacity,
        allocatable=claim.allocatable,
        created=claim.meta.created,
    )
