"""Disks of an AzureMachine. All of them go with their machine: each is made with `deleteOption: Delete`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dovetail.api.fields import Fields

Wire = dict[str, Any]
_LARGEST: Final = 65_536
_CACHES: Final = ("None", "ReadOnly", "ReadWrite")
_ULTRA: Final = "UltraSSD_LRS"
_LINUX: Final = "Linux"


@dataclass(frozen=True, slots=True)
class OsDisk:
    """The first disk. `managed` is as Azure spells it; `placement` is "" where the disk is not ephemeral or may lie
    anywhere on the host."""

    size_gb: int | None
    caching: str
    managed: Wire
    ephemeral: bool = False
    placement: str = ""

    def body(self, name: str) -> Wire:
        found: Wire = {
            "name": name,
            "osType": _LINUX,
            "createOption": "FromImage",
            "deleteOption": "Delete",
            "caching": self.caching,
            "managedDisk": self.managed,
        }
        if self.size_gb is not None:
            found["diskSizeGB"] = self.size_gb
        if self.ephemeral:
            placed = {"placement": self.placement} if self.placement else {}
            found["diffDiskSettings"] = {"option": "Local", **placed}
        return found


@dataclass(frozen=True, slots=True)
class DataDisk:
    """One of the others, empty at first."""

    suffix: str
    size_gb: int
    lun: int
    caching: str
    managed: Wire

    @property
    def is_ultra(self) -> bool:
        return self.managed.get("storageAccountType") == _ULTRA

    def body(self, name: str) -> Wire:
        return {
            "name": name,
            "lun": self.lun,
            "createOption": "Empty",
            "deleteOption": "Delete",
            "caching": self.caching,
            "diskSizeGB": self.size_gb,
            "managedDisk": self.managed,
        }


def os_disk(one: Fields) -> OsDisk:
    one.only(("osType", "diskSizeGB", "diffDiskSettings", "cachingType", "managedDisk"))
    if one.required("osType") != _LINUX:
        raise one.bad("osType", f"only {_LINUX} machines are made here")
    local = one.map("diffDiskSettings").only(("option", "placement"))
    ephemeral = local.text("option") == "Local"
    caching = _caching(one, "ReadOnly" if ephemeral else "None")
    if ephemeral and caching == "ReadWrite":
        raise one.bad("cachingType", "an ephemeral disk is cached ReadOnly")
    return OsDisk(
        size_gb=one.whole("diskSizeGB", 1, _LARGEST),
        caching=caching,
        managed=_managed(one.map("managedDisk")),
        ephemeral=ephemeral,
        placement=local.text("placement") or "",
    )


def data_disks(spec: Fields) -> tuple[DataDisk, ...]:
    found = tuple(_data_disk(one, at) for at, one in enumerate(spec.items("dataDisks")))
    for name, values in (("lun", [one.lun for one in found]), ("nameSuffix", [one.suffix for one in found])):
        if len(set(values)) < len(values):
            raise spec.bad("dataDisks", f"two disks have the same {name}")
    return found


def _data_disk(one: Fields, at: int) -> DataDisk:
    one.only(("nameSuffix", "diskSizeGB", "lun", "cachingType", "managedDisk"))
    size = one.whole("diskSizeGB", 1, _LARGEST)
    if size is None:
        raise one.bad("diskSizeGB", "is missing")
    lun = one.whole("lun", 0, 63)
    return DataDisk(
        suffix=one.required("nameSuffix"),
        size_gb=size,
        lun=at if lun is None else lun,
        caching=_caching(one, "None"),
        managed=_managed(one.map("managedDisk")),
    )


def _caching(one: Fields, default: str) -> str:
    written = one.text("cachingType") or default
    if written not in _CACHES:
        raise one.bad("cachingType", f"{written!r} is none of {', '.join(_CACHES)}")
    return written


def _managed(one: Fields) -> Wire:
    one.only(("storageAccountType", "diskEncryptionSet", "securityProfile"))
    found: Wire = {}
    if one.text("storageAccountType"):
        found["storageAccountType"] = one.text("storageAccountType")
    if one.has("diskEncryptionSet"):
        found["diskEncryptionSet"] = _key_of(one, "diskEncryptionSet")
    if one.has("securityProfile"):
        guarded = one.map("securityProfile").only(("securityEncryptionType", "diskEncryptionSet"))
        found["securityProfile"] = {"securityEncryptionType": guarded.required("securityEncryptionType")}
        if guarded.has("diskEncryptionSet"):
            found["securityProfile"]["diskEncryptionSet"] = _key_of(guarded, "diskEncryptionSet")
    return found


def _key_of(one: Fields, name: str) -> Wire:
    return {"id": one.map(name).only(("id",)).required("id")}
