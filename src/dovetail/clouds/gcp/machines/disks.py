"""An instance's disks: the one it starts from, and others. All are deleted with it, and labelled as it is, so that one
that is left over all the same can be found."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from dovetail.api.fields import Fields
from dovetail.core.errors import BadValue

Json = dict[str, Any]
_LARGEST_GB: Final = 65536
_LOCAL: Final = "local-ssd"
#: A local disk has one size, and a further disk one where nothing is said.
_LOCAL_GB, _FURTHER_GB = 375, 30
_STANDARD: Final = "pd-standard"
_DISK: Final = ("deviceType", "size", "encryptionKey")
_KEY: Final = ("keyType", "kmsKeyServiceAccount", "managedKey", "suppliedKey")


def attached(spec: Fields, project: str, zone: str, labels: Mapping[str, str]) -> list[Json]:
    return [_root(spec, project, zone, labels), *(_further(one, zone, labels) for one in spec.items("additionalDisks"))]


def _root(spec: Fields, project: str, zone: str, labels: Mapping[str, str]) -> Json:
    """Its size and kind are the image's and Compute Engine's own where nothing is said."""
    made: Json = {"sourceImage": image(spec, project), "labels": dict(labels)}
    size, kind = spec.whole("rootDeviceSize", 0, _LARGEST_GB), spec.text("rootDeviceType")
    if size:
        made["diskSizeGb"] = str(size)
    if kind == _LOCAL:
        raise spec.bad("rootDeviceType", "a machine cannot start from a local disk")
    if kind:
        made["diskType"] = _type(kind, zone)
    return {"boot": True, "autoDelete": True, "initializeParams": made} | _key(spec, "rootDiskEncryptionKey")


def image(spec: Fields, project: str) -> str:
    """The image goes before its family. A bare name is one of the project."""
    named, family = spec.text("image"), spec.text("imageFamily")
    if named:
        return named if "/" in named else f"projects/{project}/global/images/{named}"
    if family:
        return family if "/" in family else f"projects/{project}/global/images/family/{family}"
    raise spec.bad("image", "is missing; name an image, or a family in imageFamily")


def _further(disk: Fields, zone: str, labels: Mapping[str, str]) -> Json:
    disk.only(_DISK)
    kind, size = disk.text("deviceType") or _STANDARD, disk.whole("size", 1, _LARGEST_GB)
    if kind != _LOCAL:
        made = {"diskType": _type(kind, zone), "diskSizeGb": str(size or _FURTHER_GB), "labels": dict(labels)}
        return {"autoDelete": True, "initializeParams": made} | _key(disk, "encryptionKey")
    if size not in (None, _LOCAL_GB):
        raise disk.bad("size", f"a local disk has {_LOCAL_GB} GB; leave it out")
    if disk.has("encryptionKey"):
        raise disk.bad("encryptionKey", "a local disk has a key of its own; leave it out")
    made = {"diskType": _type(kind, zone)}
    return {"autoDelete": True, "type": "SCRATCH", "interface": "NVME", "initializeParams": made}


def _type(kind: str, zone: str) -> str:
    return kind if "/" in kind else f"zones/{zone}/diskTypes/{kind}"


def _key(spec: Fields, name: str) -> Json:
    if not spec.has(name):
        return {}
    key = spec.map(name).only(_KEY)
    match key.required("keyType"):
        case "Managed":
            asked = {"kmsKeyName": key.map("managedKey").required("kmsKeyName")}
        case "Supplied":
            asked = _supplied(key.map("suppliedKey").only(("rawKey", "rsaEncryptedKey")))
        case _:
            raise key.bad("keyType", "write Managed or Supplied")
    account = key.text("kmsKeyServiceAccount")
    return {"diskEncryptionKey": asked | ({"kmsKeyServiceAccount": account} if account else {})}


def _supplied(key: Fields) -> dict[str, str]:
    """What the object holds is base64 of what Compute Engine wants, which is base64 as well."""
    given = [name for name in ("rawKey", "rsaEncryptedKey") if key.has(name)]
    if len(given) != 1:
        raise key.bad("", "needs rawKey or rsaEncryptedKey, and one of them only")
    (name,) = given
    written = key.required(name)
    try:
        return {name: base64.b64decode(written, validate=True).decode("ascii")}
    except ValueError:
        # Without what was written: it is a key.
        raise BadValue("is not base64").at(*key.path, name) from None
