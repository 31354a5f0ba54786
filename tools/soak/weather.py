"""What happens to the cluster: load that comes and goes, people who delete things, an API server with bad days."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from tools.soak.world import World

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.writes import Deletion, MergePatch

Object = dict[str, Any]
APPS = ("web", "batch", "cache", "spread")
#: Between two things that happen, in seconds, on average.
PACE = 0.7
_CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
_LINUX = [
    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
]


class Weather:
    """One thing after another, by the dice."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)  # noqa: S311  (a game, not a secret)
        self.happened: dict[str, int] = {}
        self._kinds: tuple[tuple[int, Callable[[], Awaitable[None] | None]], ...] = (
            (30, self.scale),
            (12, self.delete_a_claim),
            (4, self.delete_a_node),
            (6, self.delete_a_pod),
            (6, self.refuse),
            (5, self.break_off),
            (4, self.cut_watches),
            (1, self.forget_history),
            (1, self.outage),
            (2, self.restart),
        )

    def begin(self) -> None:
        store = self.world.store
        store.create(kinds.KWOK_NODE_CLASSES, _object(kinds.KWOK_NODE_CLASSES, "default", {}))
        template = {"spec": {"nodeClassRef": _CLASS, "requirements": _LINUX, "expireAfter": "Never"}}
        body = {"template": template, "limits": {"cpu": "400"}}
        store.create(kinds.NODE_POOLS, _object(kinds.NODE_POOLS, "general", body))
        for name in APPS:
            store.create(kinds.DEPLOYMENTS, _deployment(name), "default")

    async def blow(self, seconds: float) -> None:
        clock = self.world.around.clock
        end = clock.now() + seconds
        weights, every = zip(*self._kinds, strict=True)
        while clock.now() < end:
            self.world.check()
            (one,) = self.chance.choices(every, weights)
            self.happened[one.__name__] = self.happened.get(one.__name__, 0) + 1
            done = one()
            if done is not None:
                await done
            await asyncio.sleep(self.chance.uniform(0, 2 * PACE))

    async def calm_down(self) -> None:
        """No more trouble, no more load, and every claim told to go."""
        self.world.dice.on = False
        self.world.server.faults.clear()
        for name in APPS:
            self._deleted(kinds.DEPLOYMENTS, name, "default")
        while self._left(kinds.PODS, waiting=True):
            await asyncio.sleep(0.2)

    def end_claims(self) -> None:
        for name in self._names(kinds.NODE_CLAIMS):
            self._deleted(kinds.NODE_CLAIMS, name)

    # ---- people

    def scale(self) -> None:
        count = self.chance.choice((0, 0, 1, 3, 8, 15, 25))
        body = MergePatch({"spec": {"replicas": count}})
        self.world.store.patch(kinds.DEPLOYMENTS, self.chance.choice(APPS), body, "default")

    def delete_a_claim(self) -> None:
        self._delete_one(kinds.NODE_CLAIMS)

    def delete_a_node(self) -> None:
        self._delete_one(kinds.NODES)

    def delete_a_pod(self) -> None:
        self._delete_one(kinds.PODS, "default")

    # ---- the API server

    def refuse(self) -> None:
        code = self.chance.choice((429, 429, 500, 503))
        self.world.server.faults.answer(code, self.chance.randint(1, 12), retry_after=1)

    def break_off(self) -> None:
        self.world.server.faults.reset(self.chance.randint(1, 4), meant=_writes)

    def cut_watches(self) -> None:
        self.world.server.faults.cut_watches()

    def forget_history(self) -> None:
        self.world.server.faults.expire_history()
        self.world.server.faults.cut_watches()

    async def outage(self) -> None:
        """Sometimes long enough to lose the lease."""
        await self.world.server.faults.begin_outage()
        await asyncio.sleep(self.chance.uniform(0.5, 6.0))
        await self.world.server.faults.end_outage()

    # ---- the controller

    async def restart(self) -> None:
        await self.world.stop()
        await asyncio.sleep(self.chance.uniform(0, 1.0))
        self.world.start()

    # ---- how

    def _names(self, kind: Kind) -> list[str]:
        return [one["metadata"]["name"] for one in self.world.store.list(kind)]

    def _left(self, kind: Kind, waiting: bool) -> bool:
        """Pods nobody has bound are gone at once; the others go with their machine at the latest."""
        return any(not one["spec"].get("nodeName") for one in self.world.store.list(kind)) if waiting else False

    def _delete_one(self, kind: Kind, namespace: str = "") -> None:
        names = self._names(kind)
        if names:
            self._deleted(kind, self.chance.choice(names), namespace)

    def _deleted(self, kind: Kind, name: str, namespace: str = "") -> None:
        try:
            self.world.store.delete(kind, name, namespace, Deletion())
        except ApiError as gone:
            if gone.code != 404:
                raise


def _writes(request: web.BaseRequest) -> bool:
    return request.method in ("POST", "PATCH", "DELETE")


def _deployment(name: str) -> Object:
    labels = {"app": name}
    asked = {"cpu": {"web": "1", "batch": "6", "cache": "500m"}.get(name, "2"), "memory": "1Gi"}
    container = {"name": "main", "image": "app:1", "resources": {"requests": asked}}
    spec: Object = {"containers": [container], "terminationGracePeriodSeconds": 5}
    if name == "spread":
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": labels},
            }
        ]
    body = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }
    return _object(kinds.DEPLOYMENTS, name, body, "default")


def _object(kind: Kind, name: str, spec: Object, namespace: str = "") -> Object:
    about = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": about, "spec": spec}
