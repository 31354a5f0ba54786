"""One replica of the controller: it serves its probes, wants the lease, and acts while it holds it.

Losing the lease cancels everything that acts, before anybody else may begin; the process lives on and wants the lease
again. A signal ends it: first what acts, then the lease is given back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from dovetail.controllers import web
from dovetail.controllers.metrics import Metrics
from dovetail.kube.client import Client
from dovetail.kube.clock import Clock
from dovetail.kube.lease import Elector, Terms

_log: Final = logging.getLogger(__name__)
#: A coroutine to run, and whether it has seen everything.
Actor = tuple[Callable[[], Awaitable[None]], Callable[[], bool]]
#: After a crash of everything that acts, which only a fault of ours can cause, it begins anew after this long.
_RESTART_SECONDS: Final = 5.0


@dataclass(slots=True)
class Replica:
    """Whoever runs here. `make` gives a fresh actor, who asks what it is given before doing what only one may do."""

    client: Client
    make: Callable[[Callable[[], bool]], Actor]
    metrics: Metrics
    terms: Terms | None
    bind: str = "127.0.0.1"
    metrics_port: int = 8080
    health_port: int = 8081
    clock: Clock = field(default_factory=Clock)
    _synced: Callable[[], bool] = lambda: False
    _leads: bool = False
    _may_act: Callable[[], bool] = lambda: True

    async def run(self) -> None:
        """Until cancelled."""
        health = {"/healthz": self._healthy, "/livez": self._healthy, "/readyz": self._ready}
        routes = {"/metrics": self._measured}
        async with (
            web.served(self.bind, self.metrics_port, routes),
            web.served(self.bind, self.health_port, health),
        ):
            if self.terms is None:
                await self._act_forever()
            else:
                await self._act_while_leading(self.terms)

    async def _measured(self) -> tuple[int, str]:
        return 200, await self.metrics.page()

    async def _healthy(self) -> tuple[int, str]:
        return 200, "ok"

    async def _ready(self) -> tuple[int, str]:
        """A replica that waits for the lease is as ready as it can be."""
        if self._leads and not self._synced():
            return 503, "not everything has been seen yet"
        return 200, "ok"

    async def _act_forever(self) -> None:
        while True:
            await self._term()
            await asyncio.sleep(_RESTART_SECONDS)

    async def _term(self) -> None:
        """One term of office; a fault of ours ends it, and is told."""
        try:
            run, self._synced = self.make(self._may_act)
            self._leads = True
            await run()
        except* Exception as failed:  # noqa: BLE001  (the supervisor of last resort)
            _log.error("a fault of dovetail ended everything that acts; it begins anew", exc_info=failed)
        finally:
            self._leads = False

    async def _act_while_leading(self, terms: Terms) -> None:
        acting: asyncio.Task[None] | None = None

        def lost() -> None:
            if acting is not None:
                acting.cancel()

        elector = Elector(self.client.within(terms.retry * 2), terms, clock=self.clock, lost=lost)
        self._may_act = elector.holds
        election = asyncio.create_task(elector.run(), name="election")
        try:
            while True:
                await elector.leading.wait()
                acting = asyncio.create_task(self._act_forever(), name="acting")
                await asyncio.wait({acting, election}, return_when=asyncio.FIRST_COMPLETED)
                if election.done():
                    election.result()
        finally:
            for task in (acting, election):
                if task is not None:
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await task
