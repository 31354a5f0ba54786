"""Azure with its SDK in a process of its own (`clouds.apart`), which is there only while something is made or removed.

What is asked of machines that run, all the time, is asked without: by the SDK's own pipeline and credentials, which are
small. The two packages with everything Azure calls compute and network are sixty megabytes together.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import urlencode

from dovetail.clouds import apart, port
from dovetail.clouds.apart import Apart
from dovetail.clouds.azure.client import Access, Azure, Wire
from dovetail.clouds.azure.errors import Refusal, sorted_out
from dovetail.clouds.azure.resources import COMPUTE, EVERY, Resource
from dovetail.clouds.port import CloudError, Misconfigured, Unavailable

_ADDRESS: Final = "https://management.azure.com"
_VERSIONS: Final = {"Microsoft.Compute": "2024-07-01", "Microsoft.Network": "2024-05-01"}
#: Calls at a time.
THREADS: Final = 16
#: Until a process of its own has imported the SDK.
_START_SECONDS: Final = 120.0


class AzureApart(Azure):
    """As `Azure`, from outside."""

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self._apart = Apart(__name__, asdict(access), raised, access.seconds + _START_SECONDS)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._apart.close)
        await super().__aexit__(*_)

    async def _open(self, credential: Any, given: Wire) -> None:
        self._clients[COMPUTE] = await self._stack.enter_async_context(self._sdk.pipeline(credential, given))

    # ---- without the SDK

    async def get(self, kind: Resource, group: str, name: str) -> Wire:
        path = f"/subscriptions/{self.subscription}/resourceGroups/{group}/providers/{kind.type}/{name}"
        query = {"api-version": _VERSIONS[kind.type.partition("/")[0]]}
        query |= {"$expand": kind.expand} if kind.expand else {}
        body = await self._once(f"read {kind.noun} {name}", self._fetched(f"{path}?{urlencode(query)}"))
        try:
            found = json.loads(body)
        except ValueError as nonsense:
            raise Unavailable(f"Azure answered what is no JSON (read {kind.noun} {name})") from nonsense
        if not isinstance(found, dict):
            raise Unavailable("Azure answered with something that is no resource")
        return found

    async def _fetched(self, link: str) -> bytes:
        """A link of Azure's own is whole; a path is not."""
        base = self.access.endpoint.rstrip("/") or _ADDRESS
        return await super()._fetched(link if "://" in link else f"{base}{link}")

    # ---- with it

    async def put(self, kind: Resource, group: str, name: str, body: Wire, *, new: bool = False) -> Wire:
        taken: Wire = await self._ask("put", kind, group=group, name=name, body=body, new=new)
        return taken

    async def delete(self, kind: Resource, group: str, name: str) -> None:
        await self._ask("delete", kind, group=group, name=name)

    async def all(self, kind: Resource, group: str = "") -> tuple[Wire, ...]:
        return tuple(await self._ask("all", kind, group=group))

    async def _ask(self, call: str, kind: Resource, **named: Any) -> Any:
        return await asyncio.to_thread(self._apart.ask, call, kind=kind.type, **named)


# ------------------------------------------------------------------------------------------------ in its own process


def shown(error: CloudError) -> Wire:
    """An error as a line can hold it."""
    cause = error.__cause__
    known = vars(cause) if isinstance(cause, Refusal) else None
    return {"kind": type(error).__name__, "message": str(error), "refusal": known}


def raised(told: Wire) -> CloudError:
    """The error that was shown."""
    if told["refusal"] is not None:
        return sorted_out(Refusal(**told["refusal"]))
    kind = {"Misconfigured": Misconfigured, "NotFound": port.NotFound}.get(told["kind"], Unavailable)
    return kind(told["message"])


def _opened(told: Wire) -> Callable[[str, Wire], Any]:
    """The SDK has one loop, in a thread of its own; those that ask wait for it in theirs."""
    loop, kinds = asyncio.new_event_loop(), {one.type: one for one in EVERY}
    threading.Thread(target=loop.run_forever, name="azure", daemon=True).start()
    azure = Azure(Access(**told))

    def done(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    def answer(call: str, named: Wire) -> Any:
        calls: dict[str, Callable[..., Any]] = {"put": azure.put, "delete": azure.delete, "all": azure.all}
        return done(calls[call](kinds[named.pop("kind")], **named))

    done(azure.__aenter__())
    return answer


if __name__ == "__main__":
    apart.serve(_opened, shown, THREADS)
