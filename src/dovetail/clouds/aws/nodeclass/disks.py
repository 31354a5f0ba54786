"""Disks of a node: those the class asks for, or those every family of images has, and which of them pods share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dovetail.clouds.aws.resolved import Disk
from dovetail.core import quantity
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.resources import GIB


def _default(device: str, size: int) -> Disk:
    return Disk(device, size_gib=size, volume_type="gp3", encrypted=True, delete_on_termination=True)


_LINUX: Final = (_default("/dev/xvda", 20),)
_WINDOWS: Final = (_default("/dev/sda1", 50),)
_DEFAULTS: Final[Mapping[str, tuple[Disk, ...]]] = {
    "AL2": _LINUX,
    "AL2023": _LINUX,
    # The first holds the system and is never written to; pods share the second.
    "Bottlerocket": (_default("/dev/xvda", 4), _default("/dev/xvdb", 20)),
    "Windows2019": _WINDOWS,
    "Windows2022": _WINDOWS,
    "Windows2025": _WINDOWS,
    "Custom": (),
}
#: What is counted on where nobody says how large a disk is.
_CUSTOM_BYTES: Final = 20 * GIB


def defaults(family: str) -> tuple[Disk, ...]:
    return _DEFAULTS[family]


def read(mappings: Sequence[Mapping[str, Any]]) -> tuple[Disk, ...]:
    """`blockDeviceMappings`; an entry without a volume asks for nothing."""
    found = []
    for at, one in enumerate(mappings):
        volume = one.get("ebs")
        if not volume:
            continue
        if not one.get("deviceName"):
            raise BadValue("has a volume and no deviceName to attach it as").at("spec", f"blockDeviceMappings[{at}]")
        found.append(_disk(at, str(one["deviceName"]), volume))
    return tuple(found)


def _disk(at: int, device: str, volume: Mapping[str, Any]) -> Disk:
    return Disk(
        device,
        size_gib=_gib(at, volume.get("volumeSize")),
        volume_type=volume.get("volumeType"),
        iops=volume.get("iops"),
        throughput=volume.get("throughput"),
        initialization_rate=volume.get("volumeInitializationRate"),
        snapshot_id=volume.get("snapshotID"),
        kms_key_id=volume.get("kmsKeyID"),
        encrypted=volume.get("encrypted"),
        delete_on_termination=volume.get("deleteOnTermination"),
    )


def _gib(at: int, size: object) -> int | None:
    """Whole GiB, upwards. The schema lets bare `T` and `Ti` through, which say nothing."""
    if size is None:
        return None
    try:
        count = quantity.parse(size).units
    except BadInput as wrong:
        raise BadValue(str(wrong)).at("spec", f"blockDeviceMappings[{at}]", "ebs", "volumeSize") from None
    if count <= 0:
        raise BadValue(f"{size} is no size; write it as 100Gi").at("spec", f"blockDeviceMappings[{at}]", "ebs")
    return -(-count // GIB)


def ephemeral_bytes(family: str, mappings: Sequence[Mapping[str, Any]], own: Sequence[Disk]) -> int | None:
    """How large the disk is that pods share: the one marked rootVolume, or the family's own, of the class's disks or of
    the default ones. None where the class leaves its size to a snapshot."""
    sizes = {one.device: one.size_gib for one in own}
    root = next((str(one.get("deviceName")) for one in mappings if one.get("rootVolume")), None)
    if root in sizes:
        return _bytes(sizes[root])
    usual = _DEFAULTS[family]
    if not usual:
        return _bytes(own[-1].size_gib) if own else _CUSTOM_BYTES
    if usual[-1].device in sizes:
        return _bytes(sizes[usual[-1].device])
    return _bytes(usual[-1].size_gib)


def _bytes(gib: int | None) -> int | None:
    return None if gib is None else gib * GIB
