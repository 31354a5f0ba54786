"""The Kubernetes API as a few verbs over any kind.

    async with Client(config.load(None, None, os.environ)) as client:
        pool = await client.get(kinds.NODE_POOLS, "default")
        async for page in client.pages(kinds.PODS, into=Pod, on_bad=told):
            …
        async for batch in client.watch_batches(kinds.PODS, resource_version=page.resource_version):
            for line in batch:
                event = decode(line)

Every verb either returns what it says or raises a `KubeError`; asking again, back-off, renewed credentials and the
queue are taken care of below (`transport`). `into` is any type msgspec knows: a struct, `dict`, or `msgspec.Raw` for
the bytes as they came, which keep the page they are part of in memory.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack, overload

import msgspec

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.kube import lists, patches
from dovetail.kube.calls import Call, asked_of, call_for, delete_options
from dovetail.kube.config import ClusterConfig
from dovetail.kube.counts import Counts
from dovetail.kube.errors import StreamCut, TooLarge
from dovetail.kube.fairness import Level
from dovetail.kube.lines import Lines
from dovetail.kube.lists import Listed, Page, Selection
from dovetail.kube.paging import paged
from dovetail.kube.patches import Body, Patch
from dovetail.kube.transport import Options, Transport

T = TypeVar("T")
Object = dict[str, Any]
Batch = list[bytes]

#: Objects a page, as kubectl asks for them.
_PAGE: Final = 500
#: A page of a list may be tens of megabytes from a busy server.
_LIST_TOTAL: Final = 300.0
#: How much longer than it was told to last a watch may be silent before it counts as dead.
_WATCH_SLACK: Final = 15.0
#: etcd takes 1.5 MB; a line far beyond that is not an event but a broken stream.
_LONGEST_LINE: Final = 64 * 2**20
_encode: Final = msgspec.json.Encoder().encode
_log: Final = logging.getLogger(__name__)


class Client:
    """Use it with `async with`, in one event loop."""

    def __init__(self, config: ClusterConfig, options: Options | None = None) -> None:
        self._config = config
        self._options = options or Options()
        self._patience = self._options.patience
        self._transport = Transport(config, self._options)

    async def __aenter__(self) -> Self:
        for warning in self._config.warnings:
            _log.warning("%s", warning)
        self._transport.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.close()

    @property
    def counts(self) -> Counts:
        return self._transport.counts

    @property
    def namespace(self) -> str:
        """The namespace of the context, or of the pod this runs in."""
        return self._config.namespace

    def within(self, budget: float) -> Client:
        """The same client, giving up sooner (or later): seconds for one call with all its repetitions, or nearly.

        The last attempt may begin just before the end, and last for as long again.
        """
        other = copy.copy(self)
        other._patience = replace(self._patience, budget=budget, attempt=max(budget, 1.0))
        return other

    @overload
    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object: ...
    @overload
    async def get(self, kind: Kind, name: str, namespace: str = "", *, into: type[T]) -> T: ...
    async def get(self, kind: Kind, name: str, namespace: str = "", *, into: Any = dict) -> Any:
        call = call_for("get", "GET", kind, (namespace, name), repeatable=True)
        return lists.decoded(await self._send(call), into, call.asked)

    @overload
    async def list(self, kind: Kind, namespace: str = "", **selection: Unpack[Selection]) -> Listed[Object]: ...
    @overload
    async def list(
        self, kind: Kind, namespace: str = "", *, into: type[T], **selection: Unpack[Selection]
    ) -> Listed[T]: ...
    async def list(
        self, kind: Kind, namespace: str = "", *, into: Any = dict, **selection: Unpack[Selection]
    ) -> Listed[Any]:
        """All of it, at one version."""
        items: list[Any] = []
        version = ""
        async for page in self.pages(kind, namespace, into=into, **selection):
            if page.first:
                items = []
            items.extend(page.items)
            version = page.resource_version
        return Listed(items, version)

    @overload
    def pages(
        self, kind: Kind, namespace: str = "", **selection: Unpack[Selection]
    ) -> AsyncGenerator[Page[Object], None]: ...
    @overload
    def pages(
        self, kind: Kind, namespace: str = "", *, into: type[T], **selection: Unpack[Selection]
    ) -> AsyncGenerator[Page[T], None]: ...
    def pages(
        self, kind: Kind, namespace: str = "", *, into: Any = dict, **selection: Unpack[Selection]
    ) -> AsyncGenerator[Page[Any], None]:
        """Page by page, all of one version (`paging`). Where a page is `first`, those before it are void. Items that
        cannot be decoded go to `on_bad`; without it they make the list fail."""
        asked = asked_of("list", kind, namespace, "")
        chosen = {"labelSelector": selection.get("labels", ""), "fieldSelector": selection.get("fields", "")}

        def fetch(token: str, most: int) -> Coroutine[Any, Any, bytes]:
            query = {**chosen, "continue": token, "limit": str(most or "")}
            call = call_for("list", "GET", kind, (namespace, ""), query=query, repeatable=True, total=_LIST_TOTAL)
            return self._send(call)

        def decode(body: bytes) -> lists.WireList[Any]:
            return lists.decoded_list(body, into, selection.get("on_bad"), asked)

        return paged(fetch, decode, selection.get("limit", _PAGE))

    async def create(self, kind: Kind, obj: Body, namespace: str = "", *, dry_run: bool = False) -> Object:
        body = _encode(obj)
        where, name = lists.names_of(body)
        call = call_for(
            "create", "POST", kind, (namespace or where, ""), query=_dry(dry_run), body=body, repeatable=dry_run
        )
        call = replace(call, asked=asked_of("create", kind, namespace or where, name))
        return await self._object(call)

    async def replace(self, kind: Kind, obj: Body, *, subresource: str = "") -> Object:
        """The object, with its version as the precondition where it carries one."""
        body = _encode(obj)
        return await self._object(
            call_for("update", "PUT", kind, lists.names_of(body), subresource=subresource, body=body)
        )

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Patch,
        namespace: str = "",
        *,
        subresource: str = "",
        dry_run: bool = False,
        note: bool = False,
    ) -> Object:
        """A `note` lets everything else go first, and its caller wait a while."""
        call = call_for(
            "apply" if isinstance(patch, patches.Apply) else "patch",
            "PATCH",
            kind,
            (namespace, name),
            subresource=subresource,
            query={**patches.query(patch), **_dry(dry_run)},
            body=patches.encoded(patch),
            content_type=patches.content_type(patch),
            repeatable=dry_run or patches.repeatable(patch),
        )
        return await self._object(replace(call, level=Level.NOTES) if note else call)

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        grace: int | None = None,
        propagation: str = "Background",
    ) -> None:
        """NotFound is for the caller to take as done. Asked again after a broken connection only where `uid` says that
        nothing else can be meant."""
        options = delete_options(uid, resource_version, grace, propagation)
        await self._send(call_for("delete", "DELETE", kind, (namespace, name), body=options, repeatable=bool(uid)))

    async def delete_collection(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> None:
        query = {"labelSelector": labels, "fieldSelector": fields}
        body = delete_options("", "", None, "Background")
        await self._send(call_for("deletecollection", "DELETE", kind, (namespace, ""), query=query, body=body))

    async def evict(self, name: str, namespace: str, *, grace: int | None = None, uid: str = "") -> None:
        """Ask for a pod to leave. A disruption budget in the way is TooManyRequests at once: when to try again is the
        caller's to know."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": msgspec.Raw(delete_options(uid, "", grace, "")),
        }
        where = (namespace, name)
        call = call_for("evict", "POST", kinds.PODS, where, subresource="eviction", body=_encode(body))
        await self._send(call)

    async def watch_batches(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        resource_version: str,
        labels: str = "",
        fields: str = "",
        timeout: float = 300.0,
        bookmarks: bool = True,
    ) -> AsyncGenerator[Batch, None]:
        """Whole event lines, as many at once as have arrived. Ends where the server ends the watch in good order, which
        it does after about `timeout` seconds; raises StreamCut where the stream breaks off. An event of type ERROR is
        a line like any other: see `answers.error_of_status`."""
        query = {
            "watch": "true",
            "resourceVersion": resource_version,
            "labelSelector": labels,
            "fieldSelector": fields,
            "timeoutSeconds": str(max(1, int(timeout))),
            "allowWatchBookmarks": "true" if bookmarks else "",
        }
        call = call_for("watch", "GET", kind, (namespace, ""), query=query, repeatable=True, total=None)
        call = replace(call, silence=timeout + _WATCH_SLACK)
        lines = Lines(_LONGEST_LINE)
        try:
            async with aclosing(self._transport.stream(call, self._patience)) as chunks:
                async for chunk in chunks:
                    if batch := lines.feed(chunk):
                        yield batch
        except OverflowError as problem:
            raise TooLarge(f"{call.asked}: {problem}", status=200) from None
        if lines.unfinished:
            raise StreamCut(f"{call.asked}: the stream ended in the middle of an event", status=200)

    async def raw(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> bytes:
        """Anything else: `raw("GET", "/version")`."""
        reading = method == "GET"
        call = Call(
            verb="get" if reading else method.lower(),
            method=method,
            path=path,
            asked=f"{method} {path}",
            level=Level.READS if reading else Level.WRITES,
            flow=path,
            query=query or {},
            body=body,
            repeatable=reading,
        )
        return await self._send(call)

    async def _send(self, call: Call) -> bytes:
        return await self._transport.send(call, self._patience)

    async def _object(self, call: Call) -> Object:
        found: Object = lists.decoded(await self._send(call), dict, call.asked)
        return found


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}
