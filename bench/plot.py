"""A log-log plot as an SVG, written by hand: a few lines in a square, read in light and in dark."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 24, 44, 52
COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by those who do not see red and green apart, too
GREY = "#808080"


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its name and its points, both coordinates above 0."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class _Axis:
    """Whole powers of ten from `low` to `high`, drawn from pixel `start` to pixel `end`."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> Iterator[float]:
        return (10.0**power for power in range(self.low, self.high + 1))


def drawn(title: str, across: str, lines: Sequence[Line]) -> str:
    """The plot: seconds upwards, `across` to the right."""
    points = [point for line in lines for point in line.points]
    x = _axis([one for one, _ in points], LEFT, WIDTH - RIGHT)
    y = _axis([one for _, one in points], HEIGHT - BOTTOM, TOP)
    shown = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="{GREY}">',
        f"<title>{escape(title)}</title>",
        text(LEFT, 22, title, "start"),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, across, "middle"),
        *_grid(x, y),
    ]
    for line, colour in zip(lines, COLOURS, strict=False):
        shown += _curve(line, colour, x, y)
    return "\n".join((*shown, "</svg>", ""))


def _axis(values: Sequence[float], start: float, end: float) -> _Axis:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return _Axis(low, max(high, low + 1), start, end)


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for value in x.ticks:
        at = x.at(value)
        yield rule(at, y.start, at, y.end)
        yield text(at, y.start + 18, f"{value:,.0f}", "middle")
    for value in y.ticks:
        at = y.at(value)
        yield rule(x.start, at, x.end, at)
        yield text(x.start - 8, at + 4, _seconds(value), "end")


def _seconds(value: float) -> str:
    for factor, name in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1 - 1e-9:
            return f"{value * factor:,.0f} {name}"
    return f"{value:g} s"


def rule(x1: float, y1: float, x2: float, y2: float) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{GREY}" stroke-opacity="0.3"/>'


def text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _curve(line: Line, colour: str, x: _Axis, y: _Axis) -> Iterator[str]:
    places = [(x.at(across), y.at(up)) for across, up in sorted(line.points)]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    yield f'<g fill="{colour}"><polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for (a, b), (across, up) in zip(places, sorted(line.points), strict=True):
        yield f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4"><title>{across:,.0f}: {up:.3g} s</title></circle>'
    a, b = places[-1]
    yield text(a - 8, b - 10, line.name, "end") + "</g>"
