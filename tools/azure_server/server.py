"""The server, and its levers.

    async with AzureServer() as azure:
        azure.world.waits.make = 30.0
        azure.world.failing["Standard_D2s_v5"] = Failing("AllocationFailed")
        azure.world.evict("my-machine")
        azure.faults.append(Fault("PUT", "/virtualMachines/", 429, headers={"Retry-After": "7"}))

What was asked is kept in `asked`. A request that is neither of the four types' own nor an operation's is refused, and
kept all the same: a test may look whether anybody ever tried to start a machine.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
import time
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import urlencode

from aiohttp import web
from tools.azure_server import making
from tools.azure_server.faults import Asked, Fault, Refused
from tools.azure_server.world import ADDRESS, DISK, NIC, TYPES, VM, Operation, Resource, World

Wire = dict[str, Any]
LOOPBACK = "127.0.0.1"
#: Small, so that every list of any length has pages.
PAGE = 3
_PATH = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)(/resourceGroups/(?P<group>[^/]+))?"
    r"/providers/(?P<type>[^/]+/[^/]+)(/(?P<name>[^/]+))?",
    re.IGNORECASE,
)
_OPERATION = re.compile(r"/subscriptions/[^/]+/providers/[^/]+/locations/[^/]+/operations/(?P<id>[^/]+)")


class AzureServer:
    """One subscription, on a port of its own. `now` is asked for the time."""

    def __init__(self, now: Callable[[], float] = time.time, port: int = 0) -> None:
        self.world = World(now)
        self.port = port
        self.faults: list[Fault] = []
        self.asked: list[Asked] = []
        self.page = PAGE
        #: Whether lists leave out power states even if they are asked for.
        self.statusless = False
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=16 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, self.port)
        await site.start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def names(self, type_: str) -> list[str]:
        return sorted(one.name for one in self.world.of(type_))

    def everything(self) -> list[str]:
        """Names of all there is: what is left costs money."""
        return [name for type_ in TYPES for name in self.names(type_)]

    def writes(self) -> list[Asked]:
        return [one for one in self.asked if one.method != "GET"]

    # ---- one request

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = json.loads(raw) if raw else None
        self.asked.append(Asked(request.method, request.path, dict(request.query), dict(request.headers), body))
        fault = next((one for one in self.faults if one.fits(request.method, request.path)), None)
        if fault is None:
            return self._true(request, body)
        fault.times -= 1
        await asyncio.sleep(fault.seconds)
        if fault.lost or fault.honest:
            answer = self._true(request, body)
            if fault.lost and request.transport is not None:
                request.transport.abort()
            return answer
        return fault.response()

    def _true(self, request: web.Request, body: Any) -> web.StreamResponse:
        self.world.settle()
        try:
            return self._routed(request, body)
        except Refused as refused:
            return refused.response()

    def _routed(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "api-version" not in request.query:
            raise Refused(400, "MissingApiVersionParameter", "The api-version query parameter is required")
        operation = _OPERATION.fullmatch(request.path)
        if operation is not None:
            return self._operation(operation["id"], "final" in request.query)
        found = _PATH.fullmatch(request.path)
        types = {one.lower(): one for one in TYPES}
        if found is None or found["type"].lower() not in types:
            raise Refused(404, "InvalidResourceType", f"{request.method} {request.path} is not known here")
        if found["subscription"].lower() != self.world.subscription:
            raise Refused(404, "SubscriptionNotFound", f"The subscription {found['subscription']} could not be found.")
        if (found["group"] or "").lower() in self.world.no_groups:
            raise Refused(404, "ResourceGroupNotFound", f"Resource group '{found['group']}' could not be found.")
        type_ = types[found["type"].lower()]
        if found["name"] is None:
            return self._listed(request, type_, found["group"] or "")
        return self._one(request, type_, found["name"], body)

    def _one(self, request: web.Request, type_: str, name: str, body: Any) -> web.StreamResponse:
        known = self.world.resources.get(request.path.lower())
        if request.method == "PUT":
            return self._put(request, type_, body)
        if known is None and request.method == "DELETE":
            return web.Response(status=204)
        if known is None:
            raise Refused(404, "ResourceNotFound", f"The Resource '{type_}/{name}' was not found.")
        if request.method == "DELETE":
            return self._delete(known)
        return web.json_response(self._shown(known, request.query.get("$expand", "")))

    # ---- writing

    def _put(self, request: web.Request, type_: str, body: Any) -> web.StreamResponse:
        if type_ == DISK:
            raise Refused(400, "BadRequest", "disks are made with their machines here")
        one, new = making.put(self.world, type_, request.path, body, request.headers)
        waits = self.world.waits
        again = new or type_ != VM
        begun = self.world.begin(one, waits.make if type_ == VM else waits.network) if again else None
        shown = self._shown(one, "")
        if begun is not None and begun.due > self.world.now():
            headers = {"Azure-AsyncOperation": self._url(one, begun), "Retry-After": "1"}
            return web.json_response(shown, status=201 if new else 200, headers=headers)
        return web.json_response(shown, status=201 if new else 200)

    def _delete(self, one: Resource) -> web.StreamResponse:
        self._check_free(one)
        if one.state == "Deleting" and one.operation is not None:
            begun = one.operation
        else:
            waits = self.world.waits
            begun = self.world.begin(one, waits.remove if one.type == VM else waits.network, removing=True)
        return web.Response(status=202, headers={"Location": self._url(one, begun) + "&final", "Retry-After": "1"})

    def _check_free(self, one: Resource) -> None:
        if one.type == NIC and one.properties.get("virtualMachine"):
            raise Refused(400, "NicInUse", f"Network Interface {one.name} is used by existing resource")
        if one.type == NIC and one.reserved > self.world.now():
            raise Refused(400, "NicReservedForAnotherVm", f"Nic {one.name} is reserved for another VM for 180 seconds")
        if one.type == ADDRESS and one.properties.get("ipConfiguration"):
            raise Refused(400, "PublicIPAddressCannotBeDeleted", f"Public IP address {one.name} can not be deleted")
        if one.type == DISK and one.wire.get("managedBy"):
            raise Refused(409, "OperationNotAllowed", f"Disk {one.name} is attached to VM {one.wire['managedBy']}")

    def _url(self, one: Resource, begun: Operation) -> str:
        namespace = one.type.partition("/")[0]
        where = one.wire.get("location", "global")
        path = f"/subscriptions/{self.world.subscription}/providers/{namespace}/locations/{where}/operations/{begun.id}"
        return f"{self.url}{path}?api-version=2026-04-01"

    # ---- reading

    def _operation(self, id_: str, final: bool) -> web.StreamResponse:
        known = self.world.operations.get(id_)
        if known is None:
            raise Refused(404, "NotFound", f"Operation {id_} was not found")
        status = self.world.status_of(known)
        if not final:
            return web.json_response(status)
        return web.Response(status=202 if status["status"] == "InProgress" else 200)

    def _shown(self, one: Resource, expand: str) -> Wire:
        shown = copy.deepcopy(one.wire)
        if one.type == VM and expand.lower() == "instanceview":
            shown["properties"]["instanceView"] = {"statuses": statuses(one, self.world.power_of(one))}
        if one.type == NIC and "publicipaddress" in expand.lower():
            for each in shown["properties"]["ipConfigurations"]:
                public = each["properties"].get("publicIPAddress")
                held = self.world.resources.get(public["id"].lower()) if public else None
                if held is not None:
                    each["properties"]["publicIPAddress"] = copy.deepcopy(held.wire)
        return shown

    def _listed(self, request: web.Request, type_: str, group: str) -> web.StreamResponse:
        inside = f"/resourcegroups/{group.lower()}/"
        fitting = [one for one in self.world.of(type_) if not group or inside in one.key]
        start = int(request.query.get("$skiptoken", "0"))
        view = "instanceView" if request.query.get("statusOnly") == "true" and not self.statusless else ""
        answer: Wire = {"value": [self._shown(one, view) for one in fitting[start : start + self.page]]}
        if start + self.page < len(fitting):
            query = {**request.query, "$skiptoken": str(start + self.page)}
            answer["nextLink"] = f"{self.url}{request.path}?{urlencode(query)}"
        return web.json_response(answer)


def statuses(vm: Resource, power: str) -> list[Wire]:
    """As an instance view has them: how the last operation went, and whether the machine runs."""
    state = vm.state.lower()
    code, message = f"ProvisioningState/{state}", ""
    if state == "failed" and vm.failing is not None:
        code, message = f"{code}/{vm.failing.code}", vm.failing.message
    found = [{"code": code, "level": "Error" if message else "Info", "message": message}]
    return [*found, {"code": f"PowerState/{power}", "level": "Info"}] if power else found
