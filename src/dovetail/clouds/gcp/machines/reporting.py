"""An instance as the rest of the program knows it.

A preempted instance stops for half a minute and is then TERMINATED, which is Compute Engine's word for stopped: it can
be seen, its disks cost money, and it stays until it is deleted. Somebody could start it again; nobody here does (R12).
"""

from __future__ import annotations

from typing import Final

from dovetail.clouds.gcp.machines.answers import Instance
from dovetail.clouds.gcp.machines.ownership import Place
from dovetail.core import timestamps
from dovetail.core.errors import BadInput
from dovetail.core.machines.infra_objects import Found, State
from dovetail.core.machines.objects import Address

#: REPAIRING is left out: it may run again or not, and nobody knows which.
STATES: Final = {
    "PENDING": State.PENDING,
    "PROVISIONING": State.PENDING,
    "STAGING": State.PENDING,
    "RUNNING": State.RUNNING,
    "PENDING_STOP": State.STOPPING,
    "STOPPING": State.STOPPING,
    "SUSPENDING": State.STOPPING,
    "STOPPED": State.STOPPED,
    "SUSPENDED": State.STOPPED,
    "TERMINATED": State.STOPPED,
    "DEPROVISIONING": State.GOING,
}
#: States in which the order may still be refused.
UNSETTLED: Final = ("PENDING", "PROVISIONING")
_SPOT: Final = "SPOT"


def found(project: str, instance: Instance) -> Found:
    return Found(
        provider_id=Place(project, instance.zone_name, instance.name).provider_id,
        name=instance.name,
        state=STATES.get(instance.status, State.UNKNOWN),
        said=instance.status,
        addresses=_addresses(instance),
        zone=instance.zone_name,
        interruptible=instance.scheduling.preemptible or instance.scheduling.provisioning_model == _SPOT,
        created=_created(instance),
    )


def _addresses(instance: Instance) -> tuple[Address, ...]:
    held: list[Address] = []
    for one in instance.network_interfaces:
        held += [Address("InternalIP", one.network_ip)] if one.network_ip else []
        held += [Address("ExternalIP", each.nat_ip) for each in one.access_configs if each.nat_ip]
    return tuple(held)


def _created(instance: Instance) -> float:
    """From here a preemptible instance's day is counted (R24); it starts a few seconds later."""
    try:
        return timestamps.seconds(instance.creation_timestamp)
    except BadInput:
        return 0.0
