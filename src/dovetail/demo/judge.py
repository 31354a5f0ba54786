"""What must not happen, looked for at every write, and what must be so at the end."""

from __future__ import annotations

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.storage import Change
from dovetail.clouds.sim import nodes
from dovetail.demo import seen as cluster
from dovetail.demo.world import World


class Judge:
    """Sees everything and says nothing until it is asked."""

    def __init__(self, world: World) -> None:
        self._world = world
        #: Pods that ran on a machine, and had not been asked to leave it, when it went away.
        self.lost: list[str] = []
        self._app, self._least = "", 0
        #: The fewest pods that ran while somebody looked (`guard`).
        self.fewest = 0
        self._closed: dict[str, frozenset[str]] = {}
        self._broken: list[str] = []
        world.cloud.on_kill = self._taken
        world.store.storage.listeners.append(self._written)

    def guard(self, app: str, running: int, least: int) -> None:
        """From now on at least so many pods of a deployment must run, of those that do now; no app ends it."""
        self._app, self._least = app, least
        if app:
            self.fewest = running

    def close_zone(self, zone: str) -> None:
        """From now on nothing may be bought there."""
        self._closed[zone] = self._bought_in(zone)

    def _bought_in(self, zone: str) -> frozenset[str]:
        return frozenset(one.name for one in self._world.witness.bought.values() if one.zone == zone)

    def _written(self, kind: Kind, change: Change) -> None:
        if kind == kinds.NODES and change.type == "DELETED":
            self.lost += cluster.still_on(self._world.store, change.item.name)
        elif kind == kinds.PODS and self._app:
            running = cluster.look(self._world.store).by_app[self._app]
            self.fewest = min(self.fewest, running)
            if running < self._least:
                self._broken.append(f"{running} pods of {self._app} ran where {self._least} must")

    def _taken(self, provider_id: str) -> None:
        self.lost += cluster.still_on(self._world.store, provider_id.removeprefix(nodes.PREFIX))

    async def verdict(self) -> list[str]:
        """What is not as it must be; empty if all is well."""
        world, witness = self._world, self._world.witness
        claims = cluster.look(world.store).machines
        held = await world.cloud.instances()
        wrong = [
            f"{zone} was sold out, and sold" for zone, known in self._closed.items() if known != self._bought_in(zone)
        ]
        wrong += self._broken[:1]
        if self.lost:
            wrong.append(f"pods were lost: {', '.join(self.lost[:5])}")
        if claims or held or world.market.ledger:
            wrong.append(f"{len(claims)} claims and {len(held)} machines are left, {len(world.market.ledger)} paid for")
        if set(witness.bought) != witness.returned:
            wrong.append(f"machines bought: {len(witness.bought)}, returned: {len(witness.returned)}")
        return wrong + [f"a fault of dovetail's own was logged: {one}" for one in world.complaints.faults]

    def summary(self, seconds: float) -> str:
        bought, returned = len(self._world.witness.bought), len(self._world.witness.returned)
        return (
            f"Done in {seconds:.1f} s: {bought} machines bought, {returned} returned, {bought - returned} left; "
            f"{len(self.lost)} pods lost; {self._world.writes()} writes to the API server, with events and evictions."
        )
