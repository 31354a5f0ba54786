"""An EC2NodeClass as its user wrote it, read once: past this door nobody looks into the object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dovetail.api.crds.ec2_node_class import Ec2NodeClassSpec
from dovetail.api.fields import Fields, fields
from dovetail.clouds.aws import bootstrap, class_hash
from dovetail.clouds.aws.nodeclass import disks
from dovetail.clouds.aws.resolved import ConnectionTracking, Disk, Interface, MetadataService, Network
from dovetail.core.errors import BadValue

Term = Mapping[str, Any]
CUSTOM: Final = "Custom"
WINDOWS: Final = ("Windows2019", "Windows2022", "Windows2025")
_LARGE: Final = 2**53
_USUAL_METADATA: Final = MetadataService()
_USUAL_NETWORK: Final = Network()


@dataclass(frozen=True, slots=True)
class ClassSpec:
    """`family` is how machines are brought up, worked out from an alias where the class does not say. `kubelet` is the
    block as it was written; `ephemeral_bytes` what pods share of the disks, None where the image decides."""

    family: str
    images: tuple[Term, ...]
    subnets: tuple[Term, ...]
    groups: tuple[Term, ...]
    reservations: tuple[Term, ...] = ()
    placement: Term | None = None
    role: str = ""
    profile: str = ""
    tags: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    kubelet: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    user_data: str = ""
    raid0: bool = False
    disks: tuple[Disk, ...] = ()
    ephemeral_bytes: int | None = None
    metadata: MetadataService = _USUAL_METADATA
    network: Network = _USUAL_NETWORK
    detailed_monitoring: bool = False
    nested_virtualization: str = ""
    enclaves: bool = False
    context: str = ""

    @property
    def alias(self) -> str:
        """The alias of its images, "" where they are selected otherwise."""
        return next((str(one["alias"]) for one in self.images if one.get("alias")), "")

    @property
    def is_windows(self) -> bool:
        return self.family in WINDOWS


def read(wire: Mapping[str, object]) -> ClassSpec:
    """Raises BadInput, with the path of the field, for what the API server should not have let through."""
    spec = fields(wire).map("spec")
    _check_types(spec.wire)
    family = class_hash.family(spec.wire)
    if family and family not in bootstrap.FAMILIES:
        raise spec.bad("amiFamily", f"is not one of {', '.join(sorted(bootstrap.FAMILIES))}")
    if not family:
        raise BadValue("names no family of images; write amiFamily, or an alias in amiSelectorTerms").at("spec")
    if bool(spec.text("role")) == bool(spec.text("instanceProfile")):
        raise BadValue("must have role or instanceProfile, and not both").at("spec")
    mappings = [one.wire for one in spec.items("blockDeviceMappings")]
    own = disks.read(mappings)
    return ClassSpec(
        family=family,
        images=_terms(spec, "amiSelectorTerms"),
        subnets=_terms(spec, "subnetSelectorTerms"),
        groups=_terms(spec, "securityGroupSelectorTerms"),
        reservations=_terms(spec, "capacityReservationSelectorTerms"),
        placement=spec.map("placementGroupSelector").wire if spec.has("placementGroupSelector") else None,
        role=spec.text("role") or "",
        profile=spec.text("instanceProfile") or "",
        tags=MappingProxyType(spec.labels("tags")),
        kubelet=MappingProxyType(dict(spec.map("kubelet").wire)),
        user_data=spec.text("userData") or "",
        raid0=spec.text("instanceStorePolicy") == "RAID0",
        disks=own or disks.defaults(family),
        ephemeral_bytes=disks.ephemeral_bytes(family, mappings, own),
        metadata=_metadata(spec.map("metadataOptions")),
        network=_network(spec),
        detailed_monitoring=spec.flag("detailedMonitoring"),
        nested_virtualization=spec.map("cpuOptions").text("nestedVirtualization") or "",
        enclaves=spec.map("enclaveOptions").flag("enabled"),
        context=spec.text("context") or "",
    )


def _check_types(spec: Mapping[str, Any]) -> None:
    """Maps are maps and numbers are numbers. Our definition sees to that; a peer's, still installed, leaves the kubelet
    open."""
    try:
        msgspec.convert(spec, Ec2NodeClassSpec)
    except msgspec.ValidationError as bad:
        told, _, where = str(bad).partition(" - at ")
        path = where.strip("`").removeprefix("$").lstrip(".")
        raise BadValue(told.replace("`", "")).at(*(("spec", path) if path else ("spec",))) from None


#: What may have nothing beside it in a term. The schema, being the peer's, refuses it only where every term does it.
_ALONE: Final = {
    "amiSelectorTerms": ("id", "alias"),
    "subnetSelectorTerms": ("id",),
    "securityGroupSelectorTerms": ("id", "name"),
    "capacityReservationSelectorTerms": ("id",),
}


def _terms(spec: Fields, name: str) -> tuple[Term, ...]:
    found = spec.items(name)
    for one in found:
        given = [key for key, value in one.wire.items() if value]
        alone = next((key for key in _ALONE[name] if key in given), None)
        if alone is not None and len(given) > 1:
            beside = ", ".join(sorted(key for key in given if key != alone))
            raise one.bad(alone, f"may have nothing beside it, and has {beside}; make it two terms")
        if not given:
            raise BadValue("selects nothing; it is empty").at(*one.path)
    return tuple(one.wire for one in found)


def _metadata(one: Fields) -> MetadataService:
    plain = _USUAL_METADATA
    return MetadataService(
        endpoint=one.text("httpEndpoint") or plain.endpoint,
        ipv6=one.text("httpProtocolIPv6") or plain.ipv6,
        hops=one.whole("httpPutResponseHopLimit", 1, 64) or plain.hops,
        tokens=one.text("httpTokens") or plain.tokens,
    )


def _network(spec: Fields) -> Network:
    """Whether it speaks IPv6 is the cluster's to say, so it is added when the cluster is known."""
    interfaces = tuple(
        Interface(
            one.whole("networkCardIndex", 0, _LARGE) or 0,
            one.whole("deviceIndex", 0, _LARGE) or 0,
            one.text("interfaceType") == "efa-only",
        )
        for one in spec.items("networkInterfaces")
    )
    tracking = spec.map("connectionTracking")
    seconds = [tracking.whole(name, 0, _LARGE) for name in ("tcpEstablishedTimeout", "udpStreamTimeout", "udpTimeout")]
    return Network(
        interfaces=interfaces,
        public_address=spec.flag("associatePublicIPAddress") if spec.has("associatePublicIPAddress") else None,
        prefixes=spec.whole("ipPrefixCount", 0, _LARGE),
        tracking=ConnectionTracking(*seconds) if any(one is not None for one in seconds) else None,
    )


def shown(terms: Sequence[Term], field_name: str, which: Sequence[int]) -> str:
    """Terms as a person finds them in the manifest: `subnetSelectorTerms[0] (tags a=b)`."""
    return ", ".join(f"{field_name}[{at}] ({_parts(terms[at])})" for at in which)


def _parts(term: Term) -> str:
    plain = [f"{key} {value}" for key, value in sorted(term.items()) if key != "tags" and value]
    tags = " ".join(f"{key}={value}" for key, value in sorted((term.get("tags") or {}).items()))
    return ", ".join([*plain, f"tags {tags}"] if tags else plain)
