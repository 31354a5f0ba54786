"""InstanceType, row by row (S2.1–S2.5): ours alone, so the rules are what our reader asks for."""

from __future__ import annotations

from typing import Final

from tests.contract.crds.rows import GONE, Table
from tests.contract.crds.shared_rows import PATTERN, REQUIRED, TOO_LONG, TOO_MANY, TYPE, conditions

from dovetail.api.kinds import INSTANCE_TYPES

TYPES: Final = Table(INSTANCE_TYPES, {})
OFFERINGS: Final = "spec.offerings"
CAPACITY, PRICE, ZONE = "karpenter.sh/capacity-type", "karpenter.sh/price", "topology.kubernetes.io/zone"


def _resources() -> None:
    for name in ("resources", "overhead"):
        path = f"spec.{name}"
        for good in (0, 2, "200Mi", "+1", "0.5"):
            TYPES.accepts(f"{name} of {good!r}", {path: {"example.com/a": good, "memory": good}})
        TYPES.accepts(f"{name} of nothing", {path: {}}, {path: {}})
        for bad in (-1, "-200Mi"):
            TYPES.refuses(f"{name} of {bad!r}", {path: {"memory": bad}}, path, f"{name} may not be negative")
        TYPES.refuses(f"{name} that are none", {path: {"memory": "x"}}, f"{path}.memory", PATTERN)
        TYPES.refuses(f"{name} without a name", {path: {"": "1"}}, path, "may not have an empty name")
        many = {f"example.com/a{at}": 1 for at in range(65)}
        TYPES.refuses(f"65 {name}", {path: many}, path, "must have at most 64")


def _offerings() -> None:
    TYPES.accepts("no offering at all is for sale", {OFFERINGS: []}, {OFFERINGS: []})
    offers = [{CAPACITY: "on-demand", ZONE: "us-west-2b", PRICE: "0.60"}, {CAPACITY: "spot", PRICE: "0.40"}]
    TYPES.accepts("offerings of the design document", {OFFERINGS: offers}, {OFFERINGS: offers})
    TYPES.accepts(
        "any label tells offerings apart", {OFFERINGS: [{"kubernetes.io/os": "windows", "example.com/x": ""}]}
    )
    TYPES.accepts("the pool may be named", {OFFERINGS: [{"karpenter.sh/nodepool": "a"}]})
    for good in ("0", "0.4", ".5", "1.", "1e-3"):
        TYPES.accepts(f"an offering for {good}", {OFFERINGS: [{PRICE: good}]})
    first = f"{OFFERINGS}[0]"
    for bad in ("-1", "free", "", "1,5", "$1"):
        TYPES.refuses(f"an offering for {bad!r}", {OFFERINGS: [{PRICE: bad}]}, first, "price must be a number")
    for good in ("reserved", "spot", "on-demand"):
        TYPES.accepts(f"an offering that is {good}", {OFFERINGS: [{CAPACITY: good}]})
    TYPES.refuses("a capacity type nobody sells", {OFFERINGS: [{CAPACITY: "cheap"}]}, first, "capacity-type must be")
    for bad in ("karpenter.sh/x", "a.karpenter.sh/x"):
        TYPES.refuses(f"an offering with {bad}", {OFFERINGS: [{bad: "a"}]}, first, "reserved domain karpenter.sh only")
    TYPES.accepts("a domain that only ends alike", {OFFERINGS: [{"notkarpenter.sh/x": "a"}]})
    TYPES.refuses("an offering on one host", {OFFERINGS: [{"kubernetes.io/hostname": "a"}]}, first, "hostname")
    TYPES.refuses("an offering without a key", {OFFERINGS: [{"": "a"}]}, first, "empty label key")
    TYPES.refuses("several values", {OFFERINGS: [{ZONE: ["a", "b"]}]}, f"{first}.{ZONE}", TYPE)
    TYPES.refuses("a value no label can have", {OFFERINGS: [{ZONE: "a b"}]}, first, "label value")
    TYPES.refuses("a value of 64 characters", {OFFERINGS: [{ZONE: "a" * 64}]}, f"{first}.{ZONE}", TOO_LONG)
    TYPES.refuses("257 offerings", {OFFERINGS: [{PRICE: "1"}] * 257}, OFFERINGS, TOO_MANY)
    many = {f"example.com/a{at}": "b" for at in range(17)}
    TYPES.refuses("17 labels of an offering", {OFFERINGS: [many]}, first, "must have at most 16")


def _names() -> None:
    TYPES.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)
    TYPES.accepts("a name of 63 characters", {"metadata.name": "a" * 63})
    TYPES.refuses("a name of 64 characters", {"metadata.name": "a" * 64}, "<nil>", "may not be longer than 63")
    TYPES.accepts("a type no object can be called after", {"spec.instanceType": "Standard_D4s_v5"})
    TYPES.accepts("a long name, and the type's own", {"metadata.name": "a" * 64, "spec.instanceType": "b"})
    for bad in ("a b", "_a"):
        TYPES.refuses(f"type {bad!r}", {"spec.instanceType": bad}, "spec.instanceType", PATTERN)
    TYPES.refuses("an empty type", {"spec.instanceType": ""}, "spec.instanceType", "at least 1 chars long")
    TYPES.refuses("a type of 64 characters", {"spec.instanceType": "a" * 64}, "spec.instanceType", TOO_LONG)


_resources()
_offerings()
_names()
conditions(TYPES)
