"""Rows of figures: ours, the peer's, how they compare, and what was promised.

`ratio` is always *how many times better ours is*: peer / ours where lower is better, ours / peer where higher is.
2.0 means twice as good as the peer and 0.5 half as good, whatever the unit. It is None without a peer's figure.

A promise (`target`) is a limit on our own figure, a ratio to the peer, or both. `met` has three values: a row without
a promise, or whose promise needs a peer's figure on a machine without the peer, is neither met nor missed.

A missed target is work to be done and is shown as such. Being worse than the peer where it `must_hold` that we are not
is another matter: a speed beside it means nothing, and the whole run fails (`broken`).
"""

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "bench"
NO_WORSE = "no more than the peer"


@dataclass(frozen=True, slots=True)
class Row:
    row: str
    unit: str
    ours: float | None
    peer: float | None
    ratio: float | None
    target: str | None
    met: bool | None

    @property
    def must_hold(self) -> bool:
        return self.target == NO_WORSE


def lower(
    row: str,
    unit: str,
    ours: float | None,
    peer: float | None = None,
    *,
    limit: float | None = None,
    times: float | None = None,
) -> Row:
    """A row where less is better. `limit`: ours is to be at most that; `times`: that many times better."""
    ratio = _quotient(peer, ours)
    within = None if ours is None or limit is None else ours <= limit
    words = None if limit is None else f"at most {figure(limit, unit)}"
    return _row(row, unit, ours, peer, ratio, times, _Promise(words, within))


def higher(
    row: str,
    unit: str,
    ours: float | None,
    peer: float | None = None,
    *,
    limit: float | None = None,
    times: float | None = None,
) -> Row:
    """A row where more is better. `limit`: ours is to be at least that; `times`: that many times better."""
    ratio = _quotient(ours, peer)
    within = None if ours is None or limit is None else ours >= limit
    words = None if limit is None else f"at least {figure(limit, unit)}"
    return _row(row, unit, ours, peer, ratio, times, _Promise(words, within))


def no_worse(row: str, unit: str, ours: float, peer: float | None = None, *, excused: bool = False) -> Row:
    """A row where less is better, and more than the peer's fails the run unless something `excused` makes up for it.

    A millionth is forgiven: both sides add up thousands of decimal fractions, each in its own way.
    """
    kept = None if peer is None else excused or ours <= peer * (1 + 1e-6)
    return Row(row, unit, ours, peer, _quotient(peer, ours), NO_WORSE, kept)


@dataclass(frozen=True, slots=True)
class _Promise:
    words: str | None
    kept: bool | None


def _row(
    row: str,
    unit: str,
    ours: float | None,
    peer: float | None,
    ratio: float | None,
    times: float | None,
    limit: _Promise,
) -> Row:
    better = _Promise(
        None if times is None else f"{_times(times)} the peer",
        None if times is None or ratio is None else ratio >= times,
    )
    given = [promise for promise in (limit, better) if promise.words is not None]
    target = " and ".join(promise.words for promise in given if promise.words is not None) or None
    return Row(row, unit, ours, peer, ratio, target, _all(promise.kept for promise in given))


def _all(kept: Iterable[bool | None]) -> bool | None:
    """One broken promise is a miss even where another cannot be judged; none at all is no verdict."""
    verdicts = list(kept)
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True


def _quotient(dividend: float | None, divisor: float | None) -> float | None:
    if dividend is None or divisor is None or divisor == 0:
        return None
    return dividend / divisor


def figure(value: float | None, unit: str) -> str:
    """The number as a person reads it, unit included: 0.0000817 s is 81.7 µs."""
    if value is None:
        return "–"
    if unit == "s":
        for scaled, name in ((value, "s"), (value * 1e3, "ms"), (value * 1e6, "µs"), (value * 1e9, "ns")):
            if abs(scaled) >= 1:
                return f"{_digits(scaled)} {name}"
    return f"{_digits(value)}{'' if unit == 'count' else ' ' + unit}"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{_digits(ratio)}×"


HEADINGS = ("", "ours", "peer", "times better", "target", "met")
_VERDICTS = {True: "yes", False: "NO", None: ""}


def cells(row: Row) -> tuple[str, ...]:
    """A row as the terminal and the docs both show it, in the order of HEADINGS."""
    return (
        row.row,
        figure(row.ours, row.unit),
        figure(row.peer, row.unit),
        _times(row.ratio),
        row.target or "",
        _VERDICTS[row.met],
    )


def table(rows: Sequence[Row]) -> str:
    """Columns aligned for a terminal: names and targets to the left, figures to the right."""
    lines = [HEADINGS, *(cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            text.rjust(width) if 1 <= column <= 3 else text.ljust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def broken(rows: Iterable[Row]) -> list[str]:
    """What must hold and does not, a sentence each."""
    return [
        f"{row.row}: ours is {figure(row.ours, row.unit)}, the peer's {figure(row.peer, row.unit)}"
        for row in rows
        if row.must_hold and row.met is False
    ]


def to_json(rows: Sequence[Row]) -> str:
    return json.dumps([dataclasses.asdict(row) for row in rows], indent=2, allow_nan=False) + "\n"


def from_json(text: str) -> list[Row]:
    return [Row(**entry) for entry in json.loads(text)]


def with_kept(name: str, measured: Iterable[Row]) -> list[Row]:
    """The figures of a benchmark's last run, with these in the place of those of the same name."""
    new = {row.row: row for row in measured}
    return [*(new.pop(row.row, row) for row in kept(name)), *new.values()]


def in_parts(name: str, variable: str, parts: Mapping[str, Callable[[], Iterable[Row]]]) -> list[Row]:
    """All parts of a benchmark, or the one that the environment names, with the last figures of the others."""
    only = chosen(variable, parts)
    if only:
        return with_kept(name, parts[only]())
    return [row for part in parts.values() for row in part()]


def chosen(variable: str, among: Iterable[str]) -> str:
    """What the environment chooses, "" for everything. A word that means nothing ends the run before it begins."""
    only, known = os.environ.get(variable, ""), list(among)
    if only and only not in known:
        raise SystemExit(f"{variable}={only}: there is no such part; there are {', '.join(known)}.")
    return only


def kept(name: str) -> list[Row]:
    """The figures of a benchmark's last run; none before the first."""
    path = RESULTS / f"{name}.json"
    return from_json(path.read_text(encoding="utf-8")) if path.exists() else []


def write(name: str, rows: Sequence[Row], results: Path = RESULTS) -> Path:
    """Print the table and keep the rows in `build/bench/NAME.json`."""
    print(f"\n{name}\n\n{table(rows)}\n")
    results.mkdir(parents=True, exist_ok=True)
    path = results / f"{name}.json"
    path.write_text(to_json(rows), encoding="utf-8")
    return path
