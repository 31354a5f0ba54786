"""The door: every request comes in here, is let in or not, and is sent where it belongs."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from aiohttp import web

from dovetail.apiserver import answers, bodies, discovery, errors, openapi, reviews, routes
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.faults import Faults
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.resource_verbs import Call, ResourceVerbs
from dovetail.apiserver.storage import encode
from dovetail.apiserver.subresource_verbs import SubresourceVerbs
from dovetail.apiserver.tokens import Tokens

#: Anybody may ask whether the server is well, and which it is.
_OPEN: Final = ("healthz", "livez", "readyz", "version")
_LOG: Final = logging.getLogger(__name__)


class Api:
    """The whole API as one function of a request."""

    def __init__(self, objects: Objects, tokens: Tokens, faults: Faults, bookmark_seconds: float) -> None:
        self._objects = objects
        self._tokens = tokens
        self._faults = faults
        self._resources = ResourceVerbs(objects, faults, bookmark_seconds)
        self._subresources = SubresourceVerbs(objects, tokens)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            await self._faults.meet(request)
            return await self._answer(request)
        except ApiError as problem:
            return answers.refusal(problem)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as problem:  # noqa: BLE001  (a fault of ours must not end the connection without a word)
            _LOG.exception("%s %s", request.method, request.path)
            return answers.refusal(errors.internal(f"{type(problem).__name__}: {problem}"))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.rstrip("/")
        head = path.split("/")[1] if path else ""
        if head not in _OPEN and not self._tokens.admits(request.headers.get("Authorization", "")):
            raise errors.unauthorized()
        found = routes.split(path)
        if found is None:
            return self._document(request, path, head)
        group, _, rest = found
        if reviews.is_asked(group, rest):
            return await self._review(request, rest[-1])
        return await self._resource(request, path)

    async def _resource(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        warnings: list[str] = []
        call = Call(request, routes.target(self._objects.registry, path), warnings.append)
        verb = self._subresources.verb(call) if call.target.subresource else None
        response = await (verb or self._resources.verb(call))(call)
        if warnings and not response.prepared:
            for one in warnings:
                escaped = one.replace("\\", "\\\\").replace('"', '\\"')
                response.headers.add("Warning", f'299 - "{escaped}"')
        return response

    async def _review(self, request: web.BaseRequest, plural: str) -> web.StreamResponse:
        if request.method != "POST":
            raise errors.not_allowed()
        asked = await bodies.mapping(request)
        token = (asked.get("spec") or {}).get("token") or ""
        return answers.ok(reviews.answer(plural, asked, self._tokens.knows(token)), 201)

    def _document(self, request: web.BaseRequest, path: str, head: str) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            raise errors.not_allowed()
        if head in ("healthz", "livez", "readyz"):
            return answers.text("ok")
        if head == "version":
            return answers.ok(encode(discovery.VERSION))
        if head in ("api", "apis"):
            return self._discovery(request, path)
        if head == "openapi":
            return self._openapi(path)
        if not path:
            known = ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
            return answers.ok({"paths": known})
        return answers.text("404 page not found\n", 404)

    def _discovery(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        registry = self._objects.registry
        parts = path.split("/")[1:]
        everything = discovery.wants_all(request.headers.get("Accept", ""))
        if len(parts) == 1 and everything:
            return answers.ok(discovery.aggregated(registry, core=parts[0] == "api"), media=everything)
        match parts:
            case ["api"]:
                return answers.ok(discovery.core_versions(request.host))
            case ["apis"]:
                return answers.ok(discovery.groups(registry))
            case ["api", version]:
                found = discovery.resources(registry, "", version)
            case ["apis", group]:
                found = discovery.group(registry, group)
            case ["apis", group, version]:
                found = discovery.resources(registry, group, version)
            case _:
                found = None
        return answers.text("404 page not found\n", 404) if found is None else answers.ok(found)

    def _openapi(self, path: str) -> web.StreamResponse:
        registry = self._objects.registry
        parts = path.split("/")[2:]
        match parts:
            case ["v2"]:
                return answers.ok(openapi.OLD_DOCUMENT, media=openapi.OLD_MEDIA)
            case ["v3"]:
                return answers.ok(openapi.index(registry))
            case ["v3", "api", version]:
                served = registry.groups().get("", {}).get(version)
                group = ""
            case ["v3", "apis", group, version]:
                served = registry.groups().get(group, {}).get(version)
            case _:
                served = None
        if served is None:
            return answers.text("404 page not found\n", 404)
        return answers.ok(openapi.document(group, version, served))
