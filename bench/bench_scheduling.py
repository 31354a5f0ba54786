"""The scheduler: pods in, a plan out; the peer beside us on the same pods and types, in the same run.

Both sides read the same files (see `bench/worlds.py`): 400 types that grow by a core each, and pods as the peer's own
benchmark mixes them. `diverse` is a fifth each of generic pods, zonal spread, hostname spread, zonal self-affinity and
hostname anti-affinity. Our time is from core values to plan, compilation included; the peer's is its Solve alone. What
we look up of the catalog is kept from plan to plan, as the peer keeps its types; the first plan of all has its own row.
Ours is the median of runs before and after the peer's. Our planner is compiled where there is a C compiler, as
`DOVETAIL_COMPILE=1` ships it (see the why page of the scheduler); a row says what it does as plain Python.

Targets without a peer are for a machine on which the peer plans 185 diverse pods a second; its row says what this one
is. Since that changes by the minute, the command, a second by the clock, is measured between two plans of the peer's,
and a row says what its time comes to at that pace. `SCHEDULING_ONLY=plan` measures the command alone, `planner` all
but it; both keep the other figures.

Speed is only worth something if the plan is as good, so each workload also shows what would be bought. Leaving more
pods waiting than the peer, paying more, or buying more nodes without paying less fails the run.

![time against pods, log-log](scheduling-growth.svg)
"""

import os
import sys
from collections.abc import Sequence
from typing import Final

from bench import measure, peer, plan_command, planning, plot
from bench.planning import Planned, planned
from bench.report import ROOT, Row, higher, in_parts, lower, no_worse
from bench.worlds import DISTINCT_NODES, DISTINCT_PODS, WHATIF_NODES, WHATIF_PODS_EACH, world
from dovetail.core.scheduling.problem import PreferencePolicy

NAME = "scheduling"
GROWTH: Final = ROOT / "docs" / "reference" / "scheduling-growth.svg"
SIZES: Final = (100, 1_000, 5_000, 20_000)
PEER_REPEATS: Final = {100: 5, 1_000: 3}
#: Seconds the peer may take for one plan; what takes longer is cut off and has no figure. All of it together stays
#: within some ten minutes; `PEER_LIMIT=900 make bench-scheduling` waits longer.
PEER_LIMITS: Final = {"diverse-20000": 240, "preferences-4000": 180}
PEER_LIMIT: Final = 120
MIN_VALUES: Final = 15
#: Diverse pods a second, planned by the peer, on the machine that targets in seconds are for.
USUAL_PACE: Final = 185.0


def _peer(name: str, *more: str, repeats: int = 1) -> dict[str, float]:
    files = world(name)
    given = ("--types", str(files.types), "--pods", str(files.pods), "--repeat", str(repeats))
    limit = os.environ.get("PEER_LIMIT") or PEER_LIMITS.get(name, PEER_LIMIT)
    return peer.run("schedule", *given, "--limit", f"{limit}s", *more)


def _both(
    name: str,
    *more: str,
    repeats: int = 1,
    min_values: int | None = None,
    preferences: PreferencePolicy = PreferencePolicy.RESPECT,
) -> tuple[Planned, dict[str, float]]:
    """Ours before and after the peer's, so that both meet the machine in the same mood."""
    theirs: dict[str, float] = {}
    ours = planned(
        name,
        lambda: theirs.update(_peer(name, *more, repeats=repeats)),
        min_values=min_values,
        preferences=preferences,
    )
    return ours, theirs


def _compared(label: str, ours: Planned, theirs: dict[str, float], times: float | None) -> list[Row]:
    """Speed, and what the plan is worth."""
    note = f" (peer cut off at {theirs['cut_off']:.0f} s)" if "cut_off" in theirs else ""
    price = theirs.get("price")
    cheaper = price is not None and ours.price < price
    return [
        higher(label + note, "pods/s", ours.pods_per_second, theirs.get("pods_per_s"), times=times),
        no_worse(f"{label}: pods left waiting", "count", ours.waiting, theirs.get("failed")),
        no_worse(f"{label}: nodes to buy", "count", ours.nodes, theirs.get("nodes"), excused=cheaper),
        no_worse(f"{label}: what they cost", "$/h", ours.price, price),
    ]


def _diverse() -> list[Row]:
    both = {size: _both(f"diverse-{size}", repeats=PEER_REPEATS.get(size, 1)) for size in SIZES}
    ours = {size: one for size, (one, _) in both.items()}
    theirs = {size: one for size, (_, one) in both.items()}
    _draw(ours, theirs)
    rows = []
    for size in SIZES[1:]:
        rows += _compared(f"diverse, {size:,} pods", ours[size], theirs[size], times=200)
        rows.append(lower("– the first plan, the catalog looked up as well", "s", ours[size].first_seconds))
        if planning.compiled():
            plain = planning.interpreted(f"diverse-{size}")
            rows.append(higher("– our planner interpreted", "pods/s", plain, theirs[size].get("pods_per_s")))
    speeds = [theirs[size].get("pods_per_s") for size in (SIZES[1], SIZES[-1])]
    flat = ours[SIZES[-1]].pods_per_second / ours[SIZES[1]].pods_per_second
    peers_flat = speeds[1] / speeds[0] if speeds[0] and speeds[1] else None
    label = f"diverse: speed at {SIZES[-1]:,} pods for that at {SIZES[1]:,}"
    return [*rows, higher(label, "×", flat, peers_flat, limit=0.8)]


def _draw(ours: dict[int, Planned], theirs: dict[int, dict[str, float]]) -> None:
    if not any("solve" in one for one in theirs.values()):
        print("The plot of growth stays as it is: there are no figures of the peer.", file=sys.stderr)
        return
    lines = [
        plot.Line("dovetail", [(size, one.seconds) for size, one in ours.items()]),
        plot.Line(peer.version(), [(size, one["solve"]) for size, one in theirs.items() if "solve" in one]),
    ]
    GROWTH.parent.mkdir(parents=True, exist_ok=True)
    GROWTH.write_text(plot.drawn("Planning the diverse mix on 400 types", "pods", lines), encoding="utf-8")


def _real_prices() -> list[Row]:
    name = "aws-200"
    label = "diverse, 200 pods, all types AWS sells in us-east-1"
    return _compared(label, *_both(name), times=None)


def _preferences() -> list[Row]:
    name = "preferences-4000"
    rows = []
    # Every pod wishes for a host without another: the wish can be granted, so it takes a node for each pod.
    for policy, times, most in ((PreferencePolicy.RESPECT, 500, 4_000), (PreferencePolicy.IGNORE, 50, 21)):
        ours, theirs = _both(name, "--preferences", policy.value, preferences=policy)
        label = f"4,000 pods with preferences, {policy.value}"
        rows += _compared(label, ours, theirs, times=times)
        rows.append(lower(f"{label}: nodes the preferences demand", "count", ours.nodes, limit=most))
    return rows


def _min_values() -> list[Row]:
    name = "generic-12000"
    ours, theirs = _both(name, "--min-values", str(MIN_VALUES), min_values=MIN_VALUES)
    return _compared(f"12,000 generic pods, minValues {MIN_VALUES} on the type", ours, theirs, times=100)


def _alone() -> list[Row]:
    """What only we are asked, each in a process of its own: the peer takes from minutes to hours for these, or has no
    such question."""
    reserved = measure.fresh(planned, "reserved-10000")
    distinct = measure.fresh(planned, f"distinct-{DISTINCT_PODS}")
    what_if = measure.fresh(planning.what_if)
    memory = measure.memory("bench.planning:settled")
    nodes, pods = f"{WHATIF_NODES:,}", f"{WHATIF_NODES * WHATIF_PODS_EACH:,}"
    distinct_label = f"{DISTINCT_PODS:,} distinct pods onto {DISTINCT_NODES:,} nodes"
    return [
        lower("10,000 pods apart on hosts, one reserved instance", "s", reserved.seconds, limit=1.0),
        lower("– pods left waiting", "count", reserved.waiting, limit=0),
        higher("– nodes on the reserved instance", "count", reserved.reserved, limit=1),
        higher(distinct_label, "pods/s", distinct.pods_per_second, limit=20_000),
        lower("– pods left waiting", "count", distinct.waiting, limit=0),
        lower("– of which compiling, once for any number of what-ifs", "s", planning.compile_seconds("distinct-5000")),
        lower(
            f"what-if: each of {nodes} nodes leaves in turn, its 30 pods move (mean)", "s", what_if.mean, limit=0.001
        ),
        lower("– the slowest of them", "s", what_if.slowest),
        lower("– pods left waiting by any of them", "count", what_if.waiting, limit=0),
        lower(f"memory for {pods} pods on {nodes} nodes, snapshot and compiled", "MB", memory.held, limit=60),
        lower("– at the peak, reading included", "MB", memory.peak),
    ]


def _command() -> list[Row]:
    label = f"`dovetail plan`, a new process, {plan_command.PODS:,} pods, all that AWS sells"
    paces, rows = [_pace()], []
    for form in ("JSON", "YAML"):
        seconds = plan_command.seconds(form.lower())
        paces.append(_pace())
        rows.append(lower(f"{label}, from {form}", "s", seconds, limit=1.0))
        rows.append(at_usual_pace(form, seconds, paces[-2:]))
    known = [pace for pace in paces if pace is not None]
    meanwhile = sum(known) / len(known) if known else None
    return [*rows, higher("– diverse, 1,000 pods, by the peer, before, between and after", "pods/s", None, meanwhile)]


def _pace() -> float | None:
    """Diverse pods a second, planned by the peer, in this minute."""
    return _peer("diverse-1000").get("pods_per_s")


def at_usual_pace(form: str, seconds: float, paces: Sequence[float | None]) -> Row:
    """What it would have taken on the machine the target is for, by what the peer did before and after."""
    known = [pace for pace in paces if pace is not None]
    scaled = seconds * sum(known) / len(known) / USUAL_PACE if len(known) == len(paces) else None
    return lower(f"– from {form}, where the peer plans {USUAL_PACE:.0f} diverse pods a second", "s", scaled, limit=1.0)


def _warn_if_busy() -> None:
    """The peer plans on several cores and we on one, so a busy machine may slow it down more than us: say so."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(f"The machine is busy (load {load:.1f} on {cores} cores): these ratios may flatter us.", file=sys.stderr)


def run() -> list[Row]:
    _warn_if_busy()
    return in_parts(NAME, "SCHEDULING_ONLY", {"planner": _planner, "plan": _command})


def _planner() -> list[Row]:
    return [*_diverse(), *_real_prices(), *_preferences(), *_min_values(), *_alone()]
