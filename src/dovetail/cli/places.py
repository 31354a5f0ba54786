"""Where machines are bought during one run of the controller: what each cloud has to bring along."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dovetail.cli.console import Console
from dovetail.settings.operator import Operator

if TYPE_CHECKING:
    from dovetail.controllers.controller import Choices
    from dovetail.controllers.metrics import Metrics
    from dovetail.controllers.operator import Actor
    from dovetail.kube.client import Client
    from dovetail.kube.config import ClusterConfig


@dataclass(frozen=True, slots=True)
class Run:
    """One run: what was asked for, and what everybody in it shares."""

    flags: Namespace
    chosen: Operator
    console: Console
    cluster: ClusterConfig
    client: Client
    metrics: Metrics


class Place(Protocol):
    """A cloud that is ready to be used."""

    @property
    def region(self) -> str:
        """For prices that a user gave for one region; "" where there is no such thing."""

    @property
    def well_known(self) -> frozenset[str]:
        """Labels that its nodes have without anybody saying so."""

    def actor(self, choices: Choices, may_act: Callable[[], bool]) -> Actor:
        """A controller that knows nothing yet, for one term of office."""

    async def beside(self) -> None:
        """What goes on for the whole run, whoever is in office. May end at once."""
