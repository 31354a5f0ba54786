"""Which market an instance is bought on, and what may become of it (R11, R22, R23).

Both kinds that may be taken away are asked not to be restarted and to end when their host is worked on: Compute Engine
insists on it, and a machine that came back by itself would be a second life of the same Machine. There are two, and one
ends after a day: `preemptible`, which is always stopped, and `Spot`, whose end can be chosen. A machine that cannot be
taken away is left to Compute Engine's own defaults (R8): moved where it can be, restarted after its host broke.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.api.fields import Fields
from dovetail.core import timestamps
from dovetail.core.errors import BadInput
from dovetail.core.machines.infra_objects import Market, Wanted

Json = dict[str, Any]
_MIGRATE, _TERMINATE = "MIGRATE", "TERMINATE"
_MAINTENANCE: Final = {"Migrate": _MIGRATE, "Terminate": _TERMINATE}
_STOP: Final = "STOP"
_ACTIONS: Final = (_STOP, "DELETE")
#: What Compute Engine takes for the longest run.
_SHORTEST_RUN, _LONGEST_RUN = 30, 120 * 86400


def scheduling(spec: Fields, wanted: Wanted, *, bound: bool) -> Json:
    """`bound` is whether the instance is tied to its host, by accelerators or by memory nobody may read."""
    on_maintenance = _on_maintenance(spec, wanted, bound)
    asked: Json = {"onHostMaintenance": on_maintenance} if on_maintenance else {}
    if wanted.market.is_interruptible:
        asked["automaticRestart"] = False
    if wanted.market is Market.PREEMPTIBLE:
        asked["preemptible"] = True
    if wanted.market is Market.SPOT:
        asked["provisioningModel"] = "SPOT"
    return asked | _ending(spec, wanted)


def _on_maintenance(spec: Fields, wanted: Wanted, bound: bool) -> str:
    written = spec.text("onHostMaintenance")
    if written is not None and written not in _MAINTENANCE:
        raise spec.bad("onHostMaintenance", "write Migrate or Terminate")
    if not wanted.market.is_interruptible:
        return _MAINTENANCE[written] if written else (_TERMINATE if bound else "")
    if written == "Migrate":
        raise spec.bad("onHostMaintenance", "a machine that may be taken away is never moved; leave it out")
    return _TERMINATE


def _ending(spec: Fields, wanted: Wanted) -> Json:
    """What becomes of the instance at its end, and when that is at the latest."""
    action, run = spec.text("instanceTerminationAction"), _longest_run(spec)
    if action is not None and action not in _ACTIONS:
        raise spec.bad("instanceTerminationAction", "write STOP or DELETE")
    if wanted.market is Market.PREEMPTIBLE:
        for name in ("instanceTerminationAction", "maxRunDuration"):
            if spec.has(name):
                problem = "a preemptible machine is always stopped, after a day at most; use provisioningModel Spot"
                raise spec.bad(name, problem)
        return {}
    if action is not None and wanted.market is Market.ON_DEMAND and run is None:
        raise spec.bad("instanceTerminationAction", "needs provisioningModel Spot, or maxRunDuration, beside it")
    ends: Json = {}
    if wanted.market is Market.SPOT or run is not None:
        ends["instanceTerminationAction"] = action or _STOP
    if run is not None:
        ends["maxRunDuration"] = {"seconds": str(run)}
    return ends


def _longest_run(spec: Fields) -> int | None:
    written = spec.text("maxRunDuration")
    if written is None:
        return None
    try:
        seconds = int(timestamps.duration(written))
    except BadInput as bad:
        raise spec.bad("maxRunDuration", str(bad)) from None
    if not _SHORTEST_RUN <= seconds <= _LONGEST_RUN:
        raise spec.bad("maxRunDuration", f"{written} is not between 30 seconds and 120 days")
    return seconds
