"""A virtual machine as Azure shows it → an instance in the words of no cloud.

Two words are read together. The *provisioning state* is how the last thing went that Azure was asked to do with the
machine; the *power state* is whether it runs. A spot machine that was taken away with the policy Deallocate has
succeeded in everything it was asked to do, and is deallocated: only its power state says so (R29).

Azure takes an order first and looks for room then. As long as a machine is being made and has no power state it may
still be refused; one that failed and does not run was refused, and why stands in its instance view for as long as it is
there. So whoever asks after a restart hears it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dovetail.clouds.azure import errors
from dovetail.clouds.azure.machines import ids
from dovetail.clouds.port import CloudError
from dovetail.core import timestamps
from dovetail.core.errors import BadInput
from dovetail.core.machines.infra_objects import Found, State
from dovetail.core.machines.objects import Address

Wire = Mapping[str, Any]
DELETING: Final = "Deleting"
FAILED: Final = "Failed"
SUCCEEDED: Final = "Succeeded"
_CREATING: Final = ("Creating", "")
_POWER: Final = "PowerState/"
_FAILURE: Final = "ProvisioningState/failed"
_RUNNING: Final = "running"
_POWERS: Final = {
    "starting": State.PENDING,
    _RUNNING: State.RUNNING,
    "stopping": State.STOPPING,
    "stopped": State.STOPPED,
    "deallocating": State.STOPPING,
    "deallocated": State.STOPPED,
}


def found(vm: Wire, subscription: str, addresses: Iterable[Address] = ()) -> Found:
    properties = vm.get("properties") or {}
    state, said = _state(properties)
    zones = vm.get("zones") or ()
    return Found(
        provider_id=ids.provider_id(subscription, ids.group_of(str(vm.get("id", ""))), str(vm.get("name", ""))),
        name=str(vm.get("name", "")),
        state=state,
        said=said,
        addresses=tuple(addresses),
        zone=str(zones[0]) if zones else "",
        interruptible=properties.get("priority") in ("Spot", "Low"),
        created=_seconds(properties.get("timeCreated")),
    )


def provisioning(one: Wire) -> str:
    """How the last thing went that was asked of a resource."""
    return str((one.get("properties") or {}).get("provisioningState") or "")


def is_undecided(vm: Wire) -> bool:
    """Whether Azure may still say that there is no room for it, or is taking away what there was none for."""
    properties = vm.get("properties") or {}
    provisioned = str(properties.get("provisioningState") or "")
    return provisioned == DELETING or (provisioned in _CREATING and not _power(properties))


def has_failed(vm: Wire) -> bool:
    """Whether it is there in name only."""
    properties = vm.get("properties") or {}
    return properties.get("provisioningState") == FAILED and _power(properties) != _RUNNING


def _state(properties: Wire) -> tuple[State, str]:
    provisioned, power = str(properties.get("provisioningState") or ""), _power(properties)
    if provisioned == DELETING:
        return State.GOING, provisioned
    if provisioned in _CREATING:
        return State.PENDING, provisioned or "Creating"
    if provisioned == FAILED and power != _RUNNING:
        return State.STOPPED, f"{provisioned} ({_why(properties)[0]})"
    return _POWERS.get(power, State.UNKNOWN), power or provisioned


def _statuses(properties: Wire) -> list[Wire]:
    return list((properties.get("instanceView") or {}).get("statuses") or ())


def _power(properties: Wire) -> str:
    codes = (str(one.get("code", "")) for one in _statuses(properties))
    return next((code.removeprefix(_POWER).lower() for code in codes if code.startswith(_POWER)), "")


def _why(properties: Wire) -> tuple[str, str]:
    for one in _statuses(properties):
        code = str(one.get("code", ""))
        if code.startswith(_FAILURE):
            named = code.removeprefix(_FAILURE).strip("/") or FAILED
            return named, str(one.get("message") or one.get("displayStatus") or named)
    return FAILED, "Azure does not say why"


def problem(vm: Wire) -> CloudError:
    """Why it failed, sorted by the same table as what Azure refuses at once."""
    code, message = _why(vm.get("properties") or {})
    return errors.sorted_out(errors.Refusal(f"make virtual machine {vm.get('name', '')}", code, message))


def addresses_of(name: str, interfaces: Iterable[Wire]) -> tuple[Address, ...]:
    """The machine's name in its own network first, as Cluster API's provider has it."""
    inside, outside = [], []
    for one in interfaces:
        for each in (one.get("properties") or {}).get("ipConfigurations") or ():
            properties = each.get("properties") or {}
            if properties.get("privateIPAddress"):
                inside.append(Address("InternalIP", properties["privateIPAddress"]))
            public = ((properties.get("publicIPAddress") or {}).get("properties") or {}).get("ipAddress")
            if public:
                outside.append(Address("ExternalIP", public))
    return (Address("InternalDNS", name), *inside, *outside) if inside else ()


def interface_ids(vm: Wire) -> tuple[str, ...]:
    profile = (vm.get("properties") or {}).get("networkProfile") or {}
    return tuple(str(one.get("id", "")) for one in profile.get("networkInterfaces") or ())


def _seconds(written: object) -> float:
    if not isinstance(written, str):
        return 0.0
    try:
        return timestamps.seconds(written)
    except BadInput:
        return 0.0
