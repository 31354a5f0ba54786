"""How Azure's resources are called: deterministic names, resource ids and provider ids.

A virtual machine has its object's name, since that is what its node will be called. Everything else that is made for it
carries a piece of the object's token in its name, so it is nobody else's and can be told, looked for and removed
without a note of ours: neither tags that a disk may not inherit nor a list kept in a status are needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dovetail.clouds.port import Misconfigured

#: Of a Linux machine; disks and interfaces take 80, which leaves room for what is appended.
LONGEST_NAME: Final = 64
NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]|[a-zA-Z0-9]", re.ASCII)
#: Ten hexadecimal digits of the token; the name beside them tells machines apart that agree in these.
_MARK: Final = 10
_SHORTENED: Final = 50
_PROVIDER_ID: Final = re.compile(
    r"azure:///subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)"
    r"/providers/Microsoft\.Compute/virtualMachines/(?P<name>[^/]+)",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lies:
    """Where one virtual machine lies."""

    group: str
    name: str

    def is_at(self, other: Lies | None) -> bool:
        """Azure makes no difference between small letters and capitals."""
        if other is None:
            return False
        return (self.group.lower(), self.name.lower()) == (other.group.lower(), other.name.lower())


def provider_id(subscription: str, group: str, name: str) -> str:
    """As the Node says it: Azure's own cloud provider writes the resource group in small letters."""
    inner = f"subscriptions/{subscription}/resourceGroups/{group.lower()}"
    return f"azure:///{inner}/providers/Microsoft.Compute/virtualMachines/{name}"


def resource_id(provider_id: str) -> str:
    return provider_id.removeprefix("azure://")


def of_provider_id(text: str, subscription: str) -> Lies:
    """Raises Misconfigured for what is no virtual machine of this subscription: nobody can say that it is gone."""
    found = _PROVIDER_ID.fullmatch(text)
    if found is None:
        raise Misconfigured(f"{text!r} is not the provider id of a virtual machine of Azure (azure:///subscriptions/…)")
    if is_foreign(text, subscription):
        raise Misconfigured(f"{text} is in another subscription than {subscription}")
    return Lies(found["group"], found["name"])


def is_foreign(text: str, subscription: str) -> bool:
    """Whether it is the id of a virtual machine, and of another subscription's."""
    found = _PROVIDER_ID.fullmatch(text)
    return found is not None and found["subscription"].lower() != subscription.lower()


def is_readable(text: str) -> bool:
    return _PROVIDER_ID.fullmatch(text) is not None


def group_of(resource_id: str) -> str:
    """The resource group in a resource id, "" where there is none."""
    parts = resource_id.split("/")
    named = [at for at, one in enumerate(parts[:-1]) if one.lower() == "resourcegroups"]
    return parts[named[0] + 1] if named else ""


def prefix(name: str, token: str) -> str:
    """How everything begins that is made for a machine, but for the virtual machine itself."""
    return f"{name[:_SHORTENED].rstrip('.-')}-{token[:_MARK]}-"


def interface(name: str, token: str, number: int) -> str:
    return f"{prefix(name, token)}nic-{number}"


def address(name: str, token: str) -> str:
    return f"{prefix(name, token)}ip"


def os_disk(name: str, token: str) -> str:
    return f"{prefix(name, token)}os"


def data_disk(name: str, token: str, suffix: str) -> str:
    return f"{prefix(name, token)}{suffix}"
