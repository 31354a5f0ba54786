"""The drift hash of an EC2NodeClass, to the bit: a fleet that changes over carries these numbers on its claims.

It is taken over three things: the spec without what only selects, the family of images the selection resolves to, and
the cluster's certificate authority. The tables below say which fields count, in the order in which they do, and of
what kind they are; a field that was given counts even if it says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dovetail.api.crds.ec2_node_class import FAMILIES
from dovetail.core import quantity, timestamps
from dovetail.core.lifecycle.hashes import NANOSECONDS, Hashed, Int32, Int64, Pointer, Struct, hashed

VERSION: Final = "v5"
Reader = Callable[[Any], Hashed]
#: (name in the number, name in the API, how it is read)
Fields = Sequence[tuple[str, str, Reader]]


def class_hash(spec: Mapping[str, Any], authority: str = "") -> str:
    """The value of the annotation karpenter.k8s.aws/ec2nodeclass-hash."""
    return str(hashed([_struct("EC2NodeClassSpec", _SPEC)(spec), family(spec), authority]))


def family(spec: Mapping[str, Any]) -> str:
    """How machines are brought up: as the alias among the image terms says, or else the spec."""
    said = spec.get("amiFamily")
    if said:
        return str(said)
    aliases = (str(one["alias"]) for one in spec.get("amiSelectorTerms", ()) if one.get("alias"))
    return next((FAMILIES.get(one.partition("@")[0].lower(), "") for one in aliases), "")


# ---------------------------------------------------------------------------------------------- kinds of fields


def _given(read: Reader) -> Reader:
    return lambda value: Pointer(read(value))


def _struct(name: str, fields: Fields) -> Callable[[Any], Struct]:
    def read(value: Mapping[str, Any]) -> Struct:
        return Struct(name, tuple((field, _read(value, key, how)) for field, key, how in fields))

    return read


def _read(value: Mapping[str, Any], key: str, how: Reader) -> Hashed:
    found = value.get(key)
    return None if found is None else how(found)


def _list(read: Reader) -> Reader:
    return lambda values: [read(one) for one in values]


def _map(read: Reader) -> Reader:
    return lambda value: {key: read(one) for key, one in value.items()}


def _duration(text: str) -> Struct:
    return Struct("Duration", (("Duration", Int64(round(timestamps.duration(text) * NANOSECONDS))),))


def _size(text: str) -> str:
    return str(quantity.parse(text))


_TEXT: Final = _given(str)
_BOOL: Final = _given(bool)
_INT32: Final = _given(Int32)
_INT64: Final = _given(Int64)

# ---------------------------------------------------------------------------------------------- which fields count

_KUBELET: Final[Fields] = (
    ("ClusterDNS", "clusterDNS", _list(str)),
    # The peer's number of an expression is not known to us; a class without one has the number it always had.
    ("MaxPods", "maxPods", lambda value: (_TEXT if isinstance(value, str) else _INT32)(value)),
    ("PodsPerCore", "podsPerCore", _INT32),
    ("SystemReserved", "systemReserved", _map(str)),
    ("KubeReserved", "kubeReserved", _map(str)),
    ("EvictionHard", "evictionHard", _map(str)),
    ("EvictionSoft", "evictionSoft", _map(str)),
    ("EvictionSoftGracePeriod", "evictionSoftGracePeriod", _map(_duration)),
    ("EvictionMaxPodGracePeriod", "evictionMaxPodGracePeriod", _INT32),
    ("ImageGCHighThresholdPercent", "imageGCHighThresholdPercent", _INT32),
    ("ImageGCLowThresholdPercent", "imageGCLowThresholdPercent", _INT32),
    ("CPUCFSQuota", "cpuCFSQuota", _BOOL),
)


def _kubelet(value: Mapping[str, Any]) -> Struct:
    """Settings the schema does not name count as well; the peer's number of those is not known to us either."""
    found = _struct("KubeletConfiguration", _KUBELET)(value)
    others = {name: one for name, one in value.items() if name not in {key for _, key, _ in _KUBELET}}
    if not others:
        return found
    return Struct(found.name, (*found.fields, ("Others", json.dumps(others, sort_keys=True, default=str))))


_VOLUME: Final[Fields] = (
    ("DeleteOnTermination", "deleteOnTermination", _BOOL),
    ("Encrypted", "encrypted", _BOOL),
    ("IOPS", "iops", _INT64),
    ("KMSKeyID", "kmsKeyID", _TEXT),
    ("SnapshotID", "snapshotID", _TEXT),
    ("Throughput", "throughput", _INT64),
    ("VolumeInitializationRate", "volumeInitializationRate", _INT32),
    ("VolumeSize", "volumeSize", _given(_size)),
    ("VolumeType", "volumeType", _TEXT),
)
_MAPPING: Final[Fields] = (
    ("DeviceName", "deviceName", _TEXT),
    ("EBS", "ebs", _given(_struct("BlockDevice", _VOLUME))),
    ("RootVolume", "rootVolume", bool),
)
_INTERFACE: Final[Fields] = (
    ("NetworkCardIndex", "networkCardIndex", Int32),
    ("DeviceIndex", "deviceIndex", Int32),
    ("InterfaceType", "interfaceType", str),
)
_METADATA: Final[Fields] = (
    ("HTTPEndpoint", "httpEndpoint", _TEXT),
    ("HTTPProtocolIPv6", "httpProtocolIPv6", _TEXT),
    ("HTTPPutResponseHopLimit", "httpPutResponseHopLimit", _INT64),
    ("HTTPTokens", "httpTokens", _TEXT),
)
_TRACKING: Final[Fields] = (
    ("TCPEstablishedTimeout", "tcpEstablishedTimeout", _INT32),
    ("UDPStreamTimeout", "udpStreamTimeout", _INT32),
    ("UDPTimeout", "udpTimeout", _INT32),
)
_GROUP: Final[Fields] = (("Name", "name", _TEXT), ("ID", "id", _TEXT))
_SPEC: Final[Fields] = (
    ("PlacementGroupSelector", "placementGroupSelector", _given(_struct("PlacementGroupSelector", _GROUP))),
    ("AssociatePublicIPAddress", "associatePublicIPAddress", _BOOL),
    ("UserData", "userData", _TEXT),
    ("Role", "role", str),
    ("InstanceProfile", "instanceProfile", _TEXT),
    ("Tags", "tags", _map(str)),
    ("Kubelet", "kubelet", _given(_kubelet)),
    ("BlockDeviceMappings", "blockDeviceMappings", _list(_given(_struct("BlockDeviceMapping", _MAPPING)))),
    ("InstanceStorePolicy", "instanceStorePolicy", _TEXT),
    ("NetworkInterfaces", "networkInterfaces", _list(_given(_struct("NetworkInterface", _INTERFACE)))),
    ("DetailedMonitoring", "detailedMonitoring", _BOOL),
    ("MetadataOptions", "metadataOptions", _given(_struct("MetadataOptions", _METADATA))),
    ("ConnectionTracking", "connectionTracking", _given(_struct("ConnectionTracking", _TRACKING))),
    ("Context", "context", _TEXT),
    (
        "CPUOptions",
        "cpuOptions",
        _given(_struct("CPUOptions", (("NestedVirtualization", "nestedVirtualization", _TEXT),))),
    ),
    # The peer's number of it is not known to us; a class without it has the number it always had.
    ("EnclaveOptions", "enclaveOptions", _given(_struct("EnclaveOptions", (("Enabled", "enabled", _BOOL),)))),
)
