"""A command on its way: what to do next, judged from what can be seen.

    started → waiting for replacements → draining, node by node → done
                       └── failed: everything is put back, replacements included

Nothing is remembered that the API server does not hold as well: which claims were made for the command, which nodes
carry its taint. A node is drained as soon as the replacements *it* needs are initialized. A command fails when a
replacement is gone before it came up, or when it takes too long and nothing of it was drained yet; once a node of it
goes, it is seen through. What was bought for a failed command and holds nobody's pods is given back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dovetail.core.disruption.commands import Command

#: A command may take longer the more nodes are on their way, within these bounds.
_SECONDS_A_NODE, _LEAST_SECONDS, _MOST_SECONDS = 0.08, 600.0, 3600.0


class Seen(StrEnum):
    """What has become of a replacement."""

    COMING = "coming"
    UP = "initialized"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Running:
    """A command that was started. `claims` are the names its replacements got, in their order."""

    command: Command
    started: float
    claims: tuple[str, ...] = ()
    #: Nodes whose claims were deleted already.
    drained: frozenset[str] = frozenset()
    #: When its nodes go whether or not replacements are up: a cloud takes them away (`interrupting`).
    drain_by: float | None = None


@dataclass(frozen=True, slots=True)
class Next:
    """What to do now: nodes to drain, or everything to be undone and why."""

    drain: tuple[str, ...] = ()
    failed: str = ""
    #: Replacements to give back, if it failed.
    giving_back: tuple[str, ...] = ()
    done: bool = False
    again: float | None = None


def time_limit(queued: int) -> float:
    """How long a command may take, with so many nodes on their way altogether."""
    return min(_MOST_SECONDS, max(_LEAST_SECONDS, queued * _SECONDS_A_NODE))


_POLL: Final = 1.0


def next_step(running: Running, seen: Mapping[str, Seen], queued: int, now: float) -> Next:
    """Judge a running command by its replacements; `seen` is by claim name."""
    left = [name for name in running.command.names if name not in running.drained]
    if not left:
        return Next(done=True)
    lost = [name for name in running.claims if seen.get(name, Seen.GONE) is Seen.GONE]
    ready = tuple(name for name in left if _is_ready(running, name, seen))
    if ready:
        return Next(drain=ready, done=len(ready) == len(left), again=_POLL)
    if running.drain_by is not None and (lost or now >= running.drain_by):
        return Next(drain=tuple(left), done=True)
    if lost:
        return _failed(running, seen, f"replacement {lost[0]} is gone before it came up")
    if now - running.started > time_limit(queued):
        waiting = ", ".join(name for name in running.claims if seen[name] is not Seen.UP)
        return _failed(running, seen, f"replacements did not come up in time: {waiting}")
    return Next(again=_POLL)


def _is_ready(running: Running, name: str, seen: Mapping[str, Seen]) -> bool:
    """Whether everything one node waits for is up."""
    command = running.command
    if command.templates:
        return all(seen.get(one) is Seen.UP for one in running.claims)
    numbers = dict(zip(command.group.names, command.group.needs, strict=True)).get(name, ())
    return all(seen.get(running.claims[number]) is Seen.UP for number in numbers if number < len(running.claims))


def _failed(running: Running, seen: Mapping[str, Seen], why: str) -> Next:
    return Next(failed=why, giving_back=given_back(running, seen))


def given_back(running: Running, seen: Mapping[str, Seen]) -> tuple[str, ...]:
    """What was bought for nobody: where some nodes went already, their pods may be on it."""
    needed: set[str] = set()
    command = running.command
    for name, numbers in zip(command.group.names, command.group.needs, strict=True):
        if name in running.drained:
            needed |= {running.claims[number] for number in numbers if number < len(running.claims)}
    there = (name for name in running.claims if seen.get(name, Seen.GONE) is not Seen.GONE)
    return tuple(name for name in there if name not in needed)
