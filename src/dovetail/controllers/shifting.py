"""Zones that traffic was shifted away from, told on every pool: why nothing is bought there is asked of pools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dovetail.controllers.cluster import Cluster
from dovetail.core.effects import Ref, Say

if TYPE_CHECKING:
    from dovetail.clouds.aws.shifts import Change

ACTIVE: Final = "ZonalShiftActive"
CLEARED: Final = "ZonalShiftCleared"


@dataclass(frozen=True, slots=True)
class ShiftEvents:
    """Listens to `clouds.aws.cloud.AwsCloud.on_shift`."""

    cluster: Cluster
    say: Callable[[Say], None]

    def __call__(self, change: Change) -> None:
        reason, told = (ACTIVE, _AWAY) if change.active else (CLEARED, _BACK)
        for one in self.cluster.pools:
            about = Ref("NodePool", one.value.name, one.value.meta.uid)
            dedupe = (one.value.name, change.zone, reason)
            self.say(Say(about, reason, told.format(zone=change.zone), warning=change.active, dedupe=dedupe))


_AWAY: Final = "zone {zone} is shifted away from: nothing is bought there, and nodes there are left alone"
_BACK: Final = "zone {zone} is no longer shifted away from: machines are bought there again"
