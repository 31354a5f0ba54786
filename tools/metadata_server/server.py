"""The server, and its levers.

    async with FakeMetadata() as metadata:
        metadata.aws.notices["spot/instance-action"] = '{"action": "terminate", "time": "…"}'
        metadata.gcp.set("instance/preempted", "TRUE")
        metadata.azure.schedule("Preempt", resources=["pool_0"], not_before="…")
        metadata.faults.append(Fault(503, times=3))

A fault is taken by the next question it is meant for, before anybody else sees it. What was asked is kept in `asked`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

LOOPBACK = "127.0.0.1"


@dataclass
class Fault:
    """An answer other than the true one. `status` 0 hangs up without any; `seconds` is how long it takes first."""

    status: int = 503
    times: int = 1
    seconds: float = 0.0
    text: str = ""
    path: str = ""


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: str = ""


@dataclass
class Aws:
    """IMDS. Tokens are numbered; those in `revoked` and those not handed out are refused with 401."""

    notices: dict[str, str] = field(default_factory=dict)
    tokens: int = 0
    ttl: int = 3600
    revoked: set[str] = field(default_factory=set)
    #: Without version 2 the token path is not there, and nobody asks for tokens.
    version_2: bool = True

    def revoke(self) -> None:
        self.revoked |= {f"token-{number}" for number in range(1, self.tokens + 1)}

    async def token(self, request: web.Request) -> web.Response:
        if not self.version_2:
            return web.Response(status=404)
        if "X-aws-ec2-metadata-token-ttl-seconds" not in request.headers:
            return web.Response(status=400)
        self.tokens += 1
        told = {"X-aws-ec2-metadata-token-ttl-seconds": str(self.ttl)}
        return web.Response(text=f"token-{self.tokens}", headers=told)

    async def data(self, request: web.Request) -> web.Response:
        token = request.headers.get("X-aws-ec2-metadata-token", "")
        known = token.startswith("token-") and token not in self.revoked and int(token[6:]) <= self.tokens
        if self.version_2 and not known:
            return web.Response(status=401)
        text = self.notices.get(request.match_info["path"])
        return web.Response(status=404) if text is None else web.Response(text=text)


@dataclass
class Gcp:
    """Keys whose readers may wait for a change."""

    values: dict[str, str] = field(
        default_factory=lambda: {
            "instance/preempted": "FALSE",
            "instance/maintenance-event": "NONE",
            "instance/scheduling/preemptible": "TRUE",
        }
    )
    #: Some emulators do not know how to wait.
    waits: bool = True
    flavour: str = "Google"
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def set(self, key: str, value: str) -> None:
        self.values[key] = value
        self._changed.set()
        self._changed = asyncio.Event()

    async def data(self, request: web.Request) -> web.Response:
        if request.headers.get("Metadata-Flavor") != "Google":
            return web.Response(status=403)
        key = request.match_info["path"]
        if key not in self.values:
            return web.Response(status=404)
        if self.waits and request.query.get("wait_for_change") == "true":
            await self._change(key, request.query.get("last_etag", ""), float(request.query.get("timeout_sec", "60")))
        headers = {"ETag": self._etag(key), "Metadata-Flavor": self.flavour}
        return web.Response(text=self.values[key], headers=headers)

    async def _change(self, key: str, etag: str, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while etag == self._etag(key):
                    await self._changed.wait()
        except TimeoutError:
            return

    def _etag(self, key: str) -> str:
        return f"{hash((key, self.values[key])) & 0xFFFFFFFF:08x}"


@dataclass
class Azure:
    """Scheduled events: a list that grows, changes and shrinks."""

    name: str = "pool_0"
    events: list[dict[str, Any]] = field(default_factory=list)
    incarnation: int = 1
    started: list[str] = field(default_factory=list)

    def schedule(self, kind: str, *, event: str = "e-1", status: str = "Scheduled", **more: Any) -> None:
        listed = {
            "EventId": event,
            "EventType": kind,
            "ResourceType": "VirtualMachine",
            "Resources": [self.name],
            "EventStatus": status,
            "NotBefore": "",
            "Description": "",
            "EventSource": "Platform",
            "DurationInSeconds": -1,
        }
        self.events = [one for one in self.events if one["EventId"] != event] + [listed | more]
        self.incarnation += 1

    def withdraw(self, event: str = "e-1") -> None:
        self.events = [one for one in self.events if one["EventId"] != event]
        self.incarnation += 1

    async def data(self, request: web.Request) -> web.Response:
        if request.headers.get("Metadata") != "true" or "api-version" not in request.query:
            return web.Response(status=400)
        if request.path.endswith("/compute"):
            return web.json_response({"name": self.name, "vmScaleSetName": self.name.partition("_")[0]})
        if request.method == "POST":
            try:
                wanted = [one["EventId"] for one in json.loads(await request.text())["StartRequests"]]
            except (ValueError, KeyError, TypeError):
                return web.Response(status=400)
            self.started += wanted
            return web.Response(status=200)
        return web.json_response({"DocumentIncarnation": self.incarnation, "Events": self.events})


class FakeMetadata:
    """One server that answers as all three."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.aws, self.gcp, self.azure = Aws(), Gcp(), Azure()
        self.faults: list[Fault] = []
        self.asked: list[Asked] = []
        self.heard = asyncio.Event()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._keep])
        app.router.add_put("/latest/api/token", self.aws.token)
        app.router.add_get("/latest/meta-data/{path:.+}", self.aws.data)
        app.router.add_get("/computeMetadata/v1/{path:.+}", self.gcp.data)
        app.router.add_route("*", "/metadata/{path:.+}", self.azure.data)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, self.port)
        await site.start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @web.middleware
    async def _keep(self, request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        body = await request.text() if request.can_read_body else ""
        self.asked.append(Asked(request.method, request.path, dict(request.headers), body))
        self.heard.set()
        for fault in self.faults:
            if fault.times > 0 and fault.path in request.path:
                fault.times -= 1
                await asyncio.sleep(fault.seconds)
                if fault.status == 0:
                    assert request.transport is not None
                    request.transport.abort()
                return web.Response(status=fault.status or 500, text=fault.text, headers={"Metadata-Flavor": "Google"})
        response: web.StreamResponse = await handler(request)
        return response

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]
