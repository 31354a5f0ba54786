"""Rows that several kinds share: requirements, taints, conditions, quantities, durations."""

from __future__ import annotations

from typing import Any, Final

from tests.contract.crds.rows import GONE, Table

PATTERN: Final = "should match"
REQUIRED: Final = "Required value"
UNSUPPORTED: Final = "supported values"
TYPE: Final = "must be of type"
LEAST: Final = "should be greater than or equal to"
MOST: Final = "should be less than or equal to"
TOO_LONG: Final = "may not be more than"
TOO_MANY: Final = "must have at most"
DUPLICATE: Final = "Duplicate value"
RESERVED: Final = "must be one that is known"

READY: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "Ready",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def quantities(table: Table, path: str, name: str = "cpu") -> None:
    for good in ("1", 1, "100m", "1.5Gi", "1e3", "+2", ".5", "-1"):
        table.accepts(f"quantity {good!r} at {path}", {path: {name: good}})
    for bad in ("abc", "", "1 Gi", "1KiB"):
        table.refuses(f"quantity {bad!r} at {path}", {path: {name: bad}}, f"{path}.{name}", PATTERN)
    table.refuses(f"quantity 1.5 at {path}", {path: {name: 1.5}}, f"{path}.{name}", TYPE)


def durations(table: Table, path: str, *, never: bool) -> None:
    for good in ("720h", "30s", "1h30m", "10m10s"):
        table.accepts(f"duration {good} at {path}", {path: good})
    for bad in ("1d", "", "-1h", "1.5h", "never"):
        table.refuses(f"duration {bad!r} at {path}", {path: bad}, path, PATTERN)
    if never:
        table.accepts(f"Never at {path}", {path: "Never"})
    else:
        table.refuses(f"Never at {path}", {path: "Never"}, path, PATTERN)


def taints(table: Table, path: str) -> None:
    def taint(**changes: Any) -> dict[str, Any]:
        one = {"key": "example.com/a", "effect": "NoSchedule"} | changes
        return {path: [{name: value for name, value in one.items() if value is not GONE}]}

    for effect in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
        table.accepts(f"{effect} at {path}", taint(effect=effect, value="v"))
    table.accepts(f"timeAdded at {path}", taint(timeAdded="2026-01-01T00:00:00Z"))
    table.accepts(f"[Q] a taint's value is judged as a key at {path}", taint(value="a/b"))
    table.refuses(f"[Q] an empty value at {path}", taint(value=""), f"{path}[0].value", PATTERN)
    table.refuses(f"an odd value at {path}", taint(value="a b"), f"{path}[0].value", PATTERN)
    table.refuses(f"an unknown effect at {path}", taint(effect="Never"), f"{path}[0].effect", UNSUPPORTED)
    table.refuses(f"no effect at {path}", taint(effect=GONE), f"{path}[0].effect", REQUIRED)
    table.refuses(f"no key at {path}", taint(key=GONE), f"{path}[0].key", REQUIRED)
    table.refuses(f"an empty key at {path}", taint(key=""), f"{path}[0].key", "should be at least 1 chars long")
    table.refuses(f"an odd key at {path}", taint(key="a b"), f"{path}[0].key", PATTERN)
    table.refuses(f"timeAdded that is no time at {path}", taint(timeAdded="noon"), f"{path}[0].timeAdded", "date-time")


def requirement(key: str = "example.com/a", operator: str = "Exists", **more: Any) -> dict[str, Any]:
    return {"key": key, "operator": operator, **more}


def requirements(table: Table, path: str, *, min_values: bool) -> None:
    """What holds of every kind's requirements."""

    def one(*entries: dict[str, Any]) -> dict[str, Any]:
        return {path: list(entries)}

    table.accepts("no requirement", one())
    table.refuses("requirements left out", {path: GONE}, path, REQUIRED)
    table.accepts("100 requirements", one(*[requirement(f"a{at}") for at in range(100)]))
    table.refuses("101 requirements", one(*[requirement(f"a{at}") for at in range(101)]), path, TOO_MANY)
    _keys(table, path)
    _operators(table, path)
    if min_values:
        _min_values(table, path)
    else:
        table.accepts(
            "minValues is dropped",
            one(requirement(operator="In", values=["a"], minValues=5)),
            {f"{path}.0.minValues": GONE},
        )


def _keys(table: Table, path: str) -> None:
    key = f"{path}[0].key"
    table.refuses("no key", {path: [{"operator": "Exists"}]}, key, REQUIRED)
    table.accepts("a key of 316 characters", {path: [requirement("a" * 252 + "/" + "b" * 63)]})
    table.refuses("a key of 317 characters", {path: [requirement("a" * 253 + "/" + "b" * 63)]}, key, TOO_LONG)
    for bad in ("a b", "", "/a", "a/", "A/b", "a/b/c"):
        table.refuses(f"key {bad!r}", {path: [requirement(bad)]}, key, PATTERN)
    table.accepts(
        "P13: the capacity type may be asked for",
        {path: [requirement("karpenter.sh/capacity-type", "In", values=["spot"])]},
    )
    for bad in ("karpenter.sh/x", "a.karpenter.sh/x"):
        table.refuses(f"P13: {bad} is reserved", {path: [requirement(bad)]}, key, RESERVED)
    for odd in ("notkarpenter.sh/x", "karpenter.sh"):
        table.refuses(f"P13 [Q]: {odd} is refused as well", {path: [requirement(odd)]}, key, RESERVED)
    table.refuses(
        "P15: the hostname", {path: [requirement("kubernetes.io/hostname")]}, key, "kubernetes.io/hostname is each"
    )


def _operators(table: Table, path: str) -> None:
    table.refuses("no operator", {path: [{"key": "a"}]}, f"{path}[0].operator", REQUIRED)
    table.refuses("an unknown operator", {path: [requirement(operator="Eq")]}, f"{path}[0].operator", UNSUPPORTED)
    for operator in ("Exists", "DoesNotExist"):
        table.accepts(f"{operator} without values", {path: [requirement(operator=operator)]})
    table.accepts("NotIn with a value", {path: [requirement(operator="NotIn", values=["a"])]})
    table.accepts("P10: In with a value", {path: [requirement(operator="In", values=["a"])]})
    table.refuses("P10: In with no value", {path: [requirement(operator="In", values=[])]}, path, "operator In must")
    # A rule that cannot be evaluated has not held.
    table.refuses("P10: In without values", {path: [requirement(operator="In")]}, path, "no such key: values")
    numeric = "whole number of 0 or more"
    for operator in ("Gt", "Lt", "Gte", "Lte"):
        table.accepts(f"P11: {operator} 0", {path: [requirement(operator=operator, values=["0"])]})
        for values in ([], ["1", "2"], ["-1"]):
            wire = {path: [requirement(operator=operator, values=values)]}
            table.refuses(f"P11: {operator} {values}", wire, path, numeric)
        wire = {path: [requirement(operator=operator, values=["x"])]}
        table.refuses(f"P11: {operator} with a text", wire, path, "type conversion error")
    table.refuses("P11: Gt without values", {path: [requirement(operator="Gt")]}, path, "no such key: values")
    table.accepts("[Q] values are any texts", {path: [requirement(operator="In", values=["a b", "", "c" * 64, "/"])]})
    table.refuses(
        "a value that is a number", {path: [requirement(operator="In", values=[1])]}, f"{path}[0].values[0]", TYPE
    )


def _min_values(table: Table, path: str) -> None:
    many = [str(at) for at in range(50)]
    table.accepts("P12: minValues 50", {path: [requirement(operator="In", values=many, minValues=50)]})
    table.accepts("P12: minValues without In", {path: [requirement(minValues=7)]})
    table.refuses(
        "P12: fewer values than minValues",
        {path: [requirement(operator="In", values=["a"], minValues=2)]},
        path,
        "at least that many values",
    )
    field = f"{path}[0].minValues"
    table.refuses("minValues 0", {path: [requirement(minValues=0)]}, field, LEAST)
    table.refuses("minValues 51", {path: [requirement(minValues=51)]}, field, MOST)


KWOK_KEYS: Final = ("kwoknodeclass", "instance-cpu", "instance-memory", "instance-family", "instance-size")
AWS_KEYS: Final = (
    *("ec2nodeclass", "instance-encryption-in-transit-supported", "instance-category", "instance-hypervisor"),
    *("instance-family", "instance-generation", "instance-local-nvme", "instance-size", "instance-cpu"),
    *("instance-cpu-manufacturer", "instance-cpu-sustained-clock-speed-mhz", "instance-memory"),
    *("instance-ebs-bandwidth", "instance-network-bandwidth", "instance-gpu-name", "instance-gpu-manufacturer"),
    *("instance-gpu-count", "instance-gpu-memory", "instance-accelerator-name"),
    *("instance-accelerator-manufacturer", "instance-accelerator-count", "instance-capability-flex", "nitro-sandbox"),
)
AWS_PLACES: Final = (
    *("instance-tenancy", "capacity-reservation-type", "capacity-reservation-id"),
    *("capacity-reservation-interruptible", "placement-group-id", "placement-group-partition"),
)


def domains(table: Table, path: str) -> None:
    """Keys of the providers, as pools and claims know them."""
    known = [f"karpenter.kwok.sh/{name}" for name in KWOK_KEYS]
    known += [f"karpenter.k8s.aws/{name}" for name in (*AWS_KEYS, *AWS_PLACES)]
    table.accepts("every key of every provider", {path: [requirement(key) for key in known]})
    for bad in ("karpenter.kwok.sh/x", "a.karpenter.kwok.sh/instance-cpu", "karpenter.k8s.aws/x"):
        table.refuses(f"{bad} is reserved", {path: [requirement(bad)]}, f"{path}[0].key", RESERVED)
    table.refuses(
        "[Q] notkarpenter.k8s.aws/x is refused as well",
        {path: [requirement("notkarpenter.k8s.aws/x")]},
        f"{path}[0].key",
        RESERVED,
    )


def node_class_refs(table: Table, path: str) -> None:
    table.refuses("no node class", {path: GONE}, path, REQUIRED)
    for name in ("group", "kind", "name"):
        table.refuses(f"P9: an empty {name}", {f"{path}.{name}": ""}, f"{path}.{name}", f"{name} may not be empty")
        table.refuses(f"no {name} of the node class", {f"{path}.{name}": GONE}, f"{path}.{name}", REQUIRED)
    table.refuses("a group with a slash", {f"{path}.group": "a/v1"}, f"{path}.group", PATTERN)


def conditions(table: Table, *, by_type: bool = True, loose: bool = False) -> None:
    """What holds of every kind's conditions; `loose` ones need neither reason nor message."""

    def status(*entries: dict[str, Any]) -> dict[str, Any]:
        return {"conditions": list(entries)}

    def one(**changes: Any) -> dict[str, Any]:
        return status({name: value for name, value in (READY | changes).items() if value is not GONE})

    field = "status.conditions[0]"
    for value in ("True", "False", "Unknown"):
        table.accepts_status(f"a condition that is {value}", one(status=value, observedGeneration=0))
    table.accepts_status("a qualified type", one(type="example.com/Ready"))
    table.accepts_status("a reason with colons", one(reason="A:b_c,d"))
    for name in ("type", "status", "lastTransitionTime"):
        table.refuses_status(f"a condition without {name}", one(**{name: GONE}), f"{field}.{name}", REQUIRED)
    for name in ("reason", "message"):
        if loose:
            table.accepts_status(f"a condition without {name}", one(**{name: GONE}))
        else:
            table.refuses_status(f"a condition without {name}", one(**{name: GONE}), f"{field}.{name}", REQUIRED)
    if loose:
        table.accepts_status("an empty reason", one(reason=""))
    else:
        table.refuses_status("an empty reason", one(reason=""), f"{field}.reason", "should be at least 1 chars long")
    table.refuses_status("a type of 317 characters", one(type="a" * 317), f"{field}.type", TOO_LONG)
    table.refuses_status("an odd type", one(type="a b"), f"{field}.type", PATTERN)
    table.refuses_status("an odd status", one(status="true"), f"{field}.status", UNSUPPORTED)
    table.refuses_status("a reason of 1025 characters", one(reason="a" * 1025), f"{field}.reason", TOO_LONG)
    table.refuses_status("a reason of two words", one(reason="a b"), f"{field}.reason", PATTERN)
    table.refuses_status("a message too long", one(message="a" * 32769), f"{field}.message", TOO_LONG)
    table.refuses_status(
        "a time that is none", one(lastTransitionTime="now"), f"{field}.lastTransitionTime", "date-time"
    )
    table.refuses_status("a negative generation", one(observedGeneration=-1), f"{field}.observedGeneration", LEAST)
    if by_type:
        table.refuses_status("two conditions of one type", status(READY, READY), "status.conditions[1]", DUPLICATE)
    else:
        table.accepts_status("a plain list takes one type twice", status(READY, READY))
