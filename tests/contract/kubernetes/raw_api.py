"""HTTP as Kubernetes speaks it, and nothing on top: what a row of the contract asks and what came back.

The suite does not use `dovetail.kube`: a mistake shared by our client and our server would pass unseen.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

T = TypeVar("T")

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

PATIENCE = 60.0
LOOK_EVERY = 0.02


@dataclass(frozen=True, slots=True)
class Server:
    """One API server and the way in.

    `expire` makes it forget every version before now; `aged` makes a continue token one of a forgotten version.
    `restart` ends and begins it again, without its history; `reissue` gives it another certificate of its authority.
    """

    name: str
    kubeconfig: Path
    kubectl: Path | None
    expire: Callable[[], object]
    aged: Callable[[str], str]
    restart: Callable[[], object]
    reissue: Callable[[], object]
    url: str = field(init=False)
    tls: ssl.SSLContext = field(init=False)
    headers: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        config = json.loads(self.kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        if "client-certificate-data" in user:
            _load_certificate(tls, user)
        headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        for name, value in (("url", cluster["server"]), ("tls", tls), ("headers", headers)):
            object.__setattr__(self, name, value)


def _load_certificate(tls: ssl.SSLContext, user: dict[str, str]) -> None:
    with tempfile.NamedTemporaryFile() as pair:
        for name in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[name]))
        pair.flush()
        tls.load_cert_chain(pair.name)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any
    content_type: str
    headers: dict[str, str]

    def ok(self) -> Any:
        assert 200 <= self.status < 300, f"{self.status}: {self.body}"
        return self.body

    def refused(self, status: int, reason: str = "") -> Any:
        """The Status body of a refusal, which must be one."""
        assert self.status == status, f"{self.status}: {self.body}"
        assert self.body["kind"] == "Status", self.body
        assert self.body["apiVersion"] == "v1"
        assert self.body["status"] == "Failure"
        assert self.body["code"] == status
        if reason:
            assert self.body["reason"] == reason, self.body
        return self.body

    def causes(self) -> set[tuple[str, str]]:
        """(reason, field) of everything an invalid object was refused for."""
        return {(cause["reason"], cause["field"]) for cause in self.refused(422, "Invalid")["details"]["causes"]}


class Watch:
    """Events of one watch, in order."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.status = answer.status
        self._answer = answer

    async def event(self, patience: float = PATIENCE) -> tuple[str, Any]:
        async with asyncio.timeout(patience):
            line = await self._answer.content.readline()
        if not line:
            return "CLOSED", None
        event = json.loads(line)
        return event["type"], event["object"]

    async def brief(self) -> tuple[str, str]:
        """Type and name of the next event."""
        kind, thing = await self.event()
        return kind, thing["metadata"]["name"]

    async def until(self, wanted: str) -> Any:
        """Skip to the next event of this type."""
        while True:
            kind, thing = await self.event()
            if kind == wanted:
                return thing
            assert kind not in ("CLOSED", "ERROR"), (kind, thing)


class Api:
    """Requests to one server. Open only while a test runs."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self.server.tls)
            self._session = aiohttp.ClientSession(
                self.server.url, connector=connector, headers=self.server.headers, read_bufsize=2**22
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # aborted transports report their end in the loop's next round

    async def request(self, method: str, path: str, body: Any = None, content: str = "", **query: Any) -> Answer:
        headers = {"Content-Type": content or "application/json"}
        if accept := query.pop("accept", ""):
            headers["Accept"] = accept
        async with self.session.request(method, path, data=_encoded(body), headers=headers, params=query) as answer:
            raw = await answer.read()
            # OpenAPI documents come as text; what looks like an object is one.
            parsed = json.loads(raw) if raw.startswith(b"{") else raw.decode(errors="replace")
            return Answer(answer.status, parsed, answer.headers.get("Content-Type", ""), dict(answer.headers))

    async def get(self, path: str, **query: Any) -> Answer:
        return await self.request("GET", path, **query)

    async def post(self, path: str, body: Any, **query: Any) -> Answer:
        return await self.request("POST", path, body, **query)

    async def put(self, path: str, body: Any, **query: Any) -> Answer:
        return await self.request("PUT", path, body, **query)

    async def patch(self, path: str, body: Any, content: str = MERGE, **query: Any) -> Answer:
        return await self.request("PATCH", path, body, content, **query)

    async def delete(self, path: str, body: Any = None, **query: Any) -> Answer:
        return await self.request("DELETE", path, body, **query)

    async def apply(self, path: str, body: Any, manager: str, **query: Any) -> Answer:
        return await self.request("PATCH", path, body, APPLY, fieldManager=manager, **query)

    @asynccontextmanager
    async def watch(self, path: str, **query: Any) -> AsyncIterator[Watch]:
        headers = {"Accept": query.pop("accept", "application/json")}
        async with self.session.get(path, params={"watch": "true", **query}, headers=headers) as answer:
            try:
                yield Watch(answer)
            finally:
                # Closed in the middle of a stream, TLS would wait for a goodbye the loop does not live to hear.
                if answer.connection is not None and answer.connection.transport is not None:
                    answer.connection.transport.abort()

    async def until(self, path: str, true: Callable[[Answer], bool], patience: float = PATIENCE) -> Answer:
        """Ask until the answer pleases; controllers take their time."""
        return await until(lambda: self.get(path), true, patience)


def _encoded(body: Any) -> io.BytesIO | None:
    if body is None:
        return None
    return io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())


async def until(
    ask: Callable[[], Awaitable[Answer]], true: Callable[[Answer], bool], patience: float = PATIENCE
) -> Any:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while True:
        answer = await ask()
        if true(answer):
            return answer
        if loop.time() > deadline:
            raise AssertionError(f"not within {patience} s; last: {answer.status} {answer.body}")
        await asyncio.sleep(LOOK_EVERY)


def gone(answer: Answer) -> bool:
    return answer.status == 404


def asked(server: Server, scenario: Callable[[Api], Awaitable[T]]) -> T:
    """What comes of a scenario over one session."""

    async def run() -> T:
        api = Api(server)
        try:
            return await scenario(api)
        finally:
            await api.close()

    return asyncio.run(run())
