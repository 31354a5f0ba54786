"""When a machine is seen, runs, shuts down and is gone: states follow from the world's clock, not from who asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from tools.aws_server.world import WORLD, Life

CODES: Final = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}
_ENDED: Final = ("shutting-down", "terminated")


def begin(instance: Any) -> None:
    WORLD.lives[instance.id] = Life(WORLD.now, replace(WORLD.waits))


def life_of(instance: Any) -> Life:
    """A machine that was made by other means than a fleet begins when it is first looked at."""
    return WORLD.lives.setdefault(instance.id, Life(WORLD.now))


def end(instance: Any) -> str:
    """Tell a machine to go; the state it was in. Telling it again changes nothing."""
    life, before = life_of(instance), state_of(instance)
    if life.ended is None:
        life.ended = WORLD.now
        life.waits.shutdown = WORLD.waits.shutdown
        for nic in instance.nics.values():
            nic.delete_on_termination = nic.id not in getattr(instance, "brought_nics", ())
        instance.terminate()
    return before


def stop(instance: Any) -> None:
    """Somebody stops a machine; its disks and its interface stay."""
    instance._state.name, instance._state.code = "stopped", CODES["stopped"]


def state_of(instance: Any) -> str:
    life, now = life_of(instance), WORLD.now
    if life.ended is not None:
        return "shutting-down" if now < life.ended + life.waits.shutdown else "terminated"
    if instance.state in _ENDED or instance.state.startswith("stop"):
        return str(instance.state)
    return "pending" if now < life.born + life.waits.boot else "running"


def is_live(instance: Any) -> bool:
    return state_of(instance) not in _ENDED


def is_seen(instance: Any) -> bool:
    """Describes are behind: they miss what has just been made. After an hour they forget what was terminated."""
    life, now = life_of(instance), WORLD.now
    if life.ended is not None and now > life.ended + life.waits.remembered:
        return False
    return now >= life.born + life.waits.seen


def everyone(backend: Any) -> Iterator[Any]:
    """All machines there ever were, terminated ones too."""
    for reservation in list(backend.reservations.values()):
        yield from list(reservation.instances)
