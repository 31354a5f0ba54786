"""The infrastructure machines of Cluster API, their templates and clusters, row by row (R2, R3, R15–R30)."""

from __future__ import annotations

from typing import Any, Final

from tests.contract.crds.rows import GONE, Table
from tests.contract.crds.shared_rows import (
    LEAST,
    MOST,
    PATTERN,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE,
    UNSUPPORTED,
    conditions,
    durations,
)

from dovetail.api.kinds import (
    AWS_CLUSTERS,
    AWS_MACHINES,
    AWS_TEMPLATES,
    AZURE_CLUSTERS,
    AZURE_MACHINES,
    AZURE_TEMPLATES,
    GCP_CLUSTERS,
    GCP_MACHINES,
    GCP_TEMPLATES,
)

AWS: Final = {"instanceType": "m5.large"}
GCP: Final = {"instanceType": "n2-standard-4"}
AZURE: Final = {"vmSize": "Standard_D4s_v5", "osDisk": {"osType": "Linux"}}
AWS_MACHINE: Final = Table(AWS_MACHINES, AWS)
GCP_MACHINE: Final = Table(GCP_MACHINES, GCP)
AZURE_MACHINE: Final = Table(AZURE_MACHINES, AZURE)
AWS_TEMPLATE: Final = Table(AWS_TEMPLATES, {"template": {"spec": AWS}})
GCP_TEMPLATE: Final = Table(GCP_TEMPLATES, {"template": {"spec": GCP}})
AZURE_TEMPLATE: Final = Table(AZURE_TEMPLATES, {"template": {"spec": AZURE}})
AWS_CLUSTER: Final = Table(AWS_CLUSTERS, {"region": "us-east-1"})
GCP_CLUSTER: Final = Table(GCP_CLUSTERS, {"project": "p", "region": "europe-west1"})
AZURE_CLUSTER: Final = Table(AZURE_CLUSTERS, {"location": "westeurope"})
SHORT: Final = "chars long"
TABLES: Final = (
    *(AWS_MACHINE, AWS_TEMPLATE, AWS_CLUSTER),
    *(GCP_MACHINE, GCP_TEMPLATE, GCP_CLUSTER),
    *(AZURE_MACHINE, AZURE_TEMPLATE, AZURE_CLUSTER),
)


def enumerated(table: Table, path: str, values: tuple[str, ...], beside: dict[str, Any] | None = None) -> None:
    for value in values:
        table.accepts(f"{path} {value}", {path: value} | (beside or {}))
    table.refuses(f"an unknown {path}", {path: "x"} | (beside or {}), path, UNSUPPORTED)


def _aws(table: Table, at: str) -> None:
    def field(name: str) -> str:
        return f"{at}.{name}"

    price, kind, reservation = field("spotMarketOptions"), field("marketType"), field("capacityReservationId")
    table.refuses("R2: no instance type", {field("instanceType"): GONE}, field("instanceType"), REQUIRED)
    table.refuses("an instance type of one letter", {field("instanceType"): "m"}, field("instanceType"), SHORT)
    table.accepts("R15: spot at the default price", {price: {}}, {price: {}})
    table.accepts("R8: nothing turns spot on by itself", {}, {price: GONE, kind: GONE})
    for good in ("0.05", "1", "12.345678", ""):
        table.accepts(f"R16: maxPrice {good!r}", {price: {"maxPrice": good}}, {f"{price}.maxPrice": good})
    for bad in ("-1", "abc", "1.", ".5", "1e3", "$1", "0,05", "10%", " 1"):
        table.refuses(f"R16: maxPrice {bad!r}", {price: {"maxPrice": bad}}, f"{price}.maxPrice", PATTERN)
    table.refuses("R16: a maxPrice that is a number", {price: {"maxPrice": 1}}, f"{price}.maxPrice", TYPE)
    odd = {"interruptionBehavior": "hibernate", "spotInstanceType": "persistent"}
    dropped = dict.fromkeys((f"{price}.{name}" for name in odd), GONE)
    table.accepts("R19, R20: no other behaviour, no persistent request", {price: odd}, dropped)
    table.accepts("marketType Spot", {kind: "Spot"})
    table.accepts("marketType OnDemand", {kind: "OnDemand"})
    table.refuses("an unknown marketType", {kind: "Reserved"}, kind, UNSUPPORTED)
    table.accepts("spot said twice", {kind: "Spot", price: {}})
    table.refuses("R15: spot and OnDemand", {kind: "OnDemand", price: {}}, at, "needs marketType Spot")
    for spot in ({price: {}}, {kind: "Spot"}):
        table.refuses(f"a reservation on spot, {spot}", spot | {reservation: "cr-1"}, at, "cannot be had on spot")
    table.refuses("a block without its reservation", {kind: "CapacityBlock"}, at, "needs a capacityReservationId")
    table.accepts("a block of a reservation", {kind: "CapacityBlock", reservation: "cr-1"})
    volume = field("rootVolume")
    table.refuses("a volume of 7 GiB", {volume: {"size": 7}}, f"{volume}.size", LEAST)
    table.refuses("a volume without a size", {volume: {}}, f"{volume}.size", REQUIRED)
    more = field("nonRootVolumes")
    table.refuses("a further volume of 7 GiB", {more: [{"size": 7}]}, f"{more}[0].size", LEAST)
    table.refuses("a further volume without a size", {more: [{}]}, f"{more}[0].size", REQUIRED)
    for name, listed in (("subnet", False), ("additionalSecurityGroups", True)):
        for left_out, filter_ in (("name", {"values": ["a"]}), ("values", {"name": "a"})):
            wire: Any = {"filters": [filter_]}
            where = f"{field(name)}{'[0]' if listed else ''}.filters[0].{left_out}"
            table.refuses(
                f"{name}: a filter without {left_out}", {field(name): [wire] if listed else wire}, where, REQUIRED
            )
    table.accepts("a subnet by id", {field("subnet"): {"id": "subnet-1"}})
    table.refuses(
        "three interfaces", {field("networkInterfaces"): ["a", "b", "c"]}, field("networkInterfaces"), TOO_MANY
    )
    enumerated(table, field("networkInterfaceType"), ("interface", "efa"))
    enumerated(table, field("tenancy"), ("default", "dedicated", "host"))
    table.refuses("partition 0", {field("placementGroupPartition"): 0}, field("placementGroupPartition"), LEAST)
    table.refuses("partition 8", {field("placementGroupPartition"): 8}, field("placementGroupPartition"), MOST)
    kept = {"insecureSkipSecretsManager": True, "deep": {"er": [1]}}
    table.accepts("a block nobody looks into is kept", {field("cloudInit"): kept}, {field("cloudInit"): kept})


def _gcp(table: Table, at: str) -> None:
    def field(name: str) -> str:
        return f"{at}.{name}"

    table.refuses("R2: no instance type", {field("instanceType"): GONE}, field("instanceType"), REQUIRED)
    table.refuses("an empty instance type", {field("instanceType"): ""}, field("instanceType"), SHORT)
    table.accepts("R22: preemptible", {field("preemptible"): True})
    table.accepts("R8: nothing turns spot on by itself", {}, {field("preemptible"): GONE})
    price, market = field("maxPrice"), field("spotMarketOptions")
    for beside in ({}, {field("provisioningModel"): "Spot"}):
        for bid in ("0.05", "", 1):
            table.refuses(f"R23: a price to bid, {bid!r}, {beside}", beside | {price: bid}, price, "GCP has one price")
        for options in ({}, {"maxPrice": "0.05"}):
            said = f"R23: AWS's way to bid, {options}, {beside}"
            table.refuses(said, beside | {market: options}, market, "GCP has one price")
        theirs, kind = field("spotVMOptions"), field("marketType")
        table.refuses(f"R23: Azure's way to bid, {beside}", beside | {theirs: {}}, theirs, "GCP has one price")
        table.refuses(f"R23: AWS's other way, {beside}", beside | {kind: "Spot"}, kind, "a field of AWS's")
    table.refuses("R23: a price that is a fraction", {price: 0.05}, price, TYPE)
    table.accepts("R23: nothing said of a price", {}, {price: GONE, market: GONE})
    enumerated(table, field("provisioningModel"), ("Standard", "Spot"))
    action, model = field("instanceTerminationAction"), field("provisioningModel")
    enumerated(table, action, ("STOP", "DELETE"), {model: "Spot"})
    for beside in ({}, {field("preemptible"): True}, {model: "Standard"}):
        table.refuses(
            f"an action without Spot, {beside}", beside | {action: "STOP"}, at, "needs provisioningModel Spot"
        )
    enumerated(table, field("onHostMaintenance"), ("Migrate", "Terminate"))
    enumerated(table, field("ipForwarding"), ("Enabled", "Disabled"))
    durations(table, field("maxRunDuration"), never=False)
    metadata = field("additionalMetadata")
    table.accepts("metadata", {metadata: [{"key": "a", "value": "b"}]})
    table.refuses("metadata without a key", {metadata: [{"value": "b"}]}, f"{metadata}[0].key", REQUIRED)


def _azure(table: Table, at: str) -> None:
    def field(name: str) -> str:
        return f"{at}.{name}"

    spot, disk = field("spotVMOptions"), field("osDisk")
    price = f"{spot}.maxPrice"
    table.refuses("R2: no size", {field("vmSize"): GONE}, field("vmSize"), REQUIRED)
    table.refuses("an empty size", {field("vmSize"): ""}, field("vmSize"), SHORT)
    table.refuses("no disk", {disk: GONE}, disk, REQUIRED)
    table.accepts("R26: Spot, and nothing said about it", {spot: {}}, {spot: {}, field("identity"): "None"})
    table.accepts("R8: nothing turns spot on by itself", {}, {spot: GONE})
    for good in ("0.04", "-1", -1, 1, "1", "40m"):
        table.accepts(f"R28: maxPrice {good!r}", {spot: {"maxPrice": good}}, {price: good})
    for bad in ("0", 0, "-0.5", -2, "-2"):
        table.refuses(f"R28: maxPrice {bad!r}", {spot: {"maxPrice": bad}}, price, "must be more than 0, or -1")
    for bad in ("abc", ""):
        table.refuses(f"R28: maxPrice {bad!r} is no quantity", {spot: {"maxPrice": bad}}, price, PATTERN)
    enumerated(table, f"{spot}.evictionPolicy", ("Deallocate", "Delete"))
    enumerated(table, f"{disk}.osType", ("Linux", "Windows"))
    table.refuses("no osType", {disk: {"diskSizeGB": 30}}, f"{disk}.osType", REQUIRED)
    table.refuses("a disk of nothing", {f"{disk}.diskSizeGB": 0}, f"{disk}.diskSizeGB", LEAST)
    enumerated(table, f"{disk}.cachingType", ("None", "ReadOnly", "ReadWrite"))
    enumerated(table, f"{disk}.diffDiskSettings.option", ("Local",))
    table.refuses("no option", {f"{disk}.diffDiskSettings": {}}, f"{disk}.diffDiskSettings.option", REQUIRED)
    enumerated(table, field("identity"), ("None", "SystemAssigned", "UserAssigned"))


def _templates() -> None:
    changes: dict[Table, dict[str, Any]] = {
        AWS_TEMPLATE: {"instanceType": "m5.xlarge", "spotMarketOptions": {}, "additionalTags": {"a": "b"}},
        GCP_TEMPLATE: {"instanceType": "n2-standard-8", "preemptible": True},
        AZURE_TEMPLATE: {"vmSize": "Standard_D8s_v5", "spotVMOptions": {}},
    }
    for table, fields in changes.items():
        for name, value in fields.items():
            after = {f"spec.template.spec.{name}": value}
            table.refuses_change(f"R3: {name} changed", {}, after, "spec", "spec of a template cannot be changed")
        table.accepts_change("R3: labels may change", {}, {"metadata.labels": {"a": "b"}})
        for path in ("spec", "spec.template", "spec.template.spec"):
            table.refuses(f"no {path}", {path: GONE}, path, REQUIRED)
        labels = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
        table.accepts("labels for what is made", {"spec.template.metadata": labels}, {"spec.template.metadata": labels})
        table.accepts_status("what a machine would have", {"capacity": {"cpu": 4, "memory": "16Gi"}})
        table.refuses_status("capacity that is none", {"capacity": {"cpu": "x"}}, "status.capacity.cpu", PATTERN)
        for name in ("architecture", "operatingSystem"):
            wire = {"nodeInfo": {name: "x"}}
            table.refuses_status(f"an unknown {name}", wire, f"status.nodeInfo.{name}", UNSUPPORTED)


def _statuses(table: Table) -> None:
    """What the core reads of every machine."""
    table.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)
    conditions(table)
    told = {"ready": True, "interruptible": True, "failureDomain": "a", "initialization": {"provisioned": True}}
    table.accepts_status("R32: all that the contract asks for", told, {f"status.{name}": told[name] for name in told})
    for kind in ("Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"):
        table.accepts_status(f"an address of type {kind}", {"addresses": [{"type": kind, "address": "a"}]})
    at = "status.addresses[0]"
    wires = (({"type": "x", "address": "a"}, "type", UNSUPPORTED), ({"address": "a"}, "type", REQUIRED))
    more = (({"type": "Hostname"}, "address", REQUIRED), ({"type": "Hostname", "address": ""}, "address", SHORT))
    for wire, name, says in (*wires, *more, ({"type": "Hostname", "address": "a" * 257}, "address", TOO_LONG)):
        table.refuses_status(f"an address {str(wire)[:60]}", {"addresses": [wire]}, f"{at}.{name}", says)
    failed = {"failureReason": "CreateError", "failureMessage": "maxPrice is below the market's price"}
    table.accepts_status("R39: a failure anybody can see", failed, {f"status.{name}": failed[name] for name in failed})
    table.refuses_status("a reason nobody knows", {"failureReason": "x"}, "status.failureReason", UNSUPPORTED)


def _machines() -> None:
    fixed: dict[Table, dict[str, Any]] = {
        AWS_MACHINE: {"instanceType": "m5.xlarge", "spotMarketOptions": {}, "marketType": "Spot"},
        GCP_MACHINE: {"instanceType": "n2-standard-8", "preemptible": True, "provisioningModel": "Spot"},
        AZURE_MACHINE: {"vmSize": "Standard_D8s_v5", "spotVMOptions": {}, "failureDomain": "2"},
    }
    for table, fields in fixed.items():
        _statuses(table)
        for name, value in fields.items():
            says = "cannot be changed; replace the Machine"
            table.refuses_change(f"R9: {name} changed", {}, {f"spec.{name}": value}, "spec", says)
        table.accepts_change("its providerID is written", {}, {"spec.providerID": "x:///y"})
    AWS_MACHINE.refuses_change(
        "R4: spot taken away",
        {"spec.spotMarketOptions": {"maxPrice": "1"}},
        {"spec.spotMarketOptions": GONE},
        "spec",
        "cannot be changed",
    )
    states = {AWS_MACHINE: "instanceState", GCP_MACHINE: "instanceState", AZURE_MACHINE: "vmState"}
    for table, name in states.items():
        table.accepts_status("what the cloud calls its state", {name: "running"}, {f"status.{name}": "running"})


def _long_running(table: Table) -> None:
    at = "longRunningOperationStates"
    good = {"type": "PUT", "name": "a", "serviceName": "vm", "data": "e30="}
    table.accepts_status("what Azure is still doing", {at: [good]}, {f"status.{at}.0.data": "e30="})
    table.refuses_status(
        "what nobody asks of Azure", {at: [good | {"type": "GET"}]}, f"status.{at}[0].type", UNSUPPORTED
    )
    for name in good:
        wire = {key: value for key, value in good.items() if key != name}
        table.refuses_status(f"{at} without {name}", {at: [wire]}, f"status.{at}[0].{name}", REQUIRED)


def _clusters() -> None:
    for table in (AWS_CLUSTER, GCP_CLUSTER, AZURE_CLUSTER):
        endpoint = "spec.controlPlaneEndpoint"
        table.accepts("an endpoint", {endpoint: {"host": "a", "port": 6443}})
        table.refuses("port -1", {endpoint: {"port": -1}}, f"{endpoint}.port", LEAST)
        table.refuses("port 65536", {endpoint: {"port": 65536}}, f"{endpoint}.port", MOST)
        told = {"ready": True, "failureDomains": {"a": {"controlPlane": True}}}
        table.accepts_status("zones", told, {f"status.{name}": told[name] for name in told})
        conditions(table)
    AWS_CLUSTER.accepts("no spec", {"spec": GONE})
    kept = {"vpc": {"id": "vpc-1"}, "subnets": [{"id": "subnet-1"}]}
    AWS_CLUSTER.accepts("networks are kept as they are written", {"spec.network": kept}, {"spec.network": kept})
    for name in ("project", "region"):
        GCP_CLUSTER.refuses(f"no {name}", {f"spec.{name}": GONE}, f"spec.{name}", REQUIRED)
    AZURE_CLUSTER.refuses("no location", {"spec.location": GONE}, "spec.location", REQUIRED)
    AZURE_CLUSTER.refuses("an empty location", {"spec.location": ""}, "spec.location", SHORT)
    for table in (GCP_CLUSTER, AZURE_CLUSTER):
        table.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)


for _machine, _template, _fill in (
    (AWS_MACHINE, AWS_TEMPLATE, _aws),
    (GCP_MACHINE, GCP_TEMPLATE, _gcp),
    (AZURE_MACHINE, AZURE_TEMPLATE, _azure),
):
    _fill(_machine, "spec")
    _fill(_template, "spec.template.spec")
_templates()
_machines()
_clusters()
_long_running(AZURE_MACHINE)
_long_running(AZURE_CLUSTER)
