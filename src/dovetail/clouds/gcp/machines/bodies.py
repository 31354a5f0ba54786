"""A GCPMachine → the order for its instance: exactly what it asks for (R7).

Every field is honoured here or refused with its name; a key nobody knows is refused too, since whoever wrote it counts
on it. The market is read at the door already (`api.cluster_api.infra_reading`).
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.api.fields import Fields
from dovetail.clouds.gcp.machines import disks, guards
from dovetail.clouds.gcp.machines.homes import Home
from dovetail.clouds.gcp.machines.ownership import checked_name, labels_of, role_of
from dovetail.clouds.gcp.machines.scheduling import scheduling
from dovetail.clouds.machines import UserData
from dovetail.core.errors import BadValue
from dovetail.core.machines.infra_objects import Purchase

Json = dict[str, Any]
USER_DATA: Final = "user-data"
_LARGEST_DATA: Final = 256 * 1024
_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
_UNTRANSLATED: Final = "their ids would have to be looked up in the resource manager, which is not done; leave it out"
KNOWN: Final = frozenset(
    {
        *("instanceType", "providerID", "preemptible", "provisioningModel", "instanceTerminationAction"),
        *("maxRunDuration", "onHostMaintenance", "image", "imageFamily", "subnet", "publicIP", "additionalNetworkTags"),
        *("additionalLabels", "additionalMetadata", "serviceAccounts", "rootDeviceSize", "rootDeviceType"),
        *("additionalDisks", "ipForwarding", "aliasIPRanges", "resourceManagerTags", "guestAccelerators"),
        *("shieldedInstanceConfig", "confidentialCompute", "rootDiskEncryptionKey"),
    }
)


def instance(purchase: Purchase, boot: UserData, home: Home) -> Json:
    """The body of the order, which names a zone. What cannot be honoured is BadInput, with the field's name."""
    spec, zone, project = Fields(purchase.wanted.spec, ("spec",)).only(KNOWN), purchase.zone, home.project
    if spec.items("resourceManagerTags"):
        raise spec.bad("resourceManagerTags", _UNTRANSLATED)
    labels = _labels(spec, purchase, home)
    tied = guards.accelerators(spec, project, zone) | guards.confidential(spec)
    forwards = guards.switched(spec, "ipForwarding")
    return {
        "name": checked_name(purchase.name),
        "machineType": f"zones/{zone}/machineTypes/{purchase.wanted.instance_type}",
        "labels": labels,
        "tags": {"items": _tags(spec, purchase)},
        "scheduling": scheduling(spec, purchase.wanted, bound=bool(tied)),
        "disks": disks.attached(spec, project, zone, labels),
        "networkInterfaces": [_interface(spec, home, zone)],
        "canIpForward": True if forwards is None else forwards,
        "metadata": {"items": _metadata(spec, boot)},
        "serviceAccounts": [_account(spec)],
        **tied,
        **guards.shielded(spec),
    }


def _labels(spec: Fields, purchase: Purchase, home: Home) -> dict[str, str]:
    """The machine's own go before its cluster's."""
    given, ours = {**home.labels, **spec.labels("additionalLabels")}, labels_of(purchase)
    for key in given.keys() & ours.keys():
        raise spec.map("additionalLabels").bad(key, "is ours: the instance is found by it; choose another name")
    return given | ours


def _tags(spec: Fields, purchase: Purchase) -> list[str]:
    given = spec.wire.get("additionalNetworkTags") or ()
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise spec.bad("additionalNetworkTags", "expected a list of texts")
    return list(dict.fromkeys((*given, f"{purchase.cluster}-{role_of(purchase)}", purchase.cluster)))


def _interface(spec: Fields, home: Home, zone: str) -> Json:
    subnet = spec.text("subnet")
    made: Json = {"subnetwork": home.subnet_link(subnet, zone)} if subnet else {"network": home.network_link}
    if spec.flag("publicIP"):
        made["accessConfigs"] = [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]
    ranges = [_range(one.only(("ipCidrRange", "subnetworkRangeName"))) for one in spec.items("aliasIPRanges")]
    return made | ({"aliasIpRanges": ranges} if ranges else {})


def _range(one: Fields) -> Json:
    named = one.text("subnetworkRangeName")
    return {"ipCidrRange": one.required("ipCidrRange")} | ({"subnetworkRangeName": named} if named else {})


def _metadata(spec: Fields, boot: UserData) -> list[Json]:
    try:
        data = boot.data.decode()
    except UnicodeDecodeError:
        raise BadValue("bootstrap data must be text: metadata of GCP hold nothing else") from None
    if len(boot.data) > _LARGEST_DATA:
        raise BadValue(f"bootstrap data are {len(boot.data)} bytes, and GCP takes {_LARGEST_DATA} at most")
    items = [{"key": USER_DATA, "value": data}]
    for one in spec.items("additionalMetadata"):
        key = one.only(("key", "value")).required("key")
        if any(key == held["key"] for held in items):
            raise one.bad("key", f"{key} is there already")
        items.append({"key": key, "value": one.text("value") or ""})
    return items


def _account(spec: Fields) -> Json:
    account = spec.map("serviceAccounts").only(("email", "scopes"))
    scopes = account.wire.get("scopes") or [_SCOPE]
    if not isinstance(scopes, list | tuple) or not all(isinstance(one, str) for one in scopes):
        raise account.bad("scopes", "expected a list of texts")
    return {"email": account.text("email") or "default", "scopes": list(scopes)}
