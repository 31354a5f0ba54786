"""`windows preview`: when each pool lets nodes go, drawn by days.

A row is a day where the reader lives, a mark half an hour of it as the clocks there show it. On the day clocks go
forward some marks stay blank, since those times do not come; on the day they go back two half hours share a mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core import timestamps
from dovetail.core.disruption.budgets import UNLIMITED
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import counted
from dovetail.core.disruption.timelines import Stretch
from dovetail.core.disruption.zones import Zone
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.table import printable

_CELL_SECONDS: Final = 1800
_CELLS: Final = 48
_DAY: Final = 86400
_ALL, _SOME, _PART, _NONE, _BLANK = "█", "▄", "░", "·", " "
_LEGEND: Final = f"{_ALL} all nodes may go  {_SOME} some  {_PART} not all of the %s  {_NONE} none"
LEGEND: Final = _LEGEND % "half hour"
_WEEKDAYS: Final = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MARGIN: Final = 16
_TICK_HOURS: Final = 3

Stretches = tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class PoolWindows:
    """What one pool of so many nodes allows over a time. `assumed`: nobody has seen nodes of it."""

    name: str
    nodes: int
    assumed: bool
    reasons: Mapping[Reason, Stretches]

    def alike(self) -> Iterable[tuple[tuple[Reason, ...], Stretches]]:
        """Reasons that are allowed the same at all times, together."""
        found: dict[tuple[tuple[float, int], ...], list[Reason]] = {}
        for reason, stretches in self.reasons.items():
            found.setdefault(tuple((one.since, one.count) for one in stretches), []).append(reason)
        for reasons in found.values():
            yield tuple(reasons), self.reasons[reasons[0]]


@dataclass(frozen=True, slots=True)
class Preview:
    since: float
    until: float
    zone: Zone
    pools: tuple[PoolWindows, ...]


# ---- JSON


def wire(preview: Preview) -> dict[str, object]:
    """The documented JSON."""
    return {
        "from": timestamps.text(preview.since),
        "until": timestamps.text(preview.until),
        "timezone": preview.zone.name,
        "pools": [
            {
                "nodePool": pool.name,
                "nodes": pool.nodes,
                "assumed": pool.assumed,
                "reasons": [
                    {"reason": str(reason), "stretches": [_stretch_wire(one) for one in stretches]}
                    for reason, stretches in pool.reasons.items()
                ],
            }
            for pool in preview.pools
        ],
    }


def _stretch_wire(one: Stretch) -> dict[str, object]:
    return {
        "from": timestamps.text(one.since),
        "until": timestamps.text(one.until),
        "nodes": None if one.count >= UNLIMITED else one.count,
        "because": str(one.allowance),
    }


# ---- for people


def text(preview: Preview, width: int | None = None, paint: Paint = PLAIN) -> str:
    """A chart for each pool, and what each level of it comes from. On a narrow terminal a mark is an hour."""
    halves = 1 if width is None or width >= _MARGIN + _CELLS else 2
    parts = []
    for pool in preview.pools:
        seen = f"{pool.nodes} assumed" if pool.assumed else counted(pool.nodes, "node")
        parts.append(f"{paint(Style.HEADING, printable(pool.name))}  {seen}, times of {preview.zone.name}\n")
        for reasons, stretches in pool.alike():
            parts.append(f"\n  {paint(Style.NAME, ', '.join(reasons))}\n{paint(Style.DIM, _axis(halves))}\n")
            parts += (f"{line}\n" for line in _rows(stretches, pool.nodes, preview, halves, paint))
            parts += (f"    {paint(Style.DIM, line)}\n" for line in _levels(stretches, pool.nodes))
        parts.append("\n")
    legend = LEGEND if halves == 1 else _LEGEND % "hour"
    return "".join(parts) + (f"{paint(Style.DIM, legend)}\n" if parts else "")


def _axis(halves: int) -> str:
    ticks = (f"{hour:02d}" for hour in range(0, 24, _TICK_HOURS))
    return " " * _MARGIN + "".join(tick.ljust(_TICK_HOURS * 2 // halves) for tick in ticks).rstrip()


def _rows(stretches: Stretches, nodes: int, preview: Preview, halves: int, paint: Paint) -> Iterable[str]:
    days: dict[int, list[set[str]]] = {}
    for moment in _half_hours(preview):
        day, cell = divmod(int(preview.zone.wall(moment)) // _CELL_SECONDS, _CELLS)
        marks = days.setdefault(day, [set() for _ in range(_CELLS)])[cell]
        marks |= _marks(stretches, moment, nodes)
    for day, cells in days.items():
        bar = "".join(_mark(set().union(*cells[at : at + halves])) for at in range(0, _CELLS, halves))
        yield f"    {_date(day)}".ljust(_MARGIN) + paint(_style(bar), bar.rstrip())


def _half_hours(preview: Preview) -> Iterable[float]:
    """The beginning of every half hour that is drawn, as the clocks there divide hours."""
    moment = preview.since - preview.zone.wall(preview.since) % _CELL_SECONDS
    while moment < preview.until:
        yield moment
        moment += _CELL_SECONDS


def _marks(stretches: Stretches, moment: float, nodes: int) -> set[str]:
    ends = moment + _CELL_SECONDS
    return {_level(one.count, nodes) for one in stretches if one.since < ends and one.until > moment}


def _level(count: int, nodes: int) -> str:
    if count <= 0:
        return _NONE
    return _ALL if count >= nodes else _SOME


def _mark(marks: set[str]) -> str:
    if not marks:
        return _BLANK
    return next(iter(marks)) if len(marks) == 1 else _PART if _NONE in marks else _SOME


def _style(bar: str) -> Style | None:
    drawn = set(bar.strip())
    return Style.BAD if drawn == {_NONE} else Style.GOOD if drawn == {_ALL} else None


def _date(day: int) -> str:
    written = timestamps.text(float(day * _DAY))
    return f"{_WEEKDAYS[day % 7]} {written[8:10]} {_MONTHS[int(written[5:7]) - 1]}"


def _levels(stretches: Sequence[Stretch], nodes: int) -> Iterable[str]:
    """Each thing that decides, once, in the order in which it does."""
    told = dict.fromkeys((_level(one.count, nodes), str(one.allowance)) for one in stretches)
    return (printable(f"{mark} {why}") for mark, why in told)
