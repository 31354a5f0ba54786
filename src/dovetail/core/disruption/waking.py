"""When a world will be judged otherwise though nothing happens to it.

Time alone opens windows and closes them, ends the looking-on after a wave, forgets a failure, lets a market be trusted
again, a saving be believed and more nodes return to spot. None of it is an event in the cluster, so the loop asks when
to look by itself.
"""

from __future__ import annotations

from dovetail.core.disruption import regrets, returning, rollouts, timelines
from dovetail.core.disruption.facts import World


def next_wake(world: World) -> float | None:
    """The first such moment after now; None where there is none in sight."""
    found = (timelines.next_wake(world), rollouts.wakes(world), returning.wakes(world), regrets.wakes(world))
    return min((one for one in found if one is not None and one > world.now), default=None)
