"""What a user may say about AWS, what tests may change about time, and who is told what happens there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from dovetail.clouds.aws.batching import FLEETS, Window
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.instances import Windows
from dovetail.clouds.aws.interruption import Tally, Watch
from dovetail.clouds.aws.intervals import Intervals
from dovetail.clouds.aws.parse import RULES
from dovetail.core.catalog.allocatable import NodeRules


@dataclass(frozen=True, slots=True)
class Options:
    """`home` is the cluster machines join, at least its name; `kubernetes` says its version at any time and
    `name_server` where its name server is, "" while nobody knows. `rules` are how nodes are set up where a class does
    not say. `queue` is where interruptions are told, "" for nowhere.

    `isolated`: the network does not reach Pricing, nor perhaps IAM. `probes`: node classes are tried with dry runs.
    `reserved`: their reservations are bought from. `read_only`: nothing is made, ended or written, for a controller
    that only tells. `zonal_shift`: zones that ARC has shifted away from are left alone. `reboots`: machines are
    restarted where that may repair them. `formulas`: kubelet blocks of classes may have expressions. `intervals`: how
    often EC2 is asked what classes select.
    """

    home: Home
    kubernetes: Callable[[], str]
    rules: NodeRules = RULES
    queue: str = ""
    isolated: bool = False
    probes: bool = True
    reserved: bool = True
    read_only: bool = False
    zonal_shift: bool = False
    name_server: Callable[[], str] = str
    reboots: bool = False
    formulas: bool = False
    intervals: Intervals = field(default_factory=Intervals)


@dataclass(frozen=True, slots=True)
class Habits:
    """Where time comes from (seconds since 1970), and how long wishes are collected."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    fleets: Window = FLEETS
    windows: Windows = field(default_factory=Windows)


@dataclass(frozen=True, slots=True)
class Miss:
    """A pool that a fleet could not be filled from, and EC2's word for why."""

    zone: str
    zone_id: str
    capacity_type: str
    reason: str


class Ears(Protocol):
    """Who wants to know what becomes of purchases: metrics, or a test."""

    def batched(self, batcher: str, size: int, seconds: float) -> None:
        """So many wishes became one call after so long."""

    def missed(self, one: Miss) -> None: ...

    def unhealthy(self, category: str) -> None:
        """EC2's own checks say that a machine is."""

    def kept(self, zone: str, zone_id: str) -> None:
        """A machine there could not be ended."""

    @property
    def interruptions(self) -> Watch:
        """Who counts messages of the queue."""


class Deaf:
    """Nobody does."""

    def batched(self, batcher: str, size: int, seconds: float) -> None:
        return

    def missed(self, one: Miss) -> None:
        return

    def unhealthy(self, category: str) -> None:
        return

    def kept(self, zone: str, zone_id: str) -> None:
        return

    @property
    def interruptions(self) -> Watch:
        return Tally()
