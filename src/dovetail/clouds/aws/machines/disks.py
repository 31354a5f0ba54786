"""Disks: those of the image, as the object changes them, and its further ones. Each goes with its instance.

An image may say that a disk stays when the instance goes, and most who make images do not think of it. So every disk is
named in the request, and that it goes: what was made for a machine is removed with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.machines.specs import Disk, Spec, Wire
from dovetail.clouds.aws.nodeclass.memory import Memory
from dovetail.clouds.port import Misconfigured
from dovetail.core.errors import BadValue

#: Disks of an image never change; whether it is still there is for EC2 to say.
_KNOWN_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Image:
    """`disks` are the names of all it brings, the first disk's among them."""

    id: str
    root: str
    disks: tuple[str, ...] = ()


async def image_of(memory: Memory, image_id: str) -> Image:
    answer = await memory.all(calls.DESCRIBE_IMAGES, {"ImageIds": [image_id]}, _KNOWN_SECONDS)
    if not answer.value:
        raise Misconfigured(f"there is no image {image_id}, which spec.ami.id names")
    wire: Mapping[str, Any] = answer.value[0]
    mappings = wire.get("BlockDeviceMappings") or ()
    names = tuple(str(one["DeviceName"]) for one in mappings if one.get("Ebs"))
    return Image(image_id, str(wire.get("RootDeviceName") or ""), names)


def mappings(spec: Spec, image: Image) -> list[Wire]:
    """BlockDeviceMappings; raises BadField for two disks under one name."""
    root = [] if spec.root is None else [_named(spec.root, spec.root.device or image.root)]
    asked = _by_name((*root, *spec.disks))
    found = {name: _mapping(name, asked.get(name)) for name in (*image.disks, *asked)}
    return list(found.values())


def _named(disk: Disk, name: str) -> Disk:
    if not name:
        raise BadValue("is missing, and the image does not say it").at("spec", "rootVolume", "deviceName")
    return Disk(name, disk.size, disk.kind, disk.iops, disk.throughput, disk.encrypted, disk.key)


def _by_name(disks: Iterable[Disk]) -> dict[str, Disk]:
    found: dict[str, Disk] = {}
    for one in disks:
        if one.device in found:
            raise BadValue(f"{one.device} is the name of two disks").at("spec", "nonRootVolumes")
        found[one.device] = one
    return found


def _mapping(name: str, disk: Disk | None) -> Wire:
    ebs: Wire = {"DeleteOnTermination": True}
    if disk is not None:
        told = {
            "VolumeSize": disk.size,
            "VolumeType": disk.kind or None,
            "Iops": disk.iops,
            "Throughput": disk.throughput,
            "Encrypted": disk.encrypted,
            "KmsKeyId": disk.key or None,
        }
        ebs |= {key: value for key, value in told.items() if value is not None}
    return {"DeviceName": name, "Ebs": ebs}
