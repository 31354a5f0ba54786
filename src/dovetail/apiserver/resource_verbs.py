"""HTTP's verbs on resources: what each does to the objects, and how the outcome is told."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import answers, bodies, errors, pages, representations
from dovetail.apiserver.answers import Stream
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.faults import Faults
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.pages import Asked
from dovetail.apiserver.representations import Representation
from dovetail.apiserver.routes import Target
from dovetail.apiserver.selectors import parse_labels
from dovetail.apiserver.watch_streams import WatchStream, WatchWish, error_line
from dovetail.apiserver.writes import ApplyPatch

#: Kinds whose deletion answers with what was deleted.
_TOLD_WHEN_DELETED: Final = (
    kinds.PODS,
    kinds.SERVICES,
    kinds.SERVICE_ACCOUNTS,
    kinds.PERSISTENT_VOLUMES,
    kinds.PERSISTENT_VOLUME_CLAIMS,
    kinds.POD_TEMPLATES,
)
#: How long a watch lasts when its client does not say; spread, so that not all end at once.
_LONGEST_SECONDS: Final = 1800
_PATCH_OPTIONS: Final = Kind("meta.k8s.io", "v1", "PatchOptions", "patchoptions")


@dataclass(frozen=True, slots=True)
class Call:
    """One request to one resource."""

    request: web.BaseRequest
    target: Target
    warn: Callable[[str], None]

    @property
    def shown(self) -> Representation:
        query = self.request.query
        accept = self.request.headers.get("Accept", "")
        return representations.chosen(accept, self.target.resource, query.get("includeObject", "Metadata"))


class ResourceVerbs:
    """The verbs of every resource."""

    def __init__(self, objects: Objects, faults: Faults, bookmark_seconds: float) -> None:
        self._objects = objects
        self._faults = faults
        self._bookmark_seconds = bookmark_seconds

    def verb(self, call: Call) -> Callable[[Call], Awaitable[web.StreamResponse]]:
        """Which verb a request means."""
        watches = bodies.flag(call.request.query, "watch")
        match call.request.method, bool(call.target.name):
            case "GET" | "HEAD", True:
                return self.get
            case "GET" | "HEAD", False:
                return self.watch if watches else self.list
            case "POST", False:
                return self.create
            case "PUT", True:
                return self.update
            case "PATCH", True:
                return self.patch
            case "DELETE", True:
                return self.delete
            case "DELETE", False:
                return self.delete_collection
        raise errors.not_allowed()

    # --- reading ---------------------------------------------------------------------------------------------------

    async def get(self, call: Call) -> web.StreamResponse:
        where = call.target
        return answers.ok(call.shown.one(self._objects.item(where.resource.kind, where.name, where.namespace)))

    async def list(self, call: Call) -> web.StreamResponse:
        resource = call.target.resource
        found = pages.page(self._objects.storage, resource.stored, self._asked(call))
        metadata: dict[str, Any] = {"resourceVersion": str(found.revision)}
        if found.token:
            metadata["continue"] = found.token
        if found.remaining:
            metadata["remainingItemCount"] = found.remaining
        return await answers.pieces(call.request, list(call.shown.many(found.items, metadata)))

    def _asked(self, call: Call) -> Asked:
        query = call.request.query
        labels = query.get("labelSelector", "")
        return Asked(
            namespace=call.target.namespace,
            labels=parse_labels(labels),
            fields=self._objects.field_terms(call.target.resource, query.get("fieldSelector", "")),
            limit=bodies.number(query, "limit"),
            token=query.get("continue", ""),
            revision=query.get("resourceVersion", ""),
            match=query.get("resourceVersionMatch", ""),
        )

    async def watch(self, call: Call) -> web.StreamResponse:
        wish = self._wish(call)
        stream = Stream(call.request, self._faults)
        response = await stream.open()
        try:
            watch = WatchStream(self._objects.storage, call.target.resource, call.shown, wish)
        except ApiError as problem:
            await stream.write(error_line(problem))
            return response
        seconds = bodies.number(call.request.query, "timeoutSeconds") or _LONGEST_SECONDS * (1 + random.random())  # noqa: S311
        self._faults.opened(watch, stream)
        try:
            async with asyncio.timeout(seconds):
                await watch.run(stream, self._bookmark_seconds)
        except TimeoutError:
            pass  # its time is up: it ends in good order
        except (ConnectionError, RuntimeError):
            # The client is gone, or the connection was broken on purpose: there is nobody left to tell.
            watch.end()
        finally:
            self._faults.closed(watch)
        return response

    def _wish(self, call: Call) -> WatchWish:
        query = call.request.query
        revision = query.get("resourceVersion", "")
        if revision and not revision.isdigit():
            raise errors.bad_request(f"invalid resource version: {revision!r}")
        initial = bodies.flag(query, "sendInitialEvents")
        if "sendInitialEvents" in query and query.get("resourceVersionMatch") != "NotOlderThan":
            cause = errors.field_forbidden(
                "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
            raise errors.invalid(Kind("meta.k8s.io", "v1", "ListOptions", "listoptions"), "", [cause])
        begins = revision in ("", "0") or initial
        return WatchWish(
            asked=self._asked(call),
            bookmarks=bodies.flag(query, "allowWatchBookmarks"),
            initial_events=initial,
            since=None if begins else int(revision),
            from_scratch=begins and "sendInitialEvents" not in query,
        )

    # --- writing ---------------------------------------------------------------------------------------------------

    async def create(self, call: Call) -> web.StreamResponse:
        where = call.target
        if where.resource.kind.namespaced and not where.namespace:
            raise errors.not_allowed()
        body = await bodies.mapping(call.request)
        write = bodies.write(call.request, call.warn)
        made = self._objects.create(where.resource.kind, body, where.namespace, write)
        return answers.ok(call.shown.fresh(made), 201)

    async def update(self, call: Call) -> web.StreamResponse:
        where = call.target
        body = await bodies.mapping(call.request)
        self._check_name(where, body)
        write = bodies.write(call.request, call.warn)
        made = self._objects.update(where.resource.kind, body, subresource=where.subresource, write=write)
        return answers.ok(call.shown.fresh(made))

    def _check_name(self, where: Target, body: dict[str, Any]) -> None:
        metadata = body.get("metadata")
        if not isinstance(metadata, dict):
            raise errors.bad_request("the object has no metadata")
        if metadata.setdefault("name", where.name) != where.name:
            raise errors.bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({where.name})"
            )
        if where.namespace and metadata.setdefault("namespace", where.namespace) != where.namespace:
            raise errors.bad_request(
                f"the namespace of the object ({metadata['namespace']}) does not match the namespace on the URL "
                f"({where.namespace})"
            )

    async def patch(self, call: Call) -> web.StreamResponse:
        where, kind = call.target, call.target.resource.kind
        patch = await bodies.patch(call.request)
        write = bodies.write(call.request, call.warn)
        new = False
        if isinstance(patch, ApplyPatch):
            if not call.request.query.get("fieldManager"):
                cause = errors.required("fieldManager", "is required for apply patch")
                raise errors.invalid(_PATCH_OPTIONS, "", [cause])
            new = self._objects.find(kind, where.name, where.namespace) is None
        made = self._objects.patch(kind, where.name, patch, where.namespace, subresource=where.subresource, write=write)
        return answers.ok(call.shown.fresh(made), 201 if new else 200)

    async def delete(self, call: Call) -> web.StreamResponse:
        where, kind = call.target, call.target.resource.kind
        how = await bodies.deletion(call.request)
        last = self._objects.get(kind, where.name, where.namespace)
        left = self._objects.delete(kind, where.name, where.namespace, how)
        if left is not None or kind in _TOLD_WHEN_DELETED:
            return answers.ok(call.shown.fresh(left if left is not None else last))
        return answers.success(errors.about(kind, where.name) | {"uid": last["metadata"]["uid"]})

    async def delete_collection(self, call: Call) -> web.StreamResponse:
        where, kind = call.target, call.target.resource.kind
        how = await bodies.deletion(call.request)
        query = call.request.query
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        found = self._objects.delete_collection(kind, where.namespace, labels=labels, fields=fields, how=how)
        metadata = {"resourceVersion": str(self._objects.storage.revision)}
        listed = {"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": metadata, "items": found}
        return answers.ok(listed)
