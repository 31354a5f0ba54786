"""A curve whose points have names, as an SVG on two linear axes: what one setting does to two figures at once."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from bench.plot import BOTTOM, COLOURS, GREY, HEIGHT, LEFT, RIGHT, TOP, WIDTH, rule, text

_TICKS = 5
_ROOM = 0.08


@dataclass(frozen=True, slots=True)
class Point:
    name: str
    across: float
    up: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Points in their order, joined; a curve of one point is a mark."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Words:
    title: str
    across: str
    up: str


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> Iterator[float]:
        step = _step((self.high - self.low) / _TICKS)
        first = math.ceil(self.low / step)
        return (number * step for number in range(first, math.floor(self.high / step) + 1))


def _step(rough: float) -> float:
    """The next larger of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def drawn(words: Words, curves: Sequence[Curve]) -> str:
    points = [point for curve in curves for point in curve.points]
    x = _axis([one.across for one in points], LEFT, WIDTH - RIGHT)
    y = _axis([one.up for one in points], HEIGHT - BOTTOM, TOP)
    shown = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="{GREY}">',
        f"<title>{escape(words.title)}</title>",
        text(LEFT, 22, words.title, "start"),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, words.across, "middle"),
        text(LEFT, 38, words.up, "start"),
        *_grid(x, y),
    ]
    for curve, colour in zip(curves, COLOURS, strict=False):
        shown += _curve(curve, colour, x, y)
    return "\n".join((*shown, "</svg>", ""))


def _axis(values: Sequence[float], start: float, end: float) -> _Axis:
    low, high = min(values), max(values)
    room = (high - low) * _ROOM or abs(high) * _ROOM or 1.0
    return _Axis(low - room, high + room, start, end)


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for value in x.ticks:
        yield rule(x.at(value), y.start, x.at(value), y.end)
        yield text(x.at(value), y.start + 18, f"{value:,g}", "middle")
    for value in y.ticks:
        yield rule(x.start, y.at(value), x.end, y.at(value))
        yield text(x.start - 8, y.at(value) + 4, f"{value:,g}", "end")


def _curve(curve: Curve, colour: str, x: _Axis, y: _Axis) -> Iterator[str]:
    places = [(x.at(one.across), y.at(one.up), one) for one in curve.points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b, _ in places)
    yield f'<g fill="{colour}"><polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for a, b, one in places:
        told = f"{one.name}: {one.across:,.6g}, {one.up:,.6g}"
        yield f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4"><title>{escape(told)}</title></circle>'
        yield text(a + 7, b - 7, one.name, "start")
    yield "</g>"
