"""EC2NodeClass, row by row: the machine, its kubelet, and what was found (contract §5)."""

from __future__ import annotations

from typing import Any

from tests.contract.crds.ec2_rows import CLASSES
from tests.contract.crds.shared_rows import LEAST, MOST, PATTERN, REQUIRED, TOO_MANY, UNSUPPORTED, conditions


def _switches() -> None:
    free = {"associatePublicIPAddress": False, "detailedMonitoring": True, "context": "c", "userData": "u"}
    CLASSES.accepts("what is free", {f"spec.{name}": value for name, value in free.items()})
    CLASSES.accepts("local disks as one", {"spec.instanceStorePolicy": "RAID0"})
    CLASSES.refuses("another RAID", {"spec.instanceStorePolicy": "RAID1"}, "spec.instanceStorePolicy", UNSUPPORTED)
    CLASSES.accepts("no prefix", {"spec.ipPrefixCount": 0})
    CLASSES.refuses("prefixes below none", {"spec.ipPrefixCount": -1}, "spec.ipPrefixCount", LEAST)
    nested = "spec.cpuOptions.nestedVirtualization"
    CLASSES.accepts("nested virtualization", {nested: "enabled"})
    CLASSES.refuses("nested virtualization, perhaps", {nested: "perhaps"}, nested, UNSUPPORTED)
    CLASSES.accepts("enclaves", {"spec.enclaveOptions.enabled": True}, {"spec.enclaveOptions": {"enabled": True}})
    maybe = {"spec.enclaveOptions.enabled": "maybe"}
    CLASSES.refuses("enclaves, perhaps", maybe, "spec.enclaveOptions.enabled", "must be of type boolean")
    tracking = "spec.connectionTracking"
    CLASSES.refuses("E28: no time-out", {tracking: {}}, tracking, "connectionTracking must have")
    ranges = {"tcpEstablishedTimeout": (60, 432000), "udpStreamTimeout": (60, 180), "udpTimeout": (30, 60)}
    for name, (low, high) in ranges.items():
        field = f"{tracking}.{name}"
        CLASSES.accepts(f"E28: {name} {low}", {field: low})
        CLASSES.accepts(f"E28: {name} {high}", {field: high})
        CLASSES.refuses(f"{name} {low - 1}", {field: low - 1}, field, LEAST)
        CLASSES.refuses(f"{name} {high + 1}", {field: high + 1}, field, MOST)


def _metadata() -> None:
    options = "spec.metadataOptions"
    CLASSES.accepts("options left out are filled in", {options: {}}, {f"{options}.httpTokens": "required"})
    for name in ("httpEndpoint", "httpProtocolIPv6"):
        CLASSES.accepts(f"{name} switched", {f"{options}.{name}": "disabled"})
        CLASSES.refuses(f"{name} maybe", {f"{options}.{name}": "maybe"}, f"{options}.{name}", UNSUPPORTED)
    CLASSES.accepts("tokens optional", {f"{options}.httpTokens": "optional"})
    CLASSES.refuses("tokens maybe", {f"{options}.httpTokens": "maybe"}, f"{options}.httpTokens", UNSUPPORTED)
    hops = f"{options}.httpPutResponseHopLimit"
    CLASSES.accepts("64 hops", {hops: 64})
    CLASSES.refuses("0 hops", {hops: 0}, hops, LEAST)
    CLASSES.refuses("65 hops", {hops: 65}, hops, MOST)


def _disks() -> None:
    disks = "spec.blockDeviceMappings"
    first = f"{disks}[0].ebs"

    def ebs(**fields: Any) -> dict[str, Any]:
        return {disks: [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi"} | fields}]}

    CLASSES.accepts("50 disks", {disks: [{"deviceName": f"/dev/{at}"} for at in range(50)]})
    CLASSES.refuses("51 disks", {disks: [{}] * 51}, disks, TOO_MANY)
    CLASSES.accepts("E29: one root", {disks: [{"rootVolume": True}, {"rootVolume": False}, {}]})
    CLASSES.refuses("E29: two roots", {disks: [{"rootVolume": True}] * 2}, disks, "one rootVolume only")
    CLASSES.accepts("E30: a snapshot", {disks: [{"ebs": {"snapshotID": "snap-1"}}]})
    CLASSES.refuses("E30: neither snapshot nor size", {disks: [{"ebs": {}}]}, first, "snapshotID or volumeSize")
    CLASSES.accepts("E31: a rate and a snapshot", ebs(volumeInitializationRate=100, snapshotID="snap-1"))
    for more in ({}, {"snapshotID": ""}):
        CLASSES.refuses(
            f"E31: a rate and {more}", ebs(volumeInitializationRate=300, **more), first, "needs a snapshotID"
        )
    rate = f"{first}.volumeInitializationRate"
    CLASSES.refuses("rate 99", ebs(volumeInitializationRate=99, snapshotID="s"), rate, LEAST)
    CLASSES.refuses("rate 301", ebs(volumeInitializationRate=301, snapshotID="s"), rate, MOST)
    for kind in ("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3"):
        CLASSES.accepts(f"a disk of type {kind}", ebs(volumeType=kind, iops=1, throughput=1, encrypted=True))
    CLASSES.refuses("an unknown type of disk", ebs(volumeType="gp4"), f"{first}.volumeType", UNSUPPORTED)
    CLASSES.accepts("the rest of a disk", ebs(kmsKeyID="k", deleteOnTermination=False))
    for good in ("1Gi", "59000Gi", "64000G", "1Ti", "57Ti", "58Ti", "64T"):
        CLASSES.accepts(f"a disk of {good}", ebs(volumeSize=good))
    for odd in ("Ti", "T"):
        CLASSES.accepts(f"[Q] a disk of {odd}", ebs(volumeSize=odd))
    for odd in ("18Ti", "29Ti"):
        CLASSES.refuses(f"[Q] a disk of {odd}", ebs(volumeSize=odd), f"{first}.volumeSize", PATTERN)
    for bad in ("0Gi", "59001Gi", "64001G", "59Ti", "65T", "20", "20Mi", ""):
        CLASSES.refuses(f"a disk of {bad!r}", ebs(volumeSize=bad), f"{first}.volumeSize", PATTERN)


def _interfaces() -> None:
    path = "spec.networkInterfaces"

    def card(index: int, device: int, kind: str = "interface") -> dict[str, Any]:
        return {"networkCardIndex": index, "deviceIndex": device, "interfaceType": kind}

    CLASSES.accepts("E32: no interface", {path: []})
    CLASSES.accepts("E32: the first is an ordinary one", {path: [card(0, 1, "efa-only"), card(0, 0)]})
    for first in (card(0, 0, "efa-only"), card(1, 0), card(0, 1)):
        CLASSES.refuses(f"E32: {first} alone", {path: [first]}, path, "at card 0, device 0")
    each = "a card and device of their own"
    CLASSES.refuses("E33: one place twice", {path: [card(0, 0), card(0, 0)]}, path, each)
    two = {path: [card(0, 0), card(1, 0, "efa-only"), card(1, 1, "efa-only")]}
    CLASSES.refuses("E33: two efa-only on a card", two, path, each)
    CLASSES.accepts("E33: one efa-only a card", {path: [card(0, 0), card(0, 1, "efa-only"), card(1, 0, "efa-only")]})
    CLASSES.refuses("151 interfaces", {path: [card(0, at) for at in range(151)]}, path, TOO_MANY)
    for name in ("networkCardIndex", "deviceIndex", "interfaceType"):
        left = {key: value for key, value in card(0, 0).items() if key != name}
        CLASSES.refuses(f"no {name}", {path: [left]}, f"{path}[0].{name}", REQUIRED)
    for name in ("networkCardIndex", "deviceIndex"):
        CLASSES.refuses(f"{name} -1", {path: [card(0, 0), card(1, 1) | {name: -1}]}, f"{path}[1].{name}", LEAST)
    CLASSES.refuses("an unknown interface", {path: [card(0, 0, "efa")]}, f"{path}[0].interfaceType", UNSUPPORTED)


def _kubelet() -> None:
    kubelet = "spec.kubelet"
    CLASSES.accepts(
        "the kubelet's fields, and those only some images take",
        {kubelet: {"clusterDNS": ["10.0.0.10"], "cpuCFSQuota": True, "evictionMaxPodGracePeriod": -1, "other": 1}},
        {f"{kubelet}.other": 1, f"{kubelet}.cpuCFSQuota": True},
    )
    limit = f"{kubelet}.maxPods"
    CLASSES.accepts("maxPods as an expression", {limit: "min(110, max_pods)"}, {limit: "min(110, max_pods)"})
    CLASSES.refuses("maxPods that is neither a number nor an expression", {limit: "many"}, limit, PATTERN)
    CLASSES.refuses("maxPods that the kubelet cannot count", {limit: 2**31}, limit, MOST)
    for name in ("maxPods", "podsPerCore"):
        CLASSES.accepts(f"{name} 0", {f"{kubelet}.{name}": 0})
        CLASSES.refuses(f"{name} -1", {f"{kubelet}.{name}": -1}, f"{kubelet}.{name}", LEAST)
    for name in ("kubeReserved", "systemReserved"):
        field = f"{kubelet}.{name}"
        whole = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", "pid": "10"}
        CLASSES.accepts(f"{name} of all kinds", {field: whole})
        CLASSES.refuses(f"{name} of another kind", {field: {"pods": "1"}}, field, f"{name} may name cpu, memory")
        CLASSES.refuses(f"{name} below nothing", {field: {"cpu": "-1"}}, field, f"{name} may not be negative")
        CLASSES.accepts(f"{name} as an expression", {field: {"memory": "11 * max_pods + 255"}})
        CLASSES.refuses(f"{name} that is no quantity", {field: {"cpu": "x"}}, f"{field}.cpu", PATTERN)
    for name in ("imageGCHighThresholdPercent", "imageGCLowThresholdPercent"):
        field = f"{kubelet}.{name}"
        CLASSES.accepts(f"{name} 100", {field: 100})
        CLASSES.refuses(f"{name} -1", {field: -1}, field, LEAST)
        CLASSES.refuses(f"{name} 101", {field: 101}, field, MOST)
    for high, low in ((50, 50), (40, 50)):
        wire = {kubelet: {"imageGCHighThresholdPercent": high, "imageGCLowThresholdPercent": low}}
        CLASSES.refuses(f"images from {high} to {low} percent", wire, kubelet, "must be above")


def _evictions() -> None:
    kubelet = "spec.kubelet"
    signals = ("memory.available", "nodefs.available", "nodefs.inodesFree")
    signals += ("imagefs.available", "imagefs.inodesFree", "pid.available")
    hard = f"{kubelet}.evictionHard"
    CLASSES.accepts("every signal", {hard: dict.fromkeys(signals, "5%")})
    for good in ("100Mi", "5.25%", "100.00%"):
        CLASSES.accepts(f"a threshold of {good}", {hard: {signals[0]: good}})
    for odd in ("", "-100Mi"):
        CLASSES.accepts(f"[Q] a threshold of {odd!r}", {hard: {signals[0]: odd}})
    for bad in ("101%", "5.123%", "x"):
        CLASSES.refuses(f"a threshold of {bad}", {hard: {signals[0]: bad}}, f"{hard}.{signals[0]}", PATTERN)
    soft = {"evictionSoft": {signals[0]: "x"}, "evictionSoftGracePeriod": {signals[0]: "1m"}}
    CLASSES.refuses("a soft threshold of x", {kubelet: soft}, f"{kubelet}.evictionSoft.{signals[0]}", PATTERN)
    unknown = "eviction signals only"
    CLASSES.refuses("an unknown signal", {hard: {"memory.free": "5%"}}, hard, unknown)
    both = {"evictionSoft": {signals[0]: "5%"}, "evictionSoftGracePeriod": {signals[0]: "1m"}}
    CLASSES.accepts("soft thresholds with their periods", {kubelet: both})
    other = {"memory.free": "5%"}
    for name in both:
        wire = {kubelet: {"evictionSoft": other, "evictionSoftGracePeriod": other}}
        CLASSES.refuses(f"an unknown signal of {name}", wire, f"{kubelet}.{name}", unknown)
    unmatched = both | {"evictionSoft": {signals[0]: "5%", signals[1]: "5%"}}
    CLASSES.refuses("a threshold without its period", {kubelet: unmatched}, kubelet, "evictionSoft may name signals")
    unmatched = both | {"evictionSoftGracePeriod": {signals[0]: "1m", signals[1]: "1m"}}
    CLASSES.refuses(
        "a period without its threshold", {kubelet: unmatched}, kubelet, "evictionSoftGracePeriod may name signals"
    )


def _status() -> None:
    reservation = {
        "id": "cr-1",
        "availabilityZone": "a",
        "instanceType": "m5.large",
        "ownerID": "1" * 12,
        "instanceMatchCriteria": "open",
    }
    requirement = {"key": "a", "operator": "In", "values": ["b"]}
    CLASSES.accepts_status(
        "all of a status",
        {
            "amis": [{"id": "a", "name": "n", "deprecated": True, "requirements": [requirement]}],
            "subnets": [{"id": "s", "zone": "a", "zoneID": "z"}],
            "securityGroups": [{"id": "g", "name": "n"}],
            "capacityReservations": [reservation | {"endTime": "2026-01-01T00:00:00Z", "interruptible": True}],
            "instanceProfile": "p",
        },
        {"status.capacityReservations.0.reservationType": "default", "status.capacityReservations.0.state": "active"},
    )
    counts = {"availableInstanceCount": 3, "totalInstanceCount": 10}
    CLASSES.accepts_status("S3.2: counts of a reservation", {"capacityReservations": [reservation | counts]})
    listed = {
        "amis": {"id": "a", "requirements": [requirement]},
        "subnets": {"id": "s", "zone": "a"},
        "securityGroups": {"id": "g"},
        "capacityReservations": reservation,
    }
    for name, entry in listed.items():
        for field in entry:
            wire = {name: [{key: value for key, value in entry.items() if key != field}]}
            CLASSES.refuses_status(f"{name} without {field}", wire, f"status.{name}[0].{field}", REQUIRED)
    for field in ("key", "operator"):
        left = {key: value for key, value in requirement.items() if key != field}
        wire = {"amis": [{"id": "a", "requirements": [left]}]}
        CLASSES.refuses_status(
            f"an image's requirement without {field}", wire, f"status.amis[0].requirements[0].{field}", REQUIRED
        )
    place = "status.capacityReservations[0]"
    for field, bad, says in (
        ("id", "r-1", PATTERN),
        ("ownerID", "1", PATTERN),
        ("instanceMatchCriteria", "any", UNSUPPORTED),
        ("reservationType", "any", UNSUPPORTED),
        ("state", "any", UNSUPPORTED),
        ("endTime", "any", "date-time"),
        ("availableInstanceCount", -1, "should be greater than or equal to 0"),
        ("totalInstanceCount", -1, "should be greater than or equal to 0"),
    ):
        wire = {"capacityReservations": [reservation | {field: bad}]}
        CLASSES.refuses_status(f"{field} of a reservation", wire, f"{place}.{field}", says)
    conditions(CLASSES, by_type=False)


_switches()
_metadata()
_disks()
_interfaces()
_kubelet()
_evictions()
_status()
