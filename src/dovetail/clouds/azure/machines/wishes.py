"""AzureMachine → what is asked of Azure. What cannot be honoured is refused by the name of its field, never left out.

Parts that Azure spells as the object does are kept as Azure wants them; everything that is decided here has a name.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovetail.api.fields import Fields
from dovetail.clouds.azure.machines import images
from dovetail.clouds.azure.machines.disks import DataDisk, OsDisk, data_disks, os_disk
from dovetail.clouds.azure.machines.images import Image
from dovetail.clouds.port import Misconfigured
from dovetail.core.errors import BadInput
from dovetail.core.machines import prices
from dovetail.core.machines.infra_objects import Wanted

Wire = dict[str, Any]
DEALLOCATE, DELETE = "Deallocate", "Delete"
#: What billingProfile.maxPrice says for "up to the on-demand price" (R28).
ON_DEMAND_PRICE: Final = -1.0
#: Fields that would need more than a virtual machine with its parts.
_REFUSED: Final = {
    "vmExtensions": "nothing is put on machines here; do it in their bootstrap data",
    "systemAssignedIdentityRole": "no role is assigned here; use a user-assigned identity, or assign the role yourself",
    "roleAssignmentName": "no role is assigned here; use a user-assigned identity, or assign the role yourself",
    "availabilitySet": "machines stand in a zone, or nowhere in particular: spot machines cannot be in a set",
}
_KNOWN: Final = (
    *("vmSize", "osDisk", "providerID", "failureDomain", "spotVMOptions", "image", "dataDisks", "sshPublicKey"),
    *("identity", "userAssignedIdentities", "networkInterfaces", "subnetName", "acceleratedNetworking"),
    *("allocatePublicIP", "enableIPForwarding", "dnsServers", "additionalTags", "capacityReservationGroupID"),
    *("additionalCapabilities", "diagnostics", "securityProfile", "disableExtensionOperations"),
    # Says that something is not wanted which is never done here.
    "disableVMBootstrapExtension",
)


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface; "" is the cluster's only subnet for such machines."""

    subnet: str = ""
    addresses: int = 1
    accelerated: bool = False


@dataclass(frozen=True, slots=True)
class Bid:
    """What a Spot machine says of its end."""

    policy: str
    price: float


@dataclass(frozen=True, slots=True)
class Wish:
    """One machine, as Azure can be asked for it."""

    size: str
    disk: OsDisk
    image: Image
    interfaces: tuple[Interface, ...]
    more_disks: tuple[DataDisk, ...] = ()
    bid: Bid | None = None
    public: bool = False
    forwards: bool = False
    name_servers: tuple[str, ...] = ()
    #: Of whoever may log in, "" for nobody.
    key: str = ""
    extensions: bool = True
    tags: Mapping[str, str] | None = None
    #: Further properties of the virtual machine, and its identity, as Azure spells them.
    properties: Mapping[str, Any] | None = None
    identity: Mapping[str, Any] | None = None


def wish(wanted: Wanted, subscription: str) -> Wish:
    """Raises Misconfigured with the field's name."""
    try:
        return _wish(Fields(wanted.spec, ("spec",)), wanted, subscription)
    except BadInput as bad:
        raise Misconfigured(str(bad)) from None


def _wish(spec: Fields, wanted: Wanted, subscription: str) -> Wish:
    for name, why in _REFUSED.items():
        if spec.wire.get(name):
            raise spec.bad(name, why)
    spec.only((*_KNOWN, *_REFUSED))
    disk = os_disk(spec.map("osDisk"))
    more = data_disks(spec)
    return Wish(
        size=spec.required("vmSize"),
        disk=disk,
        image=images.image(spec, subscription),
        interfaces=_interfaces(spec),
        more_disks=more,
        bid=_bid(spec, wanted, disk),
        public=spec.flag("allocatePublicIP"),
        forwards=spec.flag("enableIPForwarding"),
        name_servers=_texts(spec, "dnsServers"),
        key=_key(spec),
        extensions=not spec.flag("disableExtensionOperations"),
        tags=spec.labels("additionalTags"),
        properties=_properties(spec, more),
        identity=_identity(spec),
    )


def _bid(spec: Fields, wanted: Wanted, disk: OsDisk) -> Bid | None:
    """Spot if the object says so, and never otherwise (R4). An ephemeral disk does not outlive its machine (R27)."""
    if not wanted.market.is_interruptible:
        return None
    options = spec.map("spotVMOptions").only(("maxPrice", "evictionPolicy"))
    policy = options.text("evictionPolicy") or (DELETE if disk.ephemeral else DEALLOCATE)
    if policy not in (DEALLOCATE, DELETE):
        raise options.bad("evictionPolicy", f"{policy!r} is neither {DEALLOCATE} nor {DELETE}")
    if disk.ephemeral and policy == DEALLOCATE:
        raise options.bad("evictionPolicy", "a machine with an ephemeral disk cannot be deallocated; write Delete")
    if spec.has("capacityReservationGroupID"):
        raise spec.bad("capacityReservationGroupID", "a Spot machine is not bought from a reservation; leave one out")
    price = prices.max_price(wanted)
    return Bid(policy, ON_DEMAND_PRICE if price is None else float(price))


# ------------------------------------------------------------------------------------------------ network


def _interfaces(spec: Fields) -> tuple[Interface, ...]:
    listed = spec.items("networkInterfaces")
    if not listed:
        return (Interface(spec.text("subnetName") or "", 1, spec.flag("acceleratedNetworking")),)
    for old in ("subnetName", "acceleratedNetworking"):
        if spec.wire.get(old):
            raise spec.bad(old, "cannot be given beside networkInterfaces; write it there")
    return tuple(_interface(one) for one in listed)


def _interface(one: Fields) -> Interface:
    one.only(("subnetName", "privateIPConfigs", "acceleratedNetworking", "id"))
    if one.has("id"):
        raise one.bad("id", "an interface is made for each machine and goes with it; leave it out")
    return Interface(
        one.text("subnetName") or "",
        one.whole("privateIPConfigs", 1, 256) or 1,
        one.flag("acceleratedNetworking"),
    )


def _texts(spec: Fields, name: str) -> tuple[str, ...]:
    value = spec.wire.get(name) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise spec.bad(name, "expected a list of texts")
    return tuple(value)


# ------------------------------------------------------------------------------------------------ who may what


def _key(spec: Fields) -> str:
    written = spec.text("sshPublicKey") or ""
    try:
        return base64.b64decode(written, validate=True).decode("ascii").strip()
    except ValueError:
        raise spec.bad("sshPublicKey", "is not base64 of a public key") from None


def _identity(spec: Fields) -> Wire | None:
    kind = spec.text("identity") or "None"
    ids = [_identity_id(one) for one in spec.items("userAssignedIdentities")]
    if kind == "None":
        return None
    if kind == "SystemAssigned":
        return {"type": kind}
    if kind != "UserAssigned":
        raise spec.bad("identity", f"{kind!r} is none of None, SystemAssigned, UserAssigned")
    if not ids:
        raise spec.bad("userAssignedIdentities", "is missing; identity UserAssigned needs one at least")
    return {"type": kind, "userAssignedIdentities": {one: {} for one in ids}}


def _identity_id(one: Fields) -> str:
    """A provider id or a plain resource id."""
    written = one.only(("providerID",)).required("providerID")
    return "/" + written.removeprefix("azure://").strip("/")


# ------------------------------------------------------------------------------------------------ what else it is


def _properties(spec: Fields, more: tuple[DataDisk, ...]) -> Wire:
    found: Wire = {}
    if spec.has("securityProfile"):
        found["securityProfile"] = _security(spec.map("securityProfile"))
    if spec.has("diagnostics"):
        found["diagnosticsProfile"] = {"bootDiagnostics": _boot(spec.map("diagnostics"))}
    reservation = spec.text("capacityReservationGroupID")
    if reservation:
        found["capacityReservation"] = {"capacityReservationGroup": {"id": reservation}}
    abilities = spec.map("additionalCapabilities").only(("ultraSSDEnabled",))
    if abilities.has("ultraSSDEnabled") or any(one.is_ultra for one in more):
        enabled = abilities.flag("ultraSSDEnabled") if abilities.has("ultraSSDEnabled") else True
        found["additionalCapabilities"] = {"ultraSSDEnabled": enabled}
    return found


def _security(one: Fields) -> Wire:
    one.only(("encryptionAtHost", "securityType", "uefiSettings"))
    found: Wire = {}
    if one.has("encryptionAtHost"):
        found["encryptionAtHost"] = one.flag("encryptionAtHost")
    if one.text("securityType"):
        found["securityType"] = one.text("securityType")
    uefi = one.map("uefiSettings").only(("secureBootEnabled", "vTpmEnabled"))
    if uefi.wire:
        found["uefiSettings"] = {name: uefi.flag(name) for name in uefi.wire}
    return found


def _boot(one: Fields) -> Wire:
    boot = one.only(("boot",)).map("boot").only(("storageAccountType", "userManaged"))
    kind = boot.text("storageAccountType") or "Managed"
    if kind == "Disabled":
        return {"enabled": False}
    if kind == "Managed":
        return {"enabled": True}
    if kind != "UserManaged":
        raise boot.bad("storageAccountType", f"{kind!r} is none of Managed, UserManaged, Disabled")
    return {"enabled": True, "storageUri": boot.map("userManaged").required("storageAccountURI")}
