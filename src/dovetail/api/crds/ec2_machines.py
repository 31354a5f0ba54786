"""The machine an EC2NodeClass asks for: disks, network interfaces, metadata service, connection tracking."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dovetail.api.crds.schema import Int64, Limits, Rule, Wire

#: The empty branches let bare `Ti` and `T` through, and 18, 19, 28 … Ti are refused; so it is everywhere.
_VOLUME_SIZE: Final = (
    "^((?:[1-9][0-9]{0,3}|[1-4][0-9]{4}|[5][0-8][0-9]{3}|59000)Gi"
    "|(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|[6][0-3][0-9]{3}|64000)G"
    "|([1-9]||[1-5][0-7]|58)Ti|([1-9]||[1-5][0-9]|6[0-3]|64)T)$"
)
_SWITCH: Final = Limits(enum=("enabled", "disabled"))


class BlockDevice(Wire, frozen=True):
    """A volume of a node."""

    volume_size: Annotated[str | None, Limits(pattern=_VOLUME_SIZE), "How large it is, such as 100Gi."] = None
    volume_type: Annotated[
        str | None, Limits(enum=("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")), "What kind it is."
    ] = None
    iops: Annotated[Int64 | None, "Operations a second."] = None
    throughput: Annotated[Int64 | None, "Throughput in MiB a second."] = None
    volume_initialization_rate: Annotated[
        int | None, Limits(format="int32", minimum=100, maximum=300), "MiB a second at which a snapshot is copied."
    ] = None
    snapshot_id: Annotated[str | None, "Snapshot it is made from."] = msgspec.field(default=None, name="snapshotID")
    kms_key_id: Annotated[str | None, "Key it is encrypted with."] = msgspec.field(default=None, name="kmsKeyID")
    encrypted: Annotated[bool | None, "Whether it is encrypted."] = None
    delete_on_termination: Annotated[bool | None, "Whether it goes with the machine."] = None


class BlockDeviceMapping(Wire, frozen=True):
    """A volume and where it is attached."""

    device_name: Annotated[str | None, "Name of the device."] = None
    root_volume: Annotated[bool | None, "Whether the kubelet keeps its files here."] = None
    ebs: Annotated[
        BlockDevice | None,
        Rule("has(self.snapshotID) || has(self.volumeSize)", "ebs must have snapshotID or volumeSize"),
        Rule(
            "!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
            "volumeInitializationRate needs a snapshotID beside it",
        ),
    ] = None


BlockDeviceMappings = Annotated[
    tuple[BlockDeviceMapping, ...],
    Limits(max_items=50),
    Rule(
        "self.filter(x, has(x.rootVolume)?x.rootVolume==true:false).size() <= 1",
        "blockDeviceMappings may have one rootVolume only",
    ),
    "Volumes of the nodes.",
]
Index = Annotated[int, Limits(format="int32", minimum=0)]


class NetworkInterface(Wire, frozen=True):
    """A network interface of a node."""

    network_card_index: Annotated[Index, "Which network card."]
    device_index: Annotated[Index, "Which device of the card."]
    interface_type: Annotated[str, Limits(enum=("interface", "efa-only")), "What kind it is."]


_UNIQUE: Final = (
    "self.all(x, self.filter(y, x.networkCardIndex == y.networkCardIndex && x.deviceIndex == y.deviceIndex)"
    ".size() == 1 && (x.interfaceType != 'efa-only' || self.filter(y, x.networkCardIndex == y.networkCardIndex && "
    "y.interfaceType == 'efa-only').size() == 1))"
)
NetworkInterfaces = Annotated[
    tuple[NetworkInterface, ...],
    Limits(max_items=150),
    Rule(
        "self.size() == 0 || self.exists(x, x.deviceIndex == 0 && x.networkCardIndex == 0 && "
        "x.interfaceType == 'interface')",
        "networkInterfaces must have an interface of type interface at card 0, device 0",
    ),
    Rule(
        _UNIQUE,
        "networkInterfaces must each have a card and device of their own, and one efa-only for each card at most",
    ),
    "Network interfaces of the nodes.",
]


class MetadataOptions(Wire, frozen=True):
    """How programs on a node reach the metadata service."""

    http_endpoint: Annotated[str, _SWITCH, "Whether it can be reached."] = "enabled"
    http_protocol_ipv6: Annotated[str, _SWITCH, "Whether it can be reached over IPv6."] = msgspec.field(
        default="disabled", name="httpProtocolIPv6"
    )
    http_put_response_hop_limit: Annotated[
        int, Limits(format="int64", minimum=1, maximum=64), "How many hops a token may travel."
    ] = 1
    http_tokens: Annotated[str, Limits(enum=("required", "optional")), "Whether a token is needed."] = "required"


class CpuOptions(Wire, frozen=True):
    """How processors are set up."""

    nested_virtualization: Annotated[str | None, _SWITCH, "Whether machines may run on the machine."] = None


class EnclaveOptions(Wire, frozen=True):
    """Nitro enclaves of a machine."""

    enabled: Annotated[bool | None, "Whether enclaves may run on it; types that have none are not bought."] = None


class Timeouts(Wire, frozen=True):
    """How long idle connections are remembered, in seconds."""

    tcp_established_timeout: Annotated[
        int | None, Limits(format="int32", minimum=60, maximum=432000), "Of TCP connections."
    ] = None
    udp_stream_timeout: Annotated[int | None, Limits(format="int32", minimum=60, maximum=180), "Of UDP streams."] = None
    udp_timeout: Annotated[int | None, Limits(format="int32", minimum=30, maximum=60), "Of single UDP exchanges."] = (
        None
    )


ConnectionTracking = Annotated[
    Timeouts | None,
    Rule(
        "has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",
        "connectionTracking must have tcpEstablishedTimeout, udpStreamTimeout or udpTimeout",
    ),
]
