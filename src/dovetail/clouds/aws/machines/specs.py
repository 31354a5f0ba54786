"""The spec of an AWSMachine, read: everything RunInstances is asked for, and refusals for what it cannot be.

A field that would be without effect is refused by its name, not passed over: whoever wrote it relies on it. Fields that
say nothing (empty, false) ask for nothing. What the market is, and what it may cost, has been read before
(`core.machines.infra_objects.Wanted`); here is the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from dovetail.api.fields import Fields

Wire = dict[str, Any]
#: Filters of a describe: names and the values that will do.
Filters = tuple[tuple[str, tuple[str, ...]], ...]
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})
_LARGEST: Final = 2**31 - 1
#: What others write, or what `Wanted` has read already.
_READ_ELSEWHERE: Final = frozenset(
    {"instanceType", "providerID", "instanceID", "spotMarketOptions", "imageLookupFormat", "imageLookupOrg"}
    | {"imageLookupBaseOS"}
)
_PREFERENCES: Final = {"None": "none", "CapacityReservationsOnly": "capacity-reservations-only", "Open": "open"}
_CONFIDENTIAL: Final = {"Disabled": "disabled", "AMDEncryptedVirtualizationNestedPaging": "enabled"}
_METADATA: Final = {
    "httpEndpoint": "HttpEndpoint",
    "httpProtocolIpv6": "HttpProtocolIpv6",
    "httpPutResponseHopLimit": "HttpPutResponseHopLimit",
    "httpTokens": "HttpTokens",
    "instanceMetadataTags": "InstanceMetadataTags",
}
_DNS_FLAGS: Final = {
    "enableResourceNameDnsARecord": "EnableResourceNameDnsARecord",
    "enableResourceNameDnsAAAARecord": "EnableResourceNameDnsAAAARecord",
}
_DISK: Final = ("size", "deviceName", "type", "iops", "throughput", "encrypted", "encryptionKey")


@dataclass(frozen=True, slots=True)
class Reference:
    """A subnet or a security group, by its id or by what it looks like. `path` is where it was asked for."""

    path: str
    id: str = ""
    filters: Filters = ()


@dataclass(frozen=True, slots=True)
class Disk:
    """`device` is "" for the first disk of whatever image it is."""

    device: str
    size: int
    kind: str = ""
    iops: int | None = None
    throughput: int | None = None
    encrypted: bool | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Network:
    """Where a machine is connected. `interfaces` are there already, and outlive it."""

    subnet: Reference | None = None
    groups: tuple[Reference, ...] = ()
    #: Groups instead of the cluster's own, by role.
    overrides: Mapping[str, str] = field(default_factory=lambda: _NONE)
    public: bool | None = None
    interfaces: tuple[str, ...] = ()
    efa: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """On whose hardware it stands, beside whom, and out of which reservation it comes."""

    tenancy: str = ""
    group: str = ""
    partition: int | None = None
    reservation: str = ""
    preference: str = ""
    block: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """`metadata`, `dns` and `cpu` are in EC2's own words already."""

    image: str
    network: Network = field(default_factory=Network)
    standing: Standing = field(default_factory=Standing)
    profile: str = ""
    #: "" for none, None for the cluster's.
    key: str | None = None
    root: Disk | None = None
    disks: tuple[Disk, ...] = ()
    tags: Mapping[str, str] = field(default_factory=lambda: _NONE)
    metadata: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    dns: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    cpu: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    #: Whether user data that is too long may be sent packed.
    packs: bool = True


def read(wire: Mapping[str, object]) -> Spec:
    """Raises BadField, with the field and what to do about it, for what cannot be had."""
    spec = Fields(wire, ("spec",))
    _refuse_what_is_not_known(spec)
    _refuse_other_feeding(spec)
    if spec.text("instanceID") and not spec.text("providerID"):
        raise spec.bad("instanceID", "names an instance that spec.providerID does not; take it out, or set providerID")
    root = spec.map("rootVolume")
    return Spec(
        image=_image(spec),
        network=_network(spec),
        standing=_standing(spec),
        profile=spec.text("iamInstanceProfile") or "",
        key=spec.text("sshKeyName"),
        root=_disk(root) if root.wire else None,
        disks=tuple(_further(one) for one in spec.items("nonRootVolumes")),
        tags=MappingProxyType(spec.labels("additionalTags")),
        metadata=_metadata(spec.map("instanceMetadataOptions")),
        dns=_dns(spec.map("privateDnsName")),
        cpu=_cpu(spec.map("cpuOptions")),
        packs=not spec.flag("uncompressedUserData"),
    )


def _refuse_what_is_not_known(spec: Fields) -> None:
    if spec.wire.get("elasticIpPool"):
        told = "no address can be taken from a pool here; take it out, or have one with publicIP: true"
        raise spec.bad("elasticIpPool", told)
    for name, value in spec.wire.items():
        if value and name not in _READ_ELSEWHERE and name not in _HONOURED:
            raise spec.bad(str(name), "is not known here and would be without effect; take it out")


def _refuse_other_feeding(spec: Fields) -> None:
    """Bootstrap data goes to EC2 as user data. Whoever asked for it to lie elsewhere is not given less than that."""
    cloud_init = spec.map("cloudInit")
    for name, value in cloud_init.wire.items():
        if value and name != "insecureSkipSecretsManager" and not cloud_init.flag("insecureSkipSecretsManager"):
            told = "bootstrap data goes to EC2 as user data; take it out, or say insecureSkipSecretsManager: true"
            raise cloud_init.bad(str(name), told)
    ignition = spec.map("ignition")
    if ignition.wire and ignition.text("storageType") != "UnencryptedUserData":
        raise ignition.bad("storageType", "must be UnencryptedUserData: Ignition is fed through user data only")
    for name, value in ignition.wire.items():
        if value and name not in ("version", "storageType"):
            raise ignition.bad(str(name), "is not known here and would be without effect; take it out")


def _image(spec: Fields) -> str:
    ami = spec.map("ami").only(("id", "eksLookupType"))
    found = ami.text("id")
    if not found:
        raise ami.bad("id", "is missing; name an image, for none is looked up by its name or version here")
    return found


# ------------------------------------------------------------------------------------------------ network


def _network(spec: Fields) -> Network:
    interfaces = _texts(spec, "networkInterfaces")
    network = Network(
        subnet=_reference(spec.map("subnet"), "spec.subnet") if spec.wire.get("subnet") else None,
        groups=tuple(
            _reference(one, f"spec.additionalSecurityGroups[{at}]")
            for at, one in enumerate(spec.items("additionalSecurityGroups"))
        ),
        overrides=MappingProxyType(spec.labels("securityGroupOverrides")),
        public=spec.flag("publicIP") if spec.has("publicIP") else None,
        interfaces=interfaces,
        efa=_one_of(spec, "networkInterfaceType", ("interface", "efa")) == "efa",
    )
    for name in ("subnet", "additionalSecurityGroups", "securityGroupOverrides", "publicIP", "networkInterfaceType"):
        if interfaces and spec.wire.get(name):
            raise spec.bad(
                name, "cannot be had beside networkInterfaces, which are what they are; take one of them out"
            )
    return network


def _reference(one: Fields, path: str) -> Reference:
    one.only(("id", "filters"))
    filters = tuple(
        (each.required("name"), _texts(each.only(("name", "values")), "values")) for each in one.items("filters")
    )
    name = one.text("id") or ""
    if name and filters:
        raise one.bad("filters", "cannot stand beside id; take one of them out")
    if not name and not filters:
        raise one.bad("id", "is missing, and there are no filters")
    return Reference(path, name, filters)


def _texts(parent: Fields, name: str) -> tuple[str, ...]:
    value = parent.wire.get(name) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) and one for one in value):
        raise parent.bad(name, "expected a list of texts")
    return tuple(value)


def _one_of(parent: Fields, name: str, known: tuple[str, ...]) -> str:
    value = parent.text(name) or ""
    if value and value not in known:
        raise parent.bad(name, f"{value!r} is not one of {', '.join(known)}")
    return value


# ------------------------------------------------------------------------------------------------ standing


def _standing(spec: Fields) -> Standing:
    group = spec.text("placementGroupName") or ""
    partition = spec.whole("placementGroupPartition", 0, 7) or None
    if partition and not group:
        raise spec.bad("placementGroupPartition", "needs a placementGroupName")
    market = _one_of(spec, "marketType", ("OnDemand", "Spot", "CapacityBlock"))
    reservation = spec.text("capacityReservationId") or ""
    preference = _one_of(spec, "capacityReservationPreference", tuple(_PREFERENCES))
    spot = market == "Spot" or spec.has("spotMarketOptions")
    if spot and market not in ("", "Spot"):
        raise spec.bad("marketType", "must be Spot, or left out, beside spotMarketOptions")
    if spot and (reservation or preference == "CapacityReservationsOnly"):
        raise spec.bad("capacityReservationId" if reservation else "capacityReservationPreference", "is not for spot")
    if market == "CapacityBlock" and not reservation:
        raise spec.bad("capacityReservationId", "is missing: a capacity block is named by it")
    if reservation and preference in ("None", "Open"):
        raise spec.bad("capacityReservationPreference", f"{preference} cannot stand beside capacityReservationId")
    return Standing(
        tenancy=_one_of(spec, "tenancy", ("default", "dedicated", "host")),
        group=group,
        partition=partition,
        reservation=reservation,
        preference=_PREFERENCES.get(preference, ""),
        block=market == "CapacityBlock",
    )


# ------------------------------------------------------------------------------------------------ disks


def _disk(one: Fields) -> Disk:
    one.only(_DISK)
    size, key = one.whole("size", 1, 65536), one.text("encryptionKey") or ""
    encrypted = one.flag("encrypted") if one.has("encrypted") else None
    if size is None:
        raise one.bad("size", "is missing")
    if key and encrypted is False:
        raise one.bad("encryptionKey", "is given, and encrypted is false; take one of them out")
    return Disk(
        device=one.text("deviceName") or "",
        size=size,
        kind=one.text("type") or "",
        iops=one.whole("iops", 0, _LARGEST) or None,
        throughput=one.whole("throughput", 0, _LARGEST) or None,
        encrypted=True if key else encrypted,
        key=key,
    )


def _further(one: Fields) -> Disk:
    found = _disk(one)
    if not found.device:
        raise one.bad("deviceName", "is missing; only the first disk has its name from the image")
    return found


# ------------------------------------------------------------------------------------------------ in EC2's words


def _metadata(options: Fields) -> Mapping[str, Any]:
    found: Wire = {}
    for name in options.only(_METADATA).wire:
        if name == "httpPutResponseHopLimit":
            value: object = options.whole(name, 1, 64)
        else:
            value = options.text(name)
        if value:
            found[_METADATA[name]] = value
    return MappingProxyType(found)


def _dns(options: Fields) -> Mapping[str, Any]:
    options.only((*_DNS_FLAGS, "hostnameType"))
    found: Wire = {wire: options.flag(name) for name, wire in _DNS_FLAGS.items() if options.has(name)}
    kind = _one_of(options, "hostnameType", ("ip-name", "resource-name"))
    return MappingProxyType(found | ({"HostnameType": kind} if kind else {}))


def _cpu(options: Fields) -> Mapping[str, Any]:
    kind = _one_of(options.only(("confidentialCompute",)), "confidentialCompute", tuple(_CONFIDENTIAL))
    return MappingProxyType({"AmdSevSnp": _CONFIDENTIAL[kind]} if kind else {})


_HONOURED: Final = frozenset(
    {"ami", "marketType", "capacityReservationId", "capacityReservationPreference", "subnet", "publicIP"}
    | {"additionalSecurityGroups", "securityGroupOverrides", "iamInstanceProfile", "sshKeyName", "rootVolume"}
    | {"nonRootVolumes", "additionalTags", "networkInterfaces", "networkInterfaceType", "tenancy"}
    | {"placementGroupName", "placementGroupPartition", "uncompressedUserData", "instanceMetadataOptions"}
    | {"cloudInit", "ignition", "privateDnsName", "cpuOptions"}
)
