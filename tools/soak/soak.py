"""One soak from beginning to end, and what is found afterwards."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import linear_regression

from tools.soak.weather import Weather
from tools.soak.world import Around, World

from dovetail.api import kinds
from dovetail.controllers.web import resident_bytes

SAMPLE_SECONDS = 5.0
#: The first share of a run fills caches, and grows the heap to what the busiest moment needs.
WARM_UP = 0.5
#: Megabytes a minute that are still no growth, and from how many minutes on that can be told.
FLAT = 0.5
TOLD_AFTER_MINUTES = 4.0
#: How long the end may take: a machine nobody claims is looked at after half a minute.
PATIENCE_SECONDS = 150.0
_MEGABYTE = 1e6
Memory = tuple[float, float]


@dataclass(slots=True)
class Report:
    """What a soak found; `wrong` is empty if all is well."""

    minutes: float
    happened: dict[str, int] = field(default_factory=dict)
    terms: int = 0
    bought: int = 0
    ended: int = 0
    ended_in: float = 0.0
    memory: list[Memory] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def slope(self) -> float:
        """Megabytes a minute after the warm-up."""
        steady = self.memory[int(len(self.memory) * WARM_UP) :]
        if len(steady) < 2:
            return 0.0
        return linear_regression([at / 60 for at, _ in steady], [size for _, size in steady]).slope

    def lines(self) -> list[str]:
        steady = [size for _, size in self.memory[int(len(self.memory) * WARM_UP) :]] or [0.0]
        told = ", ".join(f"{count} × {name.replace('_', ' ')}" for name, count in sorted(self.happened.items()))
        return [
            f"{self.minutes:g} minutes with chaos: {told}.",
            f"{self.terms} terms of the controller; {self.bought} claims written, {self.ended} ended.",
            f"Memory of the whole process (API server and kubelets included) after the warm-up: {min(steady):.0f} to "
            f"{max(steady):.0f} MB, {self.slope:+.2f} MB a minute.",
            f"Scaled to zero in {self.ended_in:.0f} s: "
            + (f"WRONG: {'; '.join(self.wrong)}" if self.wrong else "no claim, Node, machine or sale is left."),
        ]


async def soak(seconds: float, seed: int, around: Around, told: Callable[[str], None] = lambda line: None) -> Report:
    report = Report(seconds / 60)
    async with World(around, seed) as world:
        weather = Weather(world, seed)
        weather.begin()
        samples = asyncio.create_task(_sampled(world, report, told))
        try:
            await weather.blow(seconds)
        finally:
            samples.cancel()
        await _wound_up(world, weather, report)
        report.happened, report.terms = weather.happened, world.terms
        report.bought = _total(world, "nodeclaims_created_total")
        report.ended = _total(world, "nodeclaims_terminated_total")
        report.wrong += [f"a fault of ours: {one}" for one in world.complaints.faults[:5]]
    if report.minutes >= TOLD_AFTER_MINUTES and report.slope > FLAT:
        report.wrong.append(f"memory grows by {report.slope:.2f} MB a minute")
    return report


async def _sampled(world: World, report: Report, told: Callable[[str], None]) -> None:
    began, minute = world.around.clock.now(), 0
    while True:
        gc.collect()  # controllers that were ended are garbage, and not what is looked for
        at, size = world.around.clock.now() - began, resident_bytes() / _MEGABYTE
        if at >= 60 * (minute + 1):
            minute = int(at / 60)
            told(f"{at / 60:4.1f} min  {size:6.1f} MB  {_counted(world)}")
        report.memory.append((at, size))
        await asyncio.sleep(SAMPLE_SECONDS)


async def _wound_up(world: World, weather: Weather, report: Report) -> None:
    """Scale to zero, and wait until nothing is left, or too long."""
    clock = world.around.clock
    began = clock.now()
    await weather.calm_down()
    while (left := drift(world)) and clock.now() - began < PATIENCE_SECONDS:
        weather.end_claims()
        await asyncio.sleep(0.5)
        world.check()
    report.ended_in = clock.now() - began
    report.wrong += left


def drift(world: World) -> list[str]:
    """What is left where nothing should be."""
    found = []
    for kind in (kinds.NODE_CLAIMS, kinds.NODES, kinds.PODS):
        names = [one["metadata"]["name"] for one in world.store.list(kind)]
        if names:
            found.append(f"{len(names)} {kind.plural} are left ({', '.join(names[:5])})")
    if world.market.ledger:
        found.append(f"{len(world.market.ledger)} machines are paid for ({', '.join([*world.market.ledger][:5])})")
    controller = world.controller
    if controller is None or not controller.cluster.is_ready:
        return [*found, "nobody acts"]
    held = {
        "claims": len(controller.cluster.claims),
        "nodes": len(controller.cluster.nodes),
        "pods": len(controller.cluster.pods),
        "nominations": len(controller.nominations),
        "evictions": len(controller.evictions),
    }
    return found + [f"the controller remembers {count} {what}" for what, count in held.items() if count]


def _counted(world: World) -> str:
    store = world.store
    pods = store.list(kinds.PODS)
    running = sum((one.get("status") or {}).get("phase") == "Running" for one in pods)
    claims, nodes = len(store.list(kinds.NODE_CLAIMS)), len(store.list(kinds.NODES))
    return (
        f"{claims} claims, {nodes} nodes, {running} of {len(pods)} pods run, {len(world.market.ledger)} machines paid"
    )


def _total(world: World, metric: str) -> int:
    return sum(int(sum(one.values.values())) for one in world.metrics.families() if one.name.endswith(metric))
