"""The one door to Compute Engine. Everything else in the program works without the extra `gcp`; who asks for GCP
without it is told so. Requests go in and answers come out as plain JSON in the REST API's own words, so nobody outside
knows the SDK's types; errors leave sorted (`errors.sorted_out`).

    identity   who asks
    session    what is asked of machines that run, all the time: without the SDK
    sdk        all that makes and removes: Google's SDK, in this process or in one of its own (`clouds.apart`)

Neither has an async client, so each call runs in a thread, of which there are only so many. Nothing is retried.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any, Final, Protocol, Self, TypeVar

from dovetail.clouds.apart import Apart
from dovetail.clouds.gcp.identity import Access, identity
from dovetail.clouds.gcp.session import Session
from dovetail.clouds.port import Unavailable

__all__ = ["Access", "Gcp"]
Json = dict[str, Any]
T = TypeVar("T")
#: Until a process of its own has imported the SDK.
_START_SECONDS: Final = 120.0


class _Door(Protocol):
    """The SDK, wherever it is; called from threads."""

    def insert_instance(self, zone: str, body: Json, request_id: str) -> Json: ...

    def get(self, what: str, zone: str, **named: str) -> Json: ...

    def delete(self, what: str, zone: str, **named: str) -> Json: ...

    def everywhere(self, what: str, matching: str) -> tuple[Json, ...]: ...


class _Apart:
    """The SDK in a process of its own."""

    def __init__(self, access: Access) -> None:
        from dovetail.clouds.gcp.sdk import raised

        told = asdict(access)
        self._apart = Apart("dovetail.clouds.gcp.sdk", told, raised, access.seconds + _START_SECONDS)
        self.close = self._apart.close

    def insert_instance(self, zone: str, body: Json, request_id: str) -> Json:
        found: Json = self._apart.ask("insert_instance", zone=zone, body=body, request_id=request_id)
        return found

    def get(self, what: str, zone: str, **named: str) -> Json:
        found: Json = self._apart.ask("get", what=what, zone=zone, **named)
        return found

    def delete(self, what: str, zone: str, **named: str) -> Json:
        found: Json = self._apart.ask("delete", what=what, zone=zone, **named)
        return found

    def everywhere(self, what: str, matching: str) -> tuple[Json, ...]:
        return tuple(self._apart.ask("everywhere", what=what, matching=matching))


class Gcp:
    """Compute Engine, as one project. Open it with `async with`."""

    def __init__(self, access: Access | None = None) -> None:
        self._access = access or Access()
        self._threads = ThreadPoolExecutor(self._access.threads, thread_name_prefix="gcp")
        self._door: _Door | None = None
        self._session: Session | None = None
        self.project = ""

    async def __aenter__(self) -> Self:
        try:
            await self._in_thread(self._open)
        except BaseException:
            self._threads.shutdown(wait=False)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """A call that nobody waits for any more ends by itself, within its time."""
        if isinstance(self._door, _Apart):
            await asyncio.to_thread(self._door.close)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _open(self) -> None:
        credentials, self.project = identity(self._access)
        access = replace(self._access, project=self.project)
        self._session = Session(credentials, access.endpoint, access.seconds)
        self._door = _Apart(access) if access.apart else _here(access)

    @property
    def _opened(self) -> _Door:
        assert self._door is not None, "not opened"
        return self._door

    @property
    def _light(self) -> Session:
        assert self._session is not None, "not opened"
        return self._session

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    # ---- the calls, each of which is one request but for the lists

    async def insert_instance(self, zone: str, body: Json, request_id: str) -> Json:
        """The operation; the same id again within the hour is the same operation, however it went."""
        return await self._in_thread(lambda: self._opened.insert_instance(zone, body, request_id))

    async def get_instance(self, zone: str, name: str) -> Json:
        path = f"/compute/v1/projects/{self.project}/zones/{zone}/instances/{name}"
        return _json(await self.raw(f"show instance {name}", path))

    async def delete_instance(self, zone: str, name: str) -> Json:
        """The operation."""
        return await self._in_thread(lambda: self._opened.delete("instances", zone, instance=name))

    async def list_instances(self, matching: str) -> tuple[Json, ...]:
        """Those of every zone."""
        return await self._in_thread(lambda: self._opened.everywhere("instances", matching))

    async def raw(self, action: str, path: str, **query: str) -> bytes:
        """What is at a path, as it was sent."""
        return await self._in_thread(lambda: self._light.get(action, path, **query))

    async def get_operation(self, zone: str, name: str) -> Json:
        return await self._in_thread(lambda: self._opened.get("operations", zone, operation=name))

    async def list_operations(self, matching: str) -> tuple[Json, ...]:
        """Those of every zone and region."""
        return await self._in_thread(lambda: self._opened.everywhere("all_operations", matching))

    async def list_disks(self, matching: str) -> tuple[Json, ...]:
        return await self._in_thread(lambda: self._opened.everywhere("disks", matching))

    async def delete_disk(self, zone: str, name: str) -> Json:
        """The operation."""
        return await self._in_thread(lambda: self._opened.delete("disks", zone, disk=name))


def _here(access: Access) -> _Door:
    from dovetail.clouds.gcp.sdk import Sdk

    return Sdk(access)


def _json(body: bytes) -> Json:
    try:
        found = json.loads(body)
    except ValueError as bad:
        raise Unavailable("GCP's answer could not be read") from bad
    if not isinstance(found, dict):
        raise Unavailable("GCP answered with something that is no resource")
    return found
