"""An entry of DescribeInstances, or of RunInstances' answer → `Found`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from dovetail.clouds.aws import tags
from dovetail.core.machines.infra_objects import Found, State
from dovetail.core.machines.objects import Address

STATES: Final = {
    "pending": State.PENDING,
    "running": State.RUNNING,
    "stopping": State.STOPPING,
    "stopped": State.STOPPED,
    "shutting-down": State.GOING,
    "terminated": State.GONE,
}
#: What EC2 calls the life of an instance that it may take back.
_LENT: Final = ("spot", "interruptible-capacity-reservation")
_ADDRESSES: Final = (
    ("InternalIP", "PrivateIpAddress"),
    ("InternalIP", "Ipv6Address"),
    ("InternalDNS", "PrivateDnsName"),
    ("ExternalIP", "PublicIpAddress"),
    ("ExternalDNS", "PublicDnsName"),
)


def found(wire: Mapping[str, Any]) -> Found:
    said = str((wire.get("State") or {}).get("Name") or "")
    zone = str((wire.get("Placement") or {}).get("AvailabilityZone") or "")
    launched = wire.get("LaunchTime")
    return Found(
        provider_id=f"aws:///{zone}/{wire['InstanceId']}",
        name=tags.read(wire.get("Tags")).get(tags.NAME, ""),
        state=STATES.get(said, State.UNKNOWN),
        said=said,
        addresses=tuple(Address(kind, str(wire[key])) for kind, key in _ADDRESSES if wire.get(key)),
        zone=zone,
        interruptible=(wire.get("InstanceLifecycle") or "") in _LENT,
        created=launched.timestamp() if isinstance(launched, datetime) else 0.0,
    )
