"""Which machines run, asked of Azure once for all of them.

A thousand machines, each looked at every half minute, would be more requests than a subscription is allowed. One list
of power states, which Azure gives for a subscription as a whole, answers for all of them. The SDK would make objects of
all there is to know of each machine, which takes longer than everything else here; so it is read as it was sent.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail.clouds.azure.client import Azure
from dovetail.clouds.port import Unavailable

_VERSION: Final = "2024-07-01"
_RUNNING: Final = "PowerState/running"


class _Status(msgspec.Struct):
    code: str = ""


class _View(msgspec.Struct):
    statuses: tuple[_Status, ...] = ()


class _Properties(msgspec.Struct, rename="camel"):
    instance_view: _View | None = None
    provisioning_state: str = "Succeeded"


class _Machine(msgspec.Struct):
    id: str = ""
    properties: _Properties | None = None

    @property
    def runs(self) -> bool:
        inner = self.properties
        if inner is None or inner.instance_view is None or inner.provisioning_state != "Succeeded":
            return False
        return any(one.code == _RUNNING for one in inner.instance_view.statuses)


class _Page(msgspec.Struct, rename="camel"):
    value: tuple[_Machine, ...] = ()
    next_link: str | None = None


_PAGES: Final = msgspec.json.Decoder(_Page)


async def running(azure: Azure) -> frozenset[str]:
    """Resource ids, in small letters, of all machines of the subscription that certainly run. Raises CloudError if a
    page is missing or cannot be read."""
    found: set[str] = set()
    link = f"/subscriptions/{azure.subscription}/providers/Microsoft.Compute/virtualMachines"
    link += f"?api-version={_VERSION}&statusOnly=true"
    while link:
        try:
            page = _PAGES.decode(await azure.raw(link))
        except msgspec.DecodeError as bad:
            raise Unavailable(f"Azure listed power states so that they cannot be read: {bad}") from bad
        found |= {one.id.lower() for one in page.value if one.runs}
        link = page.next_link or ""
    return frozenset(found)
