"""Clusters and objects for tests of the embedded server: everything boring has a default."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from dovetail.api import kinds
from dovetail.apiserver.bootstrap import new_cluster
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.apiserver.storage import Bounds


class Clock:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def cluster(clock: Clock | None = None, bounds: Bounds | None = None) -> Objects:
    return new_cluster(clock or Clock(), bounds)


def pod(name: str = "one", *, node: str = "", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"containers": [{"name": "main", "image": "app:1"}], **spec}
    if node:
        made["nodeName"] = node
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": made}


def config_map(name: str = "one", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def deployment(name: str = "web", replicas: int = 1) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "app:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def definition(**version: Any) -> dict[str, Any]:
    """A kind `Widget` with a spec, a status of its own, and replicas to scale."""
    properties = {
        "replicas": {"type": "integer", "default": 1, "maximum": 9},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "size": {"type": "integer"}, "note": {"type": "string"}},
            },
        },
    }
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}, "status": open_object},
    }
    one = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        **version,
    }
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [one]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


WIDGETS = kinds.Kind("example.com", "v1", "Widget", "widgets", namespaced=True)


def refused(act: Callable[[], object], code: int, *, text: str = "") -> ApiError:
    with pytest.raises(ApiError) as caught:
        act()
    assert caught.value.code == code, caught.value.message
    assert text in caught.value.message
    return caught.value


class Session:
    """HTTP to one server, with its token."""

    def __init__(self, server: EmbeddedServer, http: aiohttp.ClientSession) -> None:
        self.server = server
        self._http = http

    async def __call__(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
        async with self.ask(method, path, body, **query) as answer:
            return answer.status, await answer.json(content_type=None)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, **query: str) -> Any:
        sent = {"Authorization": f"Bearer {self.server.token}", **(headers or {})}
        return self._http.request(method, self.server.url + path, json=body, params=query, headers=sent)


@asynccontextmanager
async def serving(**options: Any) -> Any:
    """A server without controllers, and a client that trusts it."""
    async with EmbeddedServer(Options(controllers=False, **options)) as server:
        context = ssl.create_default_context(cadata=server.authority.decode()) if server.authority else None
        connector = aiohttp.TCPConnector(ssl=context) if context else aiohttp.TCPConnector()
        async with aiohttp.ClientSession(connector=connector) as http:
            yield server, Session(server, http)
