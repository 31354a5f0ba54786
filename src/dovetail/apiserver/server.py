"""The embedded Kubernetes API server: an in-memory cluster behind a socket.

    async with EmbeddedServer() as server:
        server.url              where it listens
        server.kubeconfig()     how to reach it
        server.store            the objects, without HTTP
        server.faults           bad days for tests

It runs in the caller's event loop, binds loopback unless told otherwise, and keeps nothing when it ends. Whoever has
the token may do everything; there is no RBAC.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self

from aiohttp import web

from dovetail.apiserver import bootstrap
from dovetail.apiserver.api import Api
from dovetail.apiserver.faults import Faults
from dovetail.apiserver.storage import Bounds
from dovetail.apiserver.tokens import Tokens

LOOPBACK: Final = "127.0.0.1"
#: The real server sends one about every minute.
BOOKMARK_SECONDS: Final = 60.0
#: How long requests may take to finish once the server is asked to end; nothing here takes long.
_PATIENCE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Options:
    """How to run. Port 0 takes any that is free; without a token one is made up."""

    host: str = LOOPBACK
    port: int = 0
    tls: bool = True
    token: str = ""
    bookmark_seconds: float = BOOKMARK_SECONDS
    bounds: Bounds | None = None
    clock: Callable[[], datetime] | None = None
    #: Whether anything happens by itself: workloads become pods, pods are bound, what is owned goes with its owner.
    controllers: bool = True
    #: Whether bound pods are said to run. Nothing ever does.
    fake_kubelet: bool = False


class EmbeddedServer:
    """One server; used as an asynchronous context manager."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.store = bootstrap.new_cluster(self.options.clock, self.options.bounds)
        self.faults = Faults(self.store.storage)
        self.tokens = Tokens(self.store.now)
        self.token = self.tokens.issue(self.options.token)
        self.port = self.options.port
        #: What clients must trust; empty without TLS.
        self.authority = b""
        self._context = self._new_context() if self.options.tls else None
        self._runner: web.ServerRunner | None = None
        self._opened = AsyncExitStack()
        self.faults.wire(self._stop_listening, self._listen, self._reissue)

    @property
    def url(self) -> str:
        host = f"[{self.options.host}]" if ":" in self.options.host else self.options.host
        return f"{'https' if self.options.tls else 'http'}://{host}:{self.port}"

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:
            if self.options.controllers:
                await opened.enter_async_context(self._controllers())
            await self._listen()
            opened.push_async_callback(self._stop_listening)
            self._opened = opened.pop_all()
        return self

    def _controllers(self) -> AbstractAsyncContextManager[object]:
        # They bring the planner's scheduler along, which a server without them need not load.
        from dovetail.apiserver import controllers

        return controllers.Controllers(self.store, controllers.Options(fake_kubelet=self.options.fake_kubelet))

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    def kubeconfig(self) -> dict[str, Any]:
        """What kubectl and every client needs to reach this server."""
        cluster: dict[str, Any] = {"server": self.url}
        if self.authority:
            cluster["certificate-authority-data"] = base64.b64encode(self.authority).decode()
        name = "dovetail"
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {"token": self.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
            "current-context": name,
            "preferences": {},
        }

    async def _listen(self) -> None:
        api = Api(self.store, self.tokens, self.faults, self.options.bookmark_seconds)
        server = web.Server(api, access_log=None, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=_PATIENCE_SECONDS)
        await self._runner.setup()
        site = web.TCPSite(
            self._runner,
            self.options.host,
            self.port,
            ssl_context=self._context,
            reuse_address=True,
        )
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _stop_listening(self) -> None:
        runner, self._runner = self._runner, None
        if runner is None:
            return
        self.faults.cut_watches()
        await runner.cleanup()

    def _new_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._certify(context, new_authority=True)
        return context

    def _reissue(self, new_authority: bool) -> None:
        if self._context is not None:
            self._certify(self._context, new_authority=new_authority)

    def _certify(self, context: ssl.SSLContext, *, new_authority: bool) -> None:
        from dovetail.apiserver import certificates

        if new_authority:
            self._signer = certificates.new_authority()
            self.authority = self._signer.pem
        certificates.load_server_certificate(context, self._signer, self.options.host)
