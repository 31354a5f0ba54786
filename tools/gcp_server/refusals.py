"""What Compute Engine refuses, as far as a controller can run into it."""

from __future__ import annotations

import re
import uuid
from typing import Any, Final

Json = dict[str, Any]
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_KEY: Final = re.compile(r"[a-z][-_a-z0-9]{0,62}", re.ASCII)
_VALUE: Final = re.compile(r"[-_a-z0-9]{0,63}", re.ASCII)
MOST_METADATA: Final = 256 * 1024


class Refused(Exception):
    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


def bad(field: str, message: str) -> Refused:
    return Refused(400, "invalid", f"Invalid value for field '{field}': {message}")


def request_id(value: str) -> None:
    try:
        known = uuid.UUID(value)
    except ValueError:
        raise Refused(400, "invalid", f"Invalid value for requestId: {value!r} is not a UUID") from None
    if known.int == 0:
        raise Refused(400, "invalid", "Invalid value for requestId: the zero UUID is not supported")


def instance(body: Json) -> None:
    if not _NAME.fullmatch(body.get("name", "")):
        raise bad("resource.name", f"{body.get('name')!r}. Must be a match of regex '[a-z]([-a-z0-9]*[a-z0-9])?'")
    labels(body.get("labels", {}))
    for tag in body.get("tags", {}).get("items", ()):
        if not _NAME.fullmatch(tag):
            raise bad("resource.tags.items", f"{tag!r}")
    boot = [one for one in body.get("disks", ()) if one.get("boot")]
    if len(boot) != 1 or not boot[0].get("initializeParams", {}).get("sourceImage"):
        raise bad("resource.disks", "Boot disk must have a source specified")
    for one in body.get("disks", ()):
        labels(one.get("initializeParams", {}).get("labels", {}))
    if not body.get("networkInterfaces"):
        raise bad("resource.networkInterfaces", "At least one network interface is required")
    for item in body.get("metadata", {}).get("items", ()):
        if len(item.get("value", "").encode()) > MOST_METADATA:
            raise bad("resource.metadata", f"Value of {item['key']} is too large")
    scheduling(body.get("scheduling", {}))


def labels(given: Json) -> None:
    for key, value in given.items():
        if not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
            raise bad("resource.labels", f"{key}={value}")


def scheduling(asked: Json) -> None:
    """A machine that may be taken away can be neither moved nor restarted; a preemptible one's end is not chosen."""
    spot = asked.get("provisioningModel") == "SPOT"
    taken = spot or asked.get("preemptible")
    if taken and asked.get("automaticRestart", True):
        raise bad("scheduling.automaticRestart", "Preemptible and Spot instances cannot be restarted automatically")
    if taken and asked.get("onHostMaintenance", "TERMINATE") != "TERMINATE":
        raise bad("scheduling.onHostMaintenance", "Preemptible and Spot instances must be terminated on maintenance")
    limited = "maxRunDuration" in asked
    if "instanceTerminationAction" in asked and not (spot or limited):
        raise bad(
            "scheduling.instanceTerminationAction", "Only Spot instances, or with a limited run time, may have it"
        )
    if limited and "instanceTerminationAction" not in asked:
        raise bad("scheduling.maxRunDuration", "instanceTerminationAction must be given")
