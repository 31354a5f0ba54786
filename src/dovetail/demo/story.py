"""What happens in the demo, act by act, told as it happens.

a shop opens        40 pods that like to be spread over zones, three that want on-demand machines
it grows            and a zone runs out of stock just then
a spot machine      is taken away, with less notice than in life
the evening         comes: what is not worth its price is given up, and one machine says why it stays; then all goes
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from dovetail.clouds.sim import nodes
from dovetail.core import labels
from dovetail.core.catalog.shortages import Shortage
from dovetail.demo import seen as cluster
from dovetail.demo import sentences
from dovetail.demo.judge import Judge
from dovetail.demo.screen import COMMAND, Screen
from dovetail.demo.seen import LEAVING, READY, Machine, Seen
from dovetail.demo.world import REGION, World
from dovetail.views import figures

WEB, GROWN, FEW, DB = 40, 120, 20, 3
#: What the shop's disruption budget, a fifth, makes of that.
KEPT = GROWN * 80 // 100
ZONE = f"{REGION}b"
CONSOLIDATING = '{"spec":{"disruption":{"consolidateAfter":"0s","budgets":[{"nodes":"100%"}]}}}'
#: Two minutes in life.
NOTICE_SECONDS = 15.0
#: What one act may take on a slow machine before the demo gives up.
PATIENCE_SECONDS = 60.0
_READING_SECONDS = 1.2
_FRAME_SECONDS = 0.1


class Unfinished(Exception):
    """An act did not come to its end."""


@dataclass(slots=True)
class Story:
    """One telling of it. `began` is when people began to wait."""

    world: World
    screen: Screen
    judge: Judge
    began: float
    _wanted: dict[str, int] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    async def tell(self) -> None:
        async with self._narrated():
            await self.opens()
            await self.grows()
            await self.is_interrupted()
            await self.goes()

    # ---- the acts

    async def opens(self) -> None:
        types = f"{len(self.world.listing.hardware):,} types at their bundled prices (spot: a model)"
        self.say(f"Up: an API server, kubelets that pretend, a market with EC2's {types}, and the controller.")
        self.type("kubectl apply -f shop.yaml")
        self.world.apply()
        await self._settled(web=WEB, db=DB)
        self.say(f"{WEB + DB} pods run.")
        await self._reading()

    async def grows(self) -> None:
        self.say(f"{ZONE} runs out of stock. Nobody is told: the market still lists it.")
        self.world.market.run_out(Shortage(zone=ZONE))
        self.judge.close_zone(ZONE)
        self.type(f"kubectl scale deployment web --replicas {GROWN}")
        self.world.scale("web", GROWN)
        await self._settled(web=GROWN, db=DB)
        self.say(f"{GROWN + DB} pods run; what {ZONE} could not sell was bought elsewhere.")
        await self._reading()

    async def is_interrupted(self) -> None:
        victim = max(self._ready(labels.SPOT), key=lambda one: (one.pods, one.name))
        what = f"spot machine {victim.name} ({victim.type} in {victim.zone})"
        self.say(f"The cloud will take {what} back in {NOTICE_SECONDS:.0f} s: its {victim.pods} pods leave now.")
        self.judge.guard("web", GROWN, KEPT)
        self.world.cloud.interrupt(f"{nodes.PREFIX}{victim.name}", NOTICE_SECONDS)
        await self._until(lambda seen: not any(one.name == victim.name and one.pods for one in seen.machines))
        await self._settled(web=GROWN, db=DB, leaving=True)
        self.judge.guard("", 0, 0)
        least = f"at least {self.judge.fewest} of {GROWN} web pods ran at any time"
        self.say(f"{GROWN + DB} pods run again; {least}, and their disruption budget asks for {KEPT}.")
        await self._reading()

    async def goes(self) -> None:
        self.type(f"kubectl scale deployment web --replicas {FEW}")
        self.world.scale("web", FEW)
        await self._settled(web=FEW, db=DB, leaving=True)
        before = cluster.look(self.world.store)
        self.say(
            f"{len(before.machines)} machines are left for {FEW + DB} pods, at {figures.money(before.nanodollars)}/h."
        )
        self.type(f"kubectl patch nodepool general --type merge -p '{CONSOLIDATING}'")
        earlier = len(self.world.witness.commands)
        self.world.consolidate("general")
        await self._calm(earlier)
        for sentence in sentences.given_up(self.world.witness.commands[earlier:]):
            self.say(sentence)
        after = cluster.look(self.world.store)
        self.say(f"{len(after.machines)} machines are left, at {figures.money(after.nanodollars)}/h.")
        # What lasts comes first: a budget that is used up for the moment is none of it.
        held = sorted(self.world.told("DisruptionBlocked"), key=lambda one: "disruptions left" in one)
        # The event begins with the words people know from Karpenter; what it would take comes after them.
        why = (held[0].partition("; ")[2] or held[0]) if held else "nobody says"
        self.say(f"Why not fewer? {why}.")
        await self._reading()
        self.type("kubectl scale deployment web db --replicas 0")
        for one in ("web", "db"):
            self.world.scale(one, 0)
        await self._until(lambda seen: not seen.machines)

    async def _calm(self, earlier: int) -> None:
        """Until something was given up, after so many commands for other reasons, and nothing more is worth it."""
        self._wanted = {"web": FEW, "db": DB}

        def done(seen: Seen) -> bool:
            still = all(one.state == READY for one in seen.machines) and not seen.pending
            return len(self.world.witness.commands) > earlier and still and self.world.is_calm

        await self._until(done)

    def _ready(self, capacity_type: str = "") -> list[Machine]:
        machines = cluster.look(self.world.store).machines
        return [one for one in machines if one.state == READY and capacity_type in ("", one.capacity_type)]

    # ---- waiting

    async def _settled(self, *, leaving: bool = False, **wanted: int) -> None:
        """Until just so many pods of each deployment run, and every machine is up; `leaving` ones may still go."""
        self._wanted = wanted
        states = {READY, LEAVING} if leaving else {READY}

        def done(seen: Seen) -> bool:
            return not seen.pending and +seen.by_app == wanted and all(one.state in states for one in seen.machines)

        await self._until(done)

    async def _until(self, true: Callable[[Seen], bool]) -> None:
        if not await self.world.until(lambda: true(cluster.look(self.world.store)), PATIENCE_SECONDS):
            now = cluster.look(self.world.store)
            told = f"{now.running} pods run and {now.pending} wait on {len(now.machines)} machines"
            raise Unfinished(f"after {self.seconds:.0f} s {told}, where {self._wanted or 'none'} were wanted")
        self._narrate()

    async def _reading(self) -> None:
        if self.screen.watched:
            await asyncio.sleep(_READING_SECONDS)

    # ---- telling

    def say(self, text: str) -> None:
        self.screen.say(self.seconds, text)

    def type(self, command: str) -> None:
        self.say(f"{COMMAND}{command}")

    @contextlib.asynccontextmanager
    async def _narrated(self) -> AsyncIterator[None]:
        """Tell what is decided when it is decided, and show how things stand."""
        task = asyncio.create_task(self._narrating())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _narrating(self) -> None:
        while True:
            self._narrate()
            if self.screen.watched:
                self.screen.show(self.seconds, cluster.look(self.world.store))
            await asyncio.sleep(_FRAME_SECONDS)

    def _narrate(self) -> None:
        for plan in self.world.witness.news():
            for sentence in sentences.of(plan):
                self.say(sentence)
