"""What Azure checks before it makes something, and what it makes."""

from __future__ import annotations

import base64
import binascii
import copy
import re
from datetime import UTC, datetime
from typing import Any

from tools.azure_server.faults import Refused
from tools.azure_server.world import ADDRESS, DISK, NIC, VM, Resource, World

Wire = dict[str, Any]
LARGEST_CUSTOM_DATA = 65_535
MOST_TAGS = 50
_TAG = re.compile(r"[^<>%&\\?/]{1,512}")
_SECRETS = ("customData", "adminPassword")


def invalid(message: str, code: str = "InvalidParameter") -> Refused:
    return Refused(400, code, message)


def put(world: World, type_: str, id_: str, body: Wire, headers: Any) -> tuple[Resource, bool]:
    """The resource, and whether it is new."""
    known = world.resources.get(id_.lower())
    if known is not None and headers.get("If-None-Match") == "*":
        raise Refused(412, "PreconditionFailed", f"{known.name} exists already")
    if known is not None and known.state == "Deleting":
        raise Refused(409, "OperationNotAllowed", f"{known.name} is being deleted; the operation conflicts with it")
    _common(world, body)
    one = Resource(type_, {**copy.deepcopy(body), "id": id_, "name": id_.rpartition("/")[2], "type": type_})
    one.wire.setdefault("properties", {})
    if type_ == VM:
        return _virtual_machine(world, one, known)
    made = known or one
    if known is not None:
        known.wire["tags"] = one.wire.get("tags") or {}
    if type_ == NIC:
        _interface(world, made, one.properties)
    if type_ == ADDRESS:
        made.properties.setdefault("ipAddress", f"20.0.0.{world.number()}")
    world.resources[made.key] = made
    return made, known is None


def _common(world: World, body: Wire) -> None:
    if not body.get("location"):
        raise invalid("The location property is required", "LocationRequired")
    given = body.get("tags") or {}
    if len(given) > MOST_TAGS or not all(_TAG.fullmatch(name) and len(value) <= 256 for name, value in given.items()):
        raise invalid("The tags are invalid", "InvalidTagNameCharacters")
    if any(zone not in world.zones for zone in body.get("zones") or ()):
        raise invalid(f"The zones {body['zones']} are not supported", "InvalidAvailabilityZone")


# ---- interfaces


def _interface(world: World, nic: Resource, wanted: Wire) -> None:
    before = {one["name"]: one["properties"] for one in nic.properties.get("ipConfigurations", ())}
    for one in wanted["ipConfigurations"]:
        inner = one["properties"]
        if not inner.get("subnet", {}).get("id"):
            raise invalid("An interface needs a subnet", "InvalidRequestFormat")
        held = before.get(one["name"], {}).get("privateIPAddress")
        number = 0 if held else world.number()
        inner["privateIPAddress"] = held or f"10.0.{number // 250}.{number % 250 + 4}"
        public = inner.get("publicIPAddress")
        if public:
            _attach(world, public["id"], nic)
    attached = nic.properties.get("virtualMachine")
    nic.wire["properties"] = {**wanted, **({"virtualMachine": attached} if attached else {})}


def _attach(world: World, id_: str, nic: Resource) -> None:
    address = world.resources.get(id_.lower())
    if address is None or address.state != "Succeeded":
        raise invalid(f"{id_} was not found", "InvalidResourceReference")
    address.properties["ipConfiguration"] = {"id": f"{nic.wire['id']}/ipConfigurations/x"}


# ---- virtual machines


def _virtual_machine(world: World, one: Resource, known: Resource | None) -> tuple[Resource, bool]:
    system = one.properties.get("osProfile") or {}
    one.secret = {name: one.properties.get(name) for name in ("osProfile", "hardwareProfile", "priority")}
    if known is not None:
        if known.secret != one.secret:
            raise Refused(409, "PropertyChangeNotAllowed", "Changing property 'osProfile' is not allowed.")
        return known, False
    _check(world, one, system)
    _sell(world, one)
    one.properties["osProfile"] = {name: value for name, value in system.items() if name not in _SECRETS}
    one.properties["timeCreated"] = datetime.fromtimestamp(world.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%f0+00:00")
    one.properties["vmId"] = f"vm-{world.number()}"
    one.failing = world.failing.get(one.properties["hardwareProfile"]["vmSize"])
    _hold(world, one)
    world.resources[one.key] = one
    world.made.append(one.wire["id"])
    return one, True


def _check(world: World, one: Resource, system: Wire) -> None:
    try:
        size = len(base64.b64decode(system.get("customData", ""), validate=True))
    except binascii.Error:
        raise invalid("Custom data in OSProfile must be in Base64 encoding") from None
    if size > LARGEST_CUSTOM_DATA:
        raise invalid("Custom data in OSProfile must be at most 87380 characters")
    keys = system.get("linuxConfiguration", {}).get("ssh", {}).get("publicKeys", ())
    if not system.get("adminUsername") or not all(each.get("keyData", "").startswith("ssh-") for each in keys or ({},)):
        raise invalid("Authentication using either SSH or by user name and password must be enabled")
    if len(system.get("computerName", "")) > 64 or not system.get("computerName"):
        raise invalid("Linux host name cannot exceed 64 characters")
    storage = one.properties.get("storageProfile", {})
    if not storage.get("imageReference"):
        raise invalid("Required parameter 'imageReference' is missing (null).")
    first, policy = storage["osDisk"], one.properties.get("evictionPolicy")
    if first.get("diffDiskSettings") and (first.get("caching") != "ReadOnly" or policy == "Deallocate"):
        raise invalid("Ephemeral OS disks are cached ReadOnly and cannot be deallocated")
    _check_spot(one.properties)


def _check_spot(properties: Wire) -> None:
    if properties.get("priority") != "Spot":
        if properties.get("evictionPolicy") or properties.get("billingProfile"):
            raise invalid("Eviction policy and billing profile can be set only for Spot virtual machines.")
        return
    if properties.get("availabilitySet") or properties.get("capacityReservation"):
        raise invalid("Spot virtual machines can be in neither an availability set nor a capacity reservation.")
    if properties.get("evictionPolicy") not in ("Deallocate", "Delete"):
        raise invalid("The eviction policy is unknown")
    price = properties.get("billingProfile", {}).get("maxPrice", -1)
    if not isinstance(price, int | float) or (price <= 0 and price != -1):
        raise invalid("Max price must be -1 or greater than 0", "InvalidMaxPrice")


def _sell(world: World, one: Resource) -> None:
    size = one.properties["hardwareProfile"]["vmSize"]
    if size in world.sold_out:
        code, message = world.sold_out[size]
        raise Refused(409, code, message)
    price, asked = one.properties.get("billingProfile", {}).get("maxPrice", -1), world.spot_prices.get(size)
    if asked is not None and price != -1 and price < asked:
        told = f"Unable to perform operation since the provided max price {price} is lower than the price {asked}."
        raise Refused(409, "OperationNotAllowed", told)


def _hold(world: World, vm: Resource) -> None:
    """Interfaces it is given, disks that are made for it. Disks do not inherit its tags."""
    nics = [_free(world, each["id"]) for each in vm.properties["networkProfile"]["networkInterfaces"]]
    disks = _disks(world, vm)
    for nic in nics:
        nic.properties["virtualMachine"] = {"id": vm.wire["id"]}
    world.resources |= {disk.key: disk for disk in disks}


def _disks(world: World, vm: Resource) -> list[Resource]:
    storage = vm.properties["storageProfile"]
    group = vm.wire["id"].partition("/providers/")[0]
    found = []
    for each in (storage["osDisk"], *storage.get("dataDisks", ())):
        if each.get("diffDiskSettings"):
            continue
        id_ = f"{group}/providers/{DISK}/{each['name']}"
        if id_.lower() in world.resources:
            raise Refused(409, "Conflict", f"Disk {each['name']} already exists")
        each["managedDisk"] = {**each.get("managedDisk", {}), "id": id_}
        wire = {"id": id_, "name": each["name"], "location": vm.wire["location"], "managedBy": vm.wire["id"]}
        found.append(Resource(DISK, {**wire, "type": DISK, "properties": {"provisioningState": "Succeeded"}}))
    return found


def _free(world: World, id_: str) -> Resource:
    nic = world.resources.get(id_.lower())
    if nic is None or nic.state != "Succeeded":
        raise invalid(f"Resource {id_} was not found or is not ready", "InvalidResourceReference")
    if nic.properties.get("virtualMachine"):
        raise invalid(f"{nic.name} is used by another virtual machine", "NicInUse")
    return nic
