"""HTTP's verbs on subresources that are not simply a part of their object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

from aiohttp import web

from dovetail.api import kinds
from dovetail.apiserver import answers, bodies, errors, patches, subresources
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.resource_verbs import Call
from dovetail.apiserver.storage import Object
from dovetail.apiserver.tokens import Tokens
from dovetail.apiserver.writes import ApplyPatch, JsonPatch, MergePatch, StrategicPatch

Handler = Callable[[Call], Awaitable[web.StreamResponse]]


class SubresourceVerbs:
    """Scale, binding, eviction, token, log."""

    def __init__(self, objects: Objects, tokens: Tokens) -> None:
        self._objects = objects
        self._tokens = tokens
        self._by_name: Final[dict[tuple[str, str], Handler]] = {
            ("GET", "scale"): self._get_scale,
            ("PUT", "scale"): self._put_scale,
            ("PATCH", "scale"): self._patch_scale,
            ("POST", "binding"): self._bind,
            ("POST", "eviction"): self._evict,
            ("POST", "token"): self._token,
            ("GET", "log"): self._log,
        }

    def verb(self, call: Call) -> Handler | None:
        """The handler of a subresource with ways of its own; None for one that is part of its object."""
        name = call.target.subresource
        found = self._by_name.get((call.request.method, name))
        if found is None and any(known == name for _, known in self._by_name):
            raise errors.not_allowed()
        return found

    async def _get_scale(self, call: Call) -> web.StreamResponse:
        return answers.ok(subresources.scale_of(call.target.resource, self._object(call)))

    async def _put_scale(self, call: Call) -> web.StreamResponse:
        return self._scale(call, await bodies.mapping(call.request))

    async def _patch_scale(self, call: Call) -> web.StreamResponse:
        before = subresources.scale_of(call.target.resource, self._object(call))
        match await bodies.patch(call.request):
            case MergePatch(body) | StrategicPatch(body) | ApplyPatch(body):
                wanted = patches.merged(before, body)
            case JsonPatch() as patch:
                wanted = patches.patched(call.target.resource, before, patch)
        if wanted["metadata"].get("resourceVersion") == before["metadata"]["resourceVersion"]:
            del wanted["metadata"]["resourceVersion"]
        return self._scale(call, wanted)

    def _scale(self, call: Call, wanted: dict[str, Any]) -> web.StreamResponse:
        resource = call.target.resource
        changed = subresources.scaled(resource, self._object(call), wanted)
        made = self._objects.update(resource.kind, changed, write=bodies.write(call.request, call.warn))
        return answers.ok(subresources.scale_of(resource, made))

    async def _bind(self, call: Call) -> web.StreamResponse:
        body = await bodies.mapping(call.request)
        where = call.target
        subresources.bind(self._objects, where.name, where.namespace, body, bodies.write(call.request, call.warn))
        return answers.success({}, 201)

    async def _evict(self, call: Call) -> web.StreamResponse:
        body = await bodies.mapping(call.request)
        how = bodies.deletion_of(body.get("deleteOptions") or {}, call.request)
        subresources.evict(self._objects, call.target.name, call.target.namespace, how)
        return answers.success({}, 201)

    async def _token(self, call: Call) -> web.StreamResponse:
        body = await bodies.mapping(call.request)
        made = subresources.token_for(self._objects, call.target.name, call.target.namespace, body)
        expires = datetime.fromisoformat(made["status"]["expirationTimestamp"].replace("Z", "+00:00"))
        self._tokens.issue(made["status"]["token"], expires)
        return answers.ok(made, 201)

    async def _log(self, call: Call) -> web.StreamResponse:
        pod = self._object(call)
        name = pod["metadata"]["name"]
        if not pod["spec"].get("nodeName"):
            raise errors.bad_request(f"pod {name} does not have a host assigned")
        message = f'pod "{name}" has no logs: this server runs no containers'
        raise errors.ApiError(404, "NotFound", message, errors.about(kinds.PODS, name))

    def _object(self, call: Call) -> Object:
        where = call.target
        return self._objects.get(where.resource.kind, where.name, where.namespace)
