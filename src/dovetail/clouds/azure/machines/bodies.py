"""What Azure is sent: an address, interfaces, and a virtual machine that takes all of it along when it goes.

The bodies of one purchase are the same however often they are worked out, but for the key of a machine nobody is to log
in to (`keys`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.azure.machines import ids, tags
from dovetail.clouds.azure.machines.places import Place
from dovetail.clouds.azure.machines.wishes import Interface, Wish
from dovetail.clouds.machines import UserData
from dovetail.clouds.port import Misconfigured
from dovetail.core.machines.infra_objects import Purchase

Wire = dict[str, Any]
#: Before it is made base64.
LARGEST_BOOT: Final = 65_535
#: Who logs in, as in images of Cluster API.
_USER: Final = "capi"
_DELETE: Final = "Delete"


@dataclass(frozen=True, slots=True)
class Order:
    """A purchase, read, and where it goes."""

    purchase: Purchase
    wish: Wish
    place: Place

    @property
    def name(self) -> str:
        return self.purchase.name

    @property
    def token(self) -> str:
        return self.purchase.token

    @property
    def zones(self) -> list[str]:
        """A zone is a number to Azure; with the region before it, as Nodes have it, is understood too."""
        zone = self.purchase.zone.removeprefix(f"{self.place.location}-")
        return [zone] if zone and zone != "0" else []

    def _common(self) -> Wire:
        given = (self.place.tags, self.wish.tags or {})
        return {"location": self.place.location, "tags": tags.of_purchase(self.purchase, *given)}

    def _id(self, kind: str, name: str) -> str:
        owner = f"/subscriptions/{self.place.subscription}/resourceGroups/{self.place.group}"
        return f"{owner}/providers/{kind}/{name}"

    # ---- network

    def address(self) -> Wire:
        properties = {"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"}
        zoned = {"zones": self.zones} if self.zones else {}
        return {**self._common(), "sku": {"name": "Standard"}, **zoned, "properties": properties}

    def interfaces(self) -> Iterator[tuple[str, Wire]]:
        """Each with its name; the first is the main one."""
        for number, one in enumerate(self.wish.interfaces):
            yield ids.interface(self.name, self.token, number), self._interface(one, first=number == 0)

    def _interface(self, one: Interface, *, first: bool) -> Wire:
        subnet = self.place.subnet(one.subnet, control_plane=self.purchase.control_plane)
        configurations = []
        for number in range(one.addresses):
            main = first and number == 0
            inner = {"primary": number == 0, "subnet": {"id": subnet}, "privateIPAllocationMethod": "Dynamic"}
            inner |= self._reached() if main else {}
            configurations.append({"name": f"ip-{number}", "properties": inner})
        properties: Wire = {
            "enableAcceleratedNetworking": one.accelerated,
            "enableIPForwarding": self.wish.forwards,
            "ipConfigurations": configurations,
        }
        if self.wish.name_servers:
            properties["dnsSettings"] = {"dnsServers": list(self.wish.name_servers)}
        return {**self._common(), "properties": properties}

    def _reached(self) -> Wire:
        """How others reach the machine, and it others."""
        found: Wire = {}
        pools = self.place.pools.get(self.purchase.control_plane, ())
        if pools:
            found["loadBalancerBackendAddressPools"] = [{"id": one} for one in pools]
        if self.wish.public:
            id_ = self._id("Microsoft.Network/publicIPAddresses", ids.address(self.name, self.token))
            found["publicIPAddress"] = {"id": id_, "properties": {"deleteOption": _DELETE}}
        return found

    # ---- the virtual machine

    def virtual_machine(self, boot: UserData, key: str) -> Wire:
        wish = self.wish
        properties: Wire = {
            "hardwareProfile": {"vmSize": wish.size},
            "storageProfile": self._storage(),
            "osProfile": self._system(boot, key),
            "networkProfile": {"networkInterfaces": list(self._attached())},
            **(wish.properties or {}),
        }
        if wish.bid is not None:
            properties |= {
                "priority": "Spot",
                "evictionPolicy": wish.bid.policy,
                "billingProfile": {"maxPrice": wish.bid.price},
            }
        found = {**self._common(), "properties": properties}
        found |= {"zones": self.zones} if self.zones else {}
        found |= {"identity": dict(wish.identity)} if wish.identity else {}
        found |= {"plan": wish.image.plan} if wish.image.plan else {}
        return found

    def _storage(self) -> Wire:
        more = [
            one.body(ids.data_disk(self.name, self.token, one.suffix))
            for one in sorted(self.wish.more_disks, key=lambda one: one.lun)
        ]
        first = self.wish.disk.body(ids.os_disk(self.name, self.token))
        return {"imageReference": self.wish.image.reference, "osDisk": first, "dataDisks": more}

    def _system(self, boot: UserData, key: str) -> Wire:
        path = f"/home/{_USER}/.ssh/authorized_keys"
        return {
            "computerName": self.name,
            "adminUsername": _USER,
            "customData": custom_data(boot),
            "allowExtensionOperations": self.wish.extensions,
            "linuxConfiguration": {
                "disablePasswordAuthentication": True,
                "ssh": {"publicKeys": [{"path": path, "keyData": key}]},
            },
        }

    def _attached(self) -> Iterator[Wire]:
        for number in range(len(self.wish.interfaces)):
            name = ids.interface(self.name, self.token, number)
            properties = {"primary": number == 0, "deleteOption": _DELETE}
            yield {"id": self._id("Microsoft.Network/networkInterfaces", name), "properties": properties}


def custom_data(boot: UserData) -> str:
    size = len(boot.data)
    if size > LARGEST_BOOT:
        raise Misconfigured(f"bootstrap data has {size} bytes, and Azure takes {LARGEST_BOOT} at most; shorten it")
    return base64.b64encode(boot.data).decode()
