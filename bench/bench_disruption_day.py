"""A day of diurnal load in virtual time: what consolidation saves, and how many pods pay for it.

Ours beside the peer's policy `WhenEmptyOrUnderutilized` by the book, in the same simulator (`bench/disruption_day.py`,
`bench/disruption_agents.py`): the same load, prices, provisioning, scheduler, budgets of ten percent and
`consolidateAfter: 0s`; ours with what a NodePool has without annotations. Dollars saved are those below what the same
day costs if nothing is ever taken away, and, in the row after, if only empty nodes are. Evictions are counted whoever
gains by them. The curve in the why page is ours at other settings of `dovetail.dev/payback`.

`DAY_ONLY=on-demand` (or `spot`) lives through the days of one of the two, and keeps the other's figures.
"""

import gc
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from typing import Final

from bench import disruption_load, measure, plot_curve
from bench.disruption_agents import Book, Ours
from bench.disruption_day import Agent, Cluster, Nobody, Totals, lived
from bench.disruption_load import HOUR
from bench.plot_curve import Curve, Point, Words
from bench.report import ROOT, Row, chosen, kept, lower
from dovetail.core.disruption.facts import Gates
from dovetail.core.disruption.policies import PAYBACK_SECONDS, PoolPolicy, Thresholds

NAME = "disruption-day"
#: It takes more than an hour.
ON_REQUEST: Final = True
CURVE: Final = ROOT / "docs" / "why" / "payback-curve.svg"
#: Days that were lived through, by what decides them: a run that was broken off goes on where it was.
KEPT: Final = ROOT / "build" / "bench" / "days"
DECIDED_BY: Final = ("src/dovetail/core/**/*.py", "src/dovetail/clouds/kwok/*.py", "bench/disruption_[ald]*.py")
#: Pods on average: some two hundred nodes.
PODS: Final = 1_300
SEED: Final = 1
#: The settings of the curve, in seconds; 0 switches the rule off.
SETTINGS: Final = (0.0, 300.0, 1800.0)
COST: Final = 102.0
TOLD_EVERY: Final = 3 * HOUR


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of cluster: which capacity its pods ask for, and how many times fewer evictions a dollar may cost.

    On spot no such number is asked for: the rule of fifteen cheaper types leaves either side little but to delete
    nodes, and they are the same nodes.
    """

    name: str
    words: str
    spot_to_spot: bool = False
    times: float | None = None


CASES: Final = (
    Case("on-demand", "on demand", times=3.0),
    Case("spot", "spot with wandering prices, SpotToSpotConsolidation on", spot_to_spot=True),
)


@dataclass(frozen=True, slots=True)
class Day:
    """A day of one case, by `ours`, the `book`, whoever removes `empty` nodes only, or `nobody`."""

    case: Case
    who: str
    payback: float = PAYBACK_SECONDS


#: The longest first, so that no core is left with one of them at the end.
DAYS: Final = (
    *(Day(case, who) for who in ("ours", "book") for case in reversed(CASES)),
    *(Day(CASES[0], "ours", payback) for payback in SETTINGS if payback != PAYBACK_SECONDS),
    *(Day(case, who) for who in ("empty", "nobody") for case in CASES),
)


def cases() -> tuple[Case, ...]:
    """Those that are asked for."""
    only = chosen("DAY_ONLY", (case.name for case in CASES))
    return tuple(case for case in CASES if only in ("", case.name))


@cache
def days() -> dict[Day, Totals]:
    """All of them, beside each other: they share nothing, and virtual time does not mind."""
    wanted = [day for day in DAYS if day.case in cases()]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), measure.end_with_parent) as pool:
        return dict(zip(wanted, pool.map(lived_through, wanted), strict=True))


def lived_by(case: Case, who: str, payback: float = PAYBACK_SECONDS) -> Totals:
    return days()[Day(case, who, payback)]


def lived_through(day: Day) -> Totals:
    path = KEPT / f"{_hash()}-{day.case.name}-{day.who}-{day.payback:.0f}.json"
    if path.exists():
        return Totals(**json.loads(path.read_text()))
    totals = _live(day)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(totals)))
    return totals


def _hash() -> str:
    """Of everything that decides what a day comes to."""
    files = sorted({one for pattern in DECIDED_BY for one in ROOT.glob(pattern) if one.is_file()})
    return hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()[:16]


def _live(day: Day) -> Totals:
    case, who, payback = day.case, day.who, day.payback
    gc.disable()  # a day leaves no cycles worth looking for, and walks through the whole catalogue to find none
    thresholds = Thresholds(payback=payback) if who == "ours" else Thresholds()
    policy = PoolPolicy(disruption_load.pool(), thresholds=thresholds)
    cluster = Cluster(policy, seed=SEED, gates=Gates(spot_to_spot=case.spot_to_spot))
    load = disruption_load.deployments(SEED, PODS, case.name)
    agent = Telling(_agent(who), f"day: {case.name}, {who}, payback {payback:.0f} s")
    totals = lived(cluster, agent, load)
    told = f"${totals.dollars:.0f}, {totals.evicted} evicted, {totals.node_hours / 24:.0f} nodes on average"
    agent.tell(told)
    return totals


class Telling:
    """An agent that says how far its day is: every third hour of it, which are minutes of ours."""

    def __init__(self, agent: Agent, what: str) -> None:
        self._agent, self._what = agent, what
        self._told_at = 0.0

    def act(self, cluster: Cluster) -> float | None:
        if cluster.now >= self._told_at + TOLD_EVERY:
            self._told_at = cluster.now
            self.tell(f"{cluster.now / HOUR:.0f} h, {cluster.totals.evicted} evicted")
        return self._agent.act(cluster)

    def tell(self, words: str) -> None:
        print(f"{self._what}: {words}", file=sys.stderr, flush=True)


def _agent(who: str) -> Agent:
    match who:
        case "ours":
            return Ours()
        case "book":
            return Book()
        case "empty":
            return Book(only_empty=True)
        case _:
            return Nobody()


def run() -> list[Row]:
    rows = [row for case in cases() for row in rows_of(case)]
    if CASES[0] in cases():
        draw(CASES[0])
    return with_others(rows, kept(NAME))


def with_others(measured: Sequence[Row], before: Sequence[Row]) -> list[Row]:
    """The rows of every case: those measured now, and those of the last run of a case that was left out."""
    return [row for case in CASES for row in (_of(case, measured) or _of(case, before))]


def _of(case: Case, rows: Sequence[Row]) -> list[Row]:
    """The row that names a case, and those that belong to it."""
    found, mine = [], False
    for row in rows:
        if not row.row.startswith("–"):
            mine = row.row.partition(": ")[0].endswith(case.words)
        if mine:
            found.append(row)
    return found


def rows_of(case: Case) -> Iterator[Row]:
    ours, book = lived_by(case, "ours"), lived_by(case, "book")
    nobody, empty = lived_by(case, "nobody"), lived_by(case, "empty")
    what = f"24 h, {ours.node_hours / 24:.0f} nodes, {case.words}"
    each, theirs = per_dollar(ours, nobody), per_dollar(book, nobody)
    yield lower(f"{what}: evictions per dollar saved", "count", each, theirs, times=case.times)
    beyond, beyond_theirs = per_dollar(ours, empty), per_dollar(book, empty)
    yield lower("– per dollar beyond what removing empty nodes saves", "count", beyond, beyond_theirs)
    yield lower("– cost of the day, ours for the book's", "%", 100 * ours.dollars / book.dollars, limit=COST)
    yield lower("– cost of the day", "$", ours.dollars, book.dollars)
    yield lower("– pods evicted", "count", ours.evicted, book.evicted)
    yield lower("– nodes bought", "count", ours.bought, book.bought)
    yield lower("– pod-hours spent waiting for a node", "h", ours.pod_hours_waiting, book.pod_hours_waiting)


def per_dollar(one: Totals, without: Totals) -> float | None:
    saved = without.dollars - one.dollars
    return one.evicted / saved if saved > 0 else None


def draw(case: Case) -> None:
    """Churn against cost over the settings, and where the book's policy stands."""
    points = [
        Point(_words(payback), float(found.evicted), found.dollars)
        for payback in SETTINGS
        for found in (lived_by(case, "ours", payback),)
    ]
    book = lived_by(case, "book")
    curves = [
        Curve("dovetail", points),
        Curve("peer", [Point("WhenEmptyOrUnderutilized by the book", float(book.evicted), book.dollars)]),
    ]
    words = Words(
        f"A day of diurnal load, {case.words}, by dovetail.dev/payback", "pods evicted", "dollars for the day"
    )
    CURVE.write_text(plot_curve.drawn(words, curves), encoding="utf-8")


def _words(seconds: float) -> str:
    if not seconds:
        return "0s (off)"
    return f"{seconds / 3600:.0f}h" if seconds % 3600 == 0 else f"{seconds / 60:.0f}m"
